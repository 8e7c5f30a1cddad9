"""Priming, task hinting and Turing programs: each method and its control differ in the method alone."""

from __future__ import annotations

import dataclasses

import three_methods

import lengthwise as lw


def test_a_method_and_its_control_differ_in_the_method_alone() -> None:
    jobs = {job.name: job for job in three_methods.three_methods("standard").jobs}
    changed = {}
    for name in ("priming", "task hinting", "Turing program"):
        pair = [jobs[each].experiment for each in (f"{name}, control", name)]
        assert all(len(jobs[each].seeds) == 5 for each in (f"{name}, control", name))
        fields = [field.name for field in dataclasses.fields(lw.RunConfig)]
        changed[name] = [field for field in fields if getattr(pair[0], field) != getattr(pair[1], field)]
        for config in pair:
            longest = config.evaluation.lengths[-1]
            batch = config.task.batch(longest, 1, lw.stream(0, "test"))
            config.scheme.for_evaluation().assign(batch.places, config.task.levels, lw.stream(0, "ids"))
    assert changed == {
        "priming": ["training"],
        "task hinting": ["task"],
        "Turing program": ["task", "scheme"],  # a longer text needs more ids
    }
