"""The commands ``lengthwise audit`` and ``export``: a language model asked our tasks, and these for other harnesses."""

from __future__ import annotations

import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from lengthwise.api.progress import QUIET_SECONDS, progress_bars
from lengthwise.cli.console import emit_json, err, out
from lengthwise.cli.options import AsJson, Threads, options_of, whole_numbers
from lengthwise.core.errors import LengthwiseError, require
from lengthwise.training.threads import use_all_cores, use_threads

if TYPE_CHECKING:
    from lengthwise.audit.questions import AuditPlan


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The options of both commands: what is asked."""

    lengths: Annotated[str, typer.Option("--lengths", help="Task lengths, increasing.")] = "5,10,20,40"
    tokens: Annotated[
        str | None, typer.Option("--tokens", help="Lengths of prompts in the model's tokens, e.g. 1k,4k,16k.")
    ] = None
    depths: Annotated[
        str, typer.Option("--depths", help="With --tokens: percent of the filler that stands before the problem.")
    ] = "100,50,0"
    text: Annotated[
        Path | None, typer.Option("--text", help="With --tokens: prose for filler. Default: Python's help texts.")
    ] = None
    distractors: Annotated[
        str | None, typer.Option("--distractors", help="Numbers of other problems in the filler. Default: 0,1,2,4,…")
    ] = None
    shots: Annotated[int, typer.Option("--shots", help="Examples before each problem, of the shortest length.")] = 4
    digits: Annotated[
        Literal["blanks", "natural"],
        typer.Option("--digits", help="As the task writes them, or as people do, most significant first."),
    ] = "blanks"
    answer_tokens: Annotated[
        int | None, typer.Option("--answer-tokens", help="Most tokens of an answer; a reasoning model needs thousands.")
    ] = None
    extract: Annotated[
        Literal["exact", "last-number", "regex"], typer.Option("--extract", help="How an answer is found in a text.")
    ] = "exact"
    pattern: Annotated[
        str | None, typer.Option("--pattern", help="For --extract regex: its last match, or first group.")
    ] = None
    strip_think: Annotated[
        bool, typer.Option("--strip-think/--keep-think", help="Remove blocks of reasoning first.")
    ] = True
    folder: Annotated[Path | None, typer.Option("--out", help="Default: named by model or harness, and task.")] = None
    seed: Annotated[int, typer.Option("--seed", help="Of the problems.")] = 0

    def plan(self, task: str, samples: int, forms: str, trained: tuple[int, int] | None = None) -> AuditPlan:
        """The options as a plan."""
        from lengthwise.audit.questions import AuditPlan
        from lengthwise.audit.scoring import Scoring

        numbers = whole_numbers("--lengths", self.lengths), whole_numbers("--depths", self.depths)
        tokens = whole_numbers("--tokens", self.tokens and re.sub(r"(\d)[kK]\b", r"\g<1>000", self.tokens)) or ()
        return AuditPlan(
            task, numbers[0] or (), samples, self.shots,  # type: ignore[arg-type]
            tuple(part.strip() for part in forms.split(",") if part.strip()), self.seed, self.digits,
            self.answer_tokens, Scoring(self.extract, self.pattern, self.strip_think), tokens,
            numbers[1] or (), self.text, whole_numbers("--distractors", self.distractors) or (), trained,
        )  # fmt: skip


def _range(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    found = re.fullmatch(r"\s*(\d+)\s*[-–]\s*(\d+)\s*", text)
    if found is None:
        raise LengthwiseError(
            f"--trained needs the shortest and the longest length, got {text!r}; write --trained 3-16"
        )
    return int(found[1]), int(found[2])


@dataclass(frozen=True, kw_only=True)
class AuditSettings(Asked):
    """The options of ``lengthwise audit``."""

    model: Annotated[str, typer.Argument(metavar="MODEL", help="A folder, a hub name, or the name at --endpoint.")]
    task: Annotated[str, typer.Option("--task", help="A task, or FILE.py:Class.")] = "addition"
    samples: Annotated[int, typer.Option("--samples", help="Problems per length.")] = 40
    forms: Annotated[
        str, typer.Option("--forms", help="Forms of the prompt; a name that ends in .json is a template of your own.")
    ] = "lines,arrow,instruction"
    trained: Annotated[
        str | None, typer.Option("--trained", help="Lengths of training, e.g. 3-16: the result marks what is beyond.")
    ] = None
    show_prompt: Annotated[bool, typer.Option("--show-prompt", help="Print a prompt of each form and stop.")] = False
    against: Annotated[
        str | None, typer.Option("--against", metavar="MODEL", help="A second model, asked the same questions.")
    ] = None
    endpoint: Annotated[
        str | None, typer.Option("--endpoint", metavar="URL", help="An OpenAI-compatible server, up to /v1.")
    ] = None
    against_endpoint: Annotated[
        str | None, typer.Option("--against-endpoint", metavar="URL", help="Server of --against, if it is another.")
    ] = None
    api: Annotated[Literal["chat", "completion"], typer.Option("--api", help="Which path of the server.")] = "chat"
    key_variable: Annotated[
        str, typer.Option("--key-variable", help="Environment variable that holds the server's key.")
    ] = "OPENAI_API_KEY"
    concurrency: Annotated[int, typer.Option("--concurrency", help="Requests at the same time.")] = 4
    retries: Annotated[int, typer.Option("--retries", help="Further tries of a request that failed.")] = 5
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds for one try, to its last byte.")] = 60.0
    most_tokens: Annotated[int | None, typer.Option("--most-tokens", help="Of this call, asked and answered.")] = None
    most_requests: Annotated[int | None, typer.Option("--most-requests", help="Of this call, with retries.")] = None
    yes: Annotated[bool, typer.Option("--yes", help="Ask a server without asking you first.")] = False
    context: Annotated[int | None, typer.Option("--context", help="Tokens of the model's context.")] = None
    encoding: Annotated[
        str | None, typer.Option("--encoding", help="Position system for the theory, e.g. rope, if the model hides it.")
    ] = None
    threads: Threads = None
    as_json: AsJson = False


@options_of(AuditSettings)
def audit(given: AuditSettings) -> None:
    """Ask a language model a task in text at growing lengths, and find out what breaks it.

    Length of the text, distance of what matters, number of words that matter and distractors are varied one at a time.
    """
    use_threads(given.threads)
    if given.endpoint is None:
        use_all_cores()
    from textwrap import fill

    from lengthwise.api.audit import audit_model
    from lengthwise.audit.questions import instruction, natural_questions
    from lengthwise.core.table import WIDTH

    plan = given.plan(given.task, given.samples, given.forms, _range(given.trained))
    if given.show_prompt:
        first = {question.form: question for question in reversed(natural_questions(plan))}
        for form in plan.prompt_forms:
            question = first[form.name]
            sent = "part of the prompt" if "{instruction}" in form.head else "not sent in this form"
            text = question.prompt + form.completion(question.expected)
            shots = f"{plan.shots} example{'s' * (plan.shots != 1)}"
            out().print(
                f"form {form.name}, length {question.level}, {shots}; what the task is, {sent}: "
                f"{instruction(plan.task, plan.digits)}\nThe prompt as it is sent, and at its end, not sent, the right "
                f"answer:\n{text}\n", soft_wrap=True,
            )  # fmt: skip
        return
    require(given.against is not None or given.against_endpoint is None, "--against-endpoint needs --against")
    with progress_bars(err()) as bars:
        shown, said = bars.add_task("asking", total=None, note="questions"), time.monotonic()

        def progress(done: int, total: int) -> None:
            nonlocal said
            bars.update(shown, completed=done, total=total)
            if not err().is_terminal and time.monotonic() - said >= QUIET_SECONDS:
                said = time.monotonic()
                err().print(f"{done} of {total} questions")

        found = audit_model(
            _model(given, given.model, given.endpoint), plan,
            against=given.against and _model(given, given.against, given.against_endpoint or given.endpoint),
            out=given.folder, most_tokens=given.most_tokens, most_requests=given.most_requests,
            agree=None if given.yes else lambda price: _agree(price, bars),
            progress=progress,
        )  # fmt: skip
    if given.as_json:
        emit_json(found.to_json())
        return
    table, last = found.overview(WIDTH), found.values["against"] or found.values["causes"]

    def say(line: str, style: str = "") -> None:
        out().print(fill(line, WIDTH), style=style, soft_wrap=True)

    for i, line in enumerate(table.caption.splitlines()):
        say(line, "bold" if i else "")
    out().print(f"\n{table.text()}\n", soft_wrap=True)
    say(" ".join(table.notes), "dim")
    for line in filter(None, (found.values["overview"]["theory"], last["next"])):
        say(line)
    if last["command"]:
        out().print(last["command"], soft_wrap=True)
    if found.before:
        err().print(f"{found.now} questions asked now, {found.before} answers from before", soft_wrap=True)
    err().print(f"page, with every count: {found.page}", soft_wrap=True)


def _model(given: AuditSettings, model: str, endpoint: str | None) -> Any:
    if endpoint is None:
        from lengthwise.audit.model import LocalModel

        return LocalModel(model, context=given.context, encoding=given.encoding)
    from lengthwise.api.audit import endpoint as server

    names = ("api", "key_variable", "timeout", "retries", "concurrency", "context", "encoding")
    return server(endpoint, model, **{name: getattr(given, name) for name in names})


def _agree(price: str, bars: Any) -> None:
    """Ask the user; raises `LengthwiseError` where there is nobody to answer, and `typer.Abort` for a no."""
    if not sys.stdin or not sys.stdin.isatty():
        raise LengthwiseError(f"{price}; give --yes to go on, or fewer --samples, --lengths or --forms")
    bars.stop()
    typer.confirm(f"{price}. Go on?", abort=True, err=True)
    bars.start()


@dataclass(frozen=True, kw_only=True)
class ExportSettings(Asked):
    """The options of ``lengthwise export``."""

    harness: Annotated[str, typer.Argument(metavar="HARNESS", help="lm-eval or inspect.")]
    task: Annotated[str, typer.Argument(help="A task, or FILE.py:Class.")]
    samples: Annotated[int, typer.Option("--samples", help="Problems per length.")] = 100
    form: Annotated[str, typer.Option("--form", "--forms", help="Form of the prompt, or a template.json.")] = "lines"
    sweeps: Annotated[
        bool, typer.Option("--sweeps", help="Length, distance, number, distractors and prose, too, one at a time.")
    ] = False
    tokenizer: Annotated[
        str | None, typer.Option("--tokenizer", help="For --tokens: a folder or hub name whose tokens are counted.")
    ] = None


@options_of(ExportSettings)
def export(given: ExportSettings) -> None:
    """Write a task for lm-evaluation-harness or Inspect: exact and strict match, a task for each length."""
    from lengthwise.api.audit import export_task

    plan = given.plan(given.task, given.samples, given.form)
    written, command = export_task(given.harness, plan, given.folder, sweeps=given.sweeps, tokenizer=given.tokenizer)
    err().print(f"wrote {len(written)} files to {written[0].parent}; run: {command}", soft_wrap=True)
