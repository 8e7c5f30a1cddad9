"""Files of tensors: equal contents are equal bytes, so that a model can be named by them."""

from __future__ import annotations

from pathlib import Path

import torch

from lengthwise.models.tensor_files import read_tensors, write_tensors


def test_the_same_tensors_and_text_give_the_same_bytes(tmp_path: Path) -> None:
    tensors = {name: torch.arange(3.0) + number for number, name in enumerate("cab")}
    found = set()
    for number in range(20):
        write_tensors(tmp_path / f"{number}.safetensors", tensors, "a text with {braces} and blanks")
        found.add((tmp_path / f"{number}.safetensors").read_bytes())
    assert len(found) == 1
    again, about = read_tensors(tmp_path / "0.safetensors")
    assert about == "a text with {braces} and blanks"
    assert all(torch.equal(again[name], tensor) for name, tensor in tensors.items())
