"""The key mask of the transformer, against the same tokens left out."""

from __future__ import annotations

import pytest
import torch

from lengthwise.models.attention_state import Cache
from lengthwise.models.config import ModelConfig
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import PredictiveCoupling, Sequential
from oracle import SMALL, rough_model
from small import Echo

SCHEME = Sequential(max_position=20)
VISIBLE = torch.tensor([[0, 1, 1, 0, 0, 1, 0, 1], [1, 0, 1, 0, 1, 0, 0, 1]], dtype=torch.bool)


def some_tokens(model, seed: int = 0):
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(model.table.num_embeddings, (2, 8), generator=generator)
    return tokens, torch.arange(8).expand(2, 8)[..., None]


@pytest.mark.parametrize("encoding", sorted(ENCODINGS))
@pytest.mark.parametrize("changes", [{}, {"log_length": None, "qk_norm": False, "bias": True}], ids=str)
def test_hidden_tokens_could_as_well_be_left_out(encoding: str, changes: dict):
    model = rough_model("addition", SCHEME, encoding, ModelConfig(**{**vars(SMALL), "layers": 3, **changes}))
    tokens, ids = some_tokens(model)
    masked = model(tokens, ids, visible=VISIBLE).logits
    for row in range(2):
        kept = VISIBLE[row]
        alone = model(tokens[row : row + 1, kept], ids[row : row + 1, kept]).logits[0]
        assert torch.allclose(masked[row, kept], alone, atol=2e-4, rtol=1e-4)
    unmasked = model(tokens, ids).logits
    assert not torch.allclose(masked[:, -1], unmasked[:, -1], atol=1e-2)


@pytest.mark.parametrize("encoding", ["rope", "alibi"])
def test_what_is_hidden_has_no_effect_on_later_tokens(encoding: str):
    model = rough_model("addition", SCHEME, encoding)
    tokens, ids = some_tokens(model)
    other = torch.where(VISIBLE, tokens, some_tokens(model, seed=1)[0])
    assert not torch.equal(tokens, other)
    first, second = (model(t, ids, visible=VISIBLE).logits for t in (tokens, other))
    assert torch.equal(first[VISIBLE], second[VISIBLE])


@pytest.mark.parametrize("encoding", ["rope", "alibi"])
@pytest.mark.parametrize("log_length", [None, 7])
def test_all_visible_is_no_mask(encoding: str, log_length: int | None):
    model = rough_model("addition", SCHEME, encoding, ModelConfig(**{**vars(SMALL), "log_length": log_length}))
    tokens, ids = some_tokens(model)
    every = torch.ones_like(VISIBLE)
    assert torch.allclose(model(tokens, ids, visible=every).logits, model(tokens, ids).logits, atol=1e-4)


@pytest.mark.parametrize("log_length", [None, 7])
def test_asking_at_one_position_gives_the_same(log_length: int | None):
    model = rough_model("addition", SCHEME, "rope", ModelConfig(**{**vars(SMALL), "log_length": log_length}))
    tokens, ids = some_tokens(model)
    whole = model(tokens, ids, visible=VISIBLE).logits
    asked = model(tokens, ids, visible=VISIBLE, at=slice(7, 8)).logits
    assert torch.allclose(asked[:, 0], whole[:, 7], atol=1e-5)


@pytest.mark.parametrize("encoding", sorted(ENCODINGS))
def test_with_a_cache_the_same_tokens_are_hidden(encoding: str):
    model = rough_model("addition", SCHEME, encoding, ModelConfig(**{**vars(SMALL), "layers": 2, "log_length": 7}))
    tokens, ids = some_tokens(model)
    whole, cache = model(tokens, ids, visible=VISIBLE).logits, Cache(capacity=2)
    for part in (slice(0, 3), slice(3, 4), slice(4, 8)):
        seen = VISIBLE[:, part]
        found = model(tokens[:, part], ids[:, part], visible=VISIBLE[:, : part.stop], cache=cache).logits
        assert torch.allclose(found[seen], whole[:, part][seen], atol=1e-4)


def test_nothing_points_at_a_hidden_token():
    config = ModelConfig(**{**vars(SMALL), "id_head": "pointer"})
    model = rough_model(Echo(), PredictiveCoupling(max_position=20), "learned", config)
    tokens, ids = some_tokens(model)
    (masked, *_) = model(tokens, ids.expand(2, 8, 3), visible=VISIBLE).position
    hidden = masked.scores[0].detach().softmax(-1)[:, ~VISIBLE[0]]
    assert float((hidden * ~torch.eye(8, dtype=torch.bool)[:, ~VISIBLE[0]]).max()) == 0


def test_attention_weights_are_those_that_mix_the_values():
    """Changing the value of one key only moves the output by its weight, so weights are read off the outputs."""
    model = rough_model("addition", SCHEME, "rope", ModelConfig(**{**vars(SMALL), "layers": 2}))
    tokens, ids = some_tokens(model)
    weights = model.attention(tokens, ids, slice(7, 8))
    assert weights.shape == (2, 2, 2, 1, 8)
    assert torch.allclose(weights.sum(-1), torch.ones(2, 2, 2, 1), atol=1e-5)
    whole = model.attention(tokens, ids, slice(0, 8))
    assert torch.allclose(whole[:, :, :, 7:], weights, atol=1e-5)
    assert float(whole.detach().triu(1).abs().max()) == 0.0
