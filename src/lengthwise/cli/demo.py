"""The command ``lengthwise demo`` shows in a few minutes what the package does: a verdict, a training, a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lengthwise.cli.console import err, out
from lengthwise.cli.threads import Threads
from lengthwise.training.threads import use_threads

OPENING = (
    "Can a transformer that has practised on problems of 4 lines solve problems of 80 lines?",
    "This demonstration asks theory, trains small models, tests them, and draws the result.",
    "It takes about a minute and a half on two idle cores; the first picture is there within one.",
)


def demo(
    folder: Annotated[Path, typer.Option("--out", help="Where run directories go.")] = Path("runs"),
    page: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path("report.html"),
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Seeds at the same time, a process each.")] = 2,
    threads: Threads = None,
) -> None:
    """Show what this package does: a verdict from theory, two kinds of positions trained and tested, and a picture.

    An interrupted demonstration goes on when it is started again.
    """
    use_threads(threads)
    console = out()
    for line in (*OPENING, "", "1 of 3  What theory says of following a chain of names to its value"):
        console.print(line, soft_wrap=True)
    from lengthwise.cli.run_view import SweepProgress, draw_summary
    from lengthwise.experiments import recipes as _recipes  # noqa: F401
    from lengthwise.workflows.demo import STAGES, demo_recipe, theory, train

    for line in theory():
        console.print(f"  {line}", soft_wrap=True)
    for number, (says, names) in enumerate(STAGES, start=2):
        console.print(f"\n{number} of 3  {says}", soft_wrap=True)
        with SweepProgress(err(), demo_recipe().selected(list(names), [])) as progress:
            done = train(names, folder, page, jobs=jobs, observe=progress)
        draw_summary(console, done)
        console.print(f"The picture so far is in {page}; open it in a browser.", soft_wrap=True)
    for line in (
        "",
        f"Where to look: {page} in a browser has the curves, the reason and every setting;",
        f"{folder / 'demo'} has the results as files. What comes next: docs/tutorial.md, or one of",
        "  lengthwise predict addition                            what theory says of another task",
        "  lengthwise show variable-assignment --length 4         which tokens depend on which",
        "  lengthwise predict examples/my_task.py:EverySecond     the same for a task of your own",
    ):
        console.print(line, soft_wrap=True)
