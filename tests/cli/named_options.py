"""Finds the options that a message names, and says which of them the command does not have."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

import typer

from lengthwise.cli.main import app

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
QUOTED = re.compile(r"`lengthwise ([^`]*)`|^ *lengthwise (.*)$", re.M)
OTHER_TOOLS = re.compile(r"`(torchrun|ray|pip) [^`]*`|^(lm_eval|inspect eval) .*|^python -m .*")
"""Commands of somebody else."""


@functools.cache
def program() -> Any:
    """The whole command line, as Click knows it."""
    return typer.main.get_command(app)


def command(words: Sequence[str]) -> Any:
    """The command that these words begin with; a group if they go no further."""
    found = program()
    for word in words:
        if word not in getattr(found, "commands", {}):
            break
        found = found.commands[word]
    return found


def options_of(words: Sequence[str]) -> set[str]:
    """The long options of a command."""
    given = {name for parameter in command(words).params for name in (*parameter.opts, *parameter.secondary_opts)}
    return {name for name in given if name.startswith("--")} | {"--help"}


def commands() -> list[str]:
    """Every command, such as ``run`` and ``lm train``."""
    found = []
    for name, one in program().commands.items():
        found += [f"{name} {inner}" for inner in getattr(one, "commands", {})] or [name]
    return sorted(found)


def missing_options(words: Sequence[str], text: str) -> list[str]:
    """The options named in ``text`` that the command of ``words`` does not have.

    A quoted command such as ```lengthwise lm train --text FILE``` must have its own options. What the user typed is
    not counted.
    """
    missing = []
    for quoted in ("".join(groups) for groups in QUOTED.findall(text)):
        missing += [name for name in OPTION.findall(quoted) if name not in options_of(quoted.split())]
    rest = OTHER_TOOLS.sub("", QUOTED.sub("", text))
    if "No such option" in rest:
        return missing
    typed = {name for word in words for name in OPTION.findall(word)}
    has = options_of(words) | typed
    return missing + [name for name in OPTION.findall(rest) if name not in has]
