"""The command ``lengthwise lm train`` trains a small language model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lengthwise.cli.console import emit_json, err, out, progress_bars
from lengthwise.cli.options import options_of
from lengthwise.cli.threads import Threads
from lengthwise.training.threads import use_threads

if TYPE_CHECKING:
    from rich.console import Console

    from lengthwise.influence.lm.config import LMConfig
    from lengthwise.influence.text.corpus import Corpus

lm = typer.Typer(help="Train a small language model to measure influential tokens with.", no_args_is_help=True)


@lm.callback()
def _group() -> None:
    """A group, so that its one command keeps its name."""


@dataclass(frozen=True)
class TrainSettings:
    """The options of ``lengthwise lm train``."""

    preset: Annotated[str, typer.Option("--preset", help="quick or standard.")] = "quick"
    context: Annotated[int, typer.Option("--context", help="Tokens of context in training.")] = 128
    scheme: Annotated[str, typer.Option("--scheme", help="Position ids in training: sequential or pose.")] = (
        "sequential"
    )
    target: Annotated[
        int | None, typer.Option("--target", help="With pose: the context that position ids reach to.")
    ] = None
    tokenizer: Annotated[str, typer.Option("--tokenizer", help="bpe or bytes.")] = "bpe"
    text: Annotated[
        Path | None, typer.Option("--text", help="A text file or a folder; default: Python's standard library.")
    ] = None
    dataset: Annotated[
        str | None, typer.Option("--dataset", metavar="NAME[:CONFIG]", help="A Hugging Face data set, streamed.")
    ] = None
    folder: Annotated[Path | None, typer.Option("--out", help="The model's folder.")] = None
    seed: Annotated[int, typer.Option("--seed", help="Weights and windows.")] = 0
    threads: Threads = None
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False


@lm.command("train")
@options_of(TrainSettings)
def train(given: TrainSettings) -> None:
    """Train a model and report its loss on held-out text.

    A finished model is reused and an interrupted one goes on from its last checkpoint, so the same command can always
    be given again.
    """
    from lengthwise.influence.lm.config import lm_config
    from lengthwise.influence.text.corpus import load_corpus

    use_threads(given.threads)
    config = lm_config(
        given.preset,
        context=given.context,
        scheme=given.scheme,
        target=given.target,
        tokenizer=given.tokenizer,
        seed=given.seed,
    )
    corpus = load_corpus(given.text, given.dataset)
    name = f"{given.preset}-{given.scheme}-{given.context}-seed-{given.seed}"
    folder = given.folder or Path("runs") / "lm" / name
    result = train_with_progress(config, corpus, folder, err())
    if given.as_json:
        emit_json({"folder": str(folder), **result})
        return
    _draw(result)
    err().print(f"model in {folder}; `lengthwise influence --model {folder}` measures on which tokens it depends")


def train_with_progress(config: LMConfig, corpus: Corpus, folder: Path, console: Console) -> dict[str, Any]:
    """Train with a progress bar (loss in nats per token, time left) on ``console``; plain lines in a file."""
    from rich.text import Text

    from lengthwise.experiments.provenance import provenance
    from lengthwise.influence.lm.train import train_lm

    for name in corpus.skipped:
        console.print(Text(f"skipped, not UTF-8 text: {name}"), style="dim")
    progress = progress_bars(console)
    shown = {"train": "", "held-out": ""}
    with progress:
        bar = progress.add_task("tokenizing", total=None, note="")

        def report(what: str, done: int, total: int, number: float) -> None:
            if what == "tokenize":
                return
            shown[what] = f"{number:.3f}"
            if what == "held-out":
                console.print(Text(f"step {done} of {total}: held-out loss {number:.3f} nats per token"), style="dim")
            loss = f"loss {shown['train']}" + (f", held out {shown['held-out']}" if shown["held-out"] else "")
            progress.update(bar, description="training", completed=done, total=total, note=f"{loss} nats per token")

        return train_lm(config, corpus, folder, report, about=lambda: provenance("cpu"))


def _draw(result: dict[str, Any]) -> None:
    from rich.table import Table

    parts = [result["held_out"]]
    if result["at_target"]["context"] > result["held_out"]["context"]:
        parts.append(result["at_target"])
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("held-out text")
    for part in parts:
        table.add_column(f"context {part['context']}", justify="right")
    rows = {"nats per token": "nats_per_token", "nats per byte": "nats_per_byte", "unigram": "unigram_nats_per_token"}
    for label, key in rows.items():
        table.add_row(label, *[f"{part[key]:.3f}" for part in parts])
    table.add_row("gain of the farther half", *[f"{part['far_half']['gain']:.3f}" for part in parts])
    bands = {(band["from"], band["to"]) for part in parts for band in part["by_context"]}
    for low, high in sorted(bands):
        found = [[b for b in part["by_context"] if (b["from"], b["to"]) == (low, high)] for part in parts]
        name = f"with {low} tokens before" if low == high else f"with {low}–{high} tokens before"
        table.add_row(name, *[f"{cell[0]['nats_per_token']:.3f}" if cell else "" for cell in found])
    out().print(table)
    rate = result["tokens_seen"] / result["seconds"] if result["seconds"] else math.nan
    out().print(f"{result['parameters']:,} parameters, {result['tokens_seen']:,} tokens, {rate:,.0f} tokens a second")
