"""Audits of any language model by text prompts, and the same questions as tasks of evaluation harnesses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from lengthwise.core import config as arguments
from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.files import slug, write_text
from lengthwise.core.table import Table, Tabular
from lengthwise.tasks import TASKS
from lengthwise.testing.own_tasks import refuse_broken

if TYPE_CHECKING:
    from lengthwise.audit.model import Asker
    from lengthwise.audit.questions import AuditPlan

PAGE = "audit.html"
COUNTS = ("right", "wrong")
"""Outcomes that are in the rate; others are counted apart."""


class Audit(Tabular):
    """What a model answered as one thing at a time varied; ``file`` is audit.json, and `overview` the answer.

    ``now`` counts the questions that this call asked, and ``before`` the answers that an earlier one left.
    """

    def __init__(self, values: dict[str, Any], file: Path, now: int = 0, before: int = 0) -> None:
        self.values, self.file, self.now, self.before = values, file, now, before

    @property
    def page(self) -> Path:
        """The page with curves and counts."""
        return self.file.with_name(PAGE)

    @property
    def says(self) -> str:
        """What breaks the model, and first, with a second one, what that changes."""
        both = self.values["against"]
        return " ".join(part["says"] for part in (both, self.values["causes"]) if part)

    def __repr__(self) -> str:
        return repr(self.overview())

    def _repr_html_(self) -> str:
        return self.overview()._repr_html_()

    def overview(self, width: int | None = None) -> Table:
        """What the page begins with: the verdict, and right answers step by step as one thing at a time grows.

        Arguments:
            width: letters of a line, over which the steps are folded; None for no end.
        """
        shown = self.values["overview"]
        rest = sum(max(len(row[i]) for row in shown["rows"]) + 2 for i in (0, 1, 3))
        rows = tuple(
            (name, says, fill(steps, max(24, (width or 10**6) - rest)).replace("\xa0", " "), change)
            for name, says, steps, change in shown["rows"]
        )
        caption = "\n".join([f"{shown['title']}: {shown['task']}", *shown["finding"]])
        return Table(tuple(shown["heads"]), rows, caption=caption, notes=(*shown["legend"], *shown["warnings"]))

    def table(self) -> Table:
        """One row per cell: right answers of those that count, their interval, and what was counted apart."""
        return _cells(self.values)

    def second(self) -> Table | None:
        """The same of the second model, or None."""
        return _cells(self.values["against"]) if self.values["against"] else None

    def pairs(self) -> Table | None:
        """How the second model differs on the same questions, with 95 % intervals and McNemar's exact test."""
        if not self.values["against"]:
            return None
        rows = tuple(
            (
                row["sweep"], row["form"], row["level"], row["pairs"], row["lost"], row["won"],
                *(f"{round(100 * row[name]):+d}" for name in ("difference", "low", "high")), f"{row['p']:.3g}",
                f"{row['holm']:.3g}",
            )
            for row in self.values["against"]["pairs"]
            if row["difference"] is not None
        )  # fmt: skip
        columns = ("varied", "form", "level", "pairs", "lost", "won", "points", "low", "high", "McNemar p", "Holm p")
        return Table(columns, rows, caption="\n".join(self.values["against"]["finding"]))

    def to_json(self) -> dict[str, Any]:
        """All values, and the file."""
        return {"file": str(self.file), **self.values}


def _cells(values: dict[str, Any]) -> Table:
    rows = tuple(
        (
            cell["sweep"], cell["form"], cell["level"], cell["tokens"], f"{cell['words']:g}", f"{cell['distance']:g}",
            f"{cell['number']:g}",
            f"{cell['distractors']:g} ({cell['distractor_words']:g} words)" if cell["distractors"] else None,
            f"{cell['prose']:g}" if cell["prose"] else None,
            f"{cell['counts']['right']} of {cell['answered']}",
            None if cell["low"] is None else f"{cell['low']:.2f}–{cell['high']:.2f}",
            f"{cell['copied']} of {cell['counts']['wrong']}" if cell["distractors"] else None,
            f"{cell['strict']} of {cell['texts']}",
            ", ".join(f"{n} {name}" for name, n in cell["counts"].items() if n and name not in COUNTS),
        )
        for cell in values["cells"]
    )  # fmt: skip
    columns = ("varied", "form", "level", "tokens", "words", "distance", "number", "distractors", "prose", "right",
               "interval", "copied", "strict", "not counted")  # fmt: skip
    tokens = f"{values['prompt_tokens']:,} tokens asked, {values['completion_tokens']:,} tokens answered"
    notes = (*values["warnings"], f"{values['requests']} questions, {values['retries']} tried again, {tokens}")
    caption = "\n".join((f"{values['model']['name']}:", *values["causes"]["finding"]))
    return Table(columns, rows, caption=caption, notes=notes)


