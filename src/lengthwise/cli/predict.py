"""The command ``lengthwise predict`` prints a forecast, and with ``--why`` theory's verdicts. It needs no torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lengthwise.cli.console import emit_json, err, out
from lengthwise.cli.options import Api, AsJson, from_api

if TYPE_CHECKING:
    from rich.console import Console

    from lengthwise.prediction.verdict import Verdict


@from_api("theory.predict")
def predict(
    forecast: Api,
    target: Annotated[
        str, typer.Argument(help="A task, FILE.py:Class, regex:EXPRESSION, FILE.crasp, or examples in FILE.jsonl.")
    ],
    why: Annotated[
        bool, typer.Option("--why", help="Also print theory and measurements of each system, and what words mean.")
    ] = False,
    certificate: Annotated[
        bool, typer.Option("--certificate", help="Also print what theory says, with the certificates.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say how likely a model that is trained on short inputs is right on longer ones, why, and what to do.

    The answer comes first, then a table of the position systems, why, and what to do next. With --probe, small
    models are trained within the lengths that you have, and what they do there counts, too. --why adds all that is
    known. For a task about which nothing is known, a small program and a coupling are searched for a few seconds.
    """
    from lengthwise.forecast.forecasts import fill, text, verdict_lines

    notes = err()
    found = forecast(target, progress=lambda line: notes.print(line, soft_wrap=True))
    if as_json:
        emit_json({**found.theory.to_json(), "forecast": found.to_json()})
        return
    out().print(text(found, why or certificate, "--why"), soft_wrap=True, markup=False, highlight=False)
    if certificate:
        models = ["\nmodels without attention", *(part for v in verdict_lines(found.theory.models) for part in fill(v))]
        out().print("\n".join(models * bool(found.theory.models)), soft_wrap=True, markup=False, highlight=False)
        _certificates(out(), found.theory.verdicts)


def _certificates(console: Console, verdicts: tuple[Verdict, ...]) -> None:
    from rich.text import Text

    shown: set[str] = set()
    for verdict in verdicts:
        for argument in verdict.arguments:
            if not argument.certificate or argument.why in shown:
                continue
            shown.add(argument.why)
            console.print()
            console.print(Text(f"certificate ({verdict.system}): {argument.certificate['kind']}", style="bold"))
            for key, value in argument.certificate.items():
                if key != "kind":
                    # Sentences come as a list of lines; they speak for themselves.
                    console.print(Text("\n".join(value) if key == "lines" else f"{key}: {value}"))
