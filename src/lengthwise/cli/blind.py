"""The command ``lengthwise blind`` runs the preregistered study, or its protocol on a user's list of languages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lengthwise.api.cluster import Cluster as ClusterSettings
from lengthwise.cli.console import emit_json, err, out
from lengthwise.cli.options import AsJson, CpusPerJob, GpusPerJob, Ray, Threads, options_of
from lengthwise.training.threads import use_threads

if TYPE_CHECKING:
    from lengthwise.experiments.blind.study import BlindStudy
    from lengthwise.experiments.events import Event

FOLDER = Path("results") / "blind"
"""Where the committed study lies in a checkout."""

Encodings = Annotated[
    list[str] | None,
    typer.Option(
        "--encoding",
        help="nope or ape; may be given again. Default: both. With --languages also rope, alibi, ape-no-qk-norm or "
        "ape+reg.",
    ),
]
Languages = Annotated[
    Path | None, typer.Option("--languages", metavar="FILE", help="Your own list: one regular expression a line.")
]
Folder = Annotated[Path | None, typer.Option("--out", help="Folder of the study.")]
Published = Annotated[bool, typer.Option("--published", help="The 25 published tasks instead of the 42 languages.")]


blind = typer.Typer(help="Predictions made before training, and what came out.", no_args_is_help=True)


@dataclass(frozen=True)
class BlindSettings:
    """The options of ``lengthwise blind run``."""

    languages: Languages = None
    encoding: Encodings = None
    folder: Folder = None
    published: Published = False
    threads: Threads = None
    ray: Ray = None
    cpus_per_job: CpusPerJob = 1
    gpus_per_job: GpusPerJob = 0.0
    as_json: AsJson = False


@blind.command()
@options_of(BlindSettings)
def run(given: BlindSettings) -> None:
    """Train and measure what is missing, cell by cell; the same command goes on where it was stopped.

    Started once for each core, it shares the cells among the cores.
    """
    from lengthwise.cli.blind_view import step_lines
    from lengthwise.experiments.blind.comparison.table import table as build
    from lengthwise.experiments.blind.run import run_study

    use_threads(given.threads)
    study = _study(given.languages, given.encoding, given.folder, start=True)
    name = "published" if given.published else "languages"
    notes = err()

    def note(line: str) -> None:
        notes.print(line, markup=False, soft_wrap=True)

    work = Path("runs") / "blind" / study.sha256[:12]
    cluster = ClusterSettings(given.ray, None, given.cpus_per_job, given.gpus_per_job)
    on = cluster.executor(study.folder)
    on_step = step_lines(note)

    def progress(event: Event) -> None:
        if event.text:
            note(event.text)
        elif event.phase == "train" and on is None:
            on_step(event.done, event.number)

    run_study(study, name, work, encodings=given.encoding, on=on, progress=progress)
    values = build(study, name, given.encoding)
    page = _write_page(study, values)
    if given.as_json:
        emit_json(values)
    else:
        _draw(values)
    notes.print(f"report: {page}", markup=False)


@blind.command()
def table(
    languages: Languages = None,
    encoding: Encodings = None,
    folder: Folder = None,
    published: Published = False,
    as_json: AsJson = False,
) -> None:
    """Rebuild the table from the result files alone; a missing or changed file is an error."""
    from lengthwise.experiments.blind.comparison.table import table as build

    values = build(_study(languages, encoding, folder), "published" if published else "languages", encoding)
    if as_json:
        emit_json(values)
    else:
        _draw(values)


@blind.command()
def report(
    languages: Languages = None, encoding: Encodings = None, folder: Folder = None, published: Published = False
) -> None:
    """Write the page: every seed as a dot, our predictor and its rivals."""
    from lengthwise.experiments.blind.comparison.table import table as build

    study = _study(languages, encoding, folder)
    values = build(study, "published" if published else "languages", encoding)
    out().print(str(_write_page(study, values)), markup=False)


def _study(
    languages: Path | None, encodings: list[str] | None, folder: Path | None, *, start: bool = False
) -> BlindStudy:
    """The frozen study, or that of a user's list, which ``start`` begins where there is none."""
    from lengthwise.experiments.blind.ladder import ENCODINGS
    from lengthwise.experiments.blind.study import FILE, frozen_study, read_study
    from lengthwise.experiments.blind.user_list import read_languages, user_study
    from lengthwise.experiments.blind.variants import VARIANTS
    from lengthwise.tasks.language import Language

    if languages is None:
        study = read_study(folder or FOLDER)
        _check_encodings(encodings, study.encodings)
        return study
    _check_encodings(encodings, list(VARIANTS))
    results = folder or Path("runs") / "blind" / languages.stem
    if not start and (results / FILE).exists():
        return read_study(results)
    tasks = {text: Language(language=text.removeprefix("regex:")) for text in read_languages(languages)}
    others = set(encodings or ()) - set(ENCODINGS)
    return user_study(results, frozen_study(), tasks, list(VARIANTS if others else ENCODINGS))


def _check_encodings(names: list[str] | None, known: list[str]) -> None:
    from lengthwise.core.errors import UnknownNameError

    for name in names or ():
        if name not in known:
            raise UnknownNameError("encoding of the study", name, known)


def _write_page(study: BlindStudy, values: dict[str, Any]) -> Path:
    from lengthwise.core.files import write_json, write_text
    from lengthwise.report.pages import blind_page

    name = "" if values["table"] == "languages" else "published-"
    write_json(study.folder / f"{name}table.json", values)
    path = study.folder / f"{name}report.html"
    write_text(path, blind_page(values, str(study.content["title"])))
    return path


def _draw(values: dict[str, Any]) -> None:
    from lengthwise.cli.blind_view import draw_table

    draw_table(out(), values)
