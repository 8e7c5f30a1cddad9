"""The study of ids modulo m: what it trains was fixed beforehand, by theory and by what plain positions did."""

from __future__ import annotations

from pathlib import Path

import lengthwise as lw
from lengthwise.forecast import features
from lengthwise.measured.cells import cells
from lengthwise.prediction import programs

STUDY = Path(__file__).parents[2] / "studies" / "forecast" / "modulo.py"


def test_languages_need_their_period_and_failed_under_plain_positions():
    jobs = lw.recipe(f"{STUDY}:modulo", preset="standard").jobs
    assert len(jobs) == 8
    for job in jobs:
        task, scheme, training = job.experiment.task, job.experiment.scheme, job.experiment.training
        dfa = features.language_of({"name": "language", "language": task.language})
        assert dfa is not None
        assert programs.verdict(dfa, "next", "none").verdict == "no"
        assert programs.verdict(dfa, "next", "periodic").period == scheme.m
        assert (training.steps, training.max_length, job.seeds) == (1500, 50, (100, 101, 102, 103, 104))
        plain = [c for c in cells() if c.rung and c.encoding in ("nope", "learned") and c.format == "next"]
        found = [c.accuracy(151, 300) or 0.0 for c in plain if features.language_of(c.task) == dfa]
        assert found
        assert max(found) < 0.95, task.language


def test_every_seed_of_a_measured_language_is_in_the_table():
    measured = [cell for cell in cells() if cell.study == "modulo"]
    assert measured
    assert all(cell.seeds == (100, 101, 102, 103, 104) for cell in measured)
