"""What fuzzing found stays found: each input is read or refused in one line; and so are a few thousand random ones."""

from __future__ import annotations

import random
import time

import pytest

import fuzz


@pytest.mark.parametrize("name", fuzz.PARSERS)
def test_finds_and_seeds(name: str) -> None:
    finds = [path.read_bytes() for path in sorted((fuzz.FINDS / name).glob("*"))]
    for data in [*fuzz.seeds(name), *finds]:
        began = time.process_time()
        fuzz.feed(name, data)
        assert time.process_time() - began < fuzz.SECONDS


@pytest.mark.parametrize("name", fuzz.PARSERS)
def test_a_few_changed_bytes(name: str) -> None:
    moves = random.Random(name)
    for _ in range(100):
        data = bytearray(moves.choice(fuzz.seeds(name)))
        for _ in range(moves.choice([1, 2, 8])):
            place = moves.randrange(len(data) + 1)
            data[place : place + moves.randrange(4)] = moves.choice([b"", b"\xff", b"{2,", b"9" * 30])
        fuzz.feed(name, bytes(data))
