"""The specification of `lengthwise.nn.PaTH`."""

from __future__ import annotations

from lengthwise.core.bounds import AtLeast1
from lengthwise.positions.encodings.base import ENCODINGS, ModuleSpec


@ENCODINGS.register("path")
class PaTHSpec(ModuleSpec):
    """Queries and keys pass a matrix I − β w wᵀ for each token between them (Yang et al. 2025)."""

    module = "PaTH"
    summary = "products of queries and keys pass a learned matrix for each token between them; ids are not used"
    uses_ids = False

    rank: AtLeast1 = 32
    """The rank of the projection that gives w."""
