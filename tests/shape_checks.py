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

FIRST, ONE_IN = 20, 50
"""A function's calls that are checked in each process of the tests: the first so many, then one in so many."""
_every_call = jaxtyping.jaxtyped
_calls: dict[tuple[str, str], int] = {}
"""By module and name, since a function inside another is a new one at each call of that."""


def some_calls(*, typechecker: Any) -> Callable[[Any], Any]:
    """A decorator like `jaxtyping.jaxtyped`, which checks every call, and the fields of every new dataclass."""

    def decorate(target: Any) -> Any:
        if inspect.isfunction(target):
            # Built at the first call, since most functions of a package are not called by most tests.
            return _sampled(target, functools.cache(lambda: _every_call(target, typechecker=typechecker)))
        before = target.__init__
        whole = _every_call(target, typechecker=typechecker)
        after = whole.__init__
        if after is not before:
            whole.__init__ = _sampled(before, lambda: after)
        return whole

    return decorate


def _sampled(plain: Callable[..., Any], checked: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    """``plain``, and for some calls what ``checked()`` gives."""
    name = plain.__module__, plain.__qualname__

    @functools.wraps(plain)
    def function(*values: Any, **named: Any) -> Any:
        _calls[name] = calls = _calls.get(name, 0) + 1
        if calls > FIRST and calls % ONE_IN:
            return plain(*values, **named)
        return checked()(*values, **named)

    return function


def check_modules(names: Sequence[str]) -> None:
    """Check the calls of all functions of these modules, which must not be imported yet."""
    jaxtyping.jaxtyped = some_calls  # type: ignore[assignment]
    jaxtyping.install_import_hook(list(names), "beartype.beartype")
