"""Position schemes: which position ids the tokens get. Importing them imports no torch."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.config import MOST, AtLeast0, AtLeast1, AtLeast2, Share
from lengthwise.core.errors import LengthwiseError, reject, require
from lengthwise.core.levels import LevelKind, PlaceRule
from lengthwise.core.registry import NameOfClass, Registry
from lengthwise.core.rng import Rng
from lengthwise.core.user_code import load_object


class PositionScheme(ABC):
    """Gives each token its position ids, as a function of the places and a random stream; tokens play no part.

    Ids lie in ``0..max_position``. In the coupled schemes, tokens without a place have id 0.
    """

    name: ClassVar[str] = NameOfClass()  # type: ignore[assignment]
    summary: ClassVar[str] = ""
    predicted: ClassVar[bool] = False
    """Whether the model has to predict the ids of the tokens that it generates."""
    uses_places: ClassVar[bool] = False
    """Whether ids follow the task's places; otherwise they number the tokens."""
    one_id_per_place: ClassVar[bool] = True
    """Where ids follow places: whether tokens have equal ids exactly where they have equal places."""
    wraps: ClassVar[bool] = False
    """Whether ids come again and again, so that a few of them suffice for any number of tokens."""
    at_test: ClassVar[dict[str, Any]] = {}
    """The fields that are different at test time."""
    max_position: int

    def __post_init__(self) -> None:
        reject(self.max_position < 1, f"max_position must be at least 1, got {self.max_position}")
        reject(self.max_position > MOST, f"max_position must be at most {MOST:g}, got {self.max_position:g}")

    @property
    def equals_places(self) -> bool:
        """Whether two tokens have equal ids exactly where they have equal places, so that spans are those of places."""
        return self.uses_places and self.one_id_per_place

    @abstractmethod
    def assign(self, places: Int[ndarray, "B T K"], kinds: tuple[LevelKind, ...], rng: Rng) -> Int[ndarray, "B T L"]:
        """Position ids of a batch, from its places and their kinds of levels.

        There are L = K levels of ids where places are used, otherwise one. Raises `LengthwiseError` when more ids are
        needed than ``max_position`` allows.
        """

    def for_evaluation(self) -> PositionScheme:
        """The scheme that gives ids at test time."""
        return dataclasses.replace(self, **self.at_test) if self.at_test else self  # type: ignore[type-var]

    def kinds(self, kinds: tuple[LevelKind, ...]) -> tuple[LevelKind, ...]:
        """The kinds of the levels of the ids, given those of the places."""
        return kinds if self.uses_places else ("position",)

    def check_rule(self, rule: PlaceRule) -> None:
        """Raises `LengthwiseError` if the ids that the model has to predict do not follow from the prefix."""
        del rule

    def check_fits(self, largest: int) -> None:
        """Raises `LengthwiseError` if ``largest`` is above ``max_position``."""
        if largest > self.max_position:
            raise LengthwiseError(
                f"needs {largest} position ids, but max_position is {self.max_position}; raise scheme.max_position"
            )


SCHEMES: Registry[PositionScheme] = Registry("scheme", PositionScheme)


def scheme_with_ids(name: str, count: int) -> PositionScheme:
    """The scheme of this name with ids up to ``count``; one whose ids come again is as it is by default."""
    return SCHEMES.build(name) if SCHEMES.get(name).wraps else SCHEMES.build(name, max_position=count)


def sorted_subsets(rng: Rng, rows: int, size: int, low: int, high: int) -> Int[ndarray, "rows size"]:
    """``rows`` uniform random subsets of ``low..high`` with ``size`` members each, sorted."""
    keys = rng.random((rows, high - low + 1), dtype=np.float32)
    chosen = np.argpartition(keys, size - 1, axis=1)[:, :size] if size < keys.shape[1] else np.argsort(keys, axis=1)
    return np.sort(chosen, axis=1) + low


class Numbering(PositionScheme):
    """Numbers the tokens; their places play no part."""

    def assign(self, places: Int[ndarray, "B T K"], kinds: tuple[LevelKind, ...], rng: Rng) -> Int[ndarray, "B T 1"]:
        rows, tokens, _ = places.shape
        if not self.wraps:
            self.check_fits(tokens - 1)
        return self.number(rows, tokens, rng)[:, :, None].copy()

    @abstractmethod
    def number(self, rows: int, tokens: int, rng: Rng) -> Int[ndarray, "B T"]:
        """The ids of ``rows`` sequences of so many tokens, which ``max_position`` allows."""


