"""The device that the environment names, or one clear line."""

from __future__ import annotations

from pathlib import Path

import pytest
from terminal import Terminal

from lengthwise.core.errors import LengthwiseError
from lengthwise.models.device import VARIABLE, chosen_device


def test_the_processor_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert chosen_device() == "cpu"
    monkeypatch.setenv(VARIABLE, "cpu")
    assert chosen_device() == "cpu"


@pytest.mark.parametrize("name", ["gpu", "", "meta", "cuda:99", "cpu:x"])
def test_a_device_that_torch_cannot_use(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(VARIABLE, name)
    with pytest.raises(LengthwiseError, match=f"{VARIABLE} is '{name}', which this torch can't use"):
        chosen_device()


@pytest.mark.parametrize("stacked", ["true", "false"])
def test_a_run_says_so(terminal: Terminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stacked: str) -> None:
    monkeypatch.setenv(VARIABLE, "gpu")
    run = ["run", "addition", "--only", "coupled", "--seeds", "2", "--set", f"training.stacked={stacked}"]
    answer = terminal(*run, "--out", tmp_path)
    assert answer.code == 2
    assert answer.err.splitlines()[-1].startswith(f"error: {VARIABLE} is 'gpu'")
