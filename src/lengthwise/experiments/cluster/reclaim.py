"""Brings runs back that an interrupted cluster left under its leases, so that any command can go on with them."""

from __future__ import annotations

import os
import time
from pathlib import Path

from lengthwise.core.errors import LengthwiseError
from lengthwise.experiments.cluster.lease import PATIENCE, acquire, state_of
from lengthwise.experiments.run_directory import LEASES


def reclaim(folder: Path) -> None:
    """Move all runs and stacks under stale leases of a recipe's folder back into it.

    Raises `LengthwiseError` while a cluster is at work there.
    """
    roots = sorted(path for path in (folder / LEASES).glob("*/") if path.is_dir())
    if not roots:
        return
    before = [state_of(root, whole=True) for root in roots]
    time.sleep(PATIENCE)
    if [state_of(root, whole=True) for root in roots] != before:
        raise LengthwiseError(
            f"a cluster is at work in {folder}; wait for it to end, give its command again, or choose another --out"
        )
    for root in roots:
        lease = acquire(root, 0.01)
        if lease is None:
            raise LengthwiseError(f"another process is at work in {root}; wait for it to end, or choose another --out")
        for run in sorted((lease.folder / folder.name).glob("*/")):
            if not (folder / run.name).exists():
                os.rename(run, folder / run.name)
        lease.release()
