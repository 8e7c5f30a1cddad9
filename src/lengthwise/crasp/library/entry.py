"""`Entry` holds one program of the library: its text, its definition and its source."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from lengthwise.crasp.program.program import Program


@dataclass(frozen=True)
class Entry:
    """A program's text with the definition of what it computes.

    The tests compare it with an independent oracle on all words (or all valid prompts) up to ``checked_length``.
    """

    name: str
    definition: str
    source: str
    text: str
    checked_length: int

    @cached_property
    def program(self) -> Program:
        """The parsed program."""
        from lengthwise.crasp.syntax.parser import parse  # imports lark, which listing programs does not need

        return parse(self.text)


HUANG = "Huang et al. 2025 (arXiv 2410.02140)"
BHATTAMISHRA = "language: Bhattamishra et al. 2020 (arXiv 2009.11264); program: ours"
OURS = "ours"
