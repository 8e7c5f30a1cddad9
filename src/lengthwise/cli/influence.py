"""The commands ``lengthwise influence`` and ``lm``: on which far tokens a model depends, and small models for it."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lengthwise.api.progress import part_bar, progress_bars
from lengthwise.cli.console import emit_json, err, out, plain_table
from lengthwise.cli.options import Api, AsJson, Threads, from_api, whole_numbers
from lengthwise.training.threads import use_all_cores, use_threads

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from lengthwise.api.influence import LanguageModelResult
    from lengthwise.report.influence import RecoveredCell

NAME_WIDTH, CELL_WIDTH = 21, 17
"""Columns of a row of the table with intervals."""
SHORT = {"cross": "greedy, other model", "null": "null: other text", "beyond_null": "greedy beyond null"}

lm = typer.Typer(help="Train a small language model; measure its loss beyond its context.", no_args_is_help=True)


@from_api("influence.measure_influence")
def influence(
    measure: Api,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="FOLDER|HUB", help="A model's folder or hub name; default: our trained pair."),
    ] = None,
    ks: Annotated[
        list[str] | None,
        typer.Option("-k", metavar="K", help="Numbers of influential tokens, e.g. -k 1 -k 4 or -k 1,4."),
    ] = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Measure how much of the gain of a long context a few of its tokens recover.

    Everything before the last RECENT tokens is hidden; then the k tokens that help most are made visible again. An
    exported model of a task (save_pretrained of LengthwiseForCausalLM) is measured on problems instead of text.
    """
    use_threads(threads)
    if model is not None:
        use_all_cores()
    with part_bar(err()) as progress:
        done = measure(model, ks=whole_numbers("-k", ",".join(ks) if ks else None), progress=progress)
    if as_json:
        emit_json(done.to_json())
        return
    draw_influence(out(), done.values)
    err().print(f"wrote {done.file}, and beside it report.html and tokens.html", soft_wrap=True)


def draw_influence(console: Console, values: dict[str, Any]) -> None:
    """The setting, R_k by rule and k with its interval, and what follows."""
    from rich.text import Text

    from lengthwise.report.influence import InfluenceResult, findings, too_small

    result = InfluenceResult.of(values)
    documents = len({target["document"] for target in values["targets"]})
    head = Text(result.model, style="bold")
    head.append(f"  {len(result.long)} targets in {documents} documents of {result.corpus}; ", style="dim")
    head.append(f"context {result.context}, recent {result.recent}, block {result.block}", style="dim")
    console.print(head)
    console.print()
    table = plain_table("gain recovered by", *[f"k = {k}" for k in result.ks], no_wrap=True)
    intervals = console.width >= NAME_WIDTH + CELL_WIDTH * len(result.ks)
    for name, row in result.cells.items():
        cells = [_cell(row.get(k), intervals) for k in result.ks]
        table.add_row(Text(SHORT.get(name, name), style="bold"), *cells)
    if too_small(result):
        # Fractions of next to nothing would look like a result.
        table = Text("the gain is too small to say which share of it a few tokens recover", style="yellow")
    console.print(table)
    if not intervals and not too_small(result):
        console.print(Text("95 % intervals: in a wider window, and in report.html", style="dim"))
    console.print()
    for sentence in findings(result):
        console.print(Text.assemble((sentence.name, "bold"), " ", sentence.text))


def _cell(cell: RecoveredCell | None, interval: bool) -> Text:
    from rich.text import Text

    if cell is None or cell.recovered is None:
        return Text("–")
    text = Text(f"{cell.recovered:.2f}")
    if interval and cell.interval is not None:
        text.append(" " + "–".join(map(_bare, cell.interval)), style="dim")
    return text


def _bare(value: float) -> str:
    """``.79`` for 0.79: five columns have to fit into 100 characters."""
    return re.sub(r"^(-?)0\.", r"\1.", f"{value:.2f}")


@lm.callback()
def _group() -> None:
    """A group of commands."""


@lm.command("train")
@from_api("influence.train_language_model")
def train(train_language_model: Api, threads: Threads = None, as_json: AsJson = False) -> None:
    """Train a model and report its loss on held-out text.

    A finished model is reused and an interrupted one goes on from its last checkpoint, so the same command can always
    be given again.
    """
    use_threads(threads)
    console, shown = err(), {"train": "", "held-out": ""}
    with progress_bars(console) as progress:
        bar = progress.add_task("tokenizing", total=None, note="")

        def report(what: str, done: int, total: int, number: float) -> None:
            if what == "tokenize":
                return
            shown[what] = f"{number:.3f}"
            if what == "held-out":
                console.print(f"step {done} of {total}: held-out loss {number:.3f} nats per token", style="dim")
            loss = f"loss {shown['train']}" + (f", held out {shown['held-out']}" if shown["held-out"] else "")
            progress.update(bar, description="training", completed=done, total=total, note=f"{loss} nats per token")

        found = train_language_model(progress=report, note=lambda line: console.print(line, style="dim"))
    if as_json:
        emit_json(found.to_json())
        return
    _draw(found)
    model = found.folder
    err().print(f"model in {model}; `lengthwise influence --model {model}` measures on which tokens it depends")


def _draw(found: LanguageModelResult) -> None:
    result = found.values
    parts = [result["held_out"]]
    if result["at_target"]["context"] > result["held_out"]["context"]:
        parts.append(result["at_target"])
    contexts = [f"context {part['context']}" for part in parts]
    table = plain_table("held-out text", *contexts, right=contexts)
    rows = {"nats per token": "nats_per_token", "nats per byte": "nats_per_byte", "unigram": "unigram_nats_per_token"}
    for label, key in rows.items():
        table.add_row(label, *[f"{part[key]:.3f}" for part in parts])
    table.add_row("gain of the farther half", *[f"{part['far_half']['gain']:.3f}" for part in parts])
    bands = {(band["from"], band["to"]) for part in parts for band in part["by_context"]}
    for low, high in sorted(bands):
        cells = [[b for b in part["by_context"] if (b["from"], b["to"]) == (low, high)] for part in parts]
        name = f"with {low} tokens before" if low == high else f"with {low}–{high} tokens before"
        table.add_row(name, *[f"{cell[0]['nats_per_token']:.3f}" if cell else "" for cell in cells])
    out().print(table)
    rate = result["tokens_seen"] / result["seconds"] if result["seconds"] else math.nan
    out().print(f"{result['parameters']:,} parameters, {result['tokens_seen']:,} tokens, {rate:,.0f} tokens a second")


@lm.command("extend")
@from_api("influence.measure_longer_contexts")
def extend(
    measure: Api,
    model: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of a model of `lengthwise lm train`.")],
    multiples: Annotated[
        list[int] | None, typer.Option("--multiple", help="Of the trained context; may be given again. Default: 2 4 8.")
    ] = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Measure a trained model's loss beyond its context, under each way to extend it."""
    use_threads(threads)
    found = measure(model, multiples=multiples or (2, 4, 8), note=lambda line: err().print(line, style="dim"))
    if as_json:
        emit_json(found.to_json())
        return
    columns, rows = found.table().columns, found.table().rows
    table = plain_table(*columns, right=columns[1:])
    for method, *losses in rows:
        table.add_row(method, *[f"{loss:.3f}" for loss in losses])
    out().print(table)
