"""A batch of sequences of one layout, and the builder that writes it column by column.

A *column* is the same position of all B sequences. The builder takes its tokens, places and parents in one call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.vocab import BOS, EOS, SEP, Vocab

NOT_SCORED = -100
MOST_POSITIONS = 1 << 27
"""The most entries of `Batch.parents` and `Batch.selectors`: 1 GiB."""

Values = int | ndarray
"""The tokens of one column: one id for all rows, or one per row, shape ``[B]``."""
Positions = Sequence[Values]
"""Positions of tokens: each one number for all rows, or one per row; -1 stands for none in that row."""


@dataclass(frozen=True)
class Layout:
    """The length, and in subclasses every other number that decides what each column holds."""

    length: int

    @property
    def axes(self) -> dict[str, int]:
        """The keys of a result besides the length, e.g. ``{"chains": 4, "depth": 20}``."""
        return {}


class Column(NamedTuple):
    """The structure of one column; a tuple, because one is made for every token of every batch."""

    scored: bool
    answer: bool
    parents: Positions
    selectors: Positions


@dataclass(frozen=True)
class Batch:
    """B sequences of T tokens with one layout, so there is no padding.

    ``allowed`` (next-symbol tasks, shape ``[B, T, V]``) marks the right *next* tokens of every position. The last axis
    of ``places`` is the level; place 0 means "no place".
    """

    vocab: Vocab
    layout: Layout
    input_ids: Int[ndarray, "B T"]
    places: Int[ndarray, "B T K"]
    columns: tuple[Column, ...]
    allowed: Bool[ndarray, "B T V"] | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """B, the number of sequences."""
        return self.input_ids.shape[0]

    @property
    def tokens(self) -> int:
        """T, the number of tokens of a sequence."""
        return self.input_ids.shape[1]

    @cached_property
    def scored(self) -> Bool[ndarray, " T"]:
        """Which columns count in loss and metrics."""
        return np.array([column.scored for column in self.columns])

    @cached_property
    def labels(self) -> Int[ndarray, "B T"]:
        """The token where it is scored (unshifted), -100 elsewhere."""
        return np.where(self.scored, self.input_ids, NOT_SCORED)

    @cached_property
    def answer(self) -> Bool[ndarray, " T"]:
        """Which scored columns hold the answer proper (not scratchpad, not the end token)."""
        return np.array([column.answer for column in self.columns])

    @property
    def has_trace(self) -> bool:
        """Whether something is generated before the answer proper: a scratchpad."""
        rest = self.scored & ~self.answer
        return bool((self.input_ids[0, rest] != self.vocab[EOS]).any())

    @cached_property
    def prompt_length(self) -> int:
        """Number of tokens before the first scored one; T if none is scored."""
        return int(np.argmax(self.scored)) if self.scored.any() else self.tokens

    @cached_property
    def unit(self) -> str:
        """What tokens of the answers are called: ``digit``, if all are, else ``token``."""
        names = {self.vocab.tokens[token] for token in np.unique(self.input_ids[:, self.scored]).tolist()} - {EOS}
        return "digit" if all(name.isdigit() and len(name) == 1 for name in names) else "token"

    @cached_property
    def parents(self) -> Int[ndarray, "B T P"]:
        """Positions of the tokens that each scored token is a function of; -1 pads."""
        return self._positions([column.parents for column in self.columns])

    @cached_property
    def selectors(self) -> Int[ndarray, "B T S"]:
        """Positions of the tokens that choose the parents by content; -1 pads."""
        return self._positions([column.selectors for column in self.columns])

    def _positions(self, columns: list[Positions]) -> ndarray:
        width = max((len(column) for column in columns), default=0)
        require(
            self.size * self.tokens * width <= MOST_POSITIONS,
            f"{self.size} sequences of {self.tokens} tokens with up to {width} parents each do not fit in memory; "
            "choose a smaller length",
        )
        result = np.full((self.size, self.tokens, width), -1, dtype=np.int64)
        for t, column in enumerate(columns):
            for p, position in enumerate(column):
                if type(position) is int and 0 <= position < t:  # nearly all
                    result[:, t, p] = position
                    continue
                _check_whole(position, t, "parents or selectors")
                try:
                    result[:, t, p] = position
                except (ValueError, OverflowError) as error:
                    raise LengthwiseError(f"column {t} got parents or selectors that do not fit: {error}") from None
                # -1 stands for none in one row of several; for all rows it is left out instead.
                lowest = 0 if np.ndim(position) == 0 else -1
                wrong = (result[:, t, p] < lowest) | (result[:, t, p] >= t)
                if wrong.any():
                    named = result[wrong.argmax(), t, p]
                    raise LengthwiseError(f"token {t} names token {named} as a parent or selector; name one before it")
        return result

    def text(self, row: int) -> list[str]:
        """The tokens of one sequence as strings."""
        return self.vocab.decode(self.input_ids[row].tolist())


class SequenceBuilder:
    """Writes a batch of ``size`` sequences, one column of ``size`` tokens at a time.

    `given` and `predicted` return the position of the new column, to be named as a parent later.
    """

    def __init__(self, vocab: Vocab, size: int, levels: int = 1) -> None:
        self.vocab, self.size, self.levels = vocab, size, levels
        # Where to, tokens, places: of one column, or of several as one block of memory.
        self._written: list[tuple[int | slice, Values, Any]] = []
        self._columns: list[Column] = []
        self._allowed: ndarray | None = None
        self.extra: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self._columns)

    def given(self, ids: Values, place: Any = 0) -> int:
        """Append a column of the prompt; ``place`` is one number (first level) or one per level, or arrays ``[B]``."""
        return self.append(ids, place, _GIVEN)

    def givens(self, ids: Int[ndarray, "n B"], place: int | Int[ndarray, " n"] | Int[ndarray, "n B"] = 0) -> list[int]:
        """`given` of n columns at once; ``place`` (first level) is one number, or one per column, or per token."""
        where = slice(len(self), len(self) + len(ids))
        if isinstance(place, ndarray) and place.ndim == 1:
            place = place[:, None]
        self._written.append((where, ids, place))
        self._columns += [_GIVEN] * len(ids)
        return list(range(where.start, where.stop))

    def predicted(
        self, ids: Values, place: Any = 0, parents: Positions = (), selectors: Positions = (), *, answer: bool = True
    ) -> int:
        """Append a scored column: a function of its ``parents``, which ``selectors`` choose where content does."""
        return self.append(ids, place, Column(True, answer, tuple(parents), tuple(selectors)))

    def bos(self) -> int:
        """Append ``<bos>`` with place 0; returns its position."""
        return self.given(self.vocab[BOS])

    def sep(self, place: Any = 0) -> int:
        """Append ``<sep>`` to the prompt; returns its position."""
        return self.given(self.vocab[SEP], place)

    def eos(self, place: Any = 0, parents: Positions = (), selectors: Positions = ()) -> int:
        """Append the scored ``<eos>``; it is not part of the answer, so stopping errors are counted apart."""
        return self.predicted(self.vocab[EOS], place, parents, selectors, answer=False)

    def allow(self, allowed: Bool[ndarray, "B T V"]) -> None:
        """Set the right next tokens of every position, for tasks that have no labels."""
        self._allowed = allowed

    def append(self, ids: Values, place: Any, column: Column) -> int:
        """Append a column of known structure, such as one of another batch; returns its position."""
        if isinstance(ids, str):
            raise LengthwiseError(f"a column takes token ids, got the text {ids!r}; write seq.vocab[{ids!r}]")
        at = len(self)
        self._written.append((at, ids, place))
        self._columns.append(column)
        return at

    def build(self, layout: Layout) -> Batch:
        """The batch of all columns, with ``layout``."""
        length = len(self)
        require(length > 0, "the sequence is empty; write at least one token, such as seq.bos()")
        by_column = np.empty((length, self.size), dtype=np.int64)
        places = np.zeros((length, self.size, self.levels), dtype=np.int64)
        for where, ids, place in self._written:
            try:
                by_column[where] = ids
            except (ValueError, TypeError, OverflowError):
                raise LengthwiseError(
                    f"column {where} got tokens of shape {np.shape(ids)}; "
                    f"give one id, or one for each of the {self.size} sequences"
                ) from None
            _check_whole(ids, where, "tokens")
            for level, value in enumerate(place if isinstance(place, tuple) else (place,)):
                _check_whole(value, where, "places")
                try:
                    places[where, :, level] = value
                except (ValueError, IndexError, OverflowError) as error:
                    raise LengthwiseError(f"column {where} got places that do not fit: {error}") from None
        size = len(self.vocab)
        require(
            not by_column.size or (by_column.min() >= 0 and by_column.max() < size),
            f"token ids must be in 0..{size - 1}, got {by_column.min()}..{by_column.max()}" if by_column.size else "",
        )
        require(places.min(initial=0) >= 0, f"places must be 0 or more (0: no place), got {places.min(initial=0)}")
        return Batch(
            vocab=self.vocab,
            layout=layout,
            input_ids=np.ascontiguousarray(by_column.T),
            places=np.ascontiguousarray(places.transpose(1, 0, 2)),
            columns=tuple(self._columns),
            allowed=self._allowed,
            extra=self.extra,
        )


def _check_whole(values: Any, where: int | slice, what: str) -> None:
    whole = type(values) is int or np.asarray(values).dtype.kind in "iu"
    if not whole:  # the message is costly, and there is one column for every token of every batch
        raise LengthwiseError(f"column {where} got {what} that are no whole numbers: {values!r}")


_GIVEN = Column(False, False, (), ())
