"""The probe: rungs climbed at half of the lengths, exact resumption, budgets, tasks of all kinds, cells together."""

from __future__ import annotations

import dataclasses
import itertools
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lengthwise.core.errors import LengthwiseError
from lengthwise.experiments.blind import ladder
from lengthwise.forecast import probe as module
from lengthwise.forecast.probe import SETTINGS, Probe, ProbeCell, ProbeSettings, probe, probe_together
from lengthwise.positions.schemes import Coupled
from lengthwise.tasks import TASKS, Task
from lengthwise.tasks.language import Language


def tiny(*steps: int, needed: int = 2) -> ProbeSettings:
    """Narrow rungs of so many steps each."""
    rung = dataclasses.replace(ladder.LADDER[0], layers=1, width=16, batch=16)
    rungs = tuple(dataclasses.replace(rung, steps=count) for count in steps)
    return ProbeSettings(rungs, needed=needed, every=20, probe_words=50, fit_words=100, test_words=60)


def without_times(found: Probe) -> dict[str, Any]:
    return {name: value for name, value in found.to_json().items() if name != "seconds"}


def test_the_rungs_are_those_of_the_frozen_ladder() -> None:
    first, *others = SETTINGS.ladder
    assert dataclasses.replace(first, steps=ladder.LADDER[0].steps) == ladder.LADDER[0]
    assert first.steps == 2_500
    assert tuple(others) == ladder.LADDER[1:]
    cell = ProbeCell(Language(language="(a|b)*b"), "ape", 50)
    assert cell.ids == ladder.position_scheme(cell.task, "ape"), "at N = 50, the ids of the study"
    assert cell.bins == ((26, 37), (38, 50))
    rung = ladder.LADDER[1]
    ours, study = cell.setup(rung).model, ladder.model_config(rung, "ape")
    assert dataclasses.replace(ours, log_length=study.log_length) == study
    theirs = dataclasses.replace(ladder.training_config(rung, "ape"), max_length=25, probe_every=250)
    assert cell.training(rung, 250) == theirs
    assert cell.setup(rung).encoding == ladder.encoding_spec(rung, "ape")


def test_an_easy_language_fits_and_holds() -> None:
    lines: list[str] = []
    found = probe(ProbeCell(Language(language="(a|b)*b"), "nope", 16), settings=tiny(140), note=lines.append, budget=60)
    assert (found.status, found.rung, found.trained) == ("fitted", 1, (1, 8))
    assert found.accuracy is not None
    assert found.accuracy > 0.9
    assert set(found.seeds[0].accuracy) == {"9-12", "13-16"}
    assert {length for seed in found.seeds for length, _, _ in seed.by_length} == set(range(9, 17))
    assert all(seed.steps_to_fit is not None and seed.steps_to_fit % 20 == 0 for seed in found.seeds if seed.fitted)
    assert found.slope is not None
    assert any("rung 1 of 1" in line for line in lines)
    assert found.to_json()["derived"]["accuracy"] == found.accuracy


def test_what_does_not_fit_climbs_to_the_end() -> None:
    found = probe(ProbeCell(Language(language="((a|b)(a|b))*", ask="member"), "nope", 16), settings=tiny(20, 40))
    assert (found.status, found.rung) == ("not fitted", None)
    assert [rung.rung for rung in found.rungs] == [1, 2]
    assert [rung.steps for rung in found.rungs] == [20, 40]
    assert (found.accuracy, found.slope, found.steps_to_fit) == (None, None, None)


def test_an_interrupted_probe_goes_on_to_the_same_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task, settings = Language(language="(ab|b)*"), tiny(40, 40, needed=4)  # four of three: climbs to the end
    whole = probe(ProbeCell(task, "ape", 12), settings=settings, budget=100)
    clock = itertools.count()
    monkeypatch.setattr(module.time, "monotonic", lambda: float(next(clock)))
    stops, calls = [], 0
    while True:
        found = probe(ProbeCell(task, "ape", 12), settings=settings, budget=60, folder=tmp_path)
        calls += 1
        if found.status != "out of time":
            break
        stops.append(found.stopped)
    assert calls > 2
    assert any("step" in line and "of 40" in line for line in stops)
    assert any("of rung 2" in line for line in stops)
    assert without_times(found) == without_times(whole)
    again = probe(ProbeCell(task, "ape", 12), settings=settings, budget=60, folder=tmp_path)
    assert without_times(again) == without_times(whole), "a probe that is done trains nothing"
    with pytest.raises(LengthwiseError, match="another probe"):
        probe(ProbeCell(task, "nope", 12), settings=settings, folder=tmp_path)


