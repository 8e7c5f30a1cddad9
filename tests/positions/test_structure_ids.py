"""Spans are distances in the ids that a scheme gives at test, also where they do not follow the places one by one."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest

import lengthwise as lw
from lengthwise.api.compare import structure_under
from lengthwise.core.rng import stream
from lengthwise.forecast.predict import not_near
from lengthwise.positions.schemes import SCHEMES, OwnRule
from lengthwise.positions.structure import lacks_place, places_tell_content, structure
from lengthwise.prediction.example import example, structure_note, structure_table
from lengthwise.prediction.predict import predict_task, structure_row
from lengthwise.prediction.verdict import Prediction
from lengthwise.tasks import TASKS, Task


@functools.cache
def predicted(name: str) -> tuple[Task, Prediction]:
    return (task := TASKS.build(name)), predict_task(task)


@pytest.mark.parametrize(
    ("name", "tells"),
    [
        ("copy", False), ("addition", False), ("binary-addition", False), ("variable-assignment", False),
        ("sort", False), ("needle", True), ("modular-arithmetic-brackets", True),
        ("examples/remove_duplicates.py:RemoveDuplicates", True), ("examples/my_task.py:EverySecond", False),
    ],
)  # fmt: skip
def test_places_of_a_prompt_that_depend_on_what_it_says(
    name: str, tells: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    assert places_tell_content(TASKS.build(name)) is tells


def test_only_a_token_that_an_answer_needs_is_said_to_lack_a_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {name: said for name in TASKS if (said := lacks_place(TASKS.build(name)))} == {}
    examples = Path(__file__).parents[2] / "examples"
    assert not lacks_place(TASKS.build(f"{examples / 'my_task.py'}:EverySecond"))
    code = (examples / "my_task.py").read_text()
    monkeypatch.chdir(tmp_path)
    Path("end.py").write_text(code.replace("seq.sep(place=1)", "seq.sep()").replace("place=i + 2", "place=i + 1"))
    (note,) = lw.check("end.py:EverySecond", "task").notes  # All laws hold.
    assert "is predicted from '<sep>'" in note
    Path("digits.py").write_text(code.replace("digit, place=i + 2", "digit"))
    assert " needs '" in lacks_place(TASKS.build("digits.py:EverySecond"))
    # No place is near all answers, nor are all digits near one.
    for name, parents in {"first": "[given[0], given[i]]", "whole": "given"}.items():
        lacking = code.replace("[given[i]]", parents).replace("place=i + 2) for", "place=(i + 2) * (i > 0)) for")
        Path(f"{name}.py").write_text(lacking)
        assert lacks_place(TASKS.build(f"{name}.py:EverySecond")) == ""


def test_a_token_that_is_predicted_from_one_without_a_place_is_far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (Path(__file__).parents[2] / "examples" / "my_task.py").read_text().replace("place=i + 2", "place=i + 1")
    monkeypatch.chdir(tmp_path)
    Path("near.py").write_text(code)
    Path("none.py").write_text(code.replace("seq.sep(place=1)", "seq.sep()"))
    near, none = (TASKS.build(f"{name}.py:EverySecond") for name in ("near", "none"))
    assert structure_row(near, "coupled").local
    spans = structure_row(none, "coupled").span
    assert list(spans) == sorted(set(spans))
    # What else prints distances counts them so; no system has a guarantee from places, and the place is asked for.
    shown = example(none, SCHEMES.build("coupled"), 10, 0)
    assert max(shown.reach(token, places=True) for token in shown.scored) == spans[1]
    assert "'<sep>' at position" in structure_note(none, shown.scheme)
    assert not structure_note(near, shown.scheme)
    coupled = {v.system: v.answer for v in predict_task(none).verdicts if v.scheme == "coupled"}
    assert set(coupled.values()) == {"unknown"}
    assert "place=1;" in not_near(predict_task(none), none)[1]
    assert not_near(predict_task(near), near) == ("", "")


def farthest(task_name: str, scheme_name: str, length: int) -> int:
    """The largest distance to a parent, counted token by token in a drawn batch."""
    task, scheme = TASKS.build(task_name), SCHEMES.build(scheme_name).for_evaluation()
    batch = task.batch(length, 64, stream(0, "ids"))
    ids = scheme.assign(batch.places, task.levels, stream(0, "ids"))[:, :, 0].astype(int)
    found = 0
    for row, parents in enumerate(batch.parents):
        for target in np.flatnonzero(batch.scored):
            for parent in parents[target]:
                if parent >= 0:
                    found = max(found, abs(ids[row, target - 1] - ids[row, parent]))
    return found


@pytest.mark.parametrize("task", ["copy", "addition", "parity-scratchpad"])
@pytest.mark.parametrize("scheme", ["reset", "own-rule", "sequential", "pose"])
def test_the_span_is_the_largest_distance_in_ids(task: str, scheme: str) -> None:
    for length in (4, 9):
        found = structure(TASKS.build(task), SCHEMES.build(scheme), length, stream(0, "span"))
        assert found.span == farthest(task, scheme, length)


def test_reset_ids_tell_the_lines_of_a_chain_apart() -> None:
    """Equal names share a place, and so one coupled id, but no reset id: the span grows with the chain."""
    task = TASKS.build("variable-assignment")
    spans = [structure(task, SCHEMES.build("reset"), n, stream(0, "span")).span for n in (5, 10, 20)]
    assert spans == sorted(set(spans))
    table = structure_table(task, [5, 10, 20], 0).to_json()["span"]
    assert table["reset"] == spans
    assert table["reset"] != table["coupled"]


@pytest.mark.parametrize("name", ["variable-assignment", "sort", "parity-scratchpad"])
def test_what_is_shown_and_what_is_predicted_from_are_the_same(name: str) -> None:
    task = TASKS.build(name)
    row = structure_row(task, "sequential")
    table = structure_table(task, row.lengths, 0)
    (spans,) = [each for each in table.rows if "sequential" in each.schemes]
    assert (table.sparsity, table.selectors, table.both) == (row.sparsity, row.selectors, row.both)
    assert (spans.spans, spans.selectors, spans.both) == (row.span, row.selector_span, row.both_span)


def test_a_rule_of_ones_own_has_the_spans_of_its_ids(tmp_path: Path) -> None:
    file = tmp_path / "rules.py"
    file.write_text("def spread(places, rng, training):\n    return places * 7\n")
    task = TASKS.build("addition")
    plain = structure(task, OwnRule(max_position=5000), 10, stream(0, "span")).span
    mine = structure(task, OwnRule(max_position=5000, function=f"{file}:spread"), 10, stream(0, "span")).span
    assert mine == 7 * plain > 0


@pytest.mark.parametrize(
    ("scheme", "like"), [("abacus", "coupled"), ("coupled-rare-jump", "coupled"), ("pose", "sequential")]
)
def test_a_comparison_shows_the_structure_of_each_system(scheme: str, like: str) -> None:
    task, prediction = predicted("addition")
    names = (scheme, like, "randomized")
    shown = {name: structure_under(prediction, task, SCHEMES.build(name))["span"] for name in names}
    assert shown[scheme] == shown[like] != shown["randomized"]


def test_a_comparison_shows_that_reset_ids_are_not_local() -> None:
    task = TASKS.build("parity")
    found = structure_under(predict_task(task), task, SCHEMES.build("reset"))["span"]
    assert found == sorted(set(found))


def test_a_comparison_without_room_for_the_lengths_shows_no_span() -> None:
    task, prediction = predicted("addition")
    found = structure_under(prediction, task, SCHEMES.build("randomized", max_position=20))
    assert set(found.values()) == {None}
