"""Running a study: one function, one result, kept in a directory that is named as a training run's is."""

from __future__ import annotations

import time
from pathlib import Path

from lengthwise.core.files import write_json
from lengthwise.core.result_file import StudyResult, sealed
from lengthwise.experiments.events import Report, silent
from lengthwise.experiments.provenance import provenance
from lengthwise.experiments.recipe import STUDY_FILE, Study
from lengthwise.experiments.run_config import RESULT_FORMAT
from lengthwise.experiments.run_directory import finished_study


def run_study(study: Study, seed: int, folder: Path, report: Report = silent) -> StudyResult:
    """Run a study in its directory, or return its finished result.

    Raises `LengthwiseError` for a damaged result file or one of another run.
    """
    done = finished_study(folder, study, seed)
    if done is not None:
        return done
    started = time.perf_counter()
    kept = (folder,) if study.keeps else ()
    values = study.function(study.preset, seed, report, *kept)
    head = {"format": RESULT_FORMAT, "study": study.name, "preset": study.preset, "seed": seed}
    seconds = round(time.perf_counter() - started, 2)
    contents = sealed({**head, **values, "seconds": seconds, **provenance("cpu")})
    # Files of their own are of studies with many numbers.
    write_json(folder / study.file, contents, dense=study.file != STUDY_FILE)
    return StudyResult.of(contents, study.name)