@SCHEMES.register("sequential")
class Sequential(Numbering):
    """Consecutive ids from 0; with ``random_start``, from a uniform random offset in training ("absolute shift")."""

    summary = "0, 1, 2, …; with a random start in training on request (absolute shift)"
    at_test: ClassVar[dict[str, Any]] = {"random_start": False}

    max_position: int = 2048
    random_start: bool = False

    def number(self, rows: int, tokens: int, rng: Rng) -> Int[ndarray, "B T"]:
        start = rng.integers(self.max_position - tokens + 2, size=(rows, 1)) if self.random_start else 0
        return np.broadcast_to(start + np.arange(tokens), (rows, tokens))


SCHEMES.alias("random-start", {"name": "sequential", "random_start": True})


@SCHEMES.register("randomized")
class Randomized(Numbering):
    """A sorted random subset of ``0..max_position``, at training and at test (Ruoss et al. 2023)."""

    summary = "a sorted random subset of the id range, at training and at test"

    max_position: int = 2047

    def number(self, rows: int, tokens: int, rng: Rng) -> Int[ndarray, "B T"]:
        return sorted_subsets(rng, rows, tokens, 0, self.max_position)


@SCHEMES.register("randomized-float")
class RandomizedFloat(Numbering):
    """Sorted random real positions in training, on a grid of ``grid`` ids for each unit; i · ``grid`` at test.

    Ids are whole numbers in this package, so that a real position x is the id that is nearest to ``grid`` · x. Where a
    test string is longer than ``max_position`` / ``grid``, its ids are spread evenly over the range.
    """

    summary = "sorted random positions on a fine grid in training; evenly spaced at test"
    at_test: ClassVar[dict[str, Any]] = {"evenly": True}

    max_position: int = 4095
    grid: AtLeast1 = 4
    evenly: bool = False
    """Whether ids are evenly spaced, as they are at test."""

    def number(self, rows: int, tokens: int, rng: Rng) -> Int[ndarray, "B T"]:
        if not self.evenly:
            return sorted_subsets(rng, rows, tokens, 0, self.max_position)
        step = min(float(self.grid), self.max_position / max(1, tokens - 1))
        return np.broadcast_to(np.floor(np.arange(tokens) * step).astype(np.int64), (rows, tokens))


