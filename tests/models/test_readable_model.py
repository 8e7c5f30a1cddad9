"""`models/transformer.py` is the whole model: short, and copied out with its few imports it runs by itself."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

import lengthwise.models.transformer
from lengthwise.positions.schemes import Coupled
from oracle import SMALL, rough_model, slow_logits, some_inputs

FOLDER = Path(lengthwise.models.transformer.__file__).parent
KINDS = ("nope", "learned", "rope", "xpos", "t5", "cope", "path", "layers")
"""Encodings of every kind that the model tells apart; tests/laws/test_encodings.py has them all."""
PARTS = ("attention_state", "config", "initial_weights", "mixers", "position_head", "recurrence", "transformer")
SCRIPT = """
import sys
sys.modules["lengthwise.models"] = None  # any import from there fails

import torch
from safetensors.torch import load_file, save_file

from alone.attention_state import Cache
from alone.config import ModelConfig
from alone.transformer import Transformer
from lengthwise.positions.encodings import ENCODINGS, EncodingShape

given, results = load_file("given.safetensors"), {}
ids, positions = given["ids"], given["positions"]
for name in KINDS:
    for norm in ("rms", "layer", "peri")[: 3 if name == "rope" else 1]:
        config = ModelConfig(layers=2, heads=2, width=16, mlp_ratio=2, log_length=7, norm=norm, bias=norm == "layer")
        shape = EncodingShape(16, 2, 8, ("position",), 20)
        key = f"{name} {norm}"
        state = {k.removeprefix(key + " "): v for k, v in given.items() if k.startswith(key + " ")}
        model = Transformer(config, ENCODINGS.build(name), len(state["table.weight"]), shape, predicts_ids=False).eval()
        model.load_state_dict(state)
        with torch.inference_mode():
            cache = Cache(capacity=ids.shape[1])
            parts = [model(ids[:, t : t + 2], positions[:, t : t + 2], cache=cache) for t in range(0, ids.shape[1], 2)]
            results[key + " whole"] = model(ids, positions).logits
            results[key + " cached"] = torch.cat([part.logits for part in parts], dim=1)
            results[key + " some"] = model(ids, positions, at=torch.tensor([4, 1])).logits
save_file(results, "results.safetensors")
"""


def test_the_file_is_short_and_knows_no_kernels() -> None:
    text = (FOLDER / "transformer.py").read_text()
    assert len(text.splitlines()) <= 300
    assert not re.search(r"^\s*(from|import) .*kernels", text, re.MULTILINE)


def test_copied_out_it_passes_the_oracle(tmp_path: Path) -> None:
    """Every kind of encoding, every norm with one: whole sequences, pieces with a cache, and some positions only."""
    (tmp_path / "alone").mkdir()
    for part in PARTS:
        text = (FOLDER / f"{part}.py").read_text().replace("from lengthwise.models.", "from alone.")
        (tmp_path / "alone" / f"{part}.py").write_text(text)
    scheme = Coupled(max_position=20)
    inputs = some_inputs("addition", scheme, size=2)
    given, expected = {"ids": inputs.input_ids, "positions": inputs.position_ids}, {}
    for name in KINDS:
        for norm in ("rms", "layer", "peri")[: 3 if name == "rope" else 1]:
            model = rough_model("addition", scheme, name, dataclasses.replace(SMALL, norm=norm, bias=norm == "layer"))
            given |= {f"{name} {norm} {key}": value for key, value in model.state_dict().items()}
            expected[f"{name} {norm}"] = slow_logits(model, inputs.input_ids, inputs.position_ids)
    save_file({key: value.contiguous() for key, value in given.items()}, tmp_path / "given.safetensors")
    subprocess.run([sys.executable, "-c", f"KINDS = {KINDS}\n{SCRIPT}"], cwd=tmp_path, check=True)
    found = load_file(tmp_path / "results.safetensors")
    assert len(found) == 3 * len(expected) == 3 * (len(KINDS) + 2)
    for key, value in expected.items():
        for kind in ("whole", "cached"):
            assert torch.allclose(found[f"{key} {kind}"], value, atol=2e-4, rtol=1e-4)
        assert torch.allclose(found[f"{key} some"], value[:, [4, 1]], atol=2e-4, rtol=1e-4)
