"""Settings of the encoding `t5`; its formula is `T5Bias` in `nn/t5.py`."""

from __future__ import annotations

from lengthwise.positions.encodings.base import ENCODINGS, ModuleSpec


@ENCODINGS.register("t5")
class T5Spec(ModuleSpec):
    """A learned bias per logarithmic bucket of distances, shared by all layers (Raffel et al. 2020).

    Keys with larger ids than the query's (coupled ids fall) have buckets of their own.
    """

    module = "T5Bias"
    summary = "a learned bias per logarithmic bucket of distances"

    buckets: int = 32
    max_distance: int = 128

    def __post_init__(self) -> None:
        if self.buckets < 2 or self.max_distance <= self.buckets // 2:
            raise ValueError(
                f"t5 needs buckets >= 2 and max_distance > buckets / 2, got {self.buckets} and {self.max_distance}"
            )
