"""The demonstration says what it does, stays within its time, and keeps talking where there is no terminal."""

from __future__ import annotations

import io
import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name
from rich.console import Console

from fresh_process import ran
from lengthwise.api import demo as workflow
from lengthwise.api import progress
from lengthwise.api.progress import SweepProgress
from lengthwise.cli.main import main
from lengthwise.core.errors import LengthwiseError
from lengthwise.experiments.events import Event
from lengthwise.experiments.recipe import RECIPES, Recipe
from lengthwise.experiments.run import check_ids
from test_wheel import needed

EDITS = [
    "training.steps=2", "model.width=16", "evaluation.lengths=[4]", "evaluation.samples=4", "evaluation.fit_samples=4",
    "evaluation.probe_samples=2",
]  # fmt: skip
"""What makes its trainings tiny."""
WITHOUT = """
import sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

for name in [name for name in sys.modules if name.partition(".")[0] in {names!r}]:
    del sys.modules[name]  # torch takes some where they are there
sys.meta_path.insert(0, Missing())
from lengthwise.api import demo
from lengthwise.cli.main import main
from lengthwise.experiments.recipe import RECIPES
demo.demo_recipe = lambda: RECIPES.make("demo", "quick").edited({edits!r}, 1)
demo.STAGES = demo.STAGES[1:]  # which has what the one before it trains
sys.exit(main(["demo", "--out", {runs!r}, "-o", {page!r}, "--jobs", "1"]))
"""
"""The demonstration where nothing of the extras is installed."""


def test_theory_is_in_words_and_names_the_distance() -> None:
    lines = workflow.theory()
    assert lines[0].startswith("an example: <bos>")
    assert "sequential ids: a token and what it depends on are up to 17 apart at 5 lines, 159 at 40" in lines
    assert "coupled ids: a token and what it depends on are at most 0 apart at every length" in lines
    assert any(line.startswith("coupled positions: yes") for line in lines)
    assert all(line.count("(") == line.count(")") for line in lines)


def test_the_difference_of_the_models_is_said_where_they_differ() -> None:
    made = [job.experiment for job in workflow.demo_recipe().jobs]
    line = workflow.differences()
    for job, one in zip(workflow.demo_recipe().jobs, made, strict=True):
        assert f"{job.name}: {one.model.layers} layer" in line
        assert f"{one.training.steps:,} steps, attention scaled" in line


def test_every_system_has_the_ids_that_it_needs() -> None:
    for job in workflow.demo_recipe().jobs:
        for seed in job.seeds:
            check_ids(job.experiment, seed)


def test_it_prints_where_to_look_and_writes_a_page(
    tmp_path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def tiny() -> Recipe:
        return RECIPES.make("demo", "quick").edited(EDITS, 1)

    monkeypatch.setattr(workflow, "demo_recipe", tiny)
    # What sets theory against measurement is tested with the page, which has the same lines.
    contradicted = "lengthwise.report.page.against_theory"
    monkeypatch.setattr(contradicted, lambda systems: [f"{system.name}: not as theory says" for system in systems])
    page = tmp_path / "page.html"
    assert main(["demo", "--out", str(tmp_path / "runs"), "-o", str(page), "--jobs", "1"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Can a transformer that has practised on problems of 4 lines")
    assert [line[:6] for line in printed.splitlines() if " of 3  " in line] == ["1 of 3", "2 of 3", "3 of 3"]
    assert f"\nThe models: {workflow.differences()}.\n" in printed
    said = re.findall(r"^(.*): not as theory says$", printed, re.M)
    assert said == ["coupled (PPC)", "coupled (PPC)", "plain positions"], "after each training"
    assert f"Where to look: {page} in a browser" in " ".join(printed.split())
    assert "plain positions" in page.read_text(encoding="utf-8")


def test_it_needs_no_extras(tmp_path: Path) -> None:
    package = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: of for name, of in package["optional-dependencies"].items() if name not in ("dev", "docs")}
    own = needed([one for of in extras.values() for one in of]).keys() - needed(package["dependencies"]).keys()
    owners = packages_distributions().items()
    names = {module for module, of in owners if {canonicalize_name(one) for one in of} <= own}
    assert {"transformers", "datasets", "peft", "pandas", "sklearn", "ray", "openai"} <= names
    page = tmp_path / "page.html"
    done = ran(WITHOUT.format(names=names, edits=EDITS, runs=str(tmp_path / "runs"), page=str(page)))
    assert done.returncode == 0, done.stderr
    assert "Where to look" in done.stdout
    assert "plain positions" in page.read_text(encoding="utf-8")


def test_without_a_terminal_a_line_comes_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    text = io.StringIO()
    recipe = workflow.demo_recipe()
    shown = SweepProgress(Console(file=text, width=20), recipe)
    for step in range(1, 101):
        now[0] += 1.0
        shown(Event(recipe.jobs[0].name, 0, "train", step, 100, 0.5))
    first, *lines = text.getvalue().splitlines()
    assert first.endswith("of training, as a run ends once it fits; tests come on top")
    assert [line.partition(", at most")[0] for line in lines] == [
        f"coupled (PPC), seed 0, train {step} of 100, loss 0.500" for step in (36, 66, 96)
    ]


def test_a_recipe_with_another_folder_in_the_way_says_so(tmp_path) -> None:
    (tmp_path / "runs").write_text("")
    with pytest.raises(LengthwiseError, match="is a file; choose a folder"):
        workflow.train_stage(["coupled (PPC)"], tmp_path / "runs", tmp_path / "page.html", jobs=1, progress=False)
