"""Files of tensors: safetensors with a text about them, written whole or not at all.

A digest covers both. It guards against accidents (flipped bits, files cut short), not against anyone who means to
change a file. Digest and text are one entry of the header: safetensors writes several in an order of chance, and the
same tensors shall give the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from lengthwise.core.errors import reject
from lengthwise.core.files import replace_file, replacing

ABOUT = "about"
"""The one entry of the header: digest, a blank, the text."""


def digest_of(tensors: Mapping[str, Tensor], text: str = "") -> str:
    """Of names, bytes and text: safetensors itself would read a flipped bit without a word."""
    total = hashlib.blake2b(text.encode(), digest_size=16)
    for name in sorted(tensors):
        total.update(name.encode())
        total.update(tensors[name].contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return total.hexdigest()


def write_tensors(path: Path, tensors: Mapping[str, Tensor], about: str, *, previous: Path | None = None) -> None:
    """Write tensors in host memory and a text; what was there is kept as ``previous``.

    Raises `LengthwiseError` when the disk is full or the folder can't be written: nothing is changed then.
    """
    with replacing(path) as temporary:
        try:
            save_file(dict(tensors), temporary, metadata={ABOUT: f"{digest_of(tensors, about)} {about}"})
        except SafetensorError as error:
            # It wraps the system's error as text; `replacing` knows what to say about those.
            raise OSError(str(error)) from None
        if previous is not None and path.exists():
            replace_file(path, previous)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], str]:
    """What `write_tensors` wrote; raises `ValueError` for any other file."""
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        digest, about = metadata[ABOUT].split(" ", 1)
    except (SafetensorError, KeyError, ValueError, RuntimeError, OSError) as error:
        raise ValueError(f"{path} is no such file") from error
    reject(digest != digest_of(tensors, about), f"{path} is damaged")
    return tensors, about
