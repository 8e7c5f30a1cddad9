"""The commands ``lengthwise lm train`` and ``lm extend``: a small language model, and its loss on longer contexts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lengthwise.cli.console import emit_json, err, out, plain_table, progress_bars
from lengthwise.cli.options import AsJson, Dataset, TextPath, options_of
from lengthwise.cli.threads import Threads
from lengthwise.training.threads import use_threads

if TYPE_CHECKING:
    from rich.console import Console

    from lengthwise.influence.corpus import Corpus
    from lengthwise.influence.lm import LMConfig

lm = typer.Typer(help="Train a small language model; measure its loss beyond its context.", no_args_is_help=True)


@lm.callback()
def _group() -> None:
    """A group of commands."""


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
    text: TextPath = None
    dataset: Dataset = None
    folder: Annotated[Path | None, typer.Option("--out", help="The model's folder.")] = None
    seed: Annotated[int, typer.Option("--seed", help="Weights and windows.")] = 0
    threads: Threads = None
    as_json: AsJson = False


@lm.command("train")
@options_of(TrainSettings)
def train(given: TrainSettings) -> None:
    """Train a model and report its loss on held-out text.

    A finished model is reused and an interrupted one goes on from its last checkpoint, so the same command can always
    be given again.
    """
    from lengthwise.influence.corpus import load_corpus
    from lengthwise.influence.lm import lm_config

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
    from lengthwise.influence.lm import train_lm

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
        found = [[b for b in part["by_context"] if (b["from"], b["to"]) == (low, high)] for part in parts]
        name = f"with {low} tokens before" if low == high else f"with {low}–{high} tokens before"
        table.add_row(name, *[f"{cell[0]['nats_per_token']:.3f}" if cell else "" for cell in found])
    out().print(table)
    rate = result["tokens_seen"] / result["seconds"] if result["seconds"] else math.nan
    out().print(f"{result['parameters']:,} parameters, {result['tokens_seen']:,} tokens, {rate:,.0f} tokens a second")


@dataclass(frozen=True)
class ExtendSettings:
    """The options of ``lengthwise lm extend``."""

    model: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of a model of `lengthwise lm train`.")]
    methods: Annotated[
        list[str] | None, typer.Option("--method", help="none, window, pi, yarn, …; may be given again. Default: all.")
    ] = None
    multiples: Annotated[
        list[int] | None, typer.Option("--multiple", help="Of the trained context; may be given again. Default: 2 4 8.")
    ] = None
    windows: Annotated[int, typer.Option("--windows", help="Windows of held-out text.")] = 64
    fine_tuning: Annotated[
        int, typer.Option("--fine-tune", help="Steps of training for PI and DroPE; 0: only what needs none.")
    ] = 0
    text: TextPath = None
    dataset: Dataset = None
    threads: Threads = None
    as_json: AsJson = False


@lm.command("extend")
@options_of(ExtendSettings)
def extend(given: ExtendSettings) -> None:
    """Measure a trained model's loss beyond its context, under each way to extend it."""
    from rich.text import Text

    from lengthwise.influence.corpus import load_corpus
    from lengthwise.influence.lm import LongerContexts, measure_longer

    use_threads(given.threads)
    settings = LongerContexts(
        tuple(given.multiples or (2, 4, 8)),
        given.windows,
        given.fine_tuning,
        None if given.methods is None else tuple(given.methods),
    )
    corpus = load_corpus(given.text, given.dataset)
    result = measure_longer(given.model, corpus, settings, lambda line: err().print(Text(line), style="dim"))
    if given.as_json:
        emit_json(result)
        return
    out().print(_extension_table(result))


def _extension_table(result: dict[str, Any]) -> Any:
    """Loss over the last trained context of the window, by method and multiple."""
    ends = [multiple * result["context"] for multiple in result["settings"]["multiples"]]
    parts = [f"first {result['context']} tokens", *(f"tokens {end - result['context'] + 1}–{end}" for end in ends)]
    table = plain_table("nats per token", *parts, right=parts)
    for method in dict.fromkeys(row["method"] for row in result["rows"]):
        rows = [row for row in result["rows"] if row["method"] == method]
        table.add_row(method, f"{rows[-1]['within']:.3f}", *[f"{row['last']:.3f}" for row in rows])
    return table
