"""Progress of long calls: bars and lines on stderr, an estimate of the time left, and services that log it.

Rich is imported only when something is shown.
"""

from __future__ import annotations

import importlib
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from lengthwise.core.deadline import DOING, FIRST_WORD, NEXT_WORD
from lengthwise.core.errors import LengthwiseError, UnknownNameError, harmless

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from lengthwise.experiments.events import Event, Report
    from lengthwise.experiments.recipe import Job, Recipe

    Log = Callable[[Event], None]
EVERY = 10
"""Training steps between two numbers that are logged."""
FIRST_SECONDS = 5.0
"""How long training is timed before the first estimate."""
QUIET_SECONDS = 30.0
"""Between two lines on what is at work, where they go into a file or a pipe."""


def stderr() -> Console:
    """The console of progress and notes."""
    return console(stderr=True)


def console(*, stderr: bool = False) -> Console:
    """A console that takes text as it is, without what a terminal would obey in it: paths and names are the user's."""
    from rich.console import Console

    class Plain(Console):
        def render(self, *values: Any, **named: Any) -> Iterator[Any]:
            for part in super().render(*values, **named):
                yield part if part.control else part._replace(text=harmless(part.text))

    return Plain(stderr=stderr, markup=False, highlight=False, emoji=False)


def progress_bars(console: Console) -> Progress:
    """Bars with a ``note`` of their own, time taken and time left; nothing where ``console`` is a file or a pipe."""
    from rich import progress

    return progress.Progress(
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(bar_width=24),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[note]}", markup=False),
        progress.TimeElapsedColumn(),
        progress.TextColumn("left"),
        progress.TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


class _Heard:
    """A stream that knows when something was last written to it, and whether the work has ended."""

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.at, self.ended = stream, time.monotonic(), threading.Event()

    def write(self, text: str) -> int:
        self.at = time.monotonic()
        return self.stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def signs_of_life(what: str) -> Iterator[None]:
    """Say on stderr that ``what`` is at work, after 5 s and then every 10 s in which nothing else was written there.

    Into a file or a pipe, later than a line of progress would come.
    """
    before, began = sys.stderr, time.monotonic()
    heard, later = _Heard(before), NEXT_WORD if sys.stderr.isatty() else 1.1 * QUIET_SECONDS

    def watch() -> None:
        patience = FIRST_WORD
        while not heard.ended.wait(max(0.01, heard.at + patience - time.monotonic())):
            if time.monotonic() - heard.at >= patience:
                patience = later
                doing = f": {DOING.now}" * bool(DOING.now)
                print(f"{what}: at work for {time.monotonic() - began:.0f} s{doing}", file=sys.stderr, flush=True)

    thread = threading.Thread(target=watch, daemon=True)
    sys.stderr = cast(TextIO, heard)
    thread.start()
    try:
        yield
    finally:
        heard.ended.set()
        thread.join()
        sys.stderr = before


def now_waits() -> None:
    """Say no more that the command is at work: from here on it waits for its user."""
    if isinstance(sys.stderr, _Heard):
        sys.stderr.ended.set()


class TrainingClock:
    """Counts the work that is done and the time that it took. Tests of the models are no work, but take time."""

    def __init__(self, recipe: Recipe) -> None:
        self._jobs = {job.name: job for job in recipe.jobs}
        self._early = any(map(_ends_early, recipe.jobs))
        self._left = {(job.name, seed): _work(job) for job in recipe.jobs for seed in job.seeds}
        self._done: dict[tuple[str, int], int] = {}
        self._made = 0.0
        self._started: float | None = None
        self._told = False

    def observe(self, event: Event) -> None:
        """Take note of an event of the sweep."""
        work = _per_step(self._jobs[event.job])
        if event.phase == "train" and self._started is None:
            # Steps of an interrupted run are not made now, and the first step is slower than others.
            self._started = time.monotonic()
        for seed in event.together or (event.seed,):
            key = event.job, seed
            if event.phase == "train":
                self._made += (event.done - self._done.get(key, event.done)) * work
                self._done[key] = event.done
                self._left[key] = (event.total - event.done) * work
            elif event.ended or event.phase == "test":
                self._left[key] = 0.0

    def left(self) -> str:
        """About how long the sweep still trains, in words; empty where it is too early to say."""
        seconds = self._seconds_left()
        return "" if seconds is None else f"{'at most' if self._early else 'about'} {_in_words(seconds)} left"

    def in_all(self) -> str:
        """One line on how long the sweep trains in all, once, as soon as it can be said; empty before and after."""
        seconds = None if self._told else self._seconds_left()
        if seconds is None or self._started is None:
            return ""
        self._told = True
        passed = time.monotonic() - self._started
        seconds += passed
        counts = (len(self._left), "run"), (len(self._jobs), "system")
        runs, systems = (f"{count} {what}{'s' * (count > 1)}" for count, what in counts)
        how_long = f"at most about {_in_words(seconds)} of training in all, by its first steps"
        if self._early:
            least = passed / self._made * sum(_least(job) * len(job.seeds) for job in self._jobs.values())
            at_least = _in_words(min(least, seconds))
            how_long = f"{at_least} to {_in_words(seconds)} of training, as a run ends once it fits"
        return f"{runs} of {systems}: {how_long}; tests come on top"

    def _seconds_left(self) -> float | None:
        passed = 0.0 if self._started is None else time.monotonic() - self._started
        if passed < FIRST_SECONDS or self._made <= 0:
            return None
        return passed / self._made * sum(self._left.values())


