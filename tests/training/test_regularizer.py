"""The positional regularizer against the published sum, and its refusal where it is not defined."""

from __future__ import annotations

import pytest
import torch

from lengthwise.core.errors import LengthwiseError
from lengthwise.models.config import ModelConfig
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import Sequential
from lengthwise.training.trainer import positional_regularizer
from oracle import SMALL, rough_model


@pytest.mark.parametrize(("encoding", "scale"), [("learned", 1.0), ("learned-slow", 0.1)])
@pytest.mark.parametrize("bias", [False, True])
def test_it_is_the_published_sum(bias: bool, encoding: str, scale: float):
    """Σ_{l,h} (1/N) Σ_j Σ_{i ≥ j} ((p_i W_q)·(p_j W_k))²: no 1/√d, no norm, no biases, diagonal included."""
    scheme = Sequential(max_position=7)
    model = rough_model("addition", scheme, encoding, ModelConfig(**{**vars(SMALL), "bias": bias}))
    state = model.state_dict()
    table = scale * state["encoding.tables.0.weight"].double()
    total = 0.0
    for layer in range(2):
        matrix = state[f"blocks.{layer}.attention.qkv.weight"].double()
        for head in range(2):
            query, key = matrix[head * 8 : head * 8 + 8], matrix[16 + head * 8 : 16 + head * 8 + 8]
            for j in range(8):
                for i in range(j, 8):
                    total += float((query @ table[i]) @ (key @ table[j])) ** 2 / 8
    assert positional_regularizer(model).item() == pytest.approx(total, rel=1e-4)


def test_it_has_gradients_for_the_table_and_the_projections():
    model = rough_model("addition", Sequential(max_position=7), "learned")
    positional_regularizer(model).backward()
    moved = {name for name, parameter in model.named_parameters() if parameter.grad is not None}
    assert moved == {"encoding.tables.0.weight", "blocks.0.attention.qkv.weight", "blocks.1.attention.qkv.weight"}


@pytest.mark.parametrize("encoding", [name for name in ENCODINGS if not ENCODINGS.get(name).has_table])
def test_other_encodings_are_refused(encoding: str):
    model = rough_model("addition", Sequential(max_position=7), encoding)
    with pytest.raises(LengthwiseError, match="not defined for this encoding; use encoding 'learned'"):
        positional_regularizer(model)


def test_behind_the_norm_it_cannot_be_lowered_by_smaller_tables():
    """RMSNorm undoes a common factor of token and position tables, and so does this form; the published one shrinks."""
    model = rough_model(
        "addition", Sequential(max_position=7), "learned", ModelConfig(**{**vars(SMALL), "norm": "rms"})
    )
    plain, normed = positional_regularizer(model).item(), positional_regularizer(model, normed=True).item()
    with torch.no_grad():
        model.table.weight.mul_(0.1)
        model.encoding.tables[0].weight.mul_(0.1)
    assert positional_regularizer(model).item() == pytest.approx(1e-4 * plain, rel=1e-4)
    assert positional_regularizer(model, normed=True).item() == pytest.approx(normed, rel=1e-4)


def test_behind_the_norm_it_is_the_products_of_scaled_vectors():
    model = rough_model(
        "addition", Sequential(max_position=7), "learned", ModelConfig(**{**vars(SMALL), "norm": "rms"})
    )
    tokens, table = model.table.weight.double(), model.encoding.tables[0].weight.double()
    sums = torch.stack([token + position for token in tokens for position in table])
    size = sums.square().mean().sqrt()
    total = 0.0
    for block in model.blocks:
        rows = table / size * block.norm1.weight.double()
        matrix = block.attention.qkv.weight.double()
        for head in range(2):
            query, key = rows @ matrix[head * 8 : head * 8 + 8].T, rows @ matrix[16 + head * 8 : 16 + head * 8 + 8].T
            total += float((query @ key.T).tril().square().sum().detach()) / 8
    assert positional_regularizer(model, normed=True).item() == pytest.approx(total, rel=1e-4)


def test_behind_another_norm_it_is_refused():
    model = rough_model(
        "addition", Sequential(max_position=7), "learned", ModelConfig(**{**vars(SMALL), "norm": "layer"})
    )
    with pytest.raises(LengthwiseError, match=r"defined for RMSNorm; set model\.norm to rms or peri"):
        positional_regularizer(model, normed=True)
