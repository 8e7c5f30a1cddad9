"""What fuzzing found stays found: each input is read or refused in one line; and so are a few hundred random ones."""

from __future__ import annotations

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
def test_changed_inputs(name: str) -> None:
    work = fuzz.run_own(name, 100)
    assert work.found == {}
    assert 0 < work.refused <= work.fed == 100


@pytest.mark.slow
@pytest.mark.parametrize("name", fuzz.PARSERS)
def test_many_changed_inputs(name: str) -> None:
    work = fuzz.run_own(name, 12_000, seed=1)
    assert work.found == {}
    assert 0.1 < work.refused / work.fed < 1