def _per_step(job: Job) -> float:
    from lengthwise.experiments.recipe import Study

    if isinstance(job.work, Study):
        return 0.0
    model, training = job.experiment.model, job.experiment.training
    return float(model.layers * model.loops_for(training.max_length))


def _work(job: Job) -> float:
    return _per_step(job) * job.steps / len(job.seeds)


def _ends_early(job: Job) -> bool:
    return _per_step(job) > 0 and job.experiment.training.stop_when_fitted


def _least(job: Job) -> float:
    """The work of one seed that fits when that is looked at first, where it then ends."""
    return min(_work(job), _per_step(job) * job.experiment.training.probe_every) if _ends_early(job) else _work(job)


def _in_words(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


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

    def __exit__(self, *error: object) -> None:
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
        self._console.print(line, soft_wrap=True)

    def _count(self, key: tuple[str, int], steps: int) -> None:
        self._steps[key] = steps
        self._progress.update(self._all, completed=sum(self._steps.values()))


class ComparisonProgress:
    """Prints what is planned, a line for each finished seed, and one now and then on what is at work.

    ``again`` is the command with other options.
    """

    def __init__(self, console: Console, again: Callable[[Mapping[str, Any]], str]) -> None:
        self._console, self._again, self._said = console, again, time.monotonic()
        self._quiet = NEXT_WORD - 2 if console.is_terminal else QUIET_SECONDS  # before `signs_of_life` says a word

    def __call__(self, event: Event) -> None:
        """Show one event."""
        if event.ended:
            state = "fitted" if event.fitted else "not fitted"
            self._say(f"{event.job}, seed {event.seed}: {state}, in distribution {event.number:.3f}")
        elif event.phase == "note":
            self._say(event.text + f":\n  {self._again(event.instead)}" * bool(event.instead))
        elif time.monotonic() - self._said >= self._quiet:
            done = f"{event.phase} {event.done} of {event.total}"
            parts = [event.job, f"seed {event.seed}", event.text, done]
            if event.phase == "time":
                parts = [event.job, f"timing a step of setting {event.done + 1} of {event.total}"]
            self._say(", ".join(part for part in parts if part))

    def _say(self, line: str) -> None:
        self._said = time.monotonic()
        self._console.print(line, soft_wrap=True)


@contextmanager
def part_bar(console: Console) -> Iterator[Report]:
    """A bar with the time left; a line for each part where the console is not a terminal."""
    progress = progress_bars(console)
    shown = progress.add_task("", total=None, note="")
    present = said = ""

    def report(what: str, done: int, total: int, number: float = 0.0, /) -> None:
        nonlocal present, said
        if what != present:
            present = what
            progress.reset(shown, description=what, total=total, completed=done)
        elif what != said and not console.is_terminal:
            # Only of parts that take a while: a mistake that shows at once stays one line.
            said = what
            console.print(what)
        progress.update(shown, completed=done, total=total)

    with progress:
        yield report


@contextmanager
def tracker(name: str, recipe: Recipe, folder: Path) -> Iterator[Log]:
    """What takes the events of a run of ``recipe``: one run of the service per system and seed.

    Raises `UnknownNameError` for another service, and `LengthwiseError` if its package is not installed.
    """
    if name not in _OPENERS:
        raise UnknownNameError("service to log to", name, _OPENERS)
    open_run, opened = _OPENERS[name](recipe, folder), {}

    def log(event: Event) -> None:
        key = event.job, event.seed
        if event.phase == "reused" or (event.phase == "train" and event.done % EVERY):
            return
        if key not in opened:
            opened[key] = open_run(*key)
        write, _ = opened[key]
        what = {"train": "loss", "test": "exact match", "finished": "in distribution"}.get(event.phase, event.phase)
        write(what, event.number, event.done)

    try:
        yield log
    finally:
        for _, close in opened.values():
            close()


def _package(name: str, extra: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise LengthwiseError(
            f"`log_to` {extra} needs the package {extra}; run: pip install 'lengthwise[{extra}]'"
        ) from None


def _wandb(recipe: Recipe, folder: Path) -> Callable[[str, int], tuple[Callable[[str, float, int], None], Any]]:
    wandb = _package("wandb", "wandb")
    settings = {job.name: job.to_json() for job in recipe.jobs}

    def open_run(job: str, seed: int) -> tuple[Callable[[str, float, int], None], Any]:
        try:
            run = wandb.init(
                project="lengthwise", group=recipe.name, name=f"{job}, seed {seed}", config=settings[job],
                dir=str(folder.parent), reinit="create_new",
            )  # fmt: skip
        except wandb.Error as error:
            why = " ".join(str(error).split()).rstrip(".")
            raise LengthwiseError(f"`log_to` wandb: {why}; to log without an account, set WANDB_MODE=offline") from None
        return lambda what, number, step: run.log({what: number, f"{what} step": step}), run.finish

    return open_run


def _tensorboard(recipe: Recipe, folder: Path) -> Callable[[str, int], tuple[Callable[[str, float, int], None], Any]]:
    _package("tensorboard", "tensorboard")
    module = importlib.import_module("torch.utils.tensorboard")

    def open_run(job: str, seed: int) -> tuple[Callable[[str, float, int], None], Any]:
        name = "".join(c if c.isalnum() or c in "-_" else "-" for c in job)
        writer = module.SummaryWriter(str(folder / "tensorboard" / f"{name}-{seed}"))
        return lambda what, number, step: writer.add_scalar(what, number, step), writer.close

    return open_run


_OPENERS: dict[str, Callable[[Recipe, Path], Any]] = {"wandb": _wandb, "tensorboard": _tensorboard}
