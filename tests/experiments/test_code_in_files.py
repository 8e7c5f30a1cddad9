"""A file that is read runs no code: names such as FILE.py:Class in it are refused until the user trusts the file."""

from __future__ import annotations

import dataclasses
import importlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

import lengthwise as lw
from lengthwise.cli.main import main
from lengthwise.core.config import changed_fields, config
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.result_file import write_sealed
from lengthwise.core.user_code import load_code
from lengthwise.experiments.blind.study import BlindStudy
from lengthwise.experiments.recipe import Job
from lengthwise.experiments.run_config import RESULT_FORMAT, RunConfig
from lengthwise.experiments.run_directory import claim_run_dir
from lengthwise.experiments.trained import load_exported
from lengthwise.models.build import build_model
from lengthwise.report.summary import known_task
from lengthwise.tasks import TASKS
from lengthwise.tasks.copying import Copy
from lengthwise.training import checkpoint

EXAMPLE = Path(__file__).parents[2] / "examples" / "my_task.py"
PARTS = ("task", "inner task", "scheme", "encoding", "layers", "rule", "mixer")


def mark(folder: Path) -> tuple[Path, Path]:
    """A Python file that leaves a mark when it runs, and the mark."""
    code, mark = folder / "evil.py", folder / "it-ran"
    code.write_text(
        f"from pathlib import Path\nPath({str(mark)!r}).touch()\n\n\ndef rule(places, *_):\n    return places\n"
    )
    return code, mark


def naming(code: Path, part: str) -> dict[str, Any]:
    """An experiment that names a class or a function of the file."""
    values: dict[str, Any] = {"task": {"name": "copy"}, "scheme": {"name": "sequential"}, "encoding": {"name": "nope"}}
    if part == "rule":
        return {**values, "scheme": {"name": "own-rule", "function": f"{code}:rule"}}
    if part == "inner task":
        return {**values, "task": {"name": "recoupled", "task": {"name": f"{code}:Evil"}}}
    if part == "layers":
        return {**values, "encoding": {"name": "layers", "pattern": f"nope+{code}:Evil"}}
    if part == "mixer":
        return {**values, "model": {"layers": 2, "mixer": f"attention+{code}:Evil"}}
    return {**values, part: {"name": f"{code}:Evil"}}


def run_folder(folder: Path, experiment: dict[str, Any]) -> Path:
    write_sealed(folder / "config.json", {"format": RESULT_FORMAT, "experiment": experiment, "seed": 0})
    return folder


