"""The position systems (scheme and encoding) that get a verdict, and the fragment of C-RASP for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lengthwise.core.errors import UnknownNameError
from lengthwise.crasp.program.fragment import Fragment


@dataclass(frozen=True)
class PositionSystem:
    """A scheme with an encoding; ``source`` names the theorem that links the encoding to its fragment."""

    name: str
    scheme: dict[str, Any]
    encoding: str
    fragment: Fragment | None
    source: str
    relative: bool = False
    """Attention depends on differences of ids only, as Theorem A requires."""
    coupled: bool = False


CITED_LINK = "cited: Yang et al. (arXiv 2506.16055)"

SYSTEMS: tuple[PositionSystem, ...] = (
    PositionSystem("nope", {"name": "sequential"}, "nope", "none", "theorem, Huang et al. 2025"),
    PositionSystem("ape", {"name": "sequential", "random_start": True}, "learned", "ape", "theorem, Huang et al. 2025"),
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

FRAGMENTS_CONTAINING: dict[str, tuple[str, ...]] = {
    "none": ("none", "local", "periodic", "ape"),
    "local": ("local", "ape"),
    "periodic": ("periodic", "ape"),
    "ape": ("ape",),
}
"""The fragments that contain the programs of each fragment, itself included."""


def contains(larger: str, smaller: str) -> bool:
    """Whether every program of ``smaller`` is one of ``larger``."""
    return larger in FRAGMENTS_CONTAINING[smaller]


def position_systems(names: list[str]) -> tuple[PositionSystem, ...]:
    """The position systems of these names, or all if none is given; raises `UnknownNameError` with a suggestion."""
    known = {system.name: system for system in SYSTEMS}
    aliases = {"learned": "ape", "ppc": "predictive-coupling"}
    for name in names:
        if aliases.get(name, name) not in known:
            raise UnknownNameError("position system", name, known)
    wanted = {aliases.get(name, name) for name in names}
    return tuple(system for system in SYSTEMS if not names or system.name in wanted)
