"""The command ``lengthwise export`` writes a task as a folder that an evaluation harness loads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lengthwise.cli.console import err
from lengthwise.cli.options import whole_numbers


def export(
    harness: Annotated[str, typer.Argument(metavar="HARNESS", help="lm-eval or inspect.")],
    task: Annotated[str, typer.Argument(help="A task, or FILE.py:Class.")],
    lengths: Annotated[str, typer.Option("--lengths", help="Task lengths, increasing.")] = "5,10,20,40",
    samples: Annotated[int, typer.Option("--samples", help="Problems per length.")] = 100,
    shots: Annotated[int, typer.Option("--shots", help="Examples before each problem.")] = 4,
    form: Annotated[str, typer.Option("--form", help="Form of the prompt.")] = "lines",
    folder: Annotated[Path | None, typer.Option("--out", help="Default: HARNESS-TASK.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the problems.")] = 0,
) -> None:
    """Write a task for lm-evaluation-harness or Inspect: exact match, a task for each length."""
    from lengthwise.audit.export.folders import export as write_folder
    from lengthwise.audit.questions import AuditPlan
    from lengthwise.tasks import TASKS

    built = TASKS.build(task)
    plan = AuditPlan(built, whole_numbers("--lengths", lengths) or (), samples, shots, (form,), seed)
    target = folder or Path(f"{harness}-{built.name}")
    written = write_folder(harness, plan, target)
    name = "lengthwise_" + built.name.replace("-", "_")
    how = (
        f"lm_eval --include_path {target} --tasks {name}"
        if harness == "lm-eval"
        else f"inspect eval {target}/{name}.py"
    )
    err().print(f"wrote {len(written)} files to {target}; run: {how}", soft_wrap=True)
