"""The command ``lengthwise generate``: one string, asked of a trained model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lengthwise.cli.console import emit_json, out
from lengthwise.cli.options import Api, AsJson, Threads, from_api
from lengthwise.training.threads import use_threads


@from_api("model.load")
def generate(
    load: Api,
    run: Annotated[Path, typer.Argument(help="A run directory, or a folder with several.")],
    text: Annotated[str, typer.Argument(help='A prompt such as "3 1 4 <sep>"; of a language a word such as "a b a".')],
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Ask a trained model one string, and say whether it is right: of a language, what may come next.

    Of a language it says after every symbol of a word what may come next, and whether the model accepts the word.
    """
    use_threads(threads)
    from lengthwise.core.vocab import EOS
    from lengthwise.evaluation.accuracy import prompt_tokens
    from lengthwise.tasks.language import Language

    model = load(run)
    task = model.experiment.task
    if isinstance(task, Language):
        reading = model.may_follow(text)
        if as_json:
            emit_json(reading.to_json())
        else:
            out().print(repr(reading), soft_wrap=True, markup=False, highlight=False)
        return
    said = model.generate(text)
    right = " ".join(token for token in task.solve(prompt_tokens(task, text)) if token != EOS)
    if as_json:
        emit_json({"prompt": text, "said": said, "right": right})
        return
    out().print(said, soft_wrap=True, markup=False, highlight=False)
    verdict = "right" if said == right else f"wrong, right is: {right}"
    out().print(verdict, soft_wrap=True, markup=False, highlight=False)
