"""Text with quotations, and what is measured of a model while it learns to copy from afar."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from influence_far import LAST, LONGEST, SHORTEST, curve, far_gain, induction, passages, quoted, with_quotations

from lengthwise.core.rng import stream
from lengthwise.influence.corpus import Corpus, Document
from lengthwise.influence.lm import losses
from lengthwise.models.build import build_model
from lengthwise.models.config import ModelConfig
from lengthwise.models.transformer import Transformer
from lengthwise.positions.encodings import RoPESpec
from lengthwise.positions.schemes import Sequential
from lengthwise.tasks.copying import Copy

TEXT = "".join(f"line {n} holds {n * n} and a few more words\n" for n in range(200))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(alphabet="ab ", max_size=90), max_size=60), st.integers(0, 9))
def test_passages_are_the_text(lines: list[str], seed: int) -> None:
    text = "".join(line + "\n" for line in lines)
    found = list(passages(text, stream(seed)))
    assert "".join(found) == text
    assert all(len(passage) >= SHORTEST for passage in found[:-1])
    assert all(len(passage) <= LONGEST + 91 for passage in found)


def test_a_quotation_repeats_an_earlier_passage() -> None:
    text = quoted(Document("a.py", TEXT), seed=0).text
    lines = text.splitlines()
    fresh = [line for index, line in enumerate(lines) if line not in lines[:index]]
    assert fresh == TEXT.splitlines(), "without the repeated lines it is the document"
    repeated = [index for index, line in enumerate(lines) if line in lines[:index]]
    assert 0.25 < len(repeated) / len(lines) < 0.45
    back = [index - max(at for at in range(index) if lines[at] == lines[index]) for index in repeated]
    assert min(back) > 2, "the last passage is not quoted right behind itself"
    assert max(back) < 40


def test_the_split_stays() -> None:
    corpus = Corpus("c", (Document("a", TEXT),), (Document("b", TEXT),))
    both = with_quotations(corpus)
    assert ([d.name for d in both.train], [d.name for d in both.held_out]) == (["a"], ["b"])
    assert both.train[0].text != both.held_out[0].text
    assert with_quotations(corpus) == both


@pytest.fixture(scope="module")
def model() -> Transformer:
    task = Copy(letters=26)
    return build_model(task, Sequential(), RoPESpec(), ModelConfig(layers=2, heads=2, width=16), seed=0).eval()


def test_the_gain_is_the_difference_of_two_losses_of_the_same_targets(model: Transformer) -> None:
    windows = stream(0).integers(4, 26, size=(5, 161))
    found = far_gain(windows, goal=0.0)(model)
    short, long = (losses(model, windows[:, -(c + LAST + 1) :])[:, -LAST:].mean() for c in (64, 128))
    assert found["gain"] == pytest.approx(short - long)
    assert list(found["by_context"]) == ["16", "32", "64", "96", "128"]
    assert found["fitted"] == (found["gain"] >= 0.0)
    assert not far_gain(windows, goal=9.0)(model)["fitted"]
    (row,) = curve([{"step": 3, "loss": 1.0, **found}])
    assert row["step"] == 3
    assert len(row["induction"]) == 2


def test_a_model_without_preference_pays_each_token_its_share(model: Transformer) -> None:
    with torch.no_grad():
        for block in model.blocks:
            block.attention.qkv.weight[:16] = 0
    expected = np.mean([1 / visible for visible in range(81, 161)])
    assert np.allclose(induction(model), expected, atol=1e-4)
