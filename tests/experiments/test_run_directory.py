"""Names of runs, found again under older rules, and results that are not those of the run that they stand for."""

from __future__ import annotations

import dataclasses
import json
import random
import shutil
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from table_parts import results

from lengthwise.core.config import changed_fields, config, digest
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.files import read_json, write_json
from lengthwise.core.result_file import read_sealed, result_files, sealed
from lengthwise.core.user_code import MODULES
from lengthwise.experiments import recipes as _recipes  # noqa: F401
from lengthwise.experiments.defaults import default_experiment
from lengthwise.experiments.engine import sweep
from lengthwise.experiments.events import Event
from lengthwise.experiments.recipe import PRESETS, RECIPES, Job, Recipe, Study
from lengthwise.experiments.run_config import RunConfig
from lengthwise.experiments.run_directory import finished, run_directory, run_name
from lengthwise.report.summary import contents
from lengthwise.tasks import TASKS
from lengthwise.training.config import TrainingConfig

STUDIES = Path(__file__).parents[2] / "studies"
EXAMPLE = (Path(__file__).parents[2] / "examples" / "my_task.py").read_text(encoding="utf-8")
TINY = RunConfig.from_json(
    {
        "task": {"name": "copy", "symbols": "repeats", "letters": 3},
        "scheme": {"name": "coupled", "max_position": 24},
        "encoding": {"name": "learned"},
        "model": {"layers": 1, "heads": 2, "width": 16, "mlp_ratio": 1},
        "training": {"max_length": 3, "steps": 2, "batch_size": 8, "groups": 2, "probe_every": 2},
        "evaluation": {"lengths": [3], "samples": 4, "fit_samples": 4, "probe_samples": 4},
    }
)


def old_name(experiment: RunConfig, seed: int) -> str:
    """The rule before this one, in words of its own: every field of that time, changed or not."""
    values = experiment.to_json()
    del values["model"]["loops"], values["model"]["mixer"]
    for name in ("regularizer_normed", "progressive", "random_loops", "curriculum", "priming", "priming_length"):
        del values["training"][name]
    return digest({"format": 1, "experiment": values, "seed": seed})


@cache
def committed() -> list[tuple[Path, dict[str, Any]]]:
    return [(p, values) for p in result_files(STUDIES) if "experiment" in (values := read_json(p))]


@cache
def _experiment(text: str) -> RunConfig:
    """The same object for all seeds of an experiment."""
    return RunConfig.from_json(json.loads(text))


def test_every_committed_result_is_found_under_its_run() -> None:
    found = committed()
    assert len(found) > 300
    for path, values in found:
        experiment, seed = _experiment(json.dumps(values["experiment"])), values["seed"]
        assert run_directory(results(values["recipe"]).parent, values["recipe"], experiment, seed) == path.parent
        result = finished(path.parent, experiment, seed)
        assert result is not None
        unsealed = read_sealed(path, "result file", listed=True)
        assert result.to_json() == unsealed, "nothing is lost or changed on the way through a typed result"


def test_no_two_runs_have_one_name() -> None:
    found = [(digest(values["experiment"]), values) for _, values in committed()]
    names = {run_name(_experiment(json.dumps(values["experiment"])), values["seed"]): about for about, values in found}
    assert len(names) == len({(about, values["seed"]) for about, values in found})
    works = {
        (run_name(work, seed), about, seed)
        for preset in PRESETS
        for name in RECIPES.names()
        for job in RECIPES.make(name, preset).jobs
        for work in job.works
        for about in [json.dumps(work.described())]
        for seed in job.seeds[:1]
    }
    assert len({name for name, *_ in works}) == len(works)


def test_a_new_field_with_a_default_changes_no_name() -> None:
    @config
    class Before:
        steps: int = 10
        training: TrainingConfig = dataclasses.field(default_factory=TrainingConfig)

    @config
    class After:
        steps: int = 10
        more: tuple[int, ...] = ()
        training: TrainingConfig = dataclasses.field(default_factory=TrainingConfig)
        last: str = "x"

    fields: list[dict[str, Any]] = [{}, {"steps": 3}, {"training": TrainingConfig(lr=1.0)}]
    for given in fields:
        assert changed_fields(Before(**given)) == changed_fields(After(**given))
    assert changed_fields(After(training=TrainingConfig(lr=1.0, steps=1000))) == {"training": {"lr": 1.0}}
    assert changed_fields(After(more=(1,))) == {"more": [1]}


def test_names_cover_every_change() -> None:
    edits = ("training.lr=0.5", "model.width=32", "task.letters=4", "scheme.max_position=25", "evaluation.samples=5")
    names = {run_name(e, seed) for e in (TINY, *(TINY.edited([edit]) for edit in edits)) for seed in (0, 1)}
    assert len(names) == 2 * (1 + len(edits))
    # The class of a nested component is part of the name, though none of its fields differs from its default.
    assert TINY.described()["experiment"]["encoding"] == {"name": "learned"}
    assert run_name(TINY.edited(['encoding={"name":"nope"}']), 0) not in names


