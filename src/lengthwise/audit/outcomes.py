"""What became of a request: right, wrong, or one of the ways in which nothing was learned about the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

RIGHT, WRONG = "right", "wrong"
ANSWERED = (RIGHT, WRONG)
"""What counts in a rate."""
UNSTOPPED, TRUNCATED, TOO_LONG = "did not stop", "truncated", "too long"
REFUSED, TIMED_OUT, FAILED = "refused", "timed out", "failed"
APART = (UNSTOPPED, TRUNCATED, TOO_LONG, REFUSED, TIMED_OUT, FAILED)
"""What is counted apart and is never a wrong answer."""
NO_RESPONSE = (TOO_LONG, REFUSED, TIMED_OUT, FAILED)
"""Requests to which the model gave no response."""
AGAIN = (TIMED_OUT, FAILED, TOO_LONG)
"""Requests that a continued audit repeats; it repeats all of `NO_RESPONSE` if no request had a response."""

LABELS = ("input:", "output:", "question:", "answer:", "->", "=>")
QUOTES = "`\"'*"


@dataclass(frozen=True)
class Reply:
    """What a model said: text, why it ended, and the tokens that were counted (None: not said)."""

    text: str
    finish: str = "stop"
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    retries: int = 0

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


class RequestFailed(Exception):
    """A request without an answer; ``kind`` is one of `APART`."""

    def __init__(self, kind: str, detail: str) -> None:
        self.kind, self.detail = kind, detail
        super().__init__(f"{kind}: {detail}")


def judged(reply: Reply, expected: Sequence[str]) -> str:
    """`RIGHT`, `WRONG`, or `UNSTOPPED` where the budget ended the first line of a text that is not the answer."""
    lines = [line for line in reply.text.splitlines() if line.strip()]
    said = answer_words(lines[0]) if lines else []
    # Digits written with and without spaces are the same answer, as long as every word is one character.
    joined = all(len(word) == 1 for word in expected) and "".join(said) == "".join(expected)
    if said == list(expected) or joined:
        return RIGHT
    return UNSTOPPED if reply.finish == "length" and len(lines) < 2 else WRONG


def answer_words(line: str) -> list[str]:
    """The words of an answer without a label in front, quotation marks around and a full stop behind."""
    text = line.strip()
    for label in LABELS:
        if text.lower().startswith(label):
            text = text[len(label) :].strip()
    return text.strip(QUOTES).strip().removesuffix(".").strip().split()
