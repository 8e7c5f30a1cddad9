"""`Entry` holds one program of the library, as ``programs.toml`` has it: its text, its definition and its source."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from lengthwise.crasp.library.template import program_text
from lengthwise.crasp.program.program import Program


@dataclass(frozen=True)
class Entry:
    """A program with the definition of what it computes.

    The tests compare it with an independent oracle on all words (or all valid prompts) up to ``checked_length``.
    """

    name: str
    definition: str
    source: str
    checked_length: int
    template: str = ""
    values: dict[str, Any] = field(default_factory=dict, hash=False)
    written: str = ""
    """The text of a program without a template."""

    @property
    def text(self) -> str:
        """The text of the program."""
        return self.written or program_text(self.template, **self.values)

    @cached_property
    def program(self) -> Program:
        """The parsed program."""
        from lengthwise.crasp.syntax.parser import parse  # imports lark, which listing programs does not need

        return parse(self.text)