def phases(recipe: Recipe, out: Path) -> list[str]:
    events: list[Event] = []
    sweep(recipe, out, progress=events.append)
    return [event.phase for event in events if event.ended]


def test_runs_under_the_old_name_are_reused_and_go_on(tmp_path: Path) -> None:
    recipe = Recipe("r", "", (Job("a", TINY, (0, 1)),))
    assert phases(recipe, tmp_path) == ["finished"] * 2
    for seed in (0, 1):
        new = tmp_path / "r" / run_name(TINY, seed)
        new.rename(tmp_path / "r" / old_name(TINY, seed))
    assert phases(recipe, tmp_path) == ["reused"] * 2
    old = tmp_path / "r" / old_name(TINY, 1)
    before = read_json(old / "result.json")
    (old / "result.json").unlink()
    assert phases(recipe, tmp_path) == ["reused", "finished"]
    assert read_json(old / "result.json")["scores"] == before["scores"]
    assert not (tmp_path / "r" / run_name(TINY, 1)).exists()


def test_a_report_refuses_a_study_with_a_changed_number(tmp_path: Path) -> None:
    study = Study("s", lambda preset, seed, report: {"rows": [{"x": 12345}]}, "quick")
    sweep(Recipe("s", "", (Job("s", study, (0,)),)), tmp_path)
    (path,) = tmp_path.rglob("study.json")
    assert [values["rows"] for _, values in contents([tmp_path], ["study.json"])] == [[{"x": 12345}]]
    path.write_text(path.read_text().replace("12345", "12344"))
    with pytest.raises(LengthwiseError, match="its content does not fit its digest"):
        list(contents([tmp_path], ["study.json"]))


@pytest.fixture(scope="module")
def two_seeds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs")
    sweep(Recipe("r", "", (Job("a", TINY, (0, 1)),)), out)
    return out


def test_the_result_of_another_seed_or_experiment_is_refused(two_seeds: Path, tmp_path: Path) -> None:
    out = shutil.copytree(two_seeds, tmp_path / "runs")
    first, second = (run_directory(out, "r", TINY, seed) / "result.json" for seed in (0, 1))
    shutil.copy(second, first)
    for count in (1, 2):
        with pytest.raises(LengthwiseError, match=r"result file .* is of seed 1, not 0; delete it and run again"):
            sweep(Recipe("r", "", (Job("a", TINY, tuple(range(count))),)), out)
    other = {**read_json(second), "experiment": TINY.edited(["training.lr=0.5"]).to_json()}
    del other["digest"]
    write_json(second, sealed(other))
    with pytest.raises(LengthwiseError, match=r"result file .* is of another experiment; delete it and run again"):
        sweep(Recipe("r", "", (Job("a", TINY, (1,)),)), out)


def test_a_flipped_digit_is_noticed(two_seeds: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(run_directory(two_seeds, "r", TINY, 0), tmp_path / "run")
    path = folder / "result.json"
    text = path.read_text()
    digits = [i for i, c in enumerate(text) if c.isdigit()]
    generator = random.Random(0)
    for i in generator.sample(digits, 100):
        new = generator.choice([d for d in "0123456789" if d != text[i]])
        changed = text[:i] + new + text[i + 1 :]
        try:
            # The last digits of a long fraction may lie below what a float holds.
            same = json.loads(changed) == json.loads(text)
        except ValueError:
            same = False
        path.write_text(changed)
        if not same:
            with pytest.raises(LengthwiseError, match="delete it and run again"):
                finished(folder, TINY, 0)
    del (values := json.loads(text))["digest"]
    write_json(path, values)
    with pytest.raises(LengthwiseError, match="its digest is missing"):
        finished(folder, TINY, 0)
    write_json(path, {**values, "format": 1})
    assert finished(folder, TINY, 0) is not None, "files of before have no digest"


@pytest.mark.parametrize("imported", [False, True], ids=["FILE:Class", "imported"])
def test_an_edited_task_of_ones_own_is_another_run(
    imported: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text of the file is part of the name; otherwise results of the task before would be taken for new ones."""
    file = tmp_path / "edited_task.py"
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    names = []
    for text in (EXAMPLE, EXAMPLE, EXAMPLE.replace("not digits", "no digits")):
        file.write_text(text, encoding="utf-8")
        for module in [name for name in sys.modules if name.startswith(MODULES) or name == file.stem]:
            del sys.modules[module]
        task = import_module(file.stem).EverySecond() if imported else f"{file}:EverySecond"
        names.append(run_name(default_experiment(TASKS.build(task)), 0))
    assert names[0] == names[1] != names[2]


def test_no_code_is_in_the_name_of_a_run_of_a_task_of_this_package() -> None:
    assert default_experiment(TASKS.build("copy")).described().keys() == {"experiment"}