def exported(folder: Path, experiment: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(
        json.dumps({"model_type": "lengthwise", "experiment": experiment, "seed": 0, "vocabulary": []})
    )
    save_file({"x": torch.zeros(1)}, folder / "model.safetensors")
    return folder


def pretrained(folder: Path, experiment: dict[str, Any]) -> None:
    pytest.importorskip("transformers")
    from lengthwise.hf import LengthwiseForCausalLM

    LengthwiseForCausalLM.from_pretrained(exported(folder, experiment))


def as_job(folder: Path, experiment: dict[str, Any]) -> None:
    Job.from_json({"name": "x", "seeds": [0], "experiment": experiment, "fallbacks": [], "needed": 1})


def as_fallback(folder: Path, experiment: dict[str, Any]) -> None:
    fine = naming(folder, "task") | {"task": {"name": "copy"}}
    Job.from_json({"name": "x", "seeds": [0], "experiment": fine, "fallbacks": [experiment], "needed": 1})


def as_study(folder: Path, experiment: dict[str, Any]) -> None:
    Job.from_json({"name": "x", "seeds": [0], "study": {"name": f"{folder / 'evil.py'}:rule", "preset": "quick"}})


def claimed(folder: Path, experiment: dict[str, Any]) -> None:
    fine = RunConfig.from_json(naming(folder, "task") | {"task": {"name": "copy"}})
    claim_run_dir(run_folder(folder / "run", experiment), fine, 0)


READERS: dict[str, Callable[[Path, dict[str, Any]], Any]] = {
    "a description": lambda folder, experiment: RunConfig.from_json(experiment),
    "a run directory": lambda folder, experiment: lw.load(run_folder(folder / "run", experiment)),
    "a run to go on with": claimed,
    "an exported model": lambda folder, experiment: load_exported(exported(folder / "model", experiment)),
    "a pretrained model": lambda folder, experiment: pretrained(folder / "model", experiment),
    "a job": as_job,
    "a fallback": as_fallback,
    "a study": as_study,
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("reader", READERS)
def test_no_file_that_is_read_runs_code(tmp_path: Path, reader: str, part: str) -> None:
    code, ran = mark(tmp_path)
    with pytest.raises(LengthwiseError) as caught:
        READERS[reader](tmp_path, naming(code, part))
    assert not ran.exists()
    assert "\n" not in str(caught.value)
    if reader != "a run to go on with":
        assert f"give {code} as `code`" in str(caught.value)
    if reader == "a run directory":  # a line, not how this package came to it
        assert len(caught.traceback) == 3


@pytest.mark.parametrize("part", ["task", "inner task"])
def test_a_preregistration_and_a_report_run_no_code(tmp_path: Path, part: str) -> None:
    code, ran = mark(tmp_path)
    task = naming(code, part)["task"]
    content = {"languages": [{"name": "x", "task": task, "predicted": {}, "features": {}, "expression": ""}]}
    with pytest.raises(LengthwiseError, match="no file that is read runs code"):
        BlindStudy(tmp_path, "", content).entries()
    assert known_task({"task": task}) is None
    assert not ran.exists()


def test_a_configuration_file_needs_the_word_of_the_user(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def terminal(*words: object) -> tuple[int, str, str]:
        status = main([str(word) for word in words])
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    code, ran = mark(tmp_path)
    path = tmp_path / "systems.json"
    path.write_text(json.dumps({"systems": [{"experiment": naming(code, "rule")}]}))
    status, _, err = terminal("run", "--config", path, "--print-config")
    assert (status, ran.exists()) == (2, False)
    assert f"give {code} as --code before the command" in err
    status, out, _ = terminal("--code", code, "run", "--config", path, "--print-config")
    assert (status, ran.exists()) == (0, True)
    assert "own-rule" in out
    status, _, err = terminal("--code", tmp_path / "gone.py", "list")
    assert status == 2
    assert "no file" in err


def test_a_run_of_ones_own_task_is_loaded_once_its_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = tmp_path / "nobody_gave_it.py"  # another file of its name may have been given
    code.write_text(EXAMPLE.read_text())
    values = {**naming(code, "task"), "task": {"name": f"{code}:EverySecond"}}
    folder = run_folder(tmp_path / "run", values)
    with pytest.raises(LengthwiseError, match=r"load_code\('.*nobody_gave_it\.py'\)"):
        lw.load(folder)
    load_code(code)
    found = RunConfig.from_json(values)
    assert changed_fields(found)["task"] == {"name": f"{code}:EverySecond"}
    model = build_model(found.task, found.scheme, found.encoding, found.model, seed=0)
    monkeypatch.setattr(checkpoint, "load_model", lambda folder, model: 0)
    assert lw.load(folder).state_dict().keys() == model.state_dict().keys()


def test_a_class_of_a_script_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user who gives the class itself, from a script, loads the results in the same script."""
    script = tmp_path / "script.py"
    script.write_text(f"{EXAMPLE.read_text()}\nwith open({str(tmp_path / 'log')!r}, 'a') as log:\n    log.write('x')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    mine = importlib.import_module("script")
    try:
        plain = RunConfig.from_json(naming(script, "task") | {"task": {"name": "copy"}})
        found = dataclasses.replace(plain, task=mine.EverySecond())
        assert RunConfig.from_json(found.to_json()) == found
        assert (tmp_path / "log").read_text() == "x"
    finally:
        del sys.modules["script"]


def test_a_run_is_read_from_another_folder_once_its_file_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name such as mine.py:EverySecond was written where the file lies."""
    home, away = tmp_path / "home", tmp_path / "away"
    for folder in (home, away):
        folder.mkdir()
    (home / "elsewhere.py").write_text(EXAMPLE.read_text())
    values = {**naming(home, "task"), "task": {"name": "elsewhere.py:EverySecond"}}
    monkeypatch.chdir(away)
    with pytest.raises(LengthwiseError, match="no file that is read runs code"):
        RunConfig.from_json(values)
    load_code(home / "elsewhere.py")
    assert RunConfig.from_json(values).to_json() == {
        **RunConfig.from_json(values).to_json(),
        "task": {**values["task"], "base": 10},
    }


def test_other_processes_know_the_files_that_the_user_gave(tmp_path: Path) -> None:
    code = tmp_path / "registered.py"
    code.write_text(EXAMPLE.read_text().replace("@lw.config", "@lw.register('task', 'every-other')\n@lw.config"))
    load_code(code)
    asked = "from lengthwise.tasks import TASKS; print(TASKS.build('every-other').base)"
    found = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=False)
    assert found.stdout.strip() == "10", found.stderr


def test_a_subclass_of_a_task_goes_by_its_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "derived.py").write_text(
        "from lengthwise.core.config import config\nfrom lengthwise.tasks.copying import Copy\n\n\n"
        "@config\nclass Mine(Copy):\n    pass\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    mine = importlib.import_module("derived")
    assert TASKS.describe(TASKS.build(mine.Mine()))["name"].endswith("derived.py:Mine")

    @config
    class Local(Copy):
        pass

    with pytest.raises(LengthwiseError, match="class Local has no name"):
        TASKS.describe(TASKS.build(Local()))
