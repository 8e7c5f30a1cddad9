"""The forecast for one model: it looks at no answer beyond N, and its coefficients are those of the study."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import lengthwise as lw
from lengthwise.crasp import library
from lengthwise.explanation.automaton import learn_automaton
from lengthwise.explanation.forecast import forecast_model, model_features
from lengthwise.explanation.heads import explain_heads
from lengthwise.explanation.model import Subject, WordOracle, accuracy, subject_of
from lengthwise.models.compile import compile_program
from lengthwise.tasks import TASKS

pytest.importorskip("aalpy")
N, FAR = 12, [18, 36]


@pytest.fixture(scope="module")
def parts():
    """A compiled program with its parts of an explanation."""
    task = TASKS.build({"name": "language", "language": "Tomita-2", "ask": "member"})
    subject = subject_of(compile_program(library.get("Tomita-2")).required(), task, train=N)
    automaton = learn_automaton(subject, WordOracle(subject), seed=0, seconds=60, lengths=[])
    return subject, accuracy(subject, [4, 8, 12], 16, 0), automaton, explain_heads(subject, FAR, 4, 0)


def test_no_answer_beyond_training_is_looked_at(parts, monkeypatch: pytest.MonkeyPatch) -> None:
    subject, scores, automaton, heads = parts
    seen = []
    real = Subject.right

    def right(self: Subject, batch):
        seen.append(batch.layout.length)
        return real(self, batch)

    monkeypatch.setattr(Subject, "right", right)
    found = forecast_model(subject, FAR, scores, automaton, heads, 8, 0)
    assert seen
    assert max(seen) <= N
    assert [row.length for row in found.rows] == FAR
    for row in found.rows:
        low, high = row.interval
        assert 0 < low <= row.probability <= high < 1
        assert len(row.reasons) == len(set(row.reasons)) == 3
    # One reason never speaks for and against.
    signs = [(reason[:-4], reason[-3:]) for row in found.rows for reason in row.reasons]
    assert all(sign in ("(+)", "(−)") for _, sign in signs)
    assert len({reason for reason, _ in signs}) == len(set(signs))
    assert sum("program" in reason for reason in found.rows[0].reasons) <= 1


def test_features_say_what_the_parts_say(parts) -> None:
    _, scores, automaton, heads = parts
    plain = model_features(N, 36, scores, 1.0, automaton, "member", heads)
    assert (plain["exact"], plain["program"], plain["slope"]) == (1, 1, 0)
    assert plain["ratio"] == pytest.approx(np.log2(3))
    assert plain["heads"] == pytest.approx(0, abs=0.05)
    # A model that is wrong at its longer lengths, whose automaton is another, and whose head leaves its pattern.
    rows = tuple(dataclasses.replace(row, right=row.right // 2) if row.length > 6 else row for row in scores.rows)
    last = heads.heads[-1]
    moved = dataclasses.replace(last.rows[-1], overlap=last.rows[0].overlap - 0.5)
    left = dataclasses.replace(last, rows=(dataclasses.replace(last.rows[0], loss=1.0), *last.rows[1:-1], moved))
    worse = model_features(
        N, 36, dataclasses.replace(scores, rows=rows), 0.5, dataclasses.replace(automaton, equal=False), "member",
        dataclasses.replace(heads, heads=(*heads.heads[:-1], left)),
    )  # fmt: skip
    assert worse["exact"] == 0
    assert worse["slope"] == -0.5
    assert worse["heads"] == pytest.approx(-0.5)
    assert all(worse[name] < plain[name] for name in ("accuracy", "hard", "slope", "exact", "heads"))
    # A head whose removal costs nothing does not count.
    idle = dataclasses.replace(left, rows=(dataclasses.replace(left.rows[0], loss=0.0), *left.rows[1:]))
    idle_heads = dataclasses.replace(heads, heads=(*heads.heads[:-1], idle))
    assert model_features(N, 36, scores, 1.0, automaton, "member", idle_heads)["heads"] > -0.4


def test_a_task_without_an_automaton_has_no_forecast() -> None:
    task = TASKS.build({"name": "copy", "symbols": "distinct", "letters": 20})
    vocab = task.vocab

    def nothing(ids, _):
        import torch

        return torch.zeros(*ids.shape, len(vocab))

    found = lw.explain(nothing, task, train=6, lengths=[6, 9], samples=8)
    assert found.forecast is None
    assert any(line.startswith("no forecast") for line in found.lines)
