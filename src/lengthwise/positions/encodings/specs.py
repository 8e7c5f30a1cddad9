"""The specifications of the encodings; each builds its module in the file of the same family."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lengthwise.core.config import config
from lengthwise.positions.encodings.base import ENCODINGS, EncodingShape, EncodingSpec

if TYPE_CHECKING:
    from lengthwise.positions.encodings.modules import PositionEncoding


@ENCODINGS.register("nope")
@config
class NoPE(EncodingSpec):
    """No position encoding at all; the causal mask alone tells positions apart (Haviv et al. 2022)."""

    summary = "nothing is added; only the causal mask breaks symmetry"

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """A module whose hooks do nothing."""
        from lengthwise.positions.encodings.modules import PositionEncoding

        del shape
        return PositionEncoding()


@ENCODINGS.register("learned")
@config
class Learned(EncodingSpec):
    """A learned vector per id, added to the token's; one table per level, summed (APE)."""

    summary = "one learned table per level, added to the token embedding"
    has_table = True
    translation_invariant = False

    init_std: float = 0.05

    def __post_init__(self) -> None:
        if not 0 <= self.init_std < math.inf:
            raise ValueError(f"learned needs a finite init_std >= 0, got {self.init_std}")

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """Tables of ``max_position + 1`` rows."""
        from lengthwise.positions.encodings.absolute import LearnedTable

        return LearnedTable(self, shape)


@ENCODINGS.register("learned-slow")
@config
class SlowLearned(Learned):
    """A learned table that enters multiplied by ``scale``, so that Adam moves it by ``scale`` times the learning rate.

    Adam's steps have the size of the learning rate even where the loss hardly depends on a number; in a slow table
    what is not needed stays small. ``init_std`` is that of the product. A choice of ours, from no paper.
    """

    summary = "a learned table at a share of the learning rate, added to the token embedding"

    init_std: float = 0.002
    scale: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.scale <= 1:
            raise ValueError(f"learned-slow needs a scale above 0 and at most 1, got {self.scale}")

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """Tables of ``max_position + 1`` rows."""
        from lengthwise.positions.encodings.absolute import SlowLearnedTable

        return SlowLearnedTable(self, shape)


@ENCODINGS.register("sinusoidal")
@config
class Sinusoidal(EncodingSpec):
    """Fixed sines and cosines of the id, added to the token's vector (Vaswani et al. 2017)."""

    summary = "fixed sines and cosines, added to the token embedding"
    translation_invariant = False

    base: float = 10_000.0
    scale: float = 0.05
    """Factor on the sines, to match the size of the token embeddings."""

    def __post_init__(self) -> None:
        if not 0 < self.base < math.inf:
            raise ValueError(f"sinusoidal needs a finite base > 0, got {self.base}")

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """A module without parameters."""
        from lengthwise.positions.encodings.absolute import SinusoidalTable

        return SinusoidalTable(self, shape)


@ENCODINGS.register("rope")
@config
class RoPE(EncodingSpec):
    """Queries and keys are rotated by their ids, in the half layout (Su et al. 2021).

    Several coupled levels share the frequencies in contiguous blocks.
    """

    summary = "queries and keys rotated by their ids; attention hears differences only"

    base: float = 10_000.0

    def __post_init__(self) -> None:
        if not 0 < self.base < math.inf:
            raise ValueError(f"rope needs a finite base > 0, got {self.base}")

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """A module without parameters (but for the slot table)."""
        from lengthwise.positions.encodings.rotary import Rotary

        return Rotary(self, shape)


@ENCODINGS.register("alibi")
@config
class ALiBi(EncodingSpec):
    """A penalty linear in the distance of the ids, with fixed slopes per head (Press et al. 2022)."""

    summary = "a fixed linear penalty on distance, one slope per head"

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """A module without parameters (but for the slot table)."""
        from lengthwise.positions.encodings.relative import LinearBias

        return LinearBias(self, shape)


@ENCODINGS.register("t5")
@config
class T5(EncodingSpec):
    """A learned bias per bucket of distances, shared by all layers (Raffel et al. 2020).

    Ids that fall (coupled ids do) get buckets of their own, so that direction can be heard.
    """

    summary = "a learned bias per logarithmic bucket of distances"

    buckets: int = 32
    max_distance: int = 128

    def __post_init__(self) -> None:
        if self.buckets < 2 or self.max_distance <= self.buckets // 2:
            raise ValueError(
                f"t5 needs buckets >= 2 and max_distance > buckets / 2, got {self.buckets} and {self.max_distance}"
            )

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """A table of 2 × buckets × heads."""
        from lengthwise.positions.encodings.relative import BucketBias

        return BucketBias(self, shape)


@ENCODINGS.register("fire")
@config
class FIRE(EncodingSpec):
    """A small MLP on the distance divided by the query's position, both on a log scale (Li et al. 2024).

    The normalizer is the *maximum* of the threshold and the query's id, so its argument stays in [0, 1]; where ids
    can fall it is the maximum of threshold, query's and key's id. One bias is shared by all layers.
    """

    summary = "a learned function of relative distance, normalized by the query's position"
    translation_invariant = False

    threshold: float = 32.0
    """Initial value of the learned length threshold; about the training length."""
    width: int = 32
    scale: float = 0.1
    """Initial value of c in ln(c·x + 1)."""

    def __post_init__(self) -> None:
        for name in ("threshold", "width", "scale"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"fire needs a finite {name} > 0, got {getattr(self, name)}")

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """The MLP 1 → width → heads and its two scalars."""
        from lengthwise.positions.encodings.fire import Fire

        return Fire(self, shape)
