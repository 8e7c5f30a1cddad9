"""Position systems: a scheme with an encoding, and the fragment of C-RASP that theory links to the two.

A model with another mixer than attention is one, too: ``lstm``, or with layers of attention ``mamba+attention@rope``.

A system has one name in `run`, `compare`, `lw.Experiment` and on every page: ``scheme+encoding``. Those of the
literature are also known by a short name, such as ``ape``, by which `predict` and `decide` ask for them.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lengthwise.core.config import config
from lengthwise.core.errors import UnknownNameError, require, spelled
from lengthwise.crasp.program import Fragment

if TYPE_CHECKING:
    from lengthwise.positions.encodings import EncodingSpec
    from lengthwise.positions.schemes import PositionScheme

RANDOM_START = "random-start"
"""The scheme ``sequential`` with a random start in training (absolute shift)."""


@dataclass(frozen=True)
class Theory:
    """What theory has on a system: its short name, its fragment, and the theorem that links the two."""

    known_as: str
    fragment: Fragment | None
    theorem: str
    relative: bool = False
    """Attention depends on differences of ids only, as Theorem A requires."""
    coupled: bool = False


@config
class PositionSystem:
    """A position scheme and an encoding, both by name; the scheme may be `RANDOM_START`."""

    scheme: str
    encoding: str
    mixer: str = "attention"
    """What mixes the tokens, by layer: ``model.mixer`` of `ModelConfig`."""

    @property
    def name(self) -> str:
        """``scheme+encoding``; without positions, ``nope`` alone. Another mixer comes first, with ``@`` between."""
        bare = (self.scheme, self.encoding) == ("sequential", "nope")
        positions = "nope" if bare else f"{self.scheme}+{self.encoding}"
        if self.mixer == "attention":
            return positions
        return f"{self.mixer}@{positions}" if self.attends else self.mixer

    @property
    def attends(self) -> bool:
        """Whether some layer has attention, so that positions matter."""
        return "attention" in re.split(r"[+*]", self.mixer)

    @property
    def theory(self) -> Theory:
        """What theory has on it; a fragment of None where there is no theorem."""
        if self.mixer != "attention":
            return Theory(self.name, None, "no theorem")
        return THEORY.get((self.scheme, self.encoding)) or Theory(self.name, None, "no theorem")

    @property
    def known_as(self) -> str:
        """The short name of the literature where it has one, such as ``ape``; else `name`."""
        return self.theory.known_as

    @property
    def fragment(self) -> Fragment | None:
        """The fragment of C-RASP whose programs it runs at every length; None where no theorem gives one."""
        return self.theory.fragment

    @property
    def theorem(self) -> str:
        """What links the encoding to its fragment."""
        return self.theory.theorem

    def rests_on(self, answer: str, basis: str) -> str:
        """What an answer on programs rests on under this system: a *yes* also on what links it to its fragment.

        That is cited for some systems, which is weaker than proved.
        """
        return "cited" if (answer, basis, self.theorem) == ("yes", "proved", CITED_LINK) else basis

    @property
    def relative(self) -> bool:
        return self.theory.relative

    @property
    def coupled(self) -> bool:
        return self.theory.coupled

    @property
    def random_start(self) -> bool:
        return self.scheme == RANDOM_START

    @property
    def registered_scheme(self) -> str:
        """The registered scheme: that of `RANDOM_START` is ``sequential``."""
        return "sequential" if self.random_start else self.scheme


CITED_LINK = "cited: Yang et al. (arXiv 2506.16055)"
_HUANG, _OURS = "theorem, Huang et al. 2025", "ours: Corollary C"

THEORY: dict[tuple[str, str], Theory] = {
    ("sequential", "nope"): Theory("nope", "none", _HUANG),
    (RANDOM_START, "learned"): Theory("ape", "ape", _HUANG),
    ("sequential", "alibi"): Theory("alibi", "local", CITED_LINK, relative=True),
    ("sequential", "rope"): Theory("rope", "periodic", CITED_LINK, relative=True),
    ("sequential", "sinusoidal"): Theory("sinusoidal", "periodic", CITED_LINK),
    ("modulo", "learned"): Theory(
        "modulo", "periodic", "theorem, Huang et al. 2025, without positions over symbols that say i mod m"
    ),
    ("sequential", "t5"): Theory("t5", None, "no theorem", relative=True),
    ("sequential", "fire"): Theory("fire", None, "no theorem"),
    ("randomized", "learned"): Theory("randomized", None, "no theorem"),
    ("pose", "rope"): Theory("pose", None, "no theorem; buys coverage of offsets"),
    ("coupled", "local-bias-sink"): Theory("coupled+local-bias-sink", None, _OURS, coupled=True),
    ("coupled", "learned"): Theory("coupled+learned", None, _OURS, coupled=True),
    ("predictive-coupling", "learned"): Theory("predictive-coupling", None, _OURS, coupled=True),
}
"""By scheme and encoding, in the order in which verdicts are listed."""

SYSTEMS: tuple[PositionSystem, ...] = tuple(PositionSystem(*names) for names in THEORY)
"""The systems that get a verdict."""


NAMES = {
    "nope": "no positions (nope)", "ape": "learned positions (ape)", "rope": "RoPE", "alibi": "ALiBi", "t5": "T5 bias",
    "modulo": "ids modulo m", "randomized": "randomized ids", "pose": "PoSE", "fire": "FIRE",
    "sinusoidal": "sinusoidal positions",
    "predictive-coupling": "coupled ids that are predicted (predictive-coupling)",
}  # fmt: skip
"""What a position system is called in a sentence, its name of rows and commands among the words; others by that."""


def name_of(system: PositionSystem) -> str:
    """The name by which a position system is asked for."""
    return system.encoding if (system.known_as, system.scheme) == (system.name, "sequential") else system.known_as


def words(system: str | PositionSystem) -> str:
    """What a position system is called in a sentence."""
    name = system if isinstance(system, str) else name_of(system)
    return NAMES.get(name, name)


def other_names(names: Container[str]) -> list[str]:
    """Of those of these systems whose name does not say it, what a forecast calls them, a line each."""
    found = (system for system in SYSTEMS if system.known_as not in system.name)
    return [f"{one.name}: {words(one)} in predict" for one in found if one.name in names or one.known_as in names]


ALIASES = {"learned": "ape", "coupled": "coupled+learned", "ppc": "predictive-coupling"}


def contains(larger: str, smaller: str) -> bool:
    """Whether every program of ``smaller`` is one of ``larger``; none is part of all, and all are part of ape."""
    return larger == smaller or smaller == "none" or larger == "ape"


def named_pair(scheme: str, encoding: str) -> tuple[str, str]:
    """Scheme and encoding, where ``encoding`` may be the short name of a system: plain ``ape`` is random-start+learned.

    Under another scheme, ``ape`` is its table.
    """
    known = {system.known_as: system for system in SYSTEMS}
    known |= {alias: known[name] for alias, name in ALIASES.items()}
    short = {name: system for name, system in known.items() if name != system.encoding}
    found = short.get(spelled(encoding, short))
    if found is None:
        return scheme, encoding
    if scheme == "sequential":
        return found.scheme, found.encoding
    return scheme, found.encoding if found.registered_scheme in ("sequential", scheme) else encoding


def system_of(scheme: PositionScheme, encoding: EncodingSpec, mixer: str = "attention") -> PositionSystem:
    """The system of components; one of ``path/to/file.py:Class`` goes by the name of its class."""
    from lengthwise.positions.schemes import Sequential

    started = isinstance(scheme, Sequential) and scheme.random_start
    ids, vectors = (name.rpartition(":")[2] for name in (RANDOM_START if started else scheme.name, encoding.label))
    return PositionSystem(ids, vectors, mixer)


def check_ids_are_used(scheme: str, encoding: EncodingSpec) -> None:
    """Raise `LengthwiseError` where an encoding does not use ids and the scheme gives others than positions."""
    require(
        encoding.uses_ids or scheme == "sequential",
        f"encoding {encoding.label!r} does not see ids, so scheme {scheme!r} would change nothing; leave the scheme "
        "out, or take an encoding that sees them, such as 'learned' or 'rope'",
    )


def position_systems(names: Sequence[str] = ()) -> tuple[PositionSystem, ...]:
    """The systems of these short names, or all of `SYSTEMS` without names.

    Raises `UnknownNameError` with a suggestion.
    """
    known = {system.known_as: system for system in SYSTEMS}
    wanted = [ALIASES.get(own := spelled(name, {*known, *ALIASES}), own) for name in names]
    for name, found in zip(names, wanted, strict=True):
        if found not in known:
            raise UnknownNameError("position system", name, known)
    return tuple(system for system in SYSTEMS if not names or system.known_as in wanted)
