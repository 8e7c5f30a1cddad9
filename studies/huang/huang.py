"""Verdict against measurement on 8 algorithmic tasks and 17 formal languages (after Huang et al. 2025).

What is fixed beforehand (bins, cut, what counts as fitted) is in studies/huang/README.md; every system is one cell.
"""

from __future__ import annotations

from huang_cells import (
    ADVERSARIAL,
    ALGORITHMIC,
    ENCODINGS,
    FORMAL,
    PUBLISHED_ENCODINGS,
    Range,
    Size,
    cell_experiment,
    search,
    table_size,
    task_of,
)

import lengthwise as lw

SUMMARY = "verdict against measurement: 8 algorithmic tasks and 17 formal languages, with and without positions"

QUICK_TASKS = ("bin_majority", "(aa)*", "Tomita-2", "parity")
QUICK_SIZE = Size(2, 2, 32, 2e-3, 1000)


@lw.RECIPES.register("huang", SUMMARY)
def huang(preset: str) -> lw.Recipe:
    """Train on lengths to 50, test on 51–100 and 101–150; ``quick`` is four tasks to 20, with one seed."""
    quick = preset == "quick"
    span = Range(20, 200) if quick else Range()
    jobs = []
    # Languages first: they are the cheaper ones, and results come as they are done.
    for name in QUICK_TASKS if quick else (*FORMAL, *ALGORITHMIC):
        task = task_of(name)
        for encoding in ENCODINGS:
            sizes = (QUICK_SIZE,) if quick else search(name, full=preset == "full", encoding=encoding)
            rows, hard = table_size(name, span), name in ADVERSARIAL
            first, *others = (
                cell_experiment(task, encoding, size, span, rows=rows, adversarial=hard) for size in sizes
            )
            jobs.append(
                lw.Job(
                    cell_name(name, encoding),
                    # One with more fits would represent the cell, so a search ends only when all seeds fit.
                    lw.Candidates((first, *others), needed=1 if quick else 3),
                    seeds=(0,) if quick else (0, 1, 2),
                    task=name,
                    positions=encoding,
                    extra=encoding not in PUBLISHED_ENCODINGS,
                )
            )
    return lw.Recipe("huang", SUMMARY, tuple(jobs))


def cell_name(task: str, encoding: str) -> str:
    """The name of a cell's system."""
    return f"{task}, {encoding}"
