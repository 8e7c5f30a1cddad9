"""What a law raises, and the few words that laws are written in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lengthwise.core.errors import LengthwiseError


class LawError(AssertionError):
    """A component breaks a law; the message says how."""


def need(condition: object, message: str) -> None:
    """Raise `LawError` unless ``condition`` holds."""
    if not condition:
        raise LawError(message)


@contextmanager
def refused(words: str, error: type[Exception] = LengthwiseError, *, what: str = "") -> Iterator[None]:
    """Raise `LawError` unless the block raises ``error`` with these words in its message."""
    try:
        yield
    except error as raised:
        need(str(raised), f"{what or 'an error'} says nothing; say what is wrong")
        need(words in str(raised), f"{what or 'an error'} says {str(raised)!r}, which lacks {words!r}")
    else:
        with_words = repr(words) if words else "a message"
        raise LawError(f"{what or 'a mistake'} is accepted; raise {error.__name__} with {with_words}")
