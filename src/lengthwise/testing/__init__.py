"""Public checks for components of your own: `check_task`, `check_scheme`, `check_encoding` and `check_mixer`.

Each runs every law that the package holds its own components to, and raises `LawError` at the first that is broken:

>>> from lengthwise.testing import check_task
>>> check_task("copy")
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from lengthwise.core.errors import LawError as LawError
from lengthwise.core.errors import LengthwiseError, UnknownNameError
from lengthwise.core.user_code import place_in_user_code, summary

KINDS = ("task", "scheme", "encoding", "mixer")


@dataclass(frozen=True)
class Checked:
    """One law and what came of it; ``broken`` says how the component breaks it, and is empty where it holds."""

    law: str
    says: str
    broken: str = ""
    tried: bool = True
    """False where an exception in the component's own code stopped it, which is ``broken`` of the first such law."""

    @property
    def holds(self) -> str:
        """``yes``, ``no`` or ``not checked``."""
        return "not checked" if not self.tried else "no" if self.broken else "yes"


def laws_of(kind: str) -> dict[str, Callable[[Any], None]]:
    """The laws of one kind of component by name; raises `UnknownNameError` for another kind."""
    if kind not in KINDS:
        raise UnknownNameError("kind of component", kind, KINDS)
    from lengthwise.testing import laws

    return laws.LAWS[kind][1]


def checks(kind: str, component: Any) -> Iterator[Checked]:
    """Run every law on a component, in order; an exception in its own code breaks a law, too.

    Such an exception is named with its place in the user's file, once: other laws that it stops are not checked.
    """
    crashes = set[str]()
    for name, law in laws_of(kind).items():
        says = (law.__doc__ or "").strip().splitlines()[0]
        try:
            law(component)
        except LawError as error:
            yield Checked(name, says, str(error))
        except Exception as error:
            words = str(error) if isinstance(error, LengthwiseError) else summary(error)
            place = place_in_user_code(error)
            crash = words if words.startswith(place) else f"{place}: {words}"
            # The sizes of a batch are other numbers in other laws; the line of the file is not.
            same = place + re.sub(r"\d+", "0", crash.removeprefix(place))
            yield Checked(name, says, "" if same in crashes else crash, tried=False)
            crashes.add(same)
        else:
            yield Checked(name, says)


def check_task(task: Any) -> None:
    """Hold a task (an object, a name or ``FILE:Class``) to all laws; raises `LawError` with what is broken and where.

    The laws are the functions of `lengthwise.testing.laws`.
    """
    _check("task", task)


def check_scheme(scheme: Any) -> None:
    """Hold a position scheme to all laws; raises `LawError` with what is broken."""
    _check("scheme", scheme)


def check_encoding(encoding: Any) -> None:
    """Hold a position encoding (its specification) to all laws; raises `LawError` with what is broken."""
    _check("encoding", encoding)


def check_mixer(mixer: Any) -> None:
    """Hold a mixer (its specification) to all laws; raises `LawError` with what is broken."""
    _check("mixer", mixer)


def _check(kind: str, component: Any) -> None:
    from lengthwise.testing import laws

    registry, every = laws.LAWS[kind]
    component = registry.build(component)
    for law in every.values():
        law(component)
