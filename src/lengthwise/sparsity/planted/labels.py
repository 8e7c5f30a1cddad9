"""Label functions g* of planted strings: functions of the values of the k relevant tokens, in order of position."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.bounds import AtLeast2
from lengthwise.core.registry import Registry


class Label(ABC):
    """A function from k values in 0..m-1 to a label."""

    name: ClassVar[str]

    @abstractmethod
    def __call__(self, values: Int[ndarray, "*B k"]) -> Int[ndarray, "*B"]:
        """The labels of words of values."""

    @abstractmethod
    def classes(self, k: int, m: int) -> int:
        """Number of labels for k values in 0..m-1."""

    def check(self, k: int, m: int) -> None:
        """Raise `ValueError` if the function is not defined for k values in 0..m-1."""
        del k, m


LABELS: Registry[Label] = Registry("label function")


@LABELS.register("parity")
class ParityLabel(Label):
    """1 if the sum of the values is odd."""

    def __call__(self, values: Int[ndarray, "*B k"]) -> Int[ndarray, "*B"]:
        return values.sum(axis=-1) % 2

    def classes(self, k: int, m: int) -> int:
        return 2


@LABELS.register("sum_mod")
class SumMod(Label):
    """The sum of the values modulo ``modulus``."""

    modulus: AtLeast2

    def __call__(self, values: Int[ndarray, "*B k"]) -> Int[ndarray, "*B"]:
        return values.sum(axis=-1) % self.modulus

    def classes(self, k: int, m: int) -> int:
        return self.modulus


@LABELS.register("majority")
class MajorityLabel(Label):
    """The most frequent value; of equally frequent ones the smallest."""

    def __call__(self, values: Int[ndarray, "*B k"]) -> Int[ndarray, "*B"]:
        top = int(values.max(initial=0)) + 1
        return (values[..., None] == np.arange(top)).sum(axis=-2).argmax(axis=-1)

    def classes(self, k: int, m: int) -> int:
        return m


@LABELS.register("lookup")
class Lookup(Label):
    """Any function: ``table`` holds the label of each of the m^k words, the last value varying fastest."""

    m: int
    table: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.m < 1 or not self.table or min(self.table) < 0:
            raise ValueError("a lookup table needs m >= 1 values and labels of at least 0")

    def __call__(self, values: Int[ndarray, "*B k"]) -> Int[ndarray, "*B"]:
        weight = self.m ** np.arange(values.shape[-1])[::-1]
        return np.asarray(self.table)[(values * weight).sum(axis=-1)]

    def classes(self, k: int, m: int) -> int:
        return max(self.table) + 1

    def check(self, k: int, m: int) -> None:
        if len(self.table) != self.m**k or m > self.m:
            raise ValueError(
                f"a lookup of {k} values in 0..{m - 1} needs m >= {m} and m^k entries, got {len(self.table)}"
            )
