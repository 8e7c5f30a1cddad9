"""Every command that computes with torch takes ``--threads``; of the others it is shown that they never load it."""

from __future__ import annotations

import pytest
from named_options import commands, options_of
from terminal import Terminal

WITHOUT_TORCH = {
    "list", "show", "report", "predict", "decide", "check-certificates", "export", "explore",
    "crasp run", "crasp check", "crasp list", "crasp print", "crasp learn",
}  # fmt: skip
"""The commands without the option; test_startup.py calls each of them."""


def test_every_command_that_computes_has_threads() -> None:
    missing = {name for name in commands() if "--threads" not in options_of(name.split())}
    assert missing == WITHOUT_TORCH


@pytest.mark.parametrize("name", sorted(set(commands()) - WITHOUT_TORCH))
def test_fewer_than_one_thread_is_refused_before_anything_else(terminal: Terminal, name: str) -> None:
    """Other arguments are only as many as the parser wants."""
    more = {"couple": ["addition"], "compare": ["addition"], "plan": ["addition"], "verify": ["addition"],
            "check": ["addition"], "crasp compile": ["D-2"], "run": ["addition"],
            "audit": ["nowhere"],
            "explain": ["nowhere"], "generate": ["nowhere", "a"],
            "lm train": ["--out", "nowhere"], "lm extend": ["nowhere"]}  # fmt: skip
    answer = terminal(*name.split(), *more.get(name, []), "--threads", 0)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == "error: --threads must be at least 1, got 0\n"
