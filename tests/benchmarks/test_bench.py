"""The benchmark compares like with like: same tokens out, same work counted, reasons where something is missing."""

from __future__ import annotations

import builtins
import itertools
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
import torch
from baselines import data, train
from baselines.generate import ROOM, SMALL, as_gpt2, endless, prompts
from baselines.gpt2 import padded_batch
from baselines.measure import BenchRow, Effort
from baselines.process import BaselineProcess, Sides
from bench import main, run_bench
from sleeper import sleeper

from lengthwise.core.errors import LengthwiseError
from lengthwise.models.generate import generate
from lengthwise.models.inputs import Inputs
from lengthwise.positions.schemes import Sequential
from lengthwise.tasks.addition import Addition

QUICK = Effort(repeats=1, clock="cpu", quick=True)


def test_ratio_says_how_many_times_better_whatever_the_unit() -> None:
    assert BenchRow.of("", "tokens/s", 6.0, 2.0, "").ratio == 3.0
    assert BenchRow.of("", "ms/step", 2.0, 6.0, "").ratio == 3.0


def test_sides_take_turns_and_the_first_round_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.chain([0, 100, 100, 200], itertools.cycle([0, 1, 1, 4]))
    monkeypatch.setattr("time.perf_counter", lambda: next(ticks))
    calls: list[tuple[str, int]] = []
    medians = Effort(repeats=3).seconds([lambda r: calls.append(("a", r)), lambda r: calls.append(("b", r))])
    assert medians == [1, 3]
    assert calls == [(side, repeat) for repeat in range(4) for side in "ab"]


@pytest.mark.parametrize(("area", "count"), [("data", 2), ("seeds", 2), ("decide", 1)])
def test_an_area_yields_positive_numbers(area: str, count: int) -> None:
    report = run_bench(area, QUICK)
    assert len(report["results"]) == count
    for row in report["results"]:
        assert row["ours"] > 0
        assert row["ratio"] > 0
    assert report["machine"]["cores"] >= 1
    json.dumps(report, allow_nan=False)


def test_the_baseline_works_and_fails_in_a_process_of_its_own() -> None:
    with BaselineProcess(sleeper, 0.05, clock="wall") as there:
        (median,) = Effort(repeats=2, clock="cpu").seconds([there.side("sleep")])
        assert median >= 0.05, "seconds are those of the other process, by its own clock"
        with pytest.raises(ValueError, match="no repeat 3"):
            there.side("fail")(3)


def test_unknown_area_is_refused() -> None:
    with pytest.raises(LengthwiseError, match="Did you mean 'train'"):
        run_bench("trian", QUICK)


def test_the_plain_generators_write_the_task() -> None:
    task = Addition()
    for tokens, places in data.addition_rows(50, 9, 0):
        text = task.vocab.decode(tokens)
        prompt = text[: text.index("=") + 1]
        assert text[len(prompt) :] == task.answer(prompt)
        assert len(tokens) == len(places)
    for tokens, places in data.assignment_rows(50, 8, 0):
        assert len(tokens) == len(places)
        assert tokens[0] == 1
        assert tokens[-1] == 3


def test_padded_batches_hold_the_same_kind_of_rows() -> None:
    case = train.QUICK[0]
    batch, real = padded_batch(case.task, case.config("float32"), 0, False, "cpu")
    assert int(batch["attention_mask"].sum()) == real
    assert not batch["input_ids"][batch["attention_mask"] == 0].any()
    assert bool((batch["labels"] != -100).any(dim=1).all())
    every, _ = padded_batch(case.task, case.config("float32"), 0, True, "cpu")
    assert int((every["labels"] != -100).sum()) == real


def test_every_token_is_scored_where_the_benchmark_says_so() -> None:
    groups = train.QUICK[0].trainer("float32", every_token=True).groups(0)
    assert all(group.scored == group.input_ids[:, 1:].numel() for group in groups)


def test_our_model_and_its_gpt2_are_one_function_and_generate_the_same_tokens() -> None:
    pytest.importorskip("transformers", reason="the baseline needs transformers")
    scheme = Sequential(max_position=ROOM)
    model = endless(scheme, SMALL)
    other = as_gpt2(model)
    ids, positions = prompts(scheme, 5)
    with torch.inference_mode():
        assert torch.allclose(model(ids, positions).logits, other(ids).logits, atol=1e-4)
    steps, start = 12, ids.shape[1]
    next_ids = torch.arange(start, start + steps).expand(5, steps)[..., None]
    ours = generate(model, ids, positions, steps, next_ids=next_ids).tokens
    theirs = other.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=steps, do_sample=False)
    assert torch.equal(ours, theirs[:, start:])


class SameProcess(AbstractContextManager["SameProcess"]):
    """The baseline's sides without a process of their own, which takes seconds to start and has a test above."""

    def __init__(self, make: Callable[..., Sides], *arguments: Any, clock: str) -> None:
        self.side = make(*arguments).__getitem__

    def __exit__(self, *error: object) -> None:
        return


def test_training_rows_name_the_parts_of_the_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers", reason="the baseline needs transformers")
    monkeypatch.setattr(train, "BaselineProcess", SameProcess)
    names = [row.name for row in train.rows(QUICK)]
    for part in ("padding and loop", "only scored tokens", "gain from bf16", "every token scored", "operations"):
        assert any(part in name for name in names), part


def test_without_transformers_the_rest_is_still_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("transformers"):
            raise ImportError(name)
        return original(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    results = list(train.rows(QUICK))
    assert "lengthwise[lm]" in results[0].skipped
    assert results[0].ours is None
    assert results[-1].ours is not None


def test_the_script_prints_json_and_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "--quick", "--repeats", "1"]) == 0
    printed = capsys.readouterr().out
    assert "against plain" in printed
    assert "medians of 1 (wall time)" in printed
    assert main(["data", "--quick", "--repeats", "1", "--json"]) == 0
    assert {"results", "machine"} <= json.loads(capsys.readouterr().out).keys()
    assert main(["data", "--repeats", "0"]) == 2
    assert capsys.readouterr().err == "error: repeats must be at least 1, got 0\n"


def test_no_repeats_are_refused() -> None:
    with pytest.raises(LengthwiseError, match="repeats must be at least 1"):
        Effort(repeats=0)


def test_scored_inputs_of_every_token_are_aligned() -> None:
    groups = train.QUICK[0].trainer("float32", every_token=True).groups(1)
    group: Inputs = groups[0]
    assert torch.equal(group.targets, group.input_ids[:, 1:])
    assert torch.equal(group.target_position_ids, group.position_ids[:, 1:])
