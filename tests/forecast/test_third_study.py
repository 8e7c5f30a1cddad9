"""The third study: fresh languages, cells, the order of rungs, and a table that refuses changed files."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from lengthwise.core.errors import LengthwiseError
from lengthwise.languages.sampling import count_words

STUDY = Path(__file__).parents[2] / "studies" / "forecast"
sys.path.insert(0, str(STUDY))
import third_run  # noqa: E402
import third_study  # noqa: E402

LANGUAGES = json.loads((third_study.RESULTS / "languages.json").read_text())
CELLS = third_study.cells_of(LANGUAGES)


def test_the_languages_are_in_the_hard_middle() -> None:
    assert len(LANGUAGES) == 36
    kinds = [item["stratum"] for item in LANGUAGES]
    assert sum(kind in ("window", "period") for kind in kinds) == kinds.count("no") == 12
    assert sum(item["states_asked"] for item in LANGUAGES) == 12
    dfas = [third_study.automaton(item["expression"], item["alphabet"]) for item in LANGUAGES]
    assert sum(third_study.lw.forecast.features.r_trivial(dfa, "next") for dfa in dfas) <= 9
    for dfa in dfas[::6]:
        assert min(count_words(dfa, length) for length in range(51, 301)) >= 10_000


def test_the_draw_gives_these_languages() -> None:
    import third_draw

    known = third_draw.seen_languages()
    shapes = [third_draw.blind_draw.canonical(third_study.automaton(i["expression"], i["alphabet"])) for i in LANGUAGES]
    assert len(set(shapes)) == 36
    assert not set(shapes) & known


def test_cells_of_one_shape_train_together() -> None:
    shapes: dict[object, int] = {}
    for cell in CELLS:
        shapes[third_run.shape_of(cell)] = shapes.get(third_run.shape_of(cell), 0) + 1
    assert sum(count >= 12 for count in shapes.values()) == 8


def test_rungs_climb_in_order(tmp_path: Path) -> None:
    kinds = {name: third_run.kind_of(name) for name in third_run.KINDS}
    plan = third_run.Plan(CELLS, tmp_path, kinds, grouped=True)
    first = plan.take("cuda")
    assert first is not None
    assert (first.kind, first.rung) == ("probe", 1)
    plan.ended(first, {cell["key"]: 3 if place else 0 for place, cell in enumerate(first.cells)})
    others = []
    while (job := plan.take("cuda")) is not None:
        others.append(job)
    assert all(job.kind == "probe" for job in others if job.rung == 2)
    taken = [cell["key"] for job in others for cell in job.cells if job.kind == "cell"]
    assert {cell["key"] for cell in first.cells} <= set(taken)
    again = [job for job in others if (job.kind, job.rung) == ("probe", 2)]
    assert [[cell["key"] for cell in job.cells] for job in again] == [[first.cells[0]["key"]]]


def test_errors_add_up_to_the_balanced_error() -> None:
    y, answer = np.array([1.0, 1, 0, 0, 0]), np.array([1.0, 0, 0, 0, 1])
    assert third_study.errors(y, answer).sum() == pytest.approx((1 / 2 + 1 / 3) / 2)


def test_a_changed_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(third_study, "THIRD", tmp_path)
    (tmp_path / "cells").mkdir()
    (tmp_path / "cells" / "a.json").write_text("{}")
    assert list(third_study.listed_files()) == ["cells/a.json"]
    (tmp_path / "cells" / "a.json").write_text("[]")
    with pytest.raises(LengthwiseError, match="changed"):
        third_study.listed_files()


def test_a_cell_in_a_stack_gets_what_it_gets_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blind = third_run.lw.experiments.blind
    monkeypatch.setattr(blind.ladder, "SIZE", 20)
    monkeypatch.setattr(blind.run, "FIT_WORDS", 100)
    monkeypatch.setattr(blind.run, "PROBE_WORDS", 50)
    kind = dataclasses.replace(third_run.kind_of("cell", 40), bins=((51, 60),), seeds=(400, 401))
    kind = dataclasses.replace(kind, ladder=kind.ladder[:1])
    group: dict[object, list] = {}
    for cell in CELLS:
        group.setdefault(third_run.shape_of(cell), []).append(cell)
    two = [cell for cell in max(group.values(), key=len) if cell["stratum"] == "without counting"][:2]
    ends = time.time() + 1000
    both = third_run.train(third_run.Job("cell", 1, "cpu", tuple(two)), kind, ends, tmp_path / "both")
    alone = third_run.train(third_run.Job("cell", 1, "cpu", (two[1],)), kind, ends, tmp_path / "alone")
    ours, theirs = both[two[1]["key"]], alone[two[1]["key"]]
    assert len(both) == 2
    assert any(seed["fit"] > 0 for seed in theirs["seeds"])
    for mine, wanted in zip(ours["seeds"], theirs["seeds"], strict=True):
        assert mine["fit"] == pytest.approx(wanted["fit"], abs=0.03)
        assert mine["early"] == pytest.approx(wanted["early"], abs=0.05)
        assert mine["sets"].keys() == wanted["sets"].keys() == {"51-60"}
        for name, words in wanted["sets"]["51-60"].items():
            assert mine["sets"]["51-60"][name]["n"] == words["n"] == 20
