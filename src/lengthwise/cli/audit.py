"""The command ``lengthwise audit`` asks a language model our tasks and says what breaks it at longer ones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from lengthwise.api.progress import progress_bars
from lengthwise.cli.console import emit_json, err, out, plain_table
from lengthwise.cli.options import AsJson, Threads, options_of, whole_numbers
from lengthwise.training.threads import use_all_cores, use_threads


@dataclass(frozen=True)
class AuditSettings:
    """The options of ``lengthwise audit``."""

    model: Annotated[str, typer.Argument(metavar="MODEL", help="A folder, a hub name, or the name at --endpoint.")]
    task: Annotated[str, typer.Option("--task", help="A task, or FILE.py:Class.")] = "addition"
    lengths: Annotated[str, typer.Option("--lengths", help="Task lengths, increasing.")] = "5,10,20,40"
    samples: Annotated[int, typer.Option("--samples", help="Problems per length.")] = 40
    shots: Annotated[int, typer.Option("--shots", help="Examples before each problem, of the shortest length.")] = 4
    forms: Annotated[str, typer.Option("--forms", help="Forms of the prompt.")] = "lines,arrow,instruction"
    endpoint: Annotated[
        str | None, typer.Option("--endpoint", metavar="URL", help="An OpenAI-compatible server, up to /v1.")
    ] = None
    api: Annotated[Literal["chat", "completion"], typer.Option("--api", help="Which path of the server.")] = "chat"
    key_variable: Annotated[
        str, typer.Option("--key-variable", help="Environment variable that holds the server's key.")
    ] = "OPENAI_API_KEY"
    concurrency: Annotated[int, typer.Option("--concurrency", help="Requests at the same time.")] = 4
    retries: Annotated[int, typer.Option("--retries", help="Further tries of a request that failed.")] = 5
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds for one try.")] = 60.0
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

    Length of the text, distance of what matters and number of words that matter are varied one at a time.
    """
    use_threads(given.threads)
    if given.endpoint is None:
        use_all_cores()
    from lengthwise.audit.questions import AuditPlan
    from lengthwise.audit.run import RESULT, run_audit
    from lengthwise.core.errors import require
    from lengthwise.core.files import write_text
    from lengthwise.report.pages import audit_page
    from lengthwise.tasks import TASKS

    task = TASKS.build(given.task)
    plan = AuditPlan(
        task,
        whole_numbers("--lengths", given.lengths) or (),
        given.samples,
        given.shots,
        _words(given.forms),
        given.seed,
    )
    name = "".join(letter if letter.isalnum() else "-" for letter in Path(given.model).name)
    folder = given.folder or Path("runs") / "audit" / f"{name}-{task.name}"
    asker = _asker(given)
    with progress_bars(err()) as bars:
        shown = bars.add_task("asking", total=None, note="")
        result = run_audit(asker, plan, folder, lambda done, total: bars.update(shown, completed=done, total=total))
    write_text(folder / "audit.html", audit_page(result))
    require(not result["no_response"], f"{result['no_response']} ({folder / 'audit.html'} has the counts)")
    if given.as_json:
        emit_json({"file": str(folder / RESULT), **result})
        return
    _draw(result)
    err().print(f"wrote {folder / RESULT}, and beside it audit.html", soft_wrap=True)


def _asker(given: AuditSettings) -> Any:
    if given.endpoint is None:
        from lengthwise.audit.local_model import LocalModel

        return LocalModel(given.model, given.context, given.encoding)
    from lengthwise.audit.endpoint import Endpoint

    return Endpoint(
        given.endpoint, given.model, given.api, given.key_variable, given.timeout, given.retries, given.concurrency,
        given.context, given.encoding,
    )  # fmt: skip


def _draw(result: dict[str, Any]) -> None:
    from rich.text import Text

    console = out()
    for line in result["warnings"]:
        console.print(Text(line, style="dim"))
    numbers = ("length", "words", "distance", "number", "right", "interval")
    table = plain_table("varied", "form", *numbers, "not counted", right=numbers)
    for cell in result["cells"]:
        counts = cell["counts"]
        apart = ", ".join(f"{n} {name}" for name, n in counts.items() if n and name not in ("right", "wrong"))
        interval = "–" if cell["low"] is None else f"{cell['low']:.2f}–{cell['high']:.2f}"
        table.add_row(
            cell["sweep"], cell["form"], str(cell["level"]), f"{cell['words']:g}", f"{cell['distance']:g}",
            f"{cell['number']:g}", f"{counts['right']} of {cell['answered']}", interval, apart,
        )  # fmt: skip
    console.print(table)
    console.print(Text(result["causes"]["says"], style="bold"))
    if result["theory"]:
        theory = result["theory"]
        console.print(
            Text(f"theory, {theory['system']}: {theory['answer']}; {theory['why'].removeprefix('no guarantee: ')}")
        )
    tokens = f"{result['prompt_tokens']:,} tokens asked, {result['completion_tokens']:,} answered"
    console.print(Text(f"{result['requests']} requests, {result['retries']} retries, {tokens}", style="dim"))


def _words(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
