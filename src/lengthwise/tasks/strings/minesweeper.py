"""Minesweeper on a square board, on two levels of places (after Cho et al. 2024)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated

import numpy as np
from pydantic import Field

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.levels import LevelKind
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, EOS, Vocab
from lengthwise.tasks.base import TASKS, Task


@TASKS.register("minesweeper")
class Minesweeper(Task):
    """``<bos> M E E E = M 1 1 1 <eos>``: for each empty field of the board, row by row, the number of mines around it.

    Length = side of the board; a field is a mine with probability ``mines``. On the first level of places the fields of
    a column share a place, on the second those of a row. An answer depends on at most nine fields.
    """

    summary = "the number of mines around each field of a square board; two levels of places"
    min_length = 2

    mines: Annotated[float, Field(gt=0, lt=1)] = 0.2

    @property
    def levels(self) -> tuple[LevelKind, ...]:
        """Column and row."""
        return ("position", "position")

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of(["E", "M", *map(str, range(9)), "="])

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Column and row i (from 0) have place i + 2, ``=`` has 1 on both levels."""
        n = layout.length
        board = (rng.random((n, n, seq.size)) < self.mines).astype(np.int64)
        around = np.pad(board, ((1, 1), (1, 1), (0, 0)))
        seq.bos()
        given = [[seq.given(board[r, c] + self.vocab["E"], place=(c + 2, r + 2)) for c in range(n)] for r in range(n)]
        seq.given(self.vocab["="], place=(1, 1))
        for r in range(n):
            for c in range(n):
                count = around[r : r + 3, c : c + 3].sum(axis=(0, 1))
                token = np.where(board[r, c] == 1, self.vocab["M"], count + self.vocab["0"])
                near = [
                    given[row][column]
                    for row in range(max(r - 1, 0), min(r + 2, n))
                    for column in range(max(c - 1, 0), min(c + 2, n))
                ]
                seq.predicted(token, place=(c + 2, r + 2), parents=near)
        seq.eos(place=(1, 1))

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Look at every field's neighbours."""
        fields = list(prompt[1:-1])
        n = round(len(fields) ** 0.5)
        if prompt[0] != BOS or prompt[-1] != "=" or n * n != len(fields) or n < 2 or not set(fields) <= {"E", "M"}:
            raise ValueError("not a square board")
        mines = [divmod(at, n) for at, field in enumerate(fields) if field == "M"]
        found = []
        for at, field in enumerate(fields):
            row, column = divmod(at, n)
            near = sum(abs(r - row) <= 1 and abs(c - column) <= 1 for r, c in mines) if field != "M" else 0
            found.append("M" if field == "M" else str(near))
        return [*found, EOS]
