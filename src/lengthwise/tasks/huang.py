"""The configurations of the eight algorithmic tasks of Huang et al. 2025, under the names of their results."""

from __future__ import annotations

from typing import Any

from lengthwise.tasks.base import TASKS

HUANG: dict[str, dict[str, Any]] = {
    "bin_majority": {"name": "majority", "letters": 2},
    "majority": {"name": "majority"},
    "bin_majority_interleave": {"name": "bin-majority-interleave"},
    "sort": {"name": "sort"},
    "unique_copy": {"name": "copy", "symbols": "distinct"},
    "repeat_copy": {"name": "copy", "symbols": "repeats"},
    "parity": {"name": "parity", "ones": "uniform"},
    "addition": {"name": "binary-addition"},
}
"""Key of the published results to configuration; as names, ``parity`` and ``addition`` are our own formats."""

for _key in ("bin_majority", "bin_majority_interleave", "unique_copy", "repeat_copy"):
    TASKS.alias(_key, HUANG[_key])
