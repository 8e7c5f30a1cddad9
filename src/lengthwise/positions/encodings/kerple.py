"""Settings of the encoding `kerple`; its formula is `Kerple` in `nn/kerple.py`.

A new encoding also says where it differs from the defaults of `EncodingSpec`: ``has_table`` (a learned row per id),
``translation_invariant = False`` (absolute ids matter), ``uses_ids = False``, ``smooth = False``. The laws check them.
"""

from __future__ import annotations

from typing import Literal

from lengthwise.positions.encodings.base import ENCODINGS, ModuleSpec


@ENCODINGS.register("kerple")
class KerpleSpec(ModuleSpec):
    """A learned penalty on distance, r·ln(1 + s·distance) or r·distance^s, per head (Chi et al. 2022)."""

    module = "Kerple"
    summary = "a learned penalty per head, logarithmic in the distance (or a power of it)"

    form: Literal["log", "power"] = "log"

    @property
    def label(self) -> str:
        """``kerple``, or ``kerple-power``."""
        return self.name if self.form == "log" else f"{self.name}-{self.form}"


ENCODINGS.alias("kerple-power", {"name": "kerple", "form": "power"})
