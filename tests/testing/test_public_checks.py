"""The public checks pass on everything registered, and name what a broken component breaks."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from lengthwise.core.config import config
from lengthwise.core.errors import LengthwiseError
from lengthwise.nn import ALiBi
from lengthwise.nn.base import PositionEncoding
from lengthwise.positions.encodings import ENCODINGS, EncodingSpec
from lengthwise.positions.schemes import SCHEMES, PositionScheme, Sequential
from lengthwise.testing import LawError, check_encoding, check_scheme, check_task, checks, laws_of


@pytest.mark.parametrize("name", SCHEMES)
def test_every_registered_scheme_passes(name: str) -> None:
    check_scheme(name)


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_registered_encoding_passes(name: str) -> None:
    check_encoding(name)


def test_names_and_objects_are_taken() -> None:
    check_task("copy")
    with pytest.raises(LengthwiseError, match="unknown task 'copie'"):
        check_task("copie")
    with pytest.raises(LengthwiseError, match="unknown kind of component"):
        laws_of("recipe")


@config
class Backwards(Sequential):
    """Ids that fall."""

    def assign(self, places: Any, kinds: Any, rng: Any) -> Any:
        return super().assign(places, kinds, rng)[:, ::-1].copy()


CALLS = count()


@config
class Unseeded(Sequential):
    """Ids from a count of its own, so that no two calls agree."""

    def assign(self, places: Any, kinds: Any, rng: Any) -> Any:
        return super().assign(places, kinds, rng) + next(CALLS)


@config
class Endless(PositionScheme):
    """Ids beyond max_position."""

    max_position: int = 16

    def assign(self, places: Any, kinds: Any, rng: Any) -> Any:
        rows, tokens, _ = places.shape
        return np.broadcast_to(np.arange(tokens) + 20, (rows, tokens))[:, :, None].copy()


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (Backwards(), "do not rise from token to token"),
        (Unseeded(), "draw from rng only"),
        (Endless(), r"outside of 0\.\.16"),
    ],
    ids=["backwards", "unseeded", "endless"],
)
def test_a_broken_scheme_is_named(broken: PositionScheme, words: str) -> None:
    with pytest.raises(LawError, match=words):
        check_scheme(broken)


class LooksAhead(PositionEncoding):
    """Adds the mean of all ids, later ones too."""

    def embed(self, ids: Tensor) -> Tensor:
        return ids.float().mean(dim=1, keepdim=True).expand(-1, ids.shape[1], -1).repeat(1, 1, 32)


@config
class Ahead(EncodingSpec):
    """The specification of `LooksAhead`."""

    def build(self, shape: Any) -> PositionEncoding:
        return LooksAhead()


def test_a_broken_encoding_is_named() -> None:
    Ahead.name = "ahead"
    found = {check.law: check.broken for check in checks("encoding", Ahead())}
    assert "changes logits before it" in found["later_tokens_change_nothing_earlier"]
    assert "cached logits differ" in found["cached_equals_uncached"]
    assert found["logits_are_finite"] == ""


class OwnParameter(ALiBi):
    """Holds a parameter itself, which has no form for several runs."""

    def __init__(self, heads: int, levels: Any) -> None:
        super().__init__(heads, levels)
        self.factor = nn.Parameter(torch.ones(()))

    def pair_bias(self, queries: Tensor, keys: Tensor, index: int) -> Tensor:
        return self.factor * super().pair_bias(queries, keys, index)


@config
class Lonely(EncodingSpec):
    """The specification of `OwnParameter`."""

    def build(self, shape: Any) -> PositionEncoding:
        return OwnParameter(shape.heads, shape.position_levels)


def test_an_encoding_that_cannot_train_as_a_stack_is_named() -> None:
    Lonely.name = "lonely"
    found = {check.law: check.broken for check in checks("encoding", Lonely())}
    broken = {law: text for law, text in found.items() if text and law != "layer_round_trip"}
    assert list(broken) == ["two_runs_in_a_stack_equal_each_alone"]
    assert "OwnParameter holds parameters itself, which can't train as a stack" in broken.popitem()[1]


def test_an_exception_of_the_component_breaks_the_law() -> None:
    @config
    class Crashes(Sequential):
        def assign(self, places: Any, kinds: Any, rng: Any) -> Any:
            raise RuntimeError("no ids today")

    found = list(checks("scheme", Crashes()))
    assert found[0].broken == "RuntimeError: no ids today"
    assert all(check.says for check in found)
