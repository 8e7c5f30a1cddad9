"""Makes pieces of work from the plain values in which a scheduler carries them."""

from __future__ import annotations

from typing import Any

from lengthwise.experiments.cluster.cell_piece import CellPiece
from lengthwise.experiments.cluster.piece import Piece
from lengthwise.experiments.cluster.stage_piece import StagePiece
from lengthwise.experiments.cluster.sweep_piece import SweepPiece

KINDS: dict[str, type[SweepPiece | CellPiece | StagePiece]] = {
    "sweep": SweepPiece, "cell": CellPiece, "stage": StagePiece,
}  # fmt: skip


def piece_of(values: dict[str, Any]) -> Piece:
    """The piece that a ``to_json`` wrote."""
    return KINDS[values["kind"]].of(values)
