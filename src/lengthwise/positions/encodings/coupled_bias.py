"""Settings of the encoding `coupled-bias`; its formula is `CoupledBias` in `nn/coupled_bias.py`."""

from __future__ import annotations

from lengthwise.positions.encodings.base import ENCODINGS, ModuleSpec


@ENCODINGS.register("coupled-bias")
class CoupledBiasSpec(ModuleSpec):
    """A learned bias per signed, clipped distance, with a table for each level; shared by the layers."""

    module = "CoupledBias"
    summary = "a learned bias per signed distance and level of the ids"

    buckets: int = 64
    """Distances from −buckets/2 to buckets/2 − 1 have a row each."""

    def __post_init__(self) -> None:
        if self.buckets < 2 or self.buckets % 2:
            raise ValueError(f"coupled-bias needs an even number of buckets >= 2, got {self.buckets}")
