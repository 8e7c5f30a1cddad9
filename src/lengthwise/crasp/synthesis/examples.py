"""Reads examples (prompts with answers) from a JSON-lines file, and labels words where the answers are yes or no."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.files import read_text
from lengthwise.core.vocab import Symbols

LABELS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def read_examples(path: Path) -> list[tuple[Symbols, Symbols | bool]]:
    """Read lines ``{"prompt": "a a b" or ["a", …], "answer": true, "b b a" or [...]}``.

    Raises `LengthwiseError` that names the first malformed line.
    """
    examples = []
    for number, line in enumerate(read_text(path, what="examples file").split("\n"), 1):
        if line.strip():
            try:
                value = json.loads(line)
                answer = value["answer"]
                examples.append((_word(value["prompt"]), answer if isinstance(answer, bool) else _word(answer)))
            except (ValueError, KeyError, TypeError, RecursionError):
                shape = '{"prompt": "a a b", "answer": true}'
                raise LengthwiseError(f"{path}, line {number}: not an example; write {shape}") from None
    require(bool(examples), f"{path} holds no examples")
    return examples


def _word(value: object) -> Symbols:
    if isinstance(value, str):
        return tuple(value.split())
    if isinstance(value, list) and all(isinstance(symbol, str) for symbol in value):
        return tuple(value)
    raise TypeError


def labelled(examples: Sequence[tuple[Symbols, Symbols | bool]]) -> dict[Sequence[str], bool] | None:
    """The labels of the prompts; None if some answer is neither yes nor no.

    Raises `LengthwiseError` for a prompt with two answers.
    """
    labels: dict[Sequence[str], bool] = {}
    for prompt, answer in examples:
        if not isinstance(answer, bool):
            if len(answer) != 1 or answer[0].lower() not in LABELS:
                return None
            answer = LABELS[answer[0].lower()]
        if labels.setdefault(prompt, answer) != answer:
            raise LengthwiseError(f"the prompt {' '.join(prompt)!r} has two answers; keep one")
    return labels
