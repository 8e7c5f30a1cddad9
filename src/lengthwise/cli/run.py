"""The commands ``lengthwise run``, ``plan``, ``report`` and ``demo``: recipes and tasks, trained and shown."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lengthwise.cli.console import again, draw_answer, emit_json, err, out, plain_table, say_other_names
from lengthwise.cli.options import (
    Api,
    AsJson,
    CpusPerJob,
    GpusPerJob,
    Jobs,
    Ray,
    Seeds,
    Slurm,
    Threads,
    from_api,
    number_of_jobs,
)
from lengthwise.core.errors import LengthwiseError, require
from lengthwise.positions.system import SYSTEMS, name_of
from lengthwise.training.threads import use_all_cores, use_threads

if TYPE_CHECKING:
    from rich.console import Console

    from lengthwise.api.experiment import RecipeResult
    from lengthwise.core.result_file import RunResult, StudyResult
    from lengthwise.experiments.engine import Sweep
    from lengthwise.experiments.recipe import Study
    from lengthwise.experiments.run_config import RunConfig
    from lengthwise.forecast.answer import SystemForecast
    from lengthwise.report.summary import SystemSummary

OPENING = (
    "Can a transformer that has practised on problems of 4 lines solve problems of 80 lines?",
    "This demonstration asks theory, trains small models, tests them, and draws the result.",
    "It takes about a minute and a half on two idle cores; the first picture is there within one.",
)


@from_api("experiment.recipe", "experiment.run")
def run(
    make: Api,
    train: Api,
    recipe: Annotated[
        str | None,
        typer.Argument(help="A recipe (`lengthwise list recipes`), a task, an expression, or FILE.py:Class."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="PATH", help="Systems, as --print-config writes; or the folder of a run."),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="This seed alone.")] = None,
    seeds: Seeds = None,
    print_config: Annotated[bool, typer.Option("--print-config", help="Print the resolved systems, run none.")] = False,
    threads: Threads = None,
    jobs: Jobs = "1",
    ray: Ray = None,
    slurm: Slurm = None,
    cpus_per_job: CpusPerJob = 1,
    gpus_per_job: GpusPerJob = 0.0,
    as_json: AsJson = False,
) -> None:
    """Train and measure every system and seed of a recipe, or compute its study.

    Finished seeds are reused and an interrupted one goes on from its last checkpoint, so the same command can always
    be given again.
    """
    require((recipe is None) != (config is None), "give a recipe, a task or --config FILE, and only one")
    require(seed is None or seeds is None, "give --seed N for one seed or --seeds N for 0…N−1, not both")
    require(seed is None or seed >= 0, f"--seed must be at least 0, got {seed}")
    from lengthwise.api.cluster import Cluster
    from lengthwise.api.experiment import read_recipe

    made = make(recipe or "" if config is None else read_recipe(config), seeds=seeds if seed is None else [seed])
    if print_config:
        emit_json({"recipe": made.name, "systems": [job.to_json() for job in made.jobs]})
        return
    say_other_names({job.name for job in made.jobs})
    use_threads(threads)
    processes = number_of_jobs(jobs)
    if processes == 1 and ray is slurm is None:
        use_all_cores()
    done = train(made, jobs=processes, on=Cluster(ray, slurm, cpus_per_job, gpus_per_job))
    if not made.trains:
        show_studies(done.studies, done.out, as_json=as_json)
    elif as_json:
        emit_json(done.to_json())
    else:
        draw_summary(out(), done.sweep, forecast=True)
    if not as_json:
        err().print(f"results in {done.folder}; `lengthwise report {done.folder}` makes a page of them", soft_wrap=True)
        if made.trains:
            err().print(f"next: {next_step(done)}", soft_wrap=True)


def next_step(done: RecipeResult) -> str:
    """How many seeds were right at the longest test and the command for the first of them; where none fit, what to try.

    Of several systems, the one that is right most often.
    """
    from lengthwise.core.result_file import RunResult
    from lengthwise.core.user_code import code_words
    from lengthwise.forecast.answer import UNLIKELY, WRONG
    from lengthwise.report.answer import answer
    from lengthwise.report.control import PLAIN, beyond_reach
    from lengthwise.report.summary import RIGHT, SeedResult, load, median_rates, predict_command, summarize

    def of_task(system: SystemSummary) -> list[SystemSummary]:
        """What is in the folder on the task of a system."""
        return [one for one in summarize(load([done.folder])) if one.experiment["task"] == system.experiment["task"]]

    ranked = []
    for job, found in zip(done.sweep.recipe.jobs, done.sweep.results, strict=True):
        fitted = [result for result in found if isinstance(result, RunResult) and result.fitted]
        longest = max(job.experiment.evaluation.lengths)
        # A seed is as good as its hardest layout.
        rates = [min((s.rate("exact_match") for s in one.lower if s.length == longest), default=0.0) for one in fitted]
        ranked.append((sum(rate >= RIGHT for rate in rates), len(fitted), job, fitted, longest, found))
    right, count, job, fitted, longest, made = max(ranked, key=lambda one: one[:2])
    if not count:
        steps, wanted = job.experiment.training.steps, job.experiment.evaluation.fit_threshold
        results = [one for one in made if isinstance(one, RunResult)]
        for system in summarize(SeedResult.of(one.to_json()) for one in results):
            if system.positions.scheme in PLAIN and (far := beyond_reach(system)):
                return f"{job.name} cannot fit: under plain ids {far}"
            there = of_task(system)
            if {one.positions for one in there} - {system.positions}:  # others are to have the same steps
                return answer(there).step.replace("\n", "\n  ")
        more, says = {"training.steps": 2 * steps}, f"{job.name} does not fit after {steps:,} steps"
        control = getattr(job.experiment.scheme, "random_start", False)
        one = forecast_of(job.experiment) if len(done.sweep.recipe.jobs) == 1 and not control else None
        if one is not None and one.answer in (UNLIKELY, WRONG):
            system = summarize(SeedResult.of(one.to_json()) for one in results)[0]
            says += f", and with more it is unlikely to be right at {longest}: see what is likelier"
            return f"{says}:\n  {predict_command(system, longest)}"
        if job.experiment.model.layers == 1 and all(one.gained_too_little(wanted) for one in results):
            more, says = {"model.layers": 2}, f"{says}, of which the last half gained too little: two layers"
        elif job.experiment.model.layers == 1:
            says += ": more of them; if they do not suffice, add --set model.layers=2"
        else:
            says += ": more of them"
        return f"{says}:\n  {again(settings=more)}"
    lines = [f"see what {job.name} computes (right at {longest} in {right} of {len(job.seeds)} seeds):"]
    code = code_words(job.experiment.to_json())
    lines += ["  " + shlex.join(["lengthwise", *code, "explain", str(done.run_folder(job, fitted[0]))])]
    if not right:  # more seeds of it would be wrong, too
        system = summarize(SeedResult.of(one.to_json()) for one in fitted)[0]
        alike = (one for one in of_task(system) if one.max_length == system.max_length)
        if (other := next((one for one in alike if median_rates(one).get(longest, 0.0) >= RIGHT), None)) is not None:
            page = shlex.join(["lengthwise", "report", str(done.folder)])
            return "\n".join([*lines, f"or: {other.label} was right there, in the same folder; compare:", f"  {page}"])
        lines += instead(job.experiment, predict_command(system))
    elif (seeds := len(job.seeds)) < 3:
        few = "one" if seeds == 1 else "two"
        lines += [f"or: more seeds, since {few} may be luck:", f"  {again({'seed': None, 'seeds': seeds + 2})}"]
    return "\n".join(lines)


def instead(made: RunConfig, command: str) -> list[str]:
    """What to do where nothing was right at the longest test: see what is likelier, by ``command``.

    Where no positions are, what the forecast over all of them advises, if anything.
    """
    from lengthwise.api.theory import predict
    from lengthwise.forecast.answer import UNLIKELY, WRONG
    from lengthwise.forecast.forecasts import steps

    try:
        found = predict(made.task, made.training.max_length, max(made.evaluation.lengths))
    except LengthwiseError:  # no longer test
        found = None
    if found is None or found.systems[0].answer not in (UNLIKELY, WRONG):
        return ["or: see which positions are likelier to be right there:", f"  {command}"]
    sentence, typed = next(steps(found, found.systems[0], alone=False), ("", ""))
    short = sentence.partition(": ")[0]
    return [f"or: no positions are likely to be right there; {short}:", f"  {typed}"] if typed else []


def forecast_of(made: RunConfig) -> SystemForecast | None:
    """The forecast for a system at its longest test; None where there is none of just that."""
    from lengthwise.api.theory import predict
    from lengthwise.positions.encodings import ENCODINGS

    scheme, train, test = made.scheme, made.training.max_length, max(made.evaluation.lengths)
    ids = scheme.name, getattr(scheme, "random_start", False), made.encoding
    same = [s for s in SYSTEMS if (s.registered_scheme, s.random_start, ENCODINGS.build(s.encoding)) == ids]
    if not same or made.model.mixer != "attention":
        return None
    try:
        found = predict(made.task, train, test, name_of(same[0]))
    except LengthwiseError:  # no longer test
        return None
    one = found.systems[0]
    return one if found.test == test and one.m == getattr(scheme, "m", 1) else None


def says_yes(one: SystemForecast | None) -> bool | None:
    """Whether a forecast says that it is right; None where it says neither yes nor no."""
    from lengthwise.forecast.answer import LIKELY, PROMISING, RIGHT, UNLIKELY, WRONG

    answer = None if one is None else one.answer
    return True if answer in (RIGHT, LIKELY, PROMISING) else False if answer in (UNLIKELY, WRONG) else None


def right_seeds(seeds: Sequence[RunResult], test: int) -> int:
    """How many seeds are right at a length, in their hardest layout, and of a language on hard words, too."""
    from lengthwise.report.summary import RIGHT

    rates = [min((s.rate("exact_match") for s in each.lower if s.length == test), default=0.0) for each in seeds]
    return sum(rate >= RIGHT for rate in rates)


def forecast_line(sweep: Sweep, measured: str) -> str:
    """The forecast for a single system and what was ``measured`` by its measure; empty where it says no yes or no.

    Where most seeds do not fit, a no alone, as that may be for too few steps. Of a task nothing is ``measured`` but its
    tests.
    """
    from lengthwise.core.result_file import RunResult

    (job, *others), test = sweep.recipe.jobs, max(sweep.recipe.jobs[0].experiment.evaluation.lengths)
    one = None if others else forecast_of(job.experiment)
    yes = says_yes(one)
    if one is None or yes is None:
        return ""
    seeds = [each for each in sweep.results[0] if isinstance(each, RunResult)]
    says = f"`predict` says {'' if yes else 'not '}right at {test}"
    said = f"{says}: {one.answer}{' earlier' * (one.accuracy is not None)} {one.in_brackets}."
    if 2 * sum(each.fitted for each in seeds) <= len(seeds):
        return "" if yes else said
    if measured:
        return f"{said} {measured}"
    right = right_seeds(seeds, test)
    came, count = ("right", right) if right else ("wrong", len(seeds))
    return f"{said} It came out {came}{f' in {count} of {len(seeds)} seeds' * (len(seeds) > 1)}."


def forecasts_line(systems: Sequence[SystemSummary]) -> str:
    """For which systems of a comparison the forecast came true at the longest test, and for which not.

    Only those count of which most seeds fit, as others may lack steps; what most fitted seeds are is what came out.
    Empty where the forecast says neither yes nor no of any.
    """
    from lengthwise.experiments.run_config import RunConfig
    from lengthwise.tasks.values import spoken

    held: dict[bool, list[str]] = {True: [], False: []}
    test = 0
    for system in systems:
        if 2 * len(system.fitted) <= len(system.results):
            continue
        made = RunConfig.from_json(system.experiment)
        test, one = max(made.evaluation.lengths), forecast_of(made)
        if one is not None and (yes := says_yes(one)) is not None:
            right = 2 * right_seeds(system.fitted, test) > len(system.fitted)
            held[yes == right].append(f"{system.label} ({one.answer}, was {'right' if right else 'wrong'})")
    came = [f"came true for {spoken(held[True])}"] * bool(held[True])
    came += [f"{'not' if came else 'did not come true'} for {spoken(held[False])}"] * bool(held[False])
    return f"What `predict` says of length {test} {', '.join(came)}." if came else ""


def draw_summary(console: Console, sweep: Sweep, *, forecast: bool = False) -> None:
    """The finding, with ``forecast`` whether it came true, how sure it is, then a curve and numbers of each system."""
    from lengthwise.report.finding import headline
    from lengthwise.report.success import BY_FORECAST, answer_rows
    from lengthwise.report.summary import SeedResult, summarize
    from lengthwise.report.terminal import accuracy_text

    results = (SeedResult.of(result.to_json()) for found in sweep.results for result in found)
    systems = summarize(results)
    rows = answer_rows(systems, len(systems))
    measured = rows.pop(BY_FORECAST, "")
    line = forecast_line(sweep, measured) if forecast else ""
    first = {"forecast": line} if line else {BY_FORECAST: measured} if measured else {}
    draw_answer(console, {"finding": headline(systems), **first, **rows}, accuracy_text(systems))


def show_studies(results: Sequence[tuple[Study, StudyResult]], folder: Path, *, as_json: bool) -> None:
    """Print the results as JSON or as tables; those of a ``kind`` of their own have pages and a table of their own."""
    from lengthwise.experiments.run_directory import run_directory

    values = [result.to_json() for _, result in results]
    if results[0][1].kind is not None:
        from lengthwise.api.influence import without_long_parts, write_pages
        from lengthwise.cli.influence import draw_influence

        for study, result in results:
            write_pages(run_directory(folder, study.name, study, result.seed) / study.file, result.to_json())
        if not as_json:
            for result in values:
                draw_influence(out(), result)
        values = [without_long_parts(result) for result in values]
    elif not as_json:
        for _, result in results:
            _draw_rows(result.rows)
    if as_json:
        emit_json(values)


def _draw_rows(rows: Sequence[dict[str, Any]]) -> None:
    """The plain columns of the rows, and small tables in one cell; what is nested deeper stays in the file."""
    plain = [key for key in rows[0] if all(_is_plain(row[key]) for row in rows)]
    small = [
        key
        for key in rows[0]
        if all(isinstance(row[key], dict) and all(map(_is_plain, row[key].values())) for row in rows)
    ]
    table = plain_table(*[key.replace("_", " ") for key in (*plain, *small)])
    for row in rows:
        cells = [_study_cell(row[key]) for key in plain]
        cells += [" / ".join(_study_cell(value) for value in row[key].values()) for key in small]
        table.add_row(*cells)
    out().print(table)


def _is_plain(value: Any) -> bool:
    return not isinstance(value, list | dict | tuple)


def _study_cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "-"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


@from_api("experiment.plan")
def plan(
    estimate: Api,
    recipe: Annotated[str, typer.Argument(help="A recipe (`lengthwise list recipes`), a task, or FILE.py:Class.")],
    seeds: Seeds = None,
    cpus_per_job: Annotated[int, typer.Option("--cpus-per-job", min=1, help="Cores of each job.")] = 1,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Measure a few steps and test strings of every system, and print jobs, core-hours, hours and memory.

    The numbers are those of this machine under its present load.
    """
    use_threads(cpus_per_job if threads is None else threads)
    notes = err()
    found = estimate(
        recipe, seeds=seeds, cpus_per_job=cpus_per_job, progress=lambda line: notes.print(line, style="dim")
    )
    if as_json:
        emit_json(found.to_json())
        return
    numbers = ("jobs", "seeds", "ms a step", "tests, s a seed", "s a job")
    table = plain_table("system", *numbers, right=numbers)
    for job in found.jobs:
        table.add_row(
            job.name, str(job.tasks), str(job.seeds), f"{1000 * job.step_seconds:.1f}", f"{job.test_seconds:.1f}",
            f"{job.task_seconds:.0f}",
        )  # fmt: skip
    out().print(table)
    out().print(found.in_all())


@from_api("result.write_report")
def report(
    write: Api,
    runs: Annotated[list[Path], typer.Argument(help="Folders that are searched for result.json files.")],
    target: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path("report.html"),
) -> None:
    """Write one page: accuracy against length, the structure that explains it, errors, and every setting."""
    count = write(runs, target)
    err().print(f"wrote {target} from {count} result file{'s' if count != 1 else ''}")


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
    from lengthwise.api import demo as stages
    from lengthwise.experiments import recipes as _recipes  # noqa: F401
    from lengthwise.report.page import against_theory

    for line in stages.theory():
        console.print(f"  {line}", soft_wrap=True)
    console.print(f"\nThe models: {stages.differences()}.", soft_wrap=True)
    for number, (says, names) in enumerate(stages.STAGES, start=2):
        console.print(f"\n{number} of 3  {says}", soft_wrap=True)
        done = stages.train_stage(names, folder, page, jobs=jobs)
        draw_summary(console, done.sweep)
        for line in against_theory(done.result.systems):
            console.print(line, soft_wrap=True)
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
