"""Architectures beside position systems: equal parameters, the same strings, names, costs, and what theory says."""

from __future__ import annotations

from pathlib import Path

import pytest

from lengthwise.api.compare import Comparison, compare
from lengthwise.core.errors import LengthwiseError
from lengthwise.experiments.compare import GRID, ModelSetting, Plan, read_plan
from lengthwise.experiments.defaults import MODELS, chosen_systems, model_systems
from lengthwise.positions.system import PositionSystem
from lengthwise.report.pages import comparison_table
from lengthwise.tasks import TASKS
from lengthwise.training.data import TaskSetup, stacked_groups
from tiny_comparison import make_comparisons_tiny

PARITY = TASKS.build("parity")


def made(names: list[str]) -> Plan:
    systems = chosen_systems(PARITY, names)
    return Plan(TASKS.describe(PARITY), systems, 4, (4, 8), 1, 100, equal=True)


def test_names_of_systems_with_mixers() -> None:
    names = ["lstm", "mamba*2+attention@rope", "deltanet(negative=true)+attention", "pose+rope", "attention@learned"]
    found = chosen_systems(PARITY, names)
    assert [system.name for system in found] == [
        "lstm", "mamba*2+attention@sequential+rope", "deltanet(negative=true)+attention@nope", "pose+rope",
        "random-start+learned",
    ]  # fmt: skip
    assert found[1] == PositionSystem("sequential", "rope", "mamba*2+attention")
    with pytest.raises(LengthwiseError, match="Did you mean"):
        chosen_systems(PARITY, ["lsmt"])
    with pytest.raises(LengthwiseError, match="Did you mean"):
        chosen_systems(PARITY, ["lstm+atention@rope"])


def test_all_models_have_as_many_parameters_within_a_tenth() -> None:
    plan = made(["nope", "rope", *MODELS])
    counts = {}
    for system in plan.systems:
        built = plan.experiment(system, GRID[1])
        assert built.model.layers == 2
        setup = TaskSetup(built.task, built.scheme, built.encoding, built.model)
        counts[system.name] = setup.build(0).parameter_count
    assert all(0.9 <= count / counts["nope"] <= 1.1 for count in counts.values()), counts


def test_all_models_train_on_the_same_tokens() -> None:
    plan = made(["rope", "lstm", "mamba+attention@rope"])
    drawn = []
    for system in plan.systems:
        built = plan.experiment(system, GRID[0])
        groups = [stacked_groups(built.task, built.scheme, built.training, [0], step) for step in (0, 7)]
        drawn.append([group.input_ids.tolist() for step in groups for group in step])
    assert drawn[0] == drawn[1] == drawn[2]


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    with pytest.MonkeyPatch.context() as patch:
        make_comparisons_tiny(patch, (ModelSetting(1, 1e-2, 0.0),))
        return compare(
            "parity", ["rope", "lstm", "mamba(state=4)+attention"], budget="60s", seeds=1, max_length=4,
            out=tmp_path_factory.mktemp("models") / "compared",
        )  # fmt: skip


def test_one_page_has_accuracy_speed_and_state(comparison: Comparison) -> None:
    rows = {row["system"]: row for row in comparison.rows}
    assert set(rows) == {"sequential+rope", "lstm", "mamba(state=4)+attention@nope"}
    assert all(row["seeds"] and row["parameters"] and row["steps_per_second"] > 0 for row in rows.values())
    short, long = rows["lstm"]["state"]
    assert short == long, "the state of an LSTM has a fixed size"
    short, long = rows["sequential+rope"]["state"]
    assert short < long
    assert rows["lstm"]["verdict"] == "yes"
    table = comparison_table(comparison.values)
    assert table.columns[-3:] == ("parameters", "steps/s", "state")
    assert any("training tokens: the same for all" in note for note in table.advice)
    assert "lstm" in comparison.page.read_text()
    assert comparison.setting("lstm")["model"]["mixer"] == "lstm"


def test_it_goes_on_where_it_ended(comparison: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    make_comparisons_tiny(monkeypatch, (ModelSetting(1, 1e-2, 0.0),))
    before = read_plan(comparison.folder)
    again = compare(
        "parity", ["rope", "lstm", "mamba(state=4)+attention"], budget="60s", seeds=1, max_length=4,
        out=Path(comparison.folder),
    )  # fmt: skip
    assert read_plan(comparison.folder) == before
    assert [row["seeds"] for row in again.rows] == [row["seeds"] for row in comparison.rows]


def test_models_alone_are_compared_on_request() -> None:
    names = [system.name for system in model_systems(TASKS.build("addition"))]
    assert names[0] == "coupled+learned"
    assert {"nope", "sequential+rope", "lstm", "rwkv7", "mamba+attention@sequential+rope"} < set(names)
