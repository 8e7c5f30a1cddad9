"""Settings of the encoding `transformer-xl`; its formula is `TransformerXL` in `nn/transformer_xl.py`."""

from __future__ import annotations

from lengthwise.positions.encodings.base import ENCODINGS, ModuleSpec


@ENCODINGS.register("transformer-xl")
class TransformerXLSpec(ModuleSpec):
    """Queries meet projected sinusoids of the distance; shared by the layers (Dai et al. 2019)."""

    module = "TransformerXL"
    summary = "products of queries with projected sinusoids of the distance"