def test_an_edited_task_of_the_same_name_is_another_probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task, cells = (Path(__file__).parents[2] / "examples" / "my_task.py").read_text(), []
    for edit in ("", "", "# edited"):
        folder = tmp_path / f"{len(cells)}"
        folder.mkdir()
        (folder / "task.py").write_text(task + edit)
        monkeypatch.chdir(folder)
        cells.append(ProbeCell(TASKS.build({"name": "task.py:EverySecond", "base": 2}), "nope", 8))
    assert cells[0].described() == cells[2].described()
    whole = probe(cells[0], settings=tiny(2), folder=tmp_path / "out")
    assert without_times(probe(cells[1], settings=tiny(2), folder=tmp_path / "out")) == without_times(whole)
    with pytest.raises(LengthwiseError, match="of other code of yours"):
        probe(cells[2], settings=tiny(2), folder=tmp_path / "out")


def test_a_budget_that_ends_says_where() -> None:
    began = time.monotonic()
    lines: list[str] = []
    cell = ProbeCell(Language(language="(a|b)*b"), "nope", 16)
    found = probe(cell, settings=tiny(100_000), budget="60s", note=lines.append)
    assert found.needs > 60, "known after the first steps, it stops at once"
    assert "too short" in found.stopped
    assert sum("if every rung is needed" in line for line in lines) == 1
    assert time.monotonic() - began < 30
    assert found.status == "out of time"
    assert "of 100,000 of rung 1 of 1" in found.stopped
    assert (found.seeds, found.rung) == ([], None)


@pytest.mark.parametrize(
    ("task", "encoding", "scheme"),
    [
        (TASKS.build("addition"), "learned", Coupled(max_position=40, draw="pose")),
        (TASKS.build("copy"), "rope", None),
        (Language(language="(a|b)*b", ask="member"), "alibi", None),
        (Language(language="(aa)*"), "ape", None),
        (TASKS.build("parity"), "fire", None),
    ],
)
def test_any_task_and_system(task: Task, encoding: str, scheme: Coupled | None) -> None:
    found = probe(ProbeCell(task, encoding, 8, scheme=scheme), settings=tiny(20))
    assert found.status in ("fitted", "not fitted")
    assert all(set(seed.accuracy) <= {"5-6", "7-8"} and "7-8" in seed.accuracy for seed in found.seeds)


def test_no_string_longer_than_n_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    real = Language.write

    def write(self: Language, seq: Any, layout: Any, rng: Any) -> None:
        drawn.append(layout.length)
        real(self, seq, layout, rng)

    monkeypatch.setattr(Language, "write", write)
    probe(ProbeCell(Language(language="(a|b)*b"), "ape", 20), settings=tiny(20))
    assert max(drawn) == 20


def test_cells_together_get_what_they_get_alone() -> None:
    texts, settings = ("(a|b)*b", "(ab|b)*"), tiny(40)
    cells = [ProbeCell(Language(language=text), "nope", 12) for text in texts]
    together = probe_together(cells, settings=settings)
    for text, ours in zip(texts, together, strict=True):
        alone = probe(ProbeCell(Language(language=text), "nope", 12), settings=settings)
        assert [seed.seed for seed in ours.seeds] == [seed.seed for seed in alone.seeds]
        assert np.allclose([s.fit for s in ours.seeds], [s.fit for s in alone.seeds], atol=0.03)
        far = [[seed.accuracy["10-12"] for seed in found.seeds] for found in (ours, alone)]
        assert np.allclose(*far, atol=0.1)
    with pytest.raises(LengthwiseError, match="one shape"):
        probe_together([cells[0], ProbeCell(Language(language="(abc)*"), "nope", 12)], settings=settings)


def test_too_short_for_a_probe() -> None:
    with pytest.raises(LengthwiseError, match="no strings of lengths"):
        probe(ProbeCell(Language(language="(aaaa)*"), "nope", 6), settings=tiny(20))
    with pytest.raises(LengthwiseError, match="max_position"):
        probe(ProbeCell(TASKS.build("addition"), "learned", 20, scheme=Coupled(max_position=10)), settings=tiny(20))
