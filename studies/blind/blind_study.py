"""The blind study: ``python studies/blind/blind_study.py run`` trains what is missing, ``table`` shows what came out.

``report`` writes the page. The three take the committed study of ``studies/blind/results/blind`` or, with
``--languages FILE``, the same protocol for a list of one's own: one regular expression a line.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from comparison import table as build
from file_list import list_cells
from preregister import read_languages, user_study

import lengthwise as lw

FOLDER = Path(__file__).parent / "results" / "blind"
"""The committed study."""
TEMPLATE = Path(__file__).with_name("page.html")

Encodings = Annotated[
    list[str] | None,
    typer.Option(
        "--encoding",
        help="nope or ape; may be given again. Default: both. With --languages also rope, alibi, ape-no-qk-norm or "
        "ape+reg.",
    ),
]
Languages = Annotated[Path | None, typer.Option("--languages", metavar="FILE", help="One regular expression a line.")]
Folder = Annotated[Path | None, typer.Option("--out", help="Folder of the study.")]
Published = Annotated[bool, typer.Option("--published", help="The 25 published tasks instead of the 42 languages.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

app = typer.Typer(help="Predictions made before training, and what came out.", no_args_is_help=True)


@app.command()
def run(
    languages: Languages = None,
    encoding: Encodings = None,
    folder: Folder = None,
    published: Published = False,
    as_json: AsJson = False,
) -> None:
    """Train and measure what is missing, cell by cell; the same command goes on where it was stopped.

    Started once for each core, it shares the cells among the cores.
    """
    study = study_of(languages, encoding, folder, start=True)
    name = "published" if published else "languages"

    def progress(event: lw.experiments.events.Event) -> None:
        if event.text:
            print(event.text, file=sys.stderr)
        elif event.phase == "train" and event.done % 500 == 0:
            print(f"  step {event.done:,}, loss {event.number:.4f}", file=sys.stderr)

    run_study(study, name, Path("runs") / "blind" / study.sha256[:12], encodings=encoding, progress=progress)
    values = build(study, name, encoding)
    _show(values, as_json)
    print(f"report: {_write_page(study, values)}", file=sys.stderr)


@app.command()
def table(
    languages: Languages = None,
    encoding: Encodings = None,
    folder: Folder = None,
    published: Published = False,
    as_json: AsJson = False,
) -> None:
    """Rebuild the table from the result files alone; a missing or changed file is an error."""
    study = study_of(languages, encoding, folder)
    _show(build(study, "published" if published else "languages", encoding), as_json)


@app.command()
def report(
    languages: Languages = None, encoding: Encodings = None, folder: Folder = None, published: Published = False
) -> None:
    """Write the page: every seed as a dot, our predictor and its rivals."""
    study = study_of(languages, encoding, folder)
    print(_write_page(study, build(study, "published" if published else "languages", encoding)))


def study_of(
    languages: Path | None, encodings: list[str] | None, folder: Path | None, *, start: bool = False
) -> lw.experiments.blind.study.BlindStudy:
    """The committed study, or that of a user's list, which ``start`` begins where there is none."""
    study = None if languages else lw.experiments.blind.study.read_study(folder or FOLDER)
    known = study.encodings if study else list(lw.experiments.blind.ladder.VARIANTS)
    for name in encodings or ():
        if name not in known:
            raise lw.core.errors.UnknownNameError("encoding of the study", name, known)
    if study is not None or languages is None:
        assert study is not None
        return study
    results = folder or Path("runs") / "blind" / languages.stem
    if not start and (results / lw.experiments.blind.study.FILE).exists():
        return lw.experiments.blind.study.read_study(results)
    texts = read_languages(languages)
    tasks = {text: lw.tasks.language.Language(language=text.removeprefix("regex:")) for text in texts}
    plain = lw.experiments.blind.ladder.ENCODINGS
    others = set(encodings or ()) - set(plain)
    return user_study(results, lw.experiments.blind.study.frozen_study(), tasks, known if others else plain)


