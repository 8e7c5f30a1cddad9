"""Compute the table of studies/methods/context-extension.md from `studies/methods/results/context-extension`."""

from __future__ import annotations

from typing import Any

from table_parts import markdown, results

import lengthwise as lw

METHODS = {
    "none": "RoPE as it is",
    "window": "RoPE, window of 64 tokens",
    "self-extend": "Self-Extend",
    "rerope": "ReRoPE",
    "pi, tuned": "PI, 90 steps of fine-tuning",
    "longrope": "LongRoPE (NTK's factors)",
    "dynamic-ntk": "dynamic NTK",
    "yarn": "YaRN",
    "llama3": "Llama 3 scaling",
    "ntk": "NTK-aware",
    "pi": "PI",
    "drope": "DroPE, 90 steps",
}
"""The methods by their names in the files, in the order of the page."""
Losses = dict[tuple[str, int], tuple[float, float]]
"""By method and multiple of the context: nats within it and over the last 64 tokens."""


def extension_files() -> list[dict[str, Any]]:
    """The result files by seed."""
    files = [
        lw.core.files.read_json(path)
        for path in sorted((results("context-extension")).glob("language-model-seed-*.json"))
    ]
    assert [values["seed"] for values in files] == list(range(len(files)))
    return files


def losses() -> list[Losses]:
    """The losses of each seed."""
    return [
        {(row["method"], row["multiple"]): (row["within"], row["last"]) for row in values["rows"]}
        for values in extension_files()
    ]


def context_extension() -> dict[str, str]:
    """Nats per token of each method: within the trained context, and at the end of 2 to 8 times as much."""
    found = losses()
    assert all({method for method, _ in own} == set(METHODS) for own in found)

    def nats(method: str, multiple: int, part: int) -> str:
        return " / ".join(f"{own[method, multiple][part]:.3f}" for own in found)

    rows = [
        (label, nats(method, 8, 0), *(nats(method, multiple, 1) for multiple in (2, 4, 8)))
        for method, label in METHODS.items()
    ]
    ends = (f"last 64 of {64 * multiple}" for multiple in (2, 4, 8))
    return {"main": markdown(("method", "first 64, set for 8×", *ends), rows)}
