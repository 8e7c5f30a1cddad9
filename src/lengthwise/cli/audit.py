"""The command ``lengthwise audit`` asks a language model our tasks and finds what breaks it at longer ones."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from lengthwise.api.progress import progress_bars
from lengthwise.cli.console import emit_json, err, out, plain_table
from lengthwise.cli.options import AsJson, Threads, options_of, whole_numbers
from lengthwise.core.errors import LengthwiseError
from lengthwise.training.threads import use_all_cores, use_threads

Digits = Annotated[
    Literal["blanks", "natural"],
    typer.Option("--digits", help="As the task writes them, or as people do, most significant first."),
]
Extract = Annotated[
    Literal["exact", "last-number", "regex"], typer.Option("--extract", help="How an answer is found in a text.")
]
Pattern = Annotated[str | None, typer.Option("--pattern", help="For --extract regex: its last match, or first group.")]
StripThink = Annotated[bool, typer.Option("--strip-think/--keep-think", help="Remove blocks of reasoning first.")]


@dataclass(frozen=True)
class AuditSettings:
    """The options of ``lengthwise audit``."""

    model: Annotated[str, typer.Argument(metavar="MODEL", help="A folder, a hub name, or the name at --endpoint.")]
    task: Annotated[str, typer.Option("--task", help="A task, or FILE.py:Class.")] = "addition"
    lengths: Annotated[str, typer.Option("--lengths", help="Task lengths, increasing.")] = "5,10,20,40"
    samples: Annotated[int, typer.Option("--samples", help="Problems per length.")] = 40
    shots: Annotated[int, typer.Option("--shots", help="Examples before each problem, of the shortest length.")] = 4
    forms: Annotated[
        str, typer.Option("--forms", help="Forms of the prompt; a name that ends in .json is a template of your own.")
    ] = "lines,arrow,instruction"
    digits: Digits = "blanks"
    show_prompt: Annotated[bool, typer.Option("--show-prompt", help="Print a prompt of each form and stop.")] = False
    answer_tokens: Annotated[
        int | None, typer.Option("--answer-tokens", help="Most tokens of an answer; a reasoning model needs thousands.")
    ] = None
    extract: Extract = "exact"
    pattern: Pattern = None
    strip_think: StripThink = True
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
    folder: Annotated[Path | None, typer.Option("--out", help="Default: runs/audit/MODEL-TASK.")] = None
    seed: Annotated[int, typer.Option("--seed", help="Of the problems.")] = 0
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
    from lengthwise.audit.questions import AuditPlan, natural_questions
    from lengthwise.audit.run import RESULT, Spending, run_audit
    from lengthwise.audit.scoring import Scoring
    from lengthwise.core.errors import require
    from lengthwise.core.files import slug, write_text
    from lengthwise.report.pages import audit_page
    from lengthwise.tasks import TASKS

    task = TASKS.build(given.task)
    scoring = Scoring(given.extract, given.pattern, given.strip_think)
    plan = AuditPlan(
        task, whole_numbers("--lengths", given.lengths) or (), given.samples, given.shots, _words(given.forms),
        given.seed, given.digits, given.answer_tokens, scoring,
    )  # fmt: skip
    if given.show_prompt:
        first = {question.form: question for question in reversed(natural_questions(plan))}
        for name, question in reversed(first.items()):
            out().print(
                f"form {name}, length {question.level}:\n{question.prompt} {question.expected}\n", soft_wrap=True
            )
        return
    require(given.against is not None or given.against_endpoint is None, "--against-endpoint needs --against")
    spending = Spending(given.most_tokens, given.most_requests)
    name = "".join(letter if letter.isalnum() else "-" for letter in Path(given.model).name)
    folder = given.folder or Path("runs") / "audit" / f"{name}-{slug(task.name)}"
    asker = _asker(given, given.model, given.endpoint, scoring)
    other = None
    if given.against is not None:
        other = _asker(given, given.against, given.against_endpoint or given.endpoint, scoring)
        require(other.identity != asker.identity, f"{given.against} is the same model as {given.model}")
    _price(given, plan, asker, other, folder)
    with progress_bars(err()) as bars:
        shown = bars.add_task("asking", total=None, note="")
        result = run_audit(
            asker, plan, folder, lambda done, total: bars.update(shown, completed=done, total=total),
            against=other, spending=spending,
        )  # fmt: skip
    write_text(folder / "audit.html", audit_page(result))
    require(not result["no_response"], f"{result['no_response']} ({folder / 'audit.html'} has the counts)")
    if given.as_json:
        emit_json({"file": str(folder / RESULT), **result})
        return
    _draw(result)
    err().print(f"wrote {folder / RESULT}, and beside it audit.html", soft_wrap=True)


def _asker(given: AuditSettings, model: str, endpoint: str | None, scoring: Any) -> Any:
    if endpoint is None:
        from lengthwise.audit.model import LocalModel

        return LocalModel(model, given.context, given.encoding, scoring)
    from lengthwise.audit.endpoint import Endpoint

    return Endpoint(
        endpoint, model, given.api, given.key_variable, given.timeout, given.retries, given.concurrency, given.context,
        given.encoding,
    )  # fmt: skip


def _price(given: AuditSettings, plan: Any, asker: Any, other: Any, folder: Path) -> None:
    """Show what a server will be asked, and ask the user, unless ``--yes``; a folder costs nothing.

    Raises `LengthwiseError` where there is nobody to answer, and `typer.Abort` for a no.
    """
    from lengthwise.audit.run import estimate

    servers = [one for one in (asker, other) if one is not None and not one.by_content]
    if given.yes or not servers:
        return
    price = estimate(plan, *servers, folder=folder)
    if not price["questions"]:
        return
    line = (
        f"{price['questions']:,} requests to {', '.join(dict.fromkeys(one.facts.where for one in servers))}, about "
        f"{price['prompt_tokens']:,} tokens asked and at most {price['most_answer_tokens']:,} answered"
    )
    if not sys.stdin or not sys.stdin.isatty():
        raise LengthwiseError(f"{line}; give --yes to go on, or fewer --samples, --lengths or --forms")
    typer.confirm(f"{line}. Go on?", abort=True, err=True)


def _draw(result: dict[str, Any]) -> None:
    from rich.text import Text

    console = out()
    _draw_model(result)
    if result["against"]:
        console.print(Text(f"\n{result['against']['model']['name']}, asked the same:"))
        _draw_model(result["against"])
        pairs = [row for row in result["against"]["pairs"] if row["difference"] is not None]
        numbers = ("length", "pairs", "lost", "won", "difference", "95 % interval", "McNemar p")
        table = plain_table("varied", "form", *numbers, right=numbers)
        for row in pairs:
            table.add_row(
                row["sweep"], row["form"], str(row["level"]), str(row["pairs"]), str(row["lost"]), str(row["won"]),
                f"{row['difference']:+.2f}", f"{row['low']:+.2f} to {row['high']:+.2f}", f"{row['p']:.3g}",
            )  # fmt: skip
        console.print(table)
        console.print(Text(result["against"]["says"], style="bold"))
    if result["theory"]:
        theory = result["theory"]
        console.print(
            Text(f"theory, {theory['system']}: {theory['answer']}; {theory['why'].removeprefix('no guarantee: ')}")
        )


def _draw_model(result: dict[str, Any]) -> None:
    from rich.text import Text

    console = out()
    for line in result["warnings"]:
        console.print(Text(line, style="dim"))
    numbers = ("length", "words", "distance", "number", "distractors", "right", "interval", "strict")
    table = plain_table("varied", "form", *numbers, "not counted", right=numbers)
    for cell in result["cells"]:
        counts = cell["counts"]
        apart = ", ".join(f"{n} {name}" for name, n in counts.items() if n and name not in ("right", "wrong"))
        interval = "–" if cell["low"] is None else f"{cell['low']:.2f}–{cell['high']:.2f}"
        table.add_row(
            cell["sweep"], cell["form"], str(cell["level"]), f"{cell['words']:g}", f"{cell['distance']:g}",
            f"{cell['number']:g}", f"{cell['distractors']:g}", f"{counts['right']} of {cell['answered']}", interval,
            f"{cell['strict']} of {cell['texts']}", apart,
        )  # fmt: skip
    console.print(table)
    console.print(Text(result["causes"]["says"], style="bold"))
    tokens = f"{result['prompt_tokens']:,} tokens asked, {result['completion_tokens']:,} answered"
    console.print(Text(f"{result['requests']} requests, {result['retries']} retries, {tokens}", style="dim"))


def _words(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
