"""Reads the problems beside this file and scores answers to them; needs no other file of `lengthwise`.

`lengthwise export` copies this file into every folder that it writes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

LABELS = ("input:", "output:", "question:", "answer:", "->", "=>")


def rows(length: int) -> list[dict[str, Any]]:
    """The problems of one length: ``prompt``, ``answer``, and how many words matter, how far away."""
    text = (Path(__file__).parent / f"length_{length}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def read(length: int, **_: Any) -> dict[str, Any]:
    """The problems of one length as a split of a data set, for lm-evaluation-harness."""
    import datasets

    return {"test": datasets.Dataset.from_list(rows(length))}


def is_right(text: str, answer: str) -> bool:
    """Whether the first line of an answer is the right one; digits may stand with or without spaces."""
    lines = [line for line in text.splitlines() if line.strip()]
    said, expected = _words(lines[0]) if lines else [], answer.split()
    joined = all(len(word) == 1 for word in expected) and "".join(said) == "".join(expected)
    return said == expected or joined


def score(doc: dict[str, Any], results: list[str]) -> dict[str, float]:
    """The metric of one problem, for lm-evaluation-harness."""
    return {"exact_match": float(is_right(results[0], doc["answer"]))}


def _words(line: str) -> list[str]:
    text = line.strip()
    for label in LABELS:
        if text.lower().startswith(label):
            text = text[len(label) :].strip()
    return text.strip("`\"'*").strip().removesuffix(".").strip().split()
