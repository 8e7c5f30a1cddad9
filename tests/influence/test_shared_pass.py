"""What masks that differ in one token share: equal to the transformer with an explicit mask, for any model."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lengthwise.influence.measure import SELECTION_RULES, Scorer
from lengthwise.influence.models import OwnModel, SharedWindow, Workspace, covers, rotations
from lengthwise.models.config import ModelConfig
from lengthwise.models.transformer import Transformer
from lengthwise.nn import Rotary
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import Sequential
from oracle import SMALL, rough_model

CONTEXT, RECENT = 14, 4
SHARED = {"log_length": None}


def some_transformer(encoding: str = "rope", seed: int = 0, **changes) -> Transformer:
    config = ModelConfig(**{**vars(SMALL), **SHARED, **changes})
    return rough_model("addition", Sequential(max_position=20), encoding, config, seed)


def explicit(model: Transformer, tokens: torch.Tensor, visible: list[int], added: list[int]) -> torch.Tensor:
    """One mask over the whole window per added token."""
    seen = torch.zeros(len(added), CONTEXT, dtype=torch.bool)
    seen[:, visible] = True
    seen[torch.arange(len(added)), added] = True
    ids = torch.arange(CONTEXT).expand(len(added), -1)[..., None]
    return model(tokens.expand(len(added), -1), ids, visible=seen).logits[:, -1]


@torch.no_grad()
def apart(model: Transformer, chosen: list[int], batch_tokens: int = 40, seed: int = 0) -> float:
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(model.table.num_embeddings, (CONTEXT,), generator=generator)
    visible = [*sorted(chosen), *range(CONTEXT - RECENT, CONTEXT)]
    added = [j for j in range(CONTEXT - RECENT) if j not in chosen]
    window = SharedWindow(model, tokens, batch_tokens, Workspace())
    # Twice, since the workspace then holds what the first time has left in it.
    window.scores(torch.tensor(visible), torch.tensor(added[::-1]))
    found = window.scores(torch.tensor(visible), torch.tensor(added))
    expected = explicit(model, tokens, visible, added)
    return float(((found - expected).abs() / expected.abs().clamp(min=1)).max())


@pytest.mark.parametrize("encoding", sorted(ENCODINGS))
@pytest.mark.parametrize("changes", [{}, {"layers": 4}, {"qk_norm": False}, {"tied": True, "layers": 3}], ids=str)
@pytest.mark.parametrize("chosen", [[], [0, 5, 9]], ids=str)
def test_scores_equal_the_explicit_mask(encoding: str, changes: dict, chosen: list[int]):
    model = some_transformer(encoding, **changes)
    used = model.encoding
    # YaRN and LongRoPE also scale queries and keys.
    alike = isinstance(used, Rotary) and used.rotates_keys_alike and encoding not in ("yarn", "longrope")
    assert covers(model) == (not used.has_scores and (not used.is_rotary or alike))
    if not covers(model):
        return
    # Without QK-norm these rough weights make logits of tens, whose rounding counts.
    assert apart(model, chosen) < (1e-5 if model.config.qk_norm else 1e-4)


@pytest.mark.parametrize("encoding", ["rope", "learned", "nope"])
def test_nothing_but_rounding_is_between_them(encoding: str):
    assert apart(some_transformer(encoding, layers=3).double(), [1, 6]) < 1e-9


@pytest.mark.parametrize("batch_tokens", [1, 17, 1000])
def test_how_they_are_cut_into_batches_changes_nothing(batch_tokens: int):
    assert apart(some_transformer(), [3], batch_tokens) < 1e-5


@pytest.mark.parametrize("gain", [1.0, 300.0])
def test_logits_too_large_to_exponentiate_go_through_softmax(gain: float):
    model = some_transformer(layers=3)
    with torch.no_grad():
        for block in model.blocks:
            block.attention.gain.weight.fill_(gain)  # type: ignore[union-attr]
    window = SharedWindow(model, torch.zeros(CONTEXT, dtype=torch.long), 100, Workspace())
    assert window.factors == (gain == 1.0)
    assert apart(model, [2, 7]) < (1e-5 if gain == 1.0 else 1e-3)


@pytest.mark.parametrize(
    "changes", [{"log_length": 7}, {"norm": "layer"}, {"norm": "peri"}, {"bias": True}, {"layers": 1}], ids=str
)
def test_what_is_not_covered_is_computed_row_by_row(changes: dict):
    model = some_transformer(**changes)
    assert not covers(model)
    assert not OwnModel("ours", model, 21).shares


def test_an_encoding_that_does_something_else_is_not_covered():
    model = some_transformer()
    model.encoding.rotate = lambda x, ids: x.flip(-1)  # type: ignore[method-assign]
    with pytest.raises(ValueError, match="pairs of coordinates"):
        rotations(model, 8)
    assert not covers(model)


@pytest.mark.parametrize("changes", [{"layers": 3}, {"log_length": 7}], ids=str)
def test_greedy_search_equals_one_explicit_mask_at_a_time(changes: dict):
    model = OwnModel("ours", some_transformer(**changes), 21)
    rng = np.random.default_rng(0)
    tokens, targets = rng.integers(model.vocab_size, size=(3, CONTEXT)), rng.integers(model.vocab_size, size=3)
    scorer = Scorer(model, tokens, targets, RECENT)
    order = SELECTION_RULES.build("greedy").order(scorer, 4, np.random.default_rng)
    forwards = scorer.forwards
    path = scorer.path(order)
    assert forwards == scorer.forwards == 3 * (10 + 9 + 8 + 7)
    for row in range(3):
        visible = np.zeros((1, CONTEXT), dtype=bool)
        visible[0, -RECENT:] = True
        for step in range(4):
            tried = {}
            for j in np.flatnonzero(~visible[0]):
                with_j = visible.copy()
                with_j[0, j] = True
                tried[int(j)] = model.masked_losses(tokens[row : row + 1], with_j, targets[row : row + 1])[0]
            assert int(order[row, step]) == min(tried, key=lambda j: tried[j])
            visible[0, order[row, step]] = True
            assert path[row, step] == pytest.approx(tried[int(order[row, step])], abs=2e-5)
