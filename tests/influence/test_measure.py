"""The measurement on losses that are written down: every number of the result from plain loops."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from lengthwise.core.config import from_fields
from lengthwise.core.errors import LengthwiseError, UnknownNameError
from lengthwise.influence.corpus import Windows
from lengthwise.influence.measure import MeasureConfig, foreign, measure, passage
from lengthwise.influence.models import LanguageModel
from made_up_models import WrittenDown, additive, some_windows

CONFIG = MeasureConfig(context=12, recent=4, ks=(1, 3), targets=6, bootstrap=200)
GAINS = [0.1, 0.9, 0.0, 0.7, -0.2, 0.5, 0.05, 0.3]


def helps(target: int, position: int) -> float:
    """Far tokens help target t 1 + t times as much as GAINS says; near ones all alike."""
    return (1 + target) * GAINS[position] if position < 8 else 0.25


PLAIN = additive(helps, 20.0)


def measured(loss: Callable = PLAIN, config: MeasureConfig = CONFIG, **options) -> dict:
    return measure(WrittenDown(loss), some_windows(), config, **options)


def test_the_made_up_model_is_one():
    assert isinstance(WrittenDown(lambda target, seen: 0.0), LanguageModel)


def test_losses_and_choices_of_every_target():
    result = measured()
    assert result["format"] == 1
    assert result["kind"] == "influence"
    for t, entry in enumerate(result["targets"]):
        assert entry["short"] == pytest.approx(20 - 4 * 0.25)
        assert entry["long"] == pytest.approx(entry["short"] - (1 + t) * sum(GAINS))
        assert entry["chosen"]["greedy"]["order"] == [1, 3, 5]
        gained = np.cumsum([0.9, 0.7, 0.5]) * (1 + t)
        assert entry["chosen"]["greedy"]["losses"] == pytest.approx(list(entry["short"] - gained))
        assert entry["chosen"]["last-k"]["order"] == [7, 6, 5]
        assert entry["token"] == str(t)
        assert entry["at"] == 12 + t
        assert "cross" not in entry
        assert "extrapolation" not in entry
    assert [entry["document"] for entry in result["targets"]] == ["d0", "d0", "d1", "d1", "d2", "d2"]


def test_the_summary_of_gains_that_are_proportional():
    """All targets gain in the same proportion, so every resample has the same share and the line is exact."""
    summary = measured()["summary"]
    share = {k: sum(sorted(GAINS)[-k:]) / sum(GAINS) for k in (1, 3)}
    for k in (1, 3):
        row = summary["rules"]["greedy"][str(k)]
        assert row["recovered"] == pytest.approx(share[k])
        assert row["interval"] == pytest.approx([share[k], share[k]])
        assert row["slope"] == pytest.approx(1 / share[k])
        assert row["intercept"] == pytest.approx(0, abs=1e-9)
    assert summary["rules"]["last-k"]["1"]["recovered"] == pytest.approx(0.3 / sum(GAINS))
    assert summary["needs_context"]["targets"] == 6
    assert summary["needs_context"]["share_of_gain"] == pytest.approx(1)
    assert summary["needs_context"]["others"]["greedy"]["1"]["recovered"] is None
    assert summary["documents"] == 3
    assert summary["cross"] is None
    assert summary["extrapolation"] is None
    # A loss that knows positions only can't tell blocks apart, so the null gains just as much: no null at all.
    assert summary["null"]["3"]["recovered"] == pytest.approx(share[3])


def test_the_null_reads_blocks_of_other_documents_and_keeps_the_rest():
    """A loss that reads its tokens: 1 nat less for each visible token below 50."""
    seen: list[np.ndarray] = []

    class Reader(WrittenDown):
        def target_losses(self, tokens, positions, targets):
            seen.extend(row for row, at in zip(tokens, positions, strict=True) if len(at) == 12)
            return 20.0 - (tokens < 50).sum(axis=1)

    windows = some_windows()
    result = measure(Reader(lambda target, seen: 0.0), windows, CONFIG)
    others = [2, 3, 4, 5, 0, 1]
    seen.clear()
    exact = measure(Reader(lambda target, seen: 0.0), windows, CONFIG, others=np.array(others))
    contexts = windows.tokens[:, :-1]
    swapped = np.concatenate([contexts[others][:, :8], contexts[:, 8:]], axis=1)
    assert {tuple(row) for row in seen} == {tuple(row) for row in [*contexts, *swapped]}
    for t, entry in enumerate(exact["targets"]):
        assert entry["null"]["long"] == 20 - (swapped[t] < 50).sum()
        helpful = (swapped[t][:8] < 50).sum()
        assert sum(swapped[t][at] < 50 for at in entry["null"]["order"]) == min(3, helpful)
        assert entry["short"] == 20 - (contexts[t, 8:] < 50).sum()
    real = sum(e["short"] - e["long"] for e in exact["targets"])
    gained = sum(e["short"] - e["null"]["losses"][2] for e in exact["targets"])
    assert exact["summary"]["null"]["3"]["recovered"] == pytest.approx(gained / real)
    assert result["targets"][0]["chosen"] == exact["targets"][0]["chosen"]
    beyond = sum(e["null"]["losses"][2] - e["chosen"]["greedy"]["losses"][2] for e in exact["targets"])
    assert exact["summary"]["beyond_null"]["3"]["recovered"] == pytest.approx(beyond / real)


def test_foreign_windows_are_of_other_documents():
    documents = np.array([0, 0, 0, 1, 2, 2])
    others = foreign(documents, np.random.default_rng(0))
    assert others is not None
    assert (documents[others] != documents).all()
    assert foreign(np.zeros(4, dtype=int), np.random.default_rng(0)) is None


def test_another_model_chooses_and_this_one_scores():
    chooser = WrittenDown(lambda target, seen: 9.0 - (6 in seen) - 0.5 * (4 in seen) - 0.1 * (2 in seen))
    result = measured(chooser=chooser)
    for t, entry in enumerate(result["targets"]):
        assert entry["cross"]["order"] == [6, 4, 2]
        gained = np.cumsum([0.05, -0.2, 0.0]) * (1 + t)
        assert entry["cross"]["losses"] == pytest.approx(list(entry["short"] - gained))
    assert result["summary"]["cross"]["3"]["recovered"] == pytest.approx(-0.15 / sum(GAINS))
    assert result["chooser"]["name"] == "written-down"


def test_extrapolation_reads_the_short_trained_model_far_and_near():
    """At the full context it loses the more, the more far tokens there are; at the recent ones it is at home."""
    short_trained = WrittenDown(lambda target, seen: 3.0 + (target if len(seen) == 12 else 0))
    result = measured(extrapolator=short_trained)
    for t, entry in enumerate(result["targets"]):
        assert entry["extrapolation"] == {"long": 3.0 + t, "short": 3.0}
    found = result["summary"]["extrapolation"]
    assert found["targets"] == 6
    assert found["mean"] == {"long": 5.5, "short": 3.0}
    # Every target recovers the same share, so there is no ranking.
    assert found["rank_correlation"] is None


def test_one_document_has_neither_null_nor_intervals():
    result = measure(WrittenDown(PLAIN), some_windows(documents=1), CONFIG)
    assert result["summary"]["null"] is None
    assert "null" not in result["targets"][0]
    assert result["summary"]["rules"]["greedy"]["1"]["interval"] is None


def test_the_first_token_can_stay_visible():
    config = MeasureConfig(context=12, recent=4, ks=(1, 3), targets=6, keep_first=True, bootstrap=10)
    entry = measured(additive(lambda target, p: 5.0 if p == 0 else helps(target, p), 40.0), config)["targets"][0]
    assert entry["chosen"]["greedy"]["order"] == [1, 3, 5]
    assert entry["short"] == pytest.approx(40 - 5 - 1)


def test_the_result_is_json_and_repeats():
    first, second = measured(), measured()
    first.pop("speed"), second.pop("speed")
    assert json.loads(json.dumps(first, allow_nan=False)) == json.loads(json.dumps(second, allow_nan=False))


def test_progress_and_pieces():
    calls = []
    windows = some_windows(20)
    result = measure(
        WrittenDown(PLAIN), windows, CONFIG,
        pieces=lambda ids: [f"<{i}>" for i in ids], on_progress=lambda *values: calls.append(values),
    )  # fmt: skip
    assert calls == [("targets", 0, 20), ("targets", 8, 20), ("targets", 16, 20), ("targets", 20, 20)]
    assert [entry["token"] for entry in result["targets"]] == [f"<{t}>" for t in range(20)]


def test_chunks_don_t_matter(monkeypatch):
    whole = measured()
    monkeypatch.setattr("lengthwise.influence.measure.CHUNK", 1)
    single = measured()
    assert whole["targets"] == single["targets"]
    assert whole["summary"] == single["summary"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"ks": [1, 65]}, r"k = 65 influential tokens don't fit into a block of 64"),
        ({"ks": [64], "keep_first": True}, r"k = 64 .* block of 63"),
        ({"ks": [2, 1]}, "increasing order"),
        ({"ks": [0]}, "at least 1"),
        ({"ks": []}, "at least 1"),
        ({"recent": 128}, "recent must be from 1 to context - 1 = 127, got 128"),
        ({"recent": 0}, "recent must be"),
        ({"targets": 0}, "targets must be at least 1"),
        ({"bootstrap": 0}, "bootstrap must be at least 1"),
        ({"rules": ["random"]}, "must name greedy"),
        ({"contxt": 3}, "Did you mean 'context'"),
    ],
    ids=str,
)
def test_settings_that_don_t_fit(fields: dict, message: str):
    with pytest.raises(LengthwiseError, match=message) as caught:
        from_fields(MeasureConfig, fields, where="measurement")
    assert "\n" not in str(caught.value)


def test_models_and_windows_that_don_t_fit():
    loss = PLAIN
    with pytest.raises(LengthwiseError, match="takes at most 11 tokens, not 12"):
        measure(WrittenDown(loss, max_length=11), some_windows(), CONFIG)
    with pytest.raises(LengthwiseError, match="extrapolator written-down takes at most 8"):
        measure(WrittenDown(loss), some_windows(), CONFIG, extrapolator=WrittenDown(loss, max_length=8))
    with pytest.raises(LengthwiseError, match="windows have 16 tokens of context, the configuration says 12"):
        measure(WrittenDown(loss), some_windows(context=16), CONFIG)
    small = WrittenDown(loss)
    small.vocab_size = 50
    with pytest.raises(LengthwiseError, match="has 50 tokens, the text has token"):
        measure(small, some_windows(), CONFIG)
    with pytest.raises(UnknownNameError, match="selection rule"):
        measured(config=MeasureConfig(context=12, recent=4, ks=(1,), rules=("greedy", "nothing")))
    with pytest.raises(LengthwiseError, match="loss of nan nats"):
        measured(lambda target, seen: float("nan"))


def test_a_passage_gives_what_each_far_token_gives_alone():
    stretch = np.arange(100, 115)
    tokens = np.stack([stretch[i : i + 13] for i in range(3)])
    windows = Windows(tokens, np.zeros(3, dtype=int), ("text",), np.array([40, 41, 42]))
    model = WrittenDown(lambda target, seen: 9.0 - sum(GAINS[p] for p in seen if p < 8) - 0.1 * (target - 112))
    found = passage(model, windows, CONFIG, lambda ids: [str(i) for i in ids])
    assert found["tokens"] == [str(i) for i in stretch]
    assert [target["at"] for target in found["targets"]] == [12, 13, 14]
    for i, target in enumerate(found["targets"]):
        assert found["tokens"][target["at"]] == str(tokens[i, -1])
        assert [at for at, _ in target["influence"]] == [p + i for p in range(8)]
        assert [nats for _, nats in target["influence"]] == pytest.approx(GAINS)
        assert target["short"] == pytest.approx(9 - 0.1 * i)
    gap = Windows(tokens, np.zeros(3, dtype=int), ("text",), np.array([40, 41, 43]))
    with pytest.raises(LengthwiseError, match="consecutive"):
        passage(model, gap, CONFIG, lambda ids: [str(i) for i in ids])
