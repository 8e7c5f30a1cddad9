"""The command ``lengthwise influence`` measures on which far tokens a language model depends."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from lengthwise.cli.console import emit_json, err, out
from lengthwise.cli.options import AsJson, Dataset, TextPath, options_of, whole_numbers
from lengthwise.cli.threads import Threads
from lengthwise.training.threads import use_all_cores, use_threads


@dataclass(frozen=True)
class InfluenceSettings:
    """The options of ``lengthwise influence``."""

    model: Annotated[
        str | None,
        typer.Option("--model", metavar="FOLDER|HUB", help="A model's folder or hub name; default: our trained pair."),
    ] = None
    chooser: Annotated[
        str | None,
        typer.Option("--chooser", metavar="FOLDER|HUB", help="Another model that chooses tokens, as a control."),
    ] = None
    text: TextPath = None
    dataset: Dataset = None
    context: Annotated[
        int | None,
        typer.Option("--context", help="Tokens before each target; default 128, with our pair as the recipe."),
    ] = None
    recent: Annotated[
        int | None, typer.Option("--recent", help="How many of these stay visible; default 64, or as the recipe.")
    ] = None
    ks: Annotated[
        list[str] | None,
        typer.Option("-k", metavar="K", help="Numbers of influential tokens, e.g. -k 1 -k 4 or -k 1,4."),
    ] = None
    targets: Annotated[int, typer.Option("--targets", help="Target tokens.")] = 200
    rules: Annotated[
        list[str] | None, typer.Option("--rule", help="Selection rules beside greedy; may be given again.")
    ] = None
    keep_first: Annotated[
        bool, typer.Option("--keep-first", help="The first token stays visible too (attention sinks).")
    ] = False
    max_length: Annotated[
        int | None, typer.Option("--max-length", help="Most tokens of a hub model that does not say so itself.")
    ] = None
    length: Annotated[
        int | None,
        typer.Option(
            "--length", help="Of the problems, for an exported model; default: the longest it was trained on."
        ),
    ] = None
    answer_token: Annotated[
        int | None,
        typer.Option("--answer-token", help="Which token of the answer is the target, for an exported model; from 0."),
    ] = None
    preset: Annotated[str, typer.Option("--preset", help="Which trained pair: quick or standard.")] = "quick"
    folder: Annotated[Path, typer.Option("--out", help="Where results and the trained pair go.")] = Path("runs")
    seed: Annotated[int, typer.Option("--seed", help="Of the targets, and of random choices.")] = 0
    threads: Threads = None
    as_json: AsJson = False


@options_of(InfluenceSettings)
def influence(given: InfluenceSettings) -> None:
    """Measure how much of the gain of a long context a few of its tokens recover.

    Everything before the last RECENT tokens is hidden; then the k tokens that help most are made visible again. An
    exported model of a task (save_pretrained of LengthwiseForCausalLM) is measured on problems instead of text.
    """
    use_threads(given.threads)
    if given.model is not None:
        use_all_cores()
    from lengthwise.cli.influence_view import draw_influence, progress_bar
    from lengthwise.workflows.influence import run_influence, without_long_parts
    from lengthwise.workflows.influence_request import Request

    ks = whole_numbers("-k", ",".join(given.ks) if given.ks else None)
    settings = {
        "context": given.context, "recent": given.recent, "ks": ks and sorted(set(ks)), "targets": given.targets,
        "rules": given.rules or None, "keep_first": given.keep_first, "seed": given.seed,
    }  # fmt: skip
    request = Request(
        given.model, given.chooser, given.text, given.dataset, given.preset, given.max_length, given.length,
        given.answer_token, settings,
    )  # fmt: skip
    with progress_bar(err()) as report:
        path, result = run_influence(request, given.folder, report)
    if given.as_json:
        emit_json({"file": str(path), **without_long_parts(result)})
        return
    draw_influence(out(), result)
    err().print(f"wrote {path}, and beside it report.html and tokens.html", soft_wrap=True)
