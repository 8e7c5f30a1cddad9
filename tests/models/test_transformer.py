"""The transformer against its slow second implementation, in every configuration; caches; initial weights."""

from __future__ import annotations

import math

import pytest
import torch

from lengthwise.models.attention_state import Cache
from lengthwise.models.config import ModelConfig
from lengthwise.positions.schemes import Coupled
from oracle import SMALL, attention_reference, rough_model, slow_logits, some_inputs
from small import Echo

SCHEME = Coupled(max_position=20)


@pytest.mark.parametrize(
    "changes",
    [
        {"layers": 1},
        {"layers": 3},
        {"heads": 1},
        {"norm": "layer"},
        {"norm": "layer", "bias": True},
        {"norm": "peri"},
        {"norm": "peri", "qk_norm": False, "bias": True},
        {"bias": True},
        {"qk_norm": False},
        {"log_length": None},
        {"log_length": 2},
        {"tied": True},
        {"qk_norm": False, "log_length": None, "bias": True, "tied": True, "mlp_ratio": 1},
    ],
    ids=str,
)
@pytest.mark.parametrize("encoding", ["learned", "alibi"])
def test_every_option_equals_the_slow_model(changes: dict, encoding: str):
    model = rough_model("addition", SCHEME, encoding, ModelConfig(**{**vars(SMALL), **changes}))
    inputs = some_inputs("addition", SCHEME)
    slow = slow_logits(model, inputs.input_ids, inputs.position_ids)
    fast = model(inputs.input_ids, inputs.position_ids).logits
    assert torch.allclose(fast, slow, atol=2e-4, rtol=1e-4)
    asked = model(inputs.input_ids, inputs.position_ids, at=inputs.at).logits
    assert torch.allclose(asked, slow[:, inputs.at], atol=2e-4, rtol=1e-4)


def test_log_length_scaling_is_one_at_the_configured_length():
    """With keys i = c visible the factor ln(i)/ln(c) is 1; with one key there is nothing to choose from."""
    config = ModelConfig(**{**vars(SMALL), "layers": 1, "log_length": 6})
    scaled = rough_model("addition", SCHEME, "rope", config)
    plain = rough_model("addition", SCHEME, "rope", ModelConfig(**{**vars(config), "log_length": None}))
    inputs = some_inputs("addition", SCHEME)
    with_scale = scaled(inputs.input_ids, inputs.position_ids).logits
    without = plain(inputs.input_ids, inputs.position_ids).logits
    same = [torch.allclose(with_scale[:, t], without[:, t], atol=1e-5) for t in range(8)]
    assert same == [True, False, False, False, False, True, False, False]


@pytest.mark.parametrize("queries", [1, 3, 5])
@pytest.mark.parametrize("biased", [True, False])
def test_attention_reference_is_the_softmax_written_out(queries: int, biased: bool):
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, 2, n, 4, generator=generator) for n in (queries, 5, 5))
    bias = torch.randn(2, 2, queries, 5, generator=generator) if biased else None
    result = attention_reference(q, k, v, bias)
    for b in range(2):
        for h in range(2):
            for i in range(queries):
                visible = 5 - queries + i + 1
                weights = [
                    math.exp(float(q[b, h, i] @ k[b, h, j]) / 2 + (float(bias[b, h, i, j]) if bias is not None else 0))
                    for j in range(visible)
                ]
                expected = sum(w / sum(weights) * v[b, h, j] for j, w in enumerate(weights))
                assert torch.allclose(result[b, h, i], expected, atol=1e-5)  # type: ignore[arg-type]


def test_sdpa_equals_the_reference_on_the_models_own_masks():
    """The mask that the model hands to SDPA, with and without tokens in the cache."""
    generator = torch.Generator().manual_seed(0)
    model = rough_model("addition", SCHEME, "alibi")
    inputs = some_inputs("addition", SCHEME)
    cache = Cache(capacity=9)
    model(inputs.input_ids[:, :4], inputs.position_ids[:, :4], cache=cache)
    ids = inputs.position_ids[:, 4:9]
    context = model.contexts(ids, cache)[0]
    q = torch.randn(3, 2, 5, 8, generator=generator)
    k, v = torch.randn(2, 3, 2, 9, 8, generator=generator)
    bias = model.encoding.bias(ids, inputs.position_ids[:, :9])
    fast = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=context.bias)
    assert torch.allclose(fast, attention_reference(q, k, v, bias), atol=1e-5)


def test_a_cache_keeps_selected_rows():
    scheme = Coupled(max_position=20)
    model = rough_model(Echo(), scheme, "rope")
    inputs = some_inputs(Echo(), scheme, size=4)
    tokens, ids = inputs.input_ids, inputs.position_ids
    whole = model(tokens, ids).logits
    cache = Cache(capacity=tokens.shape[1])
    model(tokens[:, :5], ids[:, :5], cache=cache)
    rows = torch.tensor([3, 1])
    cache.select(rows)
    rest = model(tokens[rows, 5:], ids[rows, 5:], cache=cache).logits
    assert torch.allclose(rest, whole[rows, 5:], atol=1e-5)


def test_dropout_acts_in_training_only():
    config = ModelConfig(**{**vars(SMALL), "dropout": 0.5})
    model = rough_model("addition", SCHEME, "rope", config)
    inputs = some_inputs("addition", SCHEME)
    calm = [model(inputs.input_ids, inputs.position_ids).logits for _ in range(2)]
    assert torch.equal(*calm)
    model.train()
    noisy = [model(inputs.input_ids, inputs.position_ids).logits for _ in range(2)]
    assert not torch.equal(*noisy)


def test_parameters_are_counted():
    model = rough_model("addition", SCHEME, "nope", ModelConfig(layers=1, heads=2, width=8, mlp_ratio=2))
    vocab = len(some_vocab())
    # Tables in and out, one block (qkv, out, up, down, 2 norms, a gain per head), the last norm.
    assert model.parameter_count == 2 * vocab * 8 + (3 * 64 + 64 + 128 + 128 + 16 + 2) + 8


def some_vocab():
    from lengthwise.tasks import TASKS

    return TASKS.build("addition").vocab
