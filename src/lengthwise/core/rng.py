"""Named streams of random numbers. The package draws from no global generator."""

from __future__ import annotations

import hashlib

import numpy as np

Rng = np.random.Generator


def stream(seed: int, *names: int | str) -> Rng:
    """The generator of one named purpose, e.g. ``stream(seed, "train", step)``.

    The same arguments always give the same stream; any other arguments give an independent one. ``"1"`` differs from
    ``1``, and ``("a", "bc")`` from ``("ab", "c")``. A NumPy integer counts as the number that it is.
    Raises TypeError for names of other types, whose text might differ from process to process.
    """
    digest = hashlib.blake2b("\x1f".join(map(_written, (seed, *names))).encode(), digest_size=16).digest()
    return np.random.default_rng(np.frombuffer(digest, dtype=np.uint32).tolist())


def _written(name: int | str) -> str:
    if isinstance(name, np.integer):
        name = int(name)
    if type(name) is not int and type(name) is not str:
        raise TypeError(f"seeds and names of streams are whole numbers and strings, got {name!r}")
    return repr(name)
