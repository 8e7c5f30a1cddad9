"""Freed memory stays with the process."""

from __future__ import annotations

import subprocess
import sys

import pytest

from lengthwise.training.threads import keep_memory

BLOCKS = """
import resource
import torch
from lengthwise.training.threads import keep_memory

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def blocks():
    torch.ones(1 << 20)
    before = faults()
    for _ in range(8):
        torch.ones(1 << 20)
    return faults() - before

torch.set_num_threads(1)
asked, _, _, kept = blocks(), keep_memory(), blocks(), blocks()
print(asked, kept)
"""


def test_blocks_are_not_asked_for_anew() -> None:
    if not keep_memory():
        pytest.skip("this C library cannot be told")
    # In a process of its own: here other tests have left the heap in a state that no one knows.
    ran = subprocess.run([sys.executable, "-c", BLOCKS], capture_output=True, text=True, check=True)
    asked, kept = map(int, ran.stdout.split())
    assert kept < asked / 10
