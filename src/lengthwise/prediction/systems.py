"""The position systems that get a verdict, and the fragment of C-RASP that each stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lengthwise.core.errors import UnknownNameError
from lengthwise.crasp.program.fragment import Fragment


@dataclass(frozen=True)
class PositionSystem:
    """A scheme with an encoding; ``source`` says why the encoding stands for its fragment."""

    name: str
    scheme: dict[str, Any]
    encoding: str
    fragment: Fragment | None
    source: str
    relative: bool = False
    """Attention hears differences of ids, which the locality theorem asks for."""
    coupled: bool = False


CITED_LINK = "cited: Yang et al. (arXiv 2506.16055)"

SYSTEMS: tuple[PositionSystem, ...] = (
    PositionSystem("nope", {"name": "sequential"}, "nope", "none", "theorem, Huang et al. 2025"),
    PositionSystem(
        "ape",
        {"name": "sequential", "random_start": True},
        "learned",
        "ape",
        "theorem, Huang et al. 2025",
    ),
    PositionSystem("alibi", {"name": "sequential"}, "alibi", "local", CITED_LINK, relative=True),
    PositionSystem("rope", {"name": "sequential"}, "rope", "periodic", CITED_LINK, relative=True),
    PositionSystem("sinusoidal", {"name": "sequential"}, "sinusoidal", "periodic", CITED_LINK),
    PositionSystem("t5", {"name": "sequential"}, "t5", None, "no theorem", relative=True),
    PositionSystem("fire", {"name": "sequential"}, "fire", None, "no theorem"),
    PositionSystem("randomized", {"name": "randomized"}, "learned", None, "no theorem"),
    PositionSystem("pose", {"name": "pose"}, "rope", None, "no theorem; buys coverage of offsets"),
    PositionSystem("coupled", {"name": "coupled"}, "learned", None, "ours: Corollary C", coupled=True),
    PositionSystem(
        "predictive-coupling", {"name": "predictive-coupling"}, "learned", None, "ours: Corollary C", coupled=True
    ),
)

WITHIN: dict[str, tuple[str, ...]] = {
    "none": ("none", "local", "periodic", "ape"),
    "local": ("local", "ape"),
    "periodic": ("periodic", "ape"),
    "ape": ("ape",),
}
"""A program in the fragment (key) is also one of these; a *no* for a fragment holds for those that it lies in."""


def contains(larger: str, smaller: str) -> bool:
    """Whether every program of ``smaller`` is one of ``larger``."""
    return larger in WITHIN[smaller]


def chosen(names: list[str]) -> tuple[PositionSystem, ...]:
    """The systems of these names (all, if none is given); raises `UnknownNameError` with a suggestion."""
    known = {system.name: system for system in SYSTEMS}
    aliases = {"learned": "ape", "ppc": "predictive-coupling"}
    for name in names:
        if aliases.get(name, name) not in known:
            raise UnknownNameError("position system", name, known)
    wanted = {aliases.get(name, name) for name in names}
    return tuple(system for system in SYSTEMS if not names or system.name in wanted)
