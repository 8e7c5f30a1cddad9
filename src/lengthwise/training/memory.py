"""Memory that a training step gives back is taken again by the next; the system need not be asked in between."""

from __future__ import annotations

import ctypes
import functools
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Parameters of mallopt(3)."""
_KEPT = 2**30
"""Bytes of free memory kept at the end of the heap, and the largest block that comes from it."""


@functools.cache
def keep_memory() -> bool:
    """Let the C library keep freed blocks, in the whole process; returns whether it could be told (glibc only).

    Otherwise a step's activations go back to the system at its end, and the next step finds its memory page by page,
    which takes longer than to fill it. The process then holds what its largest step needed. Nothing in this package
    calls it but the command line and the worker processes of a sweep; a program of one's own may.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return all(mallopt(parameter, _KEPT) == 1 for parameter in (_MMAP_THRESHOLD, _TRIM_THRESHOLD))
