"""Checks annotations such as Int[Tensor, "B T L"] while tests run: each function's first calls, then one call in some.

Every check costs as much as a small operation of torch, and tests call some functions a million times. jaxtyping
with beartype makes the checks.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import jaxtyping

FIRST, ONE_IN = 50, 20
"""A function's calls that are checked in each process of the tests: the first so many, then one in so many."""
_every_call = jaxtyping.jaxtyped


def some_calls(*, typechecker: Any) -> Callable[[Any], Any]:
    """A decorator like `jaxtyping.jaxtyped`, which checks every call; classes are left to that."""

    def decorate(target: Any) -> Any:
        if not inspect.isfunction(target):
            return _every_call(target, typechecker=typechecker)
        calls, checked = 0, None

        @functools.wraps(target)
        def function(*values: Any, **named: Any) -> Any:
            nonlocal calls, checked
            calls += 1
            if calls > FIRST and calls % ONE_IN:
                return target(*values, **named)
            # Built at the first call, since most functions of a package are not called by most tests.
            checked = checked or _every_call(target, typechecker=typechecker)
            return checked(*values, **named)

        return function

    return decorate


def check_modules(names: Sequence[str]) -> None:
    """Check the calls of all functions of these modules, which must not be imported yet."""
    jaxtyping.jaxtyped = some_calls  # type: ignore[assignment]
    jaxtyping.install_import_hook(list(names), "beartype.beartype")
