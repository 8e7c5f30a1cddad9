"""Runs: finished once, resumed after being killed, refused where they don't belong; files whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from safetensors import safe_open

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.files import write_json
from lengthwise.experiments.run import run_seed
from lengthwise.experiments.run_config import RunConfig
from lengthwise.experiments.run_directory import claim_run_dir, finished, run_directory

DESCRIPTION: dict[str, Any] = {
    "task": {"name": "addition", "base": 2},
    "scheme": {"name": "coupled", "max_position": 24},
    "encoding": {"name": "learned"},
    "model": {"layers": 1, "heads": 2, "width": 16, "mlp_ratio": 1, "dropout": 0.1},
    "training": {"max_length": 3, "steps": 40, "batch_size": 8, "groups": 2, "warmup": 5, "probe_every": 4},
    "evaluation": {"lengths": [2, 3, 6], "samples": 8, "fit_samples": 8, "probe_samples": 6},
}
TINY = RunConfig.from_json(DESCRIPTION)
SHORT = TINY.edited(["training.steps=4"])


def run(folder: Path, experiment: RunConfig = SHORT, seed: int = 0) -> dict[str, Any]:
    return run_seed(experiment, seed, folder, recipe="test", system="test").to_json()


def everything(folder: Path) -> dict[str, Any]:
    """All that a run leaves behind, but for the clock."""
    result = json.loads((folder / "result.json").read_text())
    del result["time"], result["seconds"], result["digest"]
    with safe_open(folder / "checkpoint.safetensors", framework="np") as file:
        tensors = {name: file.get_tensor(name).tobytes() for name in file.keys()}  # noqa: SIM118
        progress = json.loads(file.metadata()["about"].split(" ", 1)[1])
    del progress["seconds"], progress["progress"][0]["seconds"]
    config = (folder / "config.json").read_text()
    return {"result": result, "log": (folder / "log.jsonl").read_text(), "config": config, **tensors, **progress}


def test_eight_kills_at_random_moments_change_no_bit(tmp_path: Path):
    """SIGKILL, 8 times (60 in the slow `test_kills`): what remains in the end is what an uninterrupted run leaves."""
    server = Path(__file__).with_name("kill_server.py")
    done = subprocess.run(
        [sys.executable, str(server), json.dumps(DESCRIPTION), str(tmp_path), "8", "0"],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["killed"] >= 8
    expected = everything(tmp_path / "uninterrupted")
    assert expected["step"] == 40
    for folder in report["folders"]:
        assert everything(Path(folder)) == expected


def test_a_finished_run_is_read_not_repeated(tmp_path: Path):
    first = run(tmp_path / "a")
    before = (tmp_path / "a" / "checkpoint.safetensors").stat().st_mtime_ns
    assert run(tmp_path / "a") == first
    assert (tmp_path / "a" / "checkpoint.safetensors").stat().st_mtime_ns == before


def test_a_result_has_counts_and_says_where_it_comes_from(tmp_path: Path):
    result = run(tmp_path / "a")
    assert result["experiment"] == SHORT.to_json()
    assert {"commit", "machine", "time", "seconds", "steps", "parameters"} <= set(result)
    for score in result["scores"]:
        assert set(score["correct"]) == {"exact_match", "answer", "oracle_ids"}
        assert score["exact_match"] == score["correct"]["exact_match"] / score["n"]


def test_an_unfitted_model_is_not_measured_at_long_lengths(tmp_path: Path):
    result = run(tmp_path / "a")
    assert not result["fitted"]
    assert [score["length"] for score in result["scores"]] == [2, 3]


def test_of_a_language_hard_words_are_tested_beyond_training(tmp_path: Path):
    task = {"name": "language", "language": "(a|b|c)*ac*"}
    edits = ["evaluation.unfitted_too=true", 'scheme={"name": "sequential"}', 'encoding={"name": "nope"}']
    experiment = RunConfig.from_json(DESCRIPTION | {"task": task}).edited([*edits, "training.steps=4"])
    result = run(tmp_path / "a", experiment)
    assert [(score["length"], score["n"], score["test_set"]) for score in result["hard"]] == [(6, 8, "adversarial")]
    assert {score["length"] for score in result["scores"]} == {2, 3, 6}
    assert "hard" not in run(tmp_path / "b")


def test_directories_are_named_by_configuration_and_seed(tmp_path: Path):
    folders = {run_directory(tmp_path, "test", e, seed) for e in (TINY, SHORT) for seed in (0, 1)}
    assert len(folders) == 4
    assert run_directory(tmp_path, "test", RunConfig.from_json(SHORT.to_json()), 0) in folders


def test_another_configuration_is_refused_and_nothing_is_lost(tmp_path: Path):
    claim_run_dir(tmp_path / "a", SHORT, 0)
    before = (tmp_path / "a" / "config.json").read_bytes()
    for experiment, seed in ((TINY, 0), (SHORT, 1)):
        with pytest.raises(LengthwiseError, match="holds a run of another configuration; choose another folder"):
            run(tmp_path / "a", experiment, seed)
    assert (tmp_path / "a" / "config.json").read_bytes() == before


def test_a_folder_of_other_files_is_refused(tmp_path: Path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(LengthwiseError, match="is not empty and not a run directory; choose another folder"):
        run(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path):
    (tmp_path / "a").write_text("not a folder")
    with pytest.raises(LengthwiseError, match="is a file; choose a folder for the results"):
        run(tmp_path / "a")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 99}', '{"format": 1, "seed": 0}', "\x00", "NaN"])
def test_a_damaged_result_is_refused_in_one_line(tmp_path: Path, text: str):
    run(tmp_path / "a")
    (tmp_path / "a" / "result.json").write_text(text)
    with pytest.raises(LengthwiseError, match="delete it and run again") as error:
        finished(tmp_path / "a", SHORT, 0)
    assert "\n" not in str(error.value)


def test_ids_that_do_not_reach_are_known_before_the_training(tmp_path: Path):
    """At the longest test, and at the longest training string too."""
    for edits in (["scheme.max_position=8"], ["scheme.max_position=5", "evaluation.lengths=[1]"]):
        with pytest.raises(LengthwiseError, match=r"needs \d+ position ids, but max_position is \d"):
            run(tmp_path / edits[0], SHORT.edited(edits))
        assert not (tmp_path / edits[0] / "checkpoint.safetensors").exists()


def fail_with(number: int):
    def failing(*args: object, **kwargs: object) -> None:
        raise OSError(number, os.strerror(number))

    return failing


@pytest.mark.parametrize(
    ("number", "words"),
    [(errno.ENOSPC, "No space left on device; free space or "), (errno.EACCES, "Permission denied; ")],
)
@pytest.mark.parametrize("where", ["os.replace", "os.fsync", "tempfile.mkstemp"])
def test_files_are_written_whole_or_not_at_all(tmp_path: Path, monkeypatch, where: str, number: int, words: str):
    path = tmp_path / "result.json"
    write_json(path, {"old": 1})
    monkeypatch.setattr(where, fail_with(number))
    with pytest.raises(LengthwiseError, match=f"cannot write .*{words}choose another folder"):
        write_json(path, {"new": 2})
    monkeypatch.undo()
    assert json.loads(path.read_text()) == {"old": 1}
    assert [file.name for file in tmp_path.iterdir()] == ["result.json"]


def test_a_full_disk_loses_no_result(tmp_path: Path, monkeypatch):
    """The result can't be written; the next call goes on from the checkpoint and writes the same."""
    expected = run(tmp_path / "expected")
    monkeypatch.setattr("lengthwise.experiments.run.write_json", _full_disk_for("result.json"))
    with pytest.raises(LengthwiseError, match="No space left"):
        run(tmp_path / "a")
    monkeypatch.undo()
    assert not (tmp_path / "a" / "result.json").exists()
    result = run(tmp_path / "a")
    assert result["scores"] == expected["scores"]
    assert everything(tmp_path / "a") == everything(tmp_path / "expected")


def _full_disk_for(name: str):
    def write(path: Path, value: Any) -> None:
        if path.name == name:
            raise LengthwiseError(f"cannot write {path}: No space left on device")
        write_json(path, value)

    return write