def audit_model(
    model: Any,
    plan: AuditPlan,
    *,
    against: Any = None,
    out: str | Path | None = None,
    most_tokens: int | None = None,
    most_requests: int | None = None,
    agree: Callable[[str], None] | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Audit:
    """Ask a language model a task in text, with one thing at a time varied, and find what breaks it.

    Arguments:
        model: a folder or hub name, ``(model, tokenizer)`` of `transformers`, or an `endpoint`.
        plan: what is asked, and how answers are read.
        against: a second model, which gets the same questions.
        out: the folder for results and answers, by default one in ``runs/audit``. The same call goes on there.
        most_tokens: most tokens of this call, asked and answered; further questions are not asked.
        most_requests: most requests of this call, with retries.
        agree: is told what servers will be asked before they are; it raises to stop that.
        progress: called with the questions that are done and that there are.

    Returns: the result, with its page beside its file.

    Raises: `LengthwiseError` for settings that don't fit, a task of your own that breaks a law, a model that can't be
        reached, and one without any answer.
    """
    from lengthwise.audit.run import RESULT, Spending, run_audit
    from lengthwise.report.pages import audit_page

    refuse_broken(plan.task)
    spending = Spending(most_tokens, most_requests)
    asker, other = _asker(model), None if against is None else _asker(against)
    if other is not None and other.identity == asker.identity:
        raise LengthwiseError(f"{other.facts.name} is the same model as {asker.facts.name}")
    folder = _folder(plan, asker, other) if out is None else arguments.path("out", out)
    _check_folder(folder / RESULT, plan, asker, other)
    _ask_first(plan, [one for one in (asker, other) if one is not None and not one.by_content], folder, agree)
    values = run_audit(
        asker, plan, folder, progress, against=other, spending=spending, out=None if out is None else folder
    )
    found = Audit(values, folder / RESULT, spending.questions, len(spending.before))
    write_text(found.page, audit_page(values))
    require(not values["no_response"], f"{values['no_response']} ({found.page} has the counts)")
    return found


def endpoint(url: str, model: str, **settings: Any) -> Asker:
    """A model behind a server in the format of OpenAI's interface, for `audit_model`.

    Arguments:
        url: up to ``/v1``.
        model: its name there.
        settings: ``api`` (``"chat"`` or ``"completion"``), ``key_variable`` (the environment variable with the key),
            ``timeout`` in seconds of a try, ``retries``, ``concurrency``, ``context`` in tokens, and ``encoding``, the
            position system for the theory.

    Returns: the model.

    Raises: `LengthwiseError` for settings that don't fit, and without the package openai.
    """
    from lengthwise.audit.endpoint import Endpoint

    return arguments.named_call(Endpoint)(url, model, **settings)


def _folder(plan: AuditPlan, asker: Asker, other: Asker | None) -> Path:

    def plain(one: Asker) -> str:
        source = "" if one.by_content else f" at {one.facts.where.split('://')[-1]}"
        return "".join(letter if letter.isalnum() else "-" for letter in Path(one.facts.name).name + source)

    second = "" if other is None else f"-against-{plain(other)}"
    return Path("runs") / "audit" / f"{plain(asker)}-{slug(plan.task.name)}{second}"


def _check_folder(file: Path, plan: AuditPlan, asker: Asker, other: Asker | None) -> None:
    """Raises `LengthwiseError` if a file is the result of other models or another task, which it would overwrite."""
    try:
        found = json.loads(file.read_text("utf-8"))
        sides = [found["model"], *([found["against"]["model"]] if found["against"] else [])]
        before = [found["task"]["name"], *((side["name"], side["where"]) for side in sides)]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return
    now = [TASKS.describe(plan.task)["name"], *((one.facts.name, one.facts.where) for one in (asker, other) if one)]
    require(
        before == now,
        f"{file} is the audit of {before[1][0]} at {before[1][1]} on {before[0]}, which this one would overwrite; "
        "choose another `out`",
    )


def _asker(model: Any) -> Asker:
    from lengthwise.audit.model import Asker, LocalModel

    if isinstance(model, Asker):
        return model
    return LocalModel(*model) if isinstance(model, tuple) else LocalModel(str(model))


def _ask_first(plan: AuditPlan, servers: list[Asker], folder: Path, agree: Callable[[str], None] | None) -> None:
    from lengthwise.audit.run import estimate

    if agree is None or not servers:
        return
    price, where = estimate(plan, *servers, folder=folder), dict.fromkeys(one.facts.where for one in servers)
    if price["questions"]:
        agree(
            f"{price['questions']:,} questions to {', '.join(where)}, about "
            f"{price['prompt_tokens']:,} tokens asked and at most {price['most_answer_tokens']:,} answered"
        )


def export_task(
    harness: str, plan: AuditPlan, out: str | Path | None = None, *, sweeps: bool = False, tokenizer: str | None = None
) -> tuple[list[Path], str]:
    """Write a task as a folder for an evaluation harness: exact and strict match, a task for each cell.

    Arguments:
        harness: ``"lm-eval"`` or ``"inspect"``.
        plan: what is asked, in the first of its forms, and how answers are read.
        out: the folder, by default named by harness and task.
        sweeps: whether length, distance, number, distractors and prose are there, too.
        tokenizer: a folder or hub name whose tokens ``plan.tokens`` counts.

    Returns: the files, and a command that runs the task.

    Raises: `LengthwiseError` for an unknown harness, a task of your own that breaks a law, or a folder that holds
        other files.
    """
    from lengthwise.audit.export import export

    refuse_broken(plan.task)
    folder = Path(f"{slug(harness)}-{slug(plan.task.name)}") if out is None else arguments.path("out", out)
    return export(harness, plan, folder, sweeps=sweeps, tokenizer=tokenizer)