def run_study(
    study: lw.experiments.blind.study.BlindStudy,
    table: str,
    work: Path,
    *,
    encodings: Sequence[str] | None = None,
    progress: Callable[[lw.experiments.events.Event], None] = lambda event: None,
) -> None:
    """Run what is missing of one table, cell by cell; ``work`` holds the checkpoints of the rungs that are at work.

    Processes that run the same study share it: each passes over the cells at which another one is at work.
    """
    cells = [(entry, encoding) for entry in study.entries(table) for encoding in encodings or study.encodings]
    work.mkdir(parents=True, exist_ok=True)
    for index, (entry, encoding) in enumerate(cells, start=1):

        def numbered(event: lw.experiments.events.Event, at: str = f"[{index}/{len(cells)}] ") -> None:
            progress(replace(event, text=at + event.text) if event.text else event)

        with ExitStack() as claim:
            try:
                name = f"{lw.core.files.slug(entry.name)}-{encoding}.lock"
                claim.enter_context(lw.core.files.locked(work, name))
            except lw.core.errors.BusyError:
                text = f"{entry.name}, {encoding}: another process is at work on it"
                numbered(lw.experiments.events.Event(entry.name, 0, "note", text=text))
                continue
            rungs = range(1, len(study.ladder) + 1)
            paths = [lw.experiments.blind.study.cell_path(study, table, entry.name, encoding, n) for n in rungs]
            try:
                lw.experiments.blind.run.run_cell(study, table, entry, encoding, work, numbered)
            finally:
                list_cells(study, paths)


def _write_page(study: lw.experiments.blind.study.BlindStudy, values: dict[str, Any]) -> Path:
    name = "" if values["table"] == "languages" else "published-"
    lw.core.files.write_json(study.folder / f"{name}table.json", values)
    path = study.folder / f"{name}report.html"
    lw.core.files.write_text(path, blind_page(values, str(study.content["title"])))
    return path


def _show(values: dict[str, Any], as_json: bool) -> None:
    """The values, or one line per cell, our predictor beside its rivals, and the headline."""
    if as_json:
        print(json.dumps(values, ensure_ascii=False))
        return
    heads, lines = predictors(values)
    for columns, rows in ((lw.report.pages.CELL_HEADS, map(lw.report.pages.cell, values["cells"])), (heads, lines)):
        print(lw.core.table.Table(tuple(columns), tuple(map(tuple, rows))))
    print(headline(values))


def blind_page(values: Mapping[str, Any], title: str) -> str:
    """One self-contained HTML page from the table's JSON values."""
    rows = values["cells"]
    shown = [
        {"cut": cut, "cells": found["cells"], "right": found["right"], "balanced": found["balanced_accuracy"]}
        for cut, found in (*values["cuts"].items(), *values["by_words"].items())
    ]
    return lw.report.html.render_page(
        TEMPLATE,
        title=title,
        headline=headline(values),
        digest=values["preregistration"],
        undone=sum(row["status"] == "not run" for row in rows),
        rows=rows,
        figure=lw.report.pages.picture(rows, values["cut"]),
        counts=values["counts"],
        predictors=predictors(values),
        cuts=shown[: len(values["cuts"])],
        words=shown[len(values["cuts"]) :],
        cells=(lw.report.pages.CELL_HEADS, [lw.report.pages.cell(row) for row in rows]),
    )


def headline(values: Mapping[str, Any]) -> str:
    """Our balanced accuracy and the best rival's in one sentence."""
    ours, rivals = values["balanced_accuracy"], values["rivals"]
    decided = sum(row["status"] == "decided" for row in values["cells"])
    # The ladder was chosen with results of the published tasks seen, so these are no predictions.
    came_out = "as theory says" if values["table"] == "published" else "as predicted"
    text = f"{values['ours']['right']} of {values['ours']['cells']} decided cells {came_out} ({decided} decided)"
    known = {name: value for name, value in rivals.items() if value is not None}
    if ours is None or not known:
        return text + "; no balanced accuracy yet: it needs cells that generalize and cells that do not."
    best = max(known, key=lambda name: known[name])
    order = "above" if ours > known[best] else "not above"
    return f"{text}; balanced accuracy {ours:.3f}, {order} the best rival's ({best}: {known[best]:.3f})."


def predictors(values: Mapping[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """Heads and rows of the table of predictors."""
    heads = ["predictor", "cells", "right", "balanced accuracy", "95 % over languages", "AUC", "only ours right",
             "only it right", "p (McNemar)", "p over languages"]  # fmt: skip
    lines = [["ours", *_predictor(values["ours"]), *["–"] * 5]]
    for name, found in values["rival_details"].items():
        test = found["mcnemar"]
        probabilities = [f"{test[which]:.2g}" for which in ("p", "p_languages")]
        lines.append(
            [name, *_predictor(found), _shown(found["auc"]), test["only_ours"], test["only_rival"], *probabilities]
        )
    return heads, lines


def _predictor(found: Mapping[str, Any]) -> list[Any]:
    interval = found["balanced_accuracy_interval"]
    shown = "–" if interval is None else f"{interval[0]:.2f} to {interval[1]:.2f}"
    return [found["cells"], found["right"], _shown(found["balanced_accuracy"]), shown]


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


if __name__ == "__main__":
    try:
        app()
    except lw.LengthwiseError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
