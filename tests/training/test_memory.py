"""Freed memory stays with the process."""

from __future__ import annotations

import resource

import pytest
import torch

from lengthwise.training.memory import keep_memory


def test_blocks_are_not_asked_for_anew() -> None:
    if not keep_memory():
        pytest.skip("this C library cannot be told")
    torch.ones(1 << 24)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(4):
        torch.ones(1 << 24)
    # Each block is 16,384 pages.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 1000
