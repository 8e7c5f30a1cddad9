"""What is asked of the same task again and again is found once."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def once(most: int = 256) -> Callable[[F], F]:
    """A decorator of functions that depend on their arguments alone: what they found for the last ``most`` is kept.

    Arguments without a hash, such as a task of the user's with a list, are asked anew.
    """

    def decorate(function: F) -> F:
        kept = lru_cache(most)(function)

        @wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            try:
                hash((given, *named.values()))
            except TypeError:
                return function(*given, **named)
            return kept(*given, **named)

        return call  # type: ignore[return-value]

    return decorate
