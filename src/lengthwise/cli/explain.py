"""The command ``lengthwise explain``: what a trained model computes, what its heads do, and where it breaks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lengthwise.cli.console import emit_json, err, out
from lengthwise.cli.options import Api, AsJson, Threads, from_api
from lengthwise.core.config import parse_value
from lengthwise.core.errors import LengthwiseError
from lengthwise.training.threads import use_threads


@from_api("explain.explain")
def explain(
    explain_model: Api,
    model: Annotated[
        Path, typer.Argument(help="A run directory, a folder of a Hugging Face model, or a compiled .safetensors file.")
    ],
    task: Annotated[
        str | None, typer.Option("--task", help="What it was trained on, or its fields as JSON; a run knows it.")
    ] = None,
    offset: Annotated[str, typer.Option("--offset", metavar="N|random", help="The first token's position id.")] = "0",
    folder: Annotated[
        Path | None, typer.Option("--out", help="For the page, the JSON and finished parts. Default: explain-MODEL.")
    ] = None,
    threads: Threads = None,
    why: Annotated[
        bool, typer.Option("--why", help="Also print all findings and lengths, and what words mean.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say what a trained model computes, what each head does, and where it breaks; writes one page."""
    from lengthwise.explanation.before import PAGE
    from lengthwise.forecast.forecasts import MORE

    use_threads(threads)
    notes, target = err(), folder or Path(PAGE.format(model.resolve().name))
    if offset != "random" and not offset.isdigit():
        raise LengthwiseError(f"--offset must be a whole number or random, got {offset!r}")
    found = explain_model(
        model, None if task is None else parse_value(task), out=target,
        offset="random" if offset == "random" else int(offset), note=lambda line: notes.print(line, soft_wrap=True),
    )  # fmt: skip
    page = found.save(target)
    if as_json:
        emit_json(found.to_json())
        return
    text = found.text(why).replace(MORE, "--why")
    out().print(text, soft_wrap=True, markup=False, highlight=False)
    notes.print(f"all else is on the page: {page}", soft_wrap=True)
