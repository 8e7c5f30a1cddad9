"""A position system by name: ``scheme+encoding``, the same in `run`, `compare`, `lw.Experiment` and on every page."""

from __future__ import annotations

from lengthwise.core.config import config
from lengthwise.positions.encodings import EncodingSpec
from lengthwise.positions.schemes import PositionScheme, Sequential

RANDOM_START = "random-start"
"""`Sequential` with a random start in training (absolute shift)."""


@config
class System:
    """A position scheme and an encoding, both by name."""

    scheme: str
    encoding: str

    @property
    def name(self) -> str:
        """``scheme+encoding``; without positions, ``nope`` alone."""
        return "nope" if (self.scheme, self.encoding) == ("sequential", "nope") else f"{self.scheme}+{self.encoding}"


def system_of(scheme: PositionScheme, encoding: EncodingSpec) -> System:
    """The system of two components; one of ``path/to/file.py:Class`` goes by the name of its class."""
    started = isinstance(scheme, Sequential) and scheme.random_start
    names = RANDOM_START if started else scheme.name, encoding.label
    return System(*(name.rpartition(":")[2] for name in names))
