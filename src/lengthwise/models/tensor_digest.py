"""A fingerprint of tensors and a text about them, by which a file notices a flipped bit."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import torch
from torch import Tensor


def digest_of(tensors: Mapping[str, Tensor], text: str = "") -> str:
    """Of names, bytes and text: safetensors itself would read a flipped bit without a word."""
    total = hashlib.blake2b(text.encode(), digest_size=16)
    for name in sorted(tensors):
        total.update(name.encode())
        total.update(tensors[name].contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return total.hexdigest()
