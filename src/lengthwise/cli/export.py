"""The command ``lengthwise export`` writes a task as a folder that an evaluation harness loads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from lengthwise.cli.audit import Digits, Extract, Pattern, StripThink
from lengthwise.cli.console import err
from lengthwise.cli.options import options_of, whole_numbers


@dataclass(frozen=True)
class ExportSettings:
    """The options of ``lengthwise export``."""

    harness: Annotated[str, typer.Argument(metavar="HARNESS", help="lm-eval or inspect.")]
    task: Annotated[str, typer.Argument(help="A task, or FILE.py:Class.")]
    lengths: Annotated[str, typer.Option("--lengths", help="Task lengths, increasing.")] = "5,10,20,40"
    samples: Annotated[int, typer.Option("--samples", help="Problems per length.")] = 100
    shots: Annotated[int, typer.Option("--shots", help="Examples before each problem.")] = 4
    form: Annotated[str, typer.Option("--form", help="Form of the prompt, or a template.json.")] = "lines"
    digits: Digits = "blanks"
    answer_tokens: Annotated[int | None, typer.Option("--answer-tokens", help="Most tokens of an answer.")] = None
    extract: Extract = "exact"
    pattern: Pattern = None
    strip_think: StripThink = True
    folder: Annotated[Path | None, typer.Option("--out", help="Default: HARNESS-TASK.")] = None
    seed: Annotated[int, typer.Option("--seed", help="Of the problems.")] = 0


@options_of(ExportSettings)
def export(given: ExportSettings) -> None:
    """Write a task for lm-evaluation-harness or Inspect: exact and strict match, a task for each length."""
    from lengthwise.audit.export import export as write_folder
    from lengthwise.audit.export import task_name
    from lengthwise.audit.questions import AuditPlan
    from lengthwise.audit.scoring import Scoring
    from lengthwise.core.files import slug
    from lengthwise.tasks import TASKS

    built = TASKS.build(given.task)
    plan = AuditPlan(
        built, whole_numbers("--lengths", given.lengths) or (), given.samples, given.shots, (given.form,), given.seed,
        given.digits, given.answer_tokens, Scoring(given.extract, given.pattern, given.strip_think),
    )  # fmt: skip
    target = given.folder or Path(f"{slug(given.harness)}-{slug(built.name)}")
    written = write_folder(given.harness, plan, target)
    name = task_name(plan)
    how = (
        f"lm_eval --include_path {target} --tasks {name}"
        if given.harness == "lm-eval"
        else f"inspect eval {target}/{name}.py"
    )
    err().print(f"wrote {len(written)} files to {target}; run: {how}", soft_wrap=True)
