"""The smallest claims of ASEntmax and PoPE: the study's own task and encoding, and what counts as the expected."""

from __future__ import annotations

import dataclasses

import pytest
import smallest_claims
import torch

import lengthwise as lw
from lengthwise.nn.base import ScoreContext


@pytest.mark.parametrize("entmax", [False, True])
def test_the_encoding_obeys_the_laws_and_is_its_formula(entmax: bool) -> None:
    encoding = smallest_claims.Nape(entmax=entmax)
    lw.testing.check_encoding(encoding)
    if not entmax:
        module = encoding.build(lw.positions.encodings.EncodingShape(16, 4, 4, ("position",), 32))
        q, k = torch.zeros(2, 1, 4, 6, 4)
        context = ScoreContext.of_last(2, q, k, torch.zeros(1, 6, 16), torch.arange(6)[None, :, None])
        found = module.scores(torch.zeros(1, 4, 2, 6), context)[0, :, 0].tolist()
        assert found == [[-float(abs(4 - j)) for j in range(6)], [-abs(4 - j) / 2 for j in range(6)], [0] * 6, [0] * 6]


def test_the_task_obeys_the_laws() -> None:
    task = smallest_claims.IndirectIndexing()
    lw.testing.check_task(task)
    assert task.answer(["<bos>", "q", "e", "o", "h", "u", "<sep>", "o", "+", "2", "<sep>"]) == ["u", "<eos>"]


def test_systems_of_one_task_differ_in_the_encoding_alone() -> None:
    made: dict[str, list[lw.RunConfig]] = {}
    for name in smallest_claims.CELLS:
        made.setdefault(name.split(",")[0], []).append(smallest_claims.experiment(name).configuration)
    for first, *others in made.values():
        assert all(dataclasses.replace(other, encoding=first.encoding) == first for other in others)


@pytest.mark.parametrize(("better", "worse", "came"), [(0.99, 0.1, True), (0.5, 0.6, False)])
def test_what_counts_as_expected(monkeypatch: pytest.MonkeyPatch, better: float, worse: float, came: bool) -> None:
    """Of systems with these shares; nothing is said before all of them are trained."""
    monkeypatch.setattr(smallest_claims, "rates", lambda name, length: [worse if "RoPE" in name or "softmax" in name
                                                                        else better] * 3)  # fmt: skip
    assert [outcome for *_, outcome in smallest_claims.claims()] == [came] * 6
    monkeypatch.setattr(smallest_claims, "rates", lambda name, length: [])
    assert smallest_claims.claims() == []
