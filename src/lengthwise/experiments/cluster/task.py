"""The function that a scheduler calls on a node, with plain values."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from lengthwise.core.errors import one_line_warnings
from lengthwise.experiments.cluster.piece import run_piece
from lengthwise.experiments.cluster.pieces import piece_of


def run_values(
    values: dict[str, Any], cpus: int, patience: float, driver: str, folder: str | None = None
) -> tuple[str, str]:
    """Run the piece of these values with so many threads; returns the fields of its `Outcome`.

    ``folder`` is that of the driver: tasks of a user's own are named by paths that may be relative to it.
    """
    one_line_warnings()
    if folder is not None and Path(folder).is_dir():
        os.chdir(folder)
    import torch

    torch.set_num_threads(cpus)
    if torch.cuda.is_available() and os.environ.get("CUDA_VISIBLE_DEVICES"):
        os.environ.setdefault("LENGTHWISE_DEVICE", "cuda")
    outcome = run_piece(piece_of(values), patience, driver)
    return outcome.status, outcome.what
