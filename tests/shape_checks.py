"""Checks annotations such as Int[Tensor, "B T L"] while tests run: each function's first calls, then one call in some.

Every check costs as much as a small operation of torch, and tests call some functions a million times. jaxtyping
with beartype makes the checks.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable, Sequence
from itertools import chain, cycle, repeat
from typing import Any

import jaxtyping

FIRST, ONE_IN = 20, 100
"""A function's calls that are checked in each process of the tests: the first so many, then one in so many."""
_every_call = jaxtyping.jaxtyped
_due: dict[tuple[str, str], Callable[[], bool]] = {}
"""Whether the next call is checked, by module and name, since a function inside another is a new one each time."""


def some_calls(*, typechecker: Any) -> Callable[[Any], Any]:
    """A decorator like `jaxtyping.jaxtyped`, which checks every call, and the fields of every new dataclass."""

    def decorate(target: Any) -> Any:
        if not _states_shapes(target):
            return target
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


def _states_shapes(target: Any) -> bool:
    """Whether a function's annotations, or those of a class or one that it comes from, name the axes of an array."""
    texts = [str(text) for each in getattr(target, "__mro__", (target,)) for text in _annotations(each).values()]
    names = vars(sys.modules[target.__module__])
    return any("'" in text for text in texts) or any(
        isinstance(names.get(word), type) and issubclass(names[word], jaxtyping.AbstractArray)
        for word in re.findall(r"\w+", " ".join(texts))
    )


def _annotations(target: Any) -> dict[str, Any]:
    return vars(target).get("__annotations__", {}) if inspect.isclass(target) else target.__annotations__


def _sampled(plain: Callable[..., Any], checked: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    """``plain``, and for some calls what ``checked()`` gives."""
    calls = chain(repeat(True, FIRST), cycle([False] * (ONE_IN - 1) + [True]))
    due = _due.setdefault((plain.__module__, plain.__qualname__), calls.__next__)

    @functools.wraps(plain)
    def function(*values: Any, **named: Any) -> Any:
        if due():
            return checked()(*values, **named)
        return plain(*values, **named)

    return function


def check_modules(names: Sequence[str]) -> None:
    """Check the calls of all functions of these modules, which must not be imported yet."""
    jaxtyping.jaxtyped = some_calls  # type: ignore[assignment]
    jaxtyping.install_import_hook(list(names), "beartype.beartype")
