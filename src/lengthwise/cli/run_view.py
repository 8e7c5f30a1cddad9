"""How a run looks: a progress bar with the time left on stderr, and a table of medians at the end."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import TaskID
from rich.text import Text

from lengthwise.cli.console import plain_table, progress_bars
from lengthwise.cli.training_clock import TrainingClock
from lengthwise.experiments.engine import Sweep
from lengthwise.experiments.events import Event
from lengthwise.experiments.recipe import Recipe
from lengthwise.report.summary import (
    INTERVAL,
    Estimate,
    SeedResult,
    SystemSummary,
    axes_text,
    common_chance,
    panel_axes,
    panel_of,
)

QUIET_SECONDS = 15.0
"""Without a terminal, the longest time between two lines."""


class SweepProgress:
    """A bar for all training steps and one for each seed or stack at work, and a line for each seed that is done."""

    def __init__(self, console: Console, recipe: Recipe) -> None:
        self._console = console
        # Into a file or a pipe go the lines of finished seeds, and a line now and then on those at work.
        self._progress = progress_bars(console)
        self._jobs = {job.name: job for job in recipe.jobs}
        steps = sum(job.steps for job in recipe.jobs)
        self._all = self._progress.add_task("all steps", total=steps, note="", visible=steps > 0)
        self._bars: dict[tuple[str, int], TaskID] = {}
        self._steps: dict[tuple[str, int], int] = {}
        self._clock = TrainingClock(recipe)
        self._said = time.monotonic()

    def __enter__(self) -> SweepProgress:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def __call__(self, event: Event) -> None:
        """Show one event of the sweep."""
        key = (event.job, event.seed)
        job = self._jobs[event.job]
        self._clock.observe(event)
        if not event.ended:
            if key not in self._bars:
                self._bars[key] = self._progress.add_task("", total=None, note="")
            unit = {"train": f"loss {event.number:.3f}", "test": f"exact match {event.number:.3f}"}
            seeds = f"seed {event.seed}" if len(event.together) < 2 else f"{len(event.together)} seeds"
            what, note = f"{event.job}, {seeds}, {event.phase}", unit.get(event.phase, "")
            self._progress.update(self._bars[key], description=what, completed=event.done, total=event.total, note=note)
            if not self._console.is_terminal and time.monotonic() - self._said >= QUIET_SECONDS:
                parts = [f"{what} {event.done} of {event.total}", note, self._clock.left()]
                self._say(", ".join(part for part in parts if part))
            if event.phase == "train":
                for seed in event.together or (event.seed,):
                    self._count((event.job, seed), event.done)
                if estimate := self._clock.in_all():
                    self._say(estimate)
            return
        self._count(key, job.steps // len(job.seeds))
        if key in self._bars:
            self._progress.remove_task(self._bars.pop(key))
        how = "reused" if event.phase == "reused" else f"{event.seconds or 0:.0f} s"
        state = f"{'' if event.fitted else 'not '}fitted, in distribution {event.number:.3f} ({how})"
        self._say(f"{event.job}, seed {event.seed}: {how if event.fitted is None else state}")

    def _say(self, line: str) -> None:
        self._said = time.monotonic()
        self._console.print(Text(line), soft_wrap=True)

    def _count(self, key: tuple[str, int], steps: int) -> None:
        self._steps[key] = steps
        self._progress.update(self._all, completed=sum(self._steps.values()))


def draw_summary(console: Console, sweep: Sweep) -> None:
    """Per system: fitted seeds, in distribution, and the median of the fitted seeds at each length."""
    recipe = sweep.recipe
    summaries = [
        SystemSummary(recipe.name, job.name, tuple(SeedResult.of(result.to_json()) for result in results))
        for job, results in zip(recipe.jobs, sweep.results, strict=True)
    ]
    trained = sorted({f"1–{s.max_length}" if s.max_length > 1 else "1" for s in summaries})
    head = Text(recipe.name, style="bold")
    head.append(f"  trained on lengths up to {', '.join(t.removeprefix('1–') for t in trained)}", style="dim")
    console.print()
    console.print(head)
    console.print()
    cells = [cell for summary in summaries for cell in (*summary.cells, *summary.unfitted_cells)]
    keys = panel_axes(cells)
    panels = list(dict.fromkeys(panel_of(cell.axes, keys) for cell in cells)) or [()]
    for panel in panels:
        lengths = sorted({cell.length for cell in cells if panel_of(cell.axes, keys) == panel})
        numbers = ["in distr.", *(f"n = {length}" for length in lengths)]
        table = plain_table(axes_text(panel) or "exact match", "fitted", *numbers, right=numbers)
        for summary in summaries:
            fitted = f"{len(summary.fitted)} of {len(summary.results)}"
            row = [Text(summary.name, style="bold"), fitted, f"{summary.in_distribution.median:.3f}"]
            measured = summary.cells or summary.unfitted_cells
            found = {c.length: c.estimate() for c in measured if panel_of(c.axes, keys) == panel}
            if summary.fitted:
                row += [_estimate(found.get(length)) for length in lengths]
            elif measured:
                row += [_control(found.get(length)) for length in lengths]
            else:
                row.append(Text("not fitted", style="yellow"))
            table.add_row(*row)
        lines = {length: common_chance([s.experiment for s in summaries], length, panel) for length in lengths}
        if any(lines.values()):
            chance = [f"{value:.3f}" if value else "" for value in lines.values()]
            table.add_row(Text("chance (answer)", style="dim"), "", "", *chance)
        console.print(table)
        console.print()
    console.print(Text(f"exact match: {INTERVAL}.", style="dim"))
    if any(not summary.fitted for summary in summaries):
        note = "not fitted: no seed reached the fit threshold in distribution, so it says nothing of longer lengths."
        console.print(Text(note, style="dim"))
    if any(summary.unfitted_cells for summary in summaries):
        note = "in brackets: a model that did not fit, measured as a control (unfitted_too); no statement on lengths."
        console.print(Text(note, style="dim"))


def _control(value: Estimate | None) -> Text:
    return Text("–" if value is None else f"({value.median:.3f})", style="yellow")


def _estimate(value: Estimate | None) -> Text:
    if value is None:
        return Text("–", style="dim")
    text = Text(f"{value.median:.3f}", style="bold")
    text.append(f"\n{value.low:.2f}–{value.high:.2f}", style="dim")
    return text
