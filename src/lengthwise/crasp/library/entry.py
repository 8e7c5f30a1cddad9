"""What the library knows about one program."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from lengthwise.crasp.program.program import Program


@dataclass(frozen=True)
class Entry:
    """A program's text with the definition of what it computes.

    ``checked_length``: the tests compare it with an independent oracle on every word (acceptance) or every valid
    prompt (next-token programs, generated to the end) up to this length.
    """

    name: str
    definition: str
    source: str
    text: str
    checked_length: int

    @cached_property
    def program(self) -> Program:
        """The parsed program."""
        from lengthwise.crasp.syntax.parser import (
            parse,  # lark is imported when a program is wanted, not when one is listed
        )

        return parse(self.text)


HUANG = "Huang et al. 2025 (arXiv 2410.02140)"
BHATTAMISHRA = "language: Bhattamishra et al. 2020 (arXiv 2009.11264); program: ours"
OURS = "ours"
