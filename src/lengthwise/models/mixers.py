"""Settings of mixers: what mixes the tokens of a sequence in each layer, attention or a recurrence. No torch.

The formulas are in `lengthwise.nn`: `LSTM`, `Mamba2`, `DeltaNet`, `RWKV7`.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from lengthwise.core.config import AtLeast1, changed_fields
from lengthwise.core.registry import NameOfClass, Registry
from lengthwise.positions.encodings import pattern_parts

if TYPE_CHECKING:
    from lengthwise.nn import Mixer


class MixerSpec(ABC):
    """The settings of a mixer: what ``model.mixer`` and result files name."""

    name: ClassVar[str] = NameOfClass()  # type: ignore[assignment]
    summary: ClassVar[str] = ""

    @property
    def label(self) -> str:
        """The pattern that stands for it: its name, with the settings that differ from their defaults."""
        changed = ",".join(f"{name}={json.dumps(value)}" for name, value in changed_fields(self).items())
        return MIXERS.describe(self)["name"] + (f"({changed})" if changed else "")

    @abstractmethod
    def build(self, width: int, heads: int) -> Mixer:
        """The torch module for a model of this width; imports torch."""


MIXERS = Registry[MixerSpec]("mixer", MixerSpec)


@MIXERS.register("attention")
class AttentionSpec(MixerSpec):
    """Multi-head attention: `lengthwise.models.transformer.Attention`, which the model builds from its own settings."""

    summary = "softmax attention with the model's position encoding; what it keeps grows with the sequence"

    def build(self, width: int, heads: int) -> Mixer:
        raise NotImplementedError("attention is built by the model")


@MIXERS.register("lstm")
class LSTMSpec(MixerSpec):
    """Long short-term memory (Hochreiter and Schmidhuber 1997)."""

    summary = "gates and a cell that depend on the last output: any finite automaton fits in its state"

    def build(self, width: int, heads: int) -> Mixer:
        from lengthwise import nn

        return nn.LSTM(width)


@MIXERS.register("mamba")
class MambaSpec(MixerSpec):
    """Mamba-2 (Dao and Gu 2024)."""

    summary = "a state space model (Mamba-2) whose state decays by a factor in (0, 1) of each head and token"

    state: AtLeast1 = 64
    expand: AtLeast1 = 2

    def build(self, width: int, heads: int) -> Mixer:
        from lengthwise import nn

        return nn.Mamba2(width, heads, state=self.state, expand=self.expand)


@MIXERS.register("deltanet")
class DeltaNetSpec(MixerSpec):
    """DeltaNet (Schlag et al. 2021; Yang et al. 2024), with factors up to 2 by Grazzi et al. 2025."""

    summary = "a matrix whose entry at a key is replaced: I − βkkᵀ, β in (0, 1), or (0, 2) with negative"

    gated: ClassVar[bool] = False
    negative: bool = False

    def build(self, width: int, heads: int) -> Mixer:
        from lengthwise import nn

        return nn.DeltaNet(width, heads, gated=self.gated, negative=self.negative)


@MIXERS.register("gated-deltanet")
class GatedDeltaNetSpec(DeltaNetSpec):
    """Gated DeltaNet (Yang et al. 2025), with factors up to 2 by Grazzi et al. 2025."""

    summary = "DeltaNet whose matrix also decays by a factor of each head and token"

    gated = True


MIXERS.alias("deltanet-negative", {"name": "deltanet", "negative": True})
MIXERS.alias("gated-deltanet-negative", {"name": "gated-deltanet", "negative": True})


@MIXERS.register("rwkv7")
class RWKV7Spec(MixerSpec):
    """RWKV-7 (Peng et al. 2025) without what spans layers."""

    summary = "a matrix that decays by coordinate, and whose entry at one key is removed while another is written"

    rank: AtLeast1 = 16

    def build(self, width: int, heads: int) -> Mixer:
        from lengthwise import nn

        return nn.RWKV7(width, heads, rank=self.rank)


@lru_cache
def layer_mixers(pattern: str) -> tuple[MixerSpec, ...]:
    """The mixers of a pattern such as ``mamba*3+attention``, layer by layer until it comes again.

    Raises ValueError for what is no pattern, and `LengthwiseError` for an unknown mixer.
    """
    parts = pattern_parts(pattern, "mixers; write mamba*3+attention")
    return tuple(MIXERS.build(name, **fields) for name, fields, times in parts for _ in range(times))
