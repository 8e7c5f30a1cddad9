"""The hash that names a run directory, which run a directory belongs to, and the finished results in it."""

from __future__ import annotations

from pathlib import Path

from lengthwise.core.config import digest
from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.files import LOCK, make_folder, read_json, write_json
from lengthwise.core.result_file import CONFIG, RESULT, RunResult, StudyResult, read_sealed, write_sealed
from lengthwise.experiments.recipe import Study
from lengthwise.experiments.run_config import RESULT_FORMAT, RunConfig

DIVERGED = "diverged.json"
LEASES = "leases"
"""The folder of what a cluster is at work on; runs come back from there when they end."""


def run_name(work: RunConfig | Study, seed: int) -> str:
    """The hash that names a run: of what differs from the defaults, one seed, and the result format.

    `RunConfig.described` says what is hashed, and `core.config.digest` how.
    """
    return digest({"format": RESULT_FORMAT, **work.described(), "seed": seed})


def run_directory(out: Path, recipe: str, work: RunConfig | Study, seed: int) -> Path:
    """``out/recipe/<hash>``, or the directory of the same run under a name by an older rule where there is one."""
    folder = out / recipe / run_name(work, seed)
    if isinstance(work, RunConfig) and not folder.exists():
        for name in work.old_names(seed):
            if (out / recipe / name).exists():
                return out / recipe / name
    return folder


def finished(folder: Path, experiment: RunConfig, seed: int) -> RunResult | None:
    """The result in a run directory, or None.

    Raises `LengthwiseError` if the file is damaged, or the result is of another experiment or seed.
    """
    path = folder / RESULT
    if not path.exists():
        return None
    result = RunResult.of(read_json(path, what="result file"), f"result file {path}")
    if result.seed != seed or not experiment.equals(result.experiment):
        what = f"seed {result.seed}, not {seed}" if result.seed != seed else "another experiment"
        raise LengthwiseError(f"result file {path} is of {what}; delete it and run again")
    return result


def finished_study(folder: Path, study: Study, seed: int) -> StudyResult | None:
    """The result of a study in its directory, or None.

    Raises `LengthwiseError` if it is damaged, or of another format, study, preset or seed.
    """
    path = folder / study.file
    if not path.exists():
        return None
    result = StudyResult.of(read_json(path, what="study result"), f"study result {path}")
    found, wanted = (result.study, result.preset, result.seed), (study.name, study.preset, seed)
    require(found == wanted, f"study result {path} is of {found}, not {wanted}; delete it and run again")
    return result


def divergence(folder: Path) -> str | None:
    """What is noted of a training that diverged in this run directory, or None."""
    path = folder / DIVERGED
    return str(read_json(path, what="note of a divergence")) if path.exists() else None


def note_divergence(folder: Path, failure: str) -> None:
    """Note that this training diverges, so that it is not tried again; to delete the directory is to try again."""
    write_json(folder / DIVERGED, failure)


def claim_run_dir(folder: Path, experiment: RunConfig, seed: int) -> None:
    """Make the run directory, or check that it belongs to this configuration and seed."""
    path = folder / CONFIG
    if path.exists():
        found = read_sealed(path, "run configuration")
        same = isinstance(found, dict) and (found.get("format"), found.get("seed")) == (RESULT_FORMAT, seed)
        if not same or not experiment.equals(found.get("experiment")):
            raise LengthwiseError(f"{folder} holds a run of another configuration; choose another folder")
        return
    make_folder(folder)
    if any(not file.name.endswith((".tmp", LOCK)) for file in folder.iterdir()):
        raise LengthwiseError(f"{folder} is not empty and not a run directory; choose another folder")
    write_sealed(path, {"format": RESULT_FORMAT, "experiment": experiment.to_json(), "seed": seed})


def check_kept(folder: Path) -> None:
    """Raises `LengthwiseError` where a folder has the results of a run, and not its model."""
    result = folder / RESULT
    require(
        not result.is_file() or any(folder.glob("*.safetensors")),
        f"{folder} keeps the results of a run, and not its model; train it again with `lengthwise run --config "
        f"{result}`, and take the run that this makes in runs",
    )