@SCHEMES.register("pose")
class PoSE(Numbering):
    """Consecutive ids with ``chunks - 1`` random jumps up to ``max_position``; plain ids at test (Zhu et al. 2023).

    With ``cut="first_half"`` (two chunks only) the first chunk is at most half of the sequence, as published;
    ``anywhere`` cuts uniformly.
    """

    summary = "consecutive ids with a random skip in training, so that far offsets are seen"

    max_position: int = 2047
    chunks: AtLeast1 = 2
    cut: Literal["first_half", "anywhere"] = "first_half"

    def number(self, rows: int, tokens: int, rng: Rng) -> Int[ndarray, "B T"]:
        jumps = min(self.chunks, tokens) - 1
        ids = np.broadcast_to(np.arange(tokens), (rows, tokens)).copy()
        if jumps:
            if jumps == 1 and self.cut == "first_half":
                cuts = rng.integers(1, (tokens + 1) // 2 + 1, size=(rows, 1))
            else:
                cuts = sorted_subsets(rng, rows, jumps, 1, tokens - 1)
            skips = np.sort(rng.integers(self.max_position - tokens + 2, size=(rows, jumps)), axis=1)
            chunk = (np.arange(tokens) >= cuts[:, :, None]).sum(axis=1)
            ids += np.take_along_axis(np.pad(skips, ((0, 0), (1, 0))), chunk, axis=1)
        return ids

    def for_evaluation(self) -> Sequential:
        return Sequential(max_position=self.max_position)


Draw = Literal["sorted", "contiguous", "pose", "permuted"]


@SCHEMES.register("coupled")
class Coupled(PositionScheme):
    """Place p gets the id table[p]; the table of a ``position`` level is drawn anew for every sequence.

    ``draw`` says how. ``sorted``: a sorted random subset of ``1..max_position``. ``permuted``: the same in random
    order. ``contiguous``: a block with a random offset. ``pose``: a block with one random jump. Blocks start at 1 at
    test. On a ``label`` level the id is the place. Place 0 ("no place") keeps id 0.
    """

    summary = "tokens that belong together share an id, redrawn per sequence"
    uses_places = True

    max_position: int = 512
    draw: Draw = "sorted"
    start_at_one: bool = False
    """Whether blocks start at 1, as they do at test."""

    def assign(self, places: Int[ndarray, "B T K"], kinds: tuple[LevelKind, ...], rng: Rng) -> Int[ndarray, "B T K"]:
        ids = places.copy()
        for level, kind in enumerate(kinds):
            count = int(places[:, :, level].max(initial=0))
            if kind == "label" or count == 0:
                continue
            self.check_fits(count)
            table = np.zeros((len(places), count + 1), dtype=np.int64)
            table[:, 1:] = self._table(len(places), count, rng)
            ids[:, :, level] = np.take_along_axis(table, places[:, :, level], axis=1)
        return ids

    def _table(self, rows: int, count: int, rng: Rng) -> Int[ndarray, "rows count"]:
        if self.draw in ("sorted", "permuted"):
            table = sorted_subsets(rng, rows, count, 1, self.max_position)
            return rng.permuted(table, axis=1) if self.draw == "permuted" else table
        block = np.broadcast_to(np.arange(1, count + 1), (rows, count))
        if self.start_at_one:
            return block
        room = self.max_position - count + 1
        if self.draw == "contiguous":
            return block + rng.integers(room, size=(rows, 1))
        # One jump. Unlike in the scheme `pose`, the part before it has an offset, too; both are uniform, then sorted.
        offsets = np.sort(rng.integers(room, size=(rows, 2)), axis=1)
        cut = rng.integers(1, count + 1, size=(rows, 1))
        return block + np.where(np.arange(count) < cut, offsets[:, :1], offsets[:, 1:])

    def for_evaluation(self) -> Coupled:
        """The same scheme for random subsets; the block that starts at 1 for ``contiguous`` and ``pose``."""
        if self.draw in ("sorted", "permuted"):
            return self
        return dataclasses.replace(self, draw="contiguous", start_at_one=True)


@SCHEMES.register("abacus")
class AbacusScheme(PositionScheme):
    """Place p gets the id p + κ, with κ uniform in 0..``offset`` for each sequence in training, and 0 at test.

    No id above the longest training place + ``offset`` is ever trained, so that lengths beyond are out of reach. As
    published, signs have id 0; here they share a place of their own, and get an id like all others.
    """

    summary = "the place plus a random offset in training: no id beyond training length + largest offset"
    uses_places = True
    at_test: ClassVar[dict[str, Any]] = {"offset": 0}

    max_position: int = 1024
    offset: AtLeast0 = 99

    def assign(self, places: Int[ndarray, "B T K"], kinds: tuple[LevelKind, ...], rng: Rng) -> Int[ndarray, "B T K"]:
        ids = places.copy()
        for level, kind in enumerate(kinds):
            if kind == "label":
                continue
            of_level = places[:, :, level]
            largest = int(of_level.max(initial=0))
            self.check_fits(largest)
            most = min(self.offset, self.max_position - largest)
            offsets = rng.integers(most + 1, size=(len(of_level), 1)) if self.offset else 0
            ids[:, :, level] = np.where(of_level > 0, of_level + offsets, 0)
        return ids


@SCHEMES.register("predictive-coupling")
class PredictiveCoupling(Coupled):
    """Predictive Position Coupling (PPC, Golowich et al. 2025): coupled ids that the model predicts as it generates."""

    summary = "coupled ids that the model itself predicts while it generates (PPC)"
    predicted = True

    def check_rule(self, rule: PlaceRule) -> None:
        if rule == "next" and self.draw in ("sorted", "permuted"):
            raise LengthwiseError(
                f"predictive-coupling with draw {self.draw!r} can't predict the id of a new place, and this task goes "
                "on to new places; set scheme.draw to contiguous or pose, or use scheme coupled"
            )


@SCHEMES.register("coupled-rare-jump")
class RareJump(Coupled):
    """`Coupled` with a block of ids for each sequence, which has one random jump with probability ``jump``.

    Without jumps a model never meets far ids beside near ones. With them the next id is not always the current one plus
    one, so that a model of one layer can't be sure of the token behind a jump. Rare jumps do both. Ours, from no paper.
    """

    summary = "coupled ids as one block, with a jump in some sequences only"

    draw: Draw = "pose"
    jump: Share = 0.3

    def _table(self, rows: int, count: int, rng: Rng) -> Int[ndarray, "rows count"]:
        jumping = super()._table(rows, count, rng)
        if self.draw != "pose" or self.start_at_one:
            return jumping
        block = rng.integers(1, self.max_position - count + 2, size=(rows, 1)) + np.arange(count)
        return np.where(rng.random((rows, 1)) < self.jump, jumping, block)

    def for_evaluation(self) -> RareJump:
        return dataclasses.replace(self, draw="contiguous", start_at_one=True)


@SCHEMES.register("id-multiplier")
class IdMultiplier(Numbering):
    """Ids 0, f, 2f, … with a factor f uniform in 1..``factor`` for each sequence in training, and 1 at test.

    The factor is at most what ``max_position`` allows. The public code draws one factor for a whole batch.
    """

    summary = "0, f, 2f, … with a random factor f in training; plain ids at test"
    at_test: ClassVar[dict[str, Any]] = {"factor": 1}

    max_position: int = 2047
    factor: AtLeast1 = 16

    def number(self, rows: int, tokens: int, rng: Rng) -> Int[ndarray, "B T"]:
        most = min(self.factor, self.max_position // max(1, tokens - 1))
        factors = rng.integers(1, most + 1, size=(rows, 1)) if self.factor > 1 else np.ones((rows, 1), dtype=np.int64)
        return factors * np.arange(tokens)


@SCHEMES.register("reset")
class Reset(PositionScheme):
    """Ids count the tokens since the place last fell, plus a random ``offset`` per sequence in training.

    A task that numbers the symbols of each part from the same place says where a part begins: at a separator, or at the
    next number. Tokens without a place have id 0. There is one level of ids, from the first level of places.
    """

    summary = "ids that restart at 1 where a new part of the string begins"
    uses_places = True
    one_id_per_place = False
    at_test: ClassVar[dict[str, Any]] = {"offset": 0}

    max_position: int = 1024
    offset: AtLeast0 = 99

    def assign(self, places: Int[ndarray, "B T K"], kinds: tuple[LevelKind, ...], rng: Rng) -> Int[ndarray, "B T K"]:
        first = places[:, :, 0]
        tokens = np.arange(first.shape[1])
        falls = np.diff(first, axis=1, prepend=0) < 0
        started = np.maximum.accumulate(np.where(falls | (first == 0), tokens + (first == 0), 0), axis=1)
        counts = np.where(first > 0, tokens - started + 1, 0)
        largest = int(counts.max(initial=0))
        self.check_fits(largest)
        most = min(self.offset, self.max_position - largest)
        offsets = rng.integers(most + 1, size=(len(first), 1)) if self.offset else 0
        ids = places.copy()
        for level, kind in enumerate(kinds):
            if kind == "position":
                ids[:, :, level] = np.where((counts > 0) & (places[:, :, level] > 0), counts + offsets, 0)
        return ids


@SCHEMES.register("own-rule")
class OwnRule(PositionScheme):
    """Ids from ``function``, a ``path/to/file.py:name`` that is called as ``name(places, rng, training)``.

    ``places`` are whole numbers ``[B, T, K]``, ``rng`` is a NumPy generator, and ``training`` is False at test. The
    function returns ids of the same shape within 0..max_position, 0 for tokens without a place. Without a function the
    id is the place.
    """

    summary = "ids from a Python function of your own"
    uses_places = True
    one_id_per_place = False
    at_test: ClassVar[dict[str, Any]] = {"training": False}

    max_position: int = 512
    function: str = ""
    training: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.function:  # a mistake in its name shows here, and names in files that we read are refused here
            self._rule()

    def assign(self, places: Int[ndarray, "B T K"], kinds: tuple[LevelKind, ...], rng: Rng) -> Int[ndarray, "B T K"]:
        """What the function returns; raises `LengthwiseError` for a wrong shape, type or range."""
        ids: Any = places.copy()
        if self.function:
            ids = np.asarray(self._rule()(places.copy(), rng, self.training))
            where = f"the rule {self.function.rpartition(':')[2]}"
            require(
                ids.shape == places.shape, f"{where} returns shape {ids.shape}; return {places.shape}, as the places"
            )
            require(np.issubdtype(ids.dtype, np.integer), f"{where} returns {ids.dtype}; return whole numbers")
            require(ids.min(initial=0) >= 0, f"{where} returns {ids.min()}; ids must be 0 or more")
        for level, kind in enumerate(kinds):
            if kind == "position":
                self.check_fits(int(ids[:, :, level].max(initial=0)))
            else:
                ids[:, :, level] = places[:, :, level]
        return ids.astype(np.int64)

    def _rule(self) -> Callable[..., Any]:
        return load_object(self.function, kind="rule", wanted="function", fits=callable)


@SCHEMES.register("modulo")
class Modulo(Numbering):
    """Token i (from 0) has the id i mod ``m``, in training and at test: a coupling of all tokens of one residue class.

    Every id is trained at every length. What depends on tokens some periods away, for a period that divides ``m``, is
    local, and a language that needs positions only modulo ``m`` needs none beside these ids.
    """

    summary = "0, 1, …, m − 1 again and again: tokens a multiple of m apart share an id"
    wraps = True

    m: AtLeast2 = 2
    """The period; a multiple of every period that the task has."""

    @property
    def max_position(self) -> int:  # type: ignore[override]
        return self.m - 1

    def number(self, rows: int, tokens: int, rng: Rng) -> Int[ndarray, "B T"]:
        return np.broadcast_to(np.arange(tokens) % self.m, (rows, tokens))
