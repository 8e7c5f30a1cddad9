"""The public face, line by line as a notebook would use it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import lengthwise as lw
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.table import Tabular


def small_copy() -> lw.Experiment:
    task = lw.task("copy", letters=8)
    return lw.Experiment(
        task, scheme="coupled", encoding="learned", max_length=4, steps=150, model={"width": 64}, test_lengths=[4, 8]
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> lw.Result:
    return small_copy().run(seeds=2, out=tmp_path_factory.mktemp("runs"), progress=False)


def test_every_public_name_is_there_and_documented() -> None:
    for name in lw.__all__:
        value = getattr(lw, name)
        # An alias of strings, such as `Preset`, has no text of its own.
        assert name in ("__version__", "Preset") or value.__doc__, name
    assert set(lw.__all__) <= set(dir(lw))
    with pytest.raises(AttributeError, match="has no attribute 'predikt'"):
        _ = lw.predikt  # type: ignore[attr-defined]


def test_importing_loads_nothing_heavy_and_is_quick() -> None:
    code = (
        "import sys, time\nstart = time.process_time()\nimport lengthwise\ntaken = time.process_time() - start\n"
        "heavy = {'torch', 'matplotlib', 'numpy', 'pydantic', 'pandas'} & set(sys.modules)\n"
        "assert not heavy, heavy\nassert 'lengthwise.api' not in sys.modules\nprint(taken)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 0.5, "ten times what it takes: something is imported that should not be"


def test_structure_is_a_table_with_numbers() -> None:
    task = lw.task("addition")
    found = lw.structure(task, "coupled", lengths=[5, 20, 100])
    assert found.span == (1, 1, 1)
    assert found.sparsity == (5, 5, 5)
    assert lw.structure(task, "sequential", lengths=[5, 20, 100]).span == (12, 42, 202)
    assert "sparsity k" in repr(found)
    assert "<table>" in found._repr_html_()
    assert list(found.to_frame().columns) == ["length", "k", "span"]


def test_structure_is_drawn_without_the_lengths_that_have_too_few_ids() -> None:
    found = lw.structure("addition", lw.scheme("sequential", max_position=60), lengths=[5, 10, 20, 100])
    assert found.span[-1] is None
    sparsity, span = found.plot().axes[0].get_lines()
    assert list(sparsity.get_xdata()) == [5, 10, 20, 100]
    assert list(span.get_ydata()) == [value for value in found.span if value is not None]


def test_places_are_found_and_a_program_runs_and_is_compiled() -> None:
    found = lw.couple("copy", lengths=[5, 10])
    assert found.holds
    assert [row[0] for row in found.table().rows][-2:] == [5, 10]
    assert lw.run_program("D-2", "a b").accepted is True
    assert lw.run_program("D-2", "b a").accepted is False
    compiled = lw.compile_program("D-2", verify=2)
    assert compiled.agrees
    assert lw.learn_program("regex:(a|b)*", max_size=3).program


def test_a_task_is_checked_by_every_law() -> None:
    done = lw.check("copy")
    assert done.kind == "task"
    assert not done.broken
    assert lw.available("schemes").entries.keys() == {"schemes"}
    assert "addition" in str(lw.available("tasks"))


def test_certificates_of_a_decision_are_read_back(tmp_path: Path) -> None:
    path = lw.decide("(aa)*").save_certificates(tmp_path / "certificates.json")
    checked = lw.check_certificates(path).certificates
    assert {one.source for one in checked} == {"(aa)*"}
    assert checked


def test_a_recipe_is_run_by_name(tmp_path: Path) -> None:
    small = ["training.steps=5", "model.width=16", "evaluation.lengths=[4]", "evaluation.samples=4"]
    small += ["evaluation.fit_samples=4", "evaluation.probe_samples=2"]
    done = lw.run("addition", only=["coupled"], changes=small, seeds=[1], out=tmp_path, progress=False)
    assert [run.seed for run in done.result.runs] == [1]
    assert done.table().rows == done.result.table().rows
    assert lw.write_report([done.folder], tmp_path / "page.html") == 1


def test_structure_counts_selectors_of_their_own() -> None:
    found = lw.structure("variable-assignment", "sequential", lengths=[5, 20, 100])
    columns = ["length", "k", "span", "selectors", "span of selectors", "both", "span of both"]
    assert list(found.to_frame().columns) == columns
    assert found.rows == ((5, 1, 17, 2, 18, 3, 18), (20, 1, 79, 2, 80, 3, 80), (100, 1, 399, 2, 400, 3, 400))
    assert max(map(len, repr(found).splitlines())) <= 80


def test_show_has_tokens_places_parents_and_a_picture() -> None:
    shown = lw.show("addition", length=3, scheme="coupled")
    assert shown.example.tokens[0].text == "<bos>"
    assert "parents" in repr(shown)
    assert shown._repr_html_().startswith('<div style="background:#fff"><svg')
    assert shown.plot().axes


def test_decide_answers_and_proves() -> None:
    decided = lw.decide("(aa)*")
    assert decided.answer("nope") == "no"
    assert decided.answer("ape") == "yes"
    assert decided.certificate("ape").values["answer"] == "yes"
    assert decided.certificate("nope").lines
    assert "alphabet" in decided.program("ape")
    with pytest.raises(LengthwiseError, match=r"unknown position system 'windows'"):
        decided.answer("windows")


def test_predictions_are_tables() -> None:
    for target in ("addition", "regex:(ab)*"):
        prediction = lw.predict(target)
        assert isinstance(prediction, Tabular)
        assert len(repr(prediction)) < 160
        assert "nope" in repr(prediction.table())
        assert "nope" in repr(prediction.theory)
        assert list(prediction.to_frame()["system"]) == [found.system for found in prediction]
    named = lw.predict(lw.task("copy"), encoding=["nope", "rope"])
    assert {found.system for found in named} == {"nope", "rope"}
    assert [v.system for v in named.theory.verdicts] == ["nope", "rope"]
    (one,) = lw.predict("(aa)*", 40, 200, "rope")
    assert one.probability is not None
    assert one.interval is not None
    assert one.interval[0] <= one.probability <= one.interval[1]
    assert one.answer == "UNLIKELY"
    assert one.reasons


def test_an_experiment_runs_and_its_result_shows_every_seed(trained: lw.Result) -> None:
    assert len(trained.runs) == 2
    assert len(trained.folders) == 2
    table = trained.accuracy().table()
    assert table.columns[:3] == ("system", "settings", "length")
    assert {row[2] for row in table.rows} == {4, 8}
    assert "copy" in str(trained.folders[0])
    assert trained.accuracy().plot().axes
    with pytest.raises(LengthwiseError, match="unknown metric 'exact'"):
        trained.accuracy("exact")


def test_running_again_trains_nothing(trained: lw.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    out = trained.folders[0].parents[1]
    monkeypatch.setattr(torch.optim.AdamW, "step", None)
    result = small_copy().run(seeds=[0, 1], out=out, progress=False)
    assert [run.seed for run in result.runs] == [0, 1]


def test_a_loaded_model_is_a_module_that_answers_in_text(trained: lw.Result) -> None:
    model = lw.load(trained, seed=1)
    assert isinstance(model, torch.nn.Module)
    assert model.generate("c a b <sep>") == model.generate(["<bos>", "c", "a", "b", "<sep>"]) == "c a b"
    same = lw.load(trained.folders[1])
    for one, two in zip(model.parameters(), same.parameters(), strict=True):
        assert torch.equal(one, two)
    with pytest.raises(LengthwiseError, match="seed 7 was not run; the seeds are 0, 1"):
        lw.load(trained, seed=7)


@pytest.mark.parametrize(
    ("prompt", "message"),
    [("c a x <sep>", "has no token 'x'"), ("c a b", "is no prompt of task 'copy'; a whole example reads: <bos>")],
)
def test_a_prompt_that_is_none_is_one_clear_line(trained: lw.Result, prompt: str, message: str) -> None:
    with pytest.raises(LengthwiseError, match=message) as caught:
        lw.load(trained).generate(prompt)
    assert "\n" not in str(caught.value)


def test_tables_go_to_papers(trained: lw.Result, tmp_path: Path) -> None:
    accuracy = trained.accuracy()
    assert "% fitted: ≥ 98 % right over" in accuracy.to_latex()
    assert accuracy.to_csv(tmp_path / "accuracy.csv") == (tmp_path / "accuracy.csv").read_text()
    assert accuracy.to_markdown().startswith("| system")
    page = trained.save_report(tmp_path / "report.html")
    assert "<svg" in page.read_text()


NOTEBOOK = """
import lengthwise as lw
lw.predict("addition"); lw.predict("regex:(ab)*")
lw.decide("(aa)*").certificate("ape")
task = lw.task("addition")
lw.structure(task, "coupled", lengths=[5, 20, 100])
lw.show(task, length=3, scheme="coupled")
exp = lw.Experiment(task, scheme="coupled", encoding="learned", max_length=8)
exp = small_copy()
result = exp.run(seeds=2, out=out)
result.accuracy().plot(); result.to_frame()
model = lw.load(result)
model.generate("c a b <sep>")
lw.nn.FIRE(heads=4); lw.nn.Rotary(64); lw.nn.CoupledEmbedding(512, 64)
"""
"""What a researcher types; the experiment on addition takes minutes, so a small one takes its place."""


def test_the_notebook_runs_line_by_line(trained: lw.Result) -> None:
    """Every value that a notebook would show has a text, and more than a class and an address."""
    known: dict[str, Any] = {"small_copy": small_copy, "out": trained.folders[0].parents[1]}
    for line in NOTEBOOK.strip().splitlines():
        for part in line.split("; "):
            exec(compile(part, "notebook", "single"), known)
    assert known["model"].generate("c a b <sep>") == "c a b"
    for name in ("task", "exp", "result", "model"):
        assert not re.search(r"object at 0x", repr(known[name])), name


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scheme": "couplet"}, "unknown scheme 'couplet'. Did you mean 'coupled'"),
        ({"encoding": "roped"}, "unknown encoding 'roped'"),
        ({"model": {"layer": 2}}, "unknown field of model 'layer'. Did you mean 'layers'"),
        ({"max_length": 0}, "max_length must be at least 1"),
    ],
)
def test_mistakes_are_one_line(settings: dict, message: str) -> None:
    with pytest.raises(LengthwiseError, match=message):
        lw.Experiment("copy", **settings)


def test_names_that_exist_are_listed() -> None:
    found = lw.available()
    assert "addition" in found.names("tasks")
    assert "fire" in repr(found)
