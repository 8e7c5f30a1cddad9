"""The command ``lengthwise couple`` finds a position coupling for a task or a file of examples and checks it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lengthwise.cli.console import emit_json, err, out, plain_table
from lengthwise.cli.options import AsJson, whole_numbers
from lengthwise.cli.threads import Threads
from lengthwise.core.errors import require
from lengthwise.training.threads import use_threads

if TYPE_CHECKING:
    from rich.console import Console

    from lengthwise.prediction.couple import CouplingFinding


MOST_EXAMPLES, LONGEST = 1_000_000, 10_000
"""Bounds of ``--examples`` and ``--lengths``."""


def couple(
    task: Annotated[str, typer.Argument(help="A task, FILE.py:Class (runs that file), or examples in FILE.jsonl.")],
    from_data: Annotated[bool, typer.Option("--from-data", help="Find it from examples, without any query.")] = False,
    examples: Annotated[int, typer.Option("--examples", help="With --from-data: examples per length.")] = 20_000,
    lengths: Annotated[
        str | None, typer.Option("--lengths", metavar="N,N,…", help="Lengths to check at, by default 5,10,20,40.")
    ] = None,
    edits: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A field of the task.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the queries or examples.")] = 0,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Find places that keep every dependency within one step, at every length; give the reason where there are none."""
    use_threads(threads)
    from lengthwise.prediction.couple import couple as find
    from lengthwise.prediction.couple import couple_examples
    from lengthwise.prediction.example import configured
    from lengthwise.prediction.target import ExamplesFile, parse_target, unsuitable
    from lengthwise.tasks import Task

    for edit in edits or []:
        require(not edit.startswith("scheme"), f"--set {edit}: places are looked for, no scheme is used; leave it out")
    target = parse_target(task)
    if not isinstance(target, Task | ExamplesFile):
        raise unsuitable(task, target, "couple", "a task or examples")
    checked = whole_numbers("--lengths", lengths)
    checked = checked and tuple(sorted(set(checked)))
    require(50 <= examples <= MOST_EXAMPLES, f"--examples must be in 50..{MOST_EXAMPLES}, got {examples}")
    longest = max(checked or (0,))
    require(longest <= LONGEST, f"--lengths must be at most {LONGEST}, got {longest}")
    with err().status("looking for dependencies") as status:
        if isinstance(target, ExamplesFile):
            require(not (edits or checked), "--set and --lengths are for tasks; a file has the lengths of its examples")
            found = couple_examples(target.path, seed=seed, progress=status.update)
        else:
            built, _ = configured(task, "coupled", edits or [])
            found = find(
                built, from_data=from_data, examples=examples, checked=checked, seed=seed, progress=status.update
            )
    if as_json:
        emit_json(found.to_json())
        return
    draw(out(), found)


def draw(console: Console, found: CouplingFinding) -> None:
    """The rule, the four requirements by length, the agreement, and the verdict in one line."""
    from rich.text import Text

    source = f"{found.examples:,} examples per length" if found.from_data else f"{found.queries:,} queries"
    lengths = ", ".join(map(str, found.lengths))
    unit = "prompts of n =" if found.task is None else "lengths"
    head = Text.assemble((found.name, "bold"), (f"   from {source}, {unit} {lengths}", "dim"))
    console.print(head)
    console.print()
    if found.rule is None or found.check is None:
        console.print(Text.assemble(("no coupling found: ", "bold"), found.reason))
        return
    for line in found.rule.describe().splitlines():
        console.print(Text("  " + line), soft_wrap=True)
    console.print()
    headings = ["length", "tokens", "parents", "tokens per place", "places", "span"]
    headings += ["agrees with stated places"] if found.agrees else []
    table = plain_table(*headings, right=headings, gap=3)
    agrees = dict(found.agrees)
    for check in found.check.checks:
        row = [
            f"{check.length}{'' if check.seen else ' (new)'}",
            str(check.tokens),
            str(found.sparsity[check.length]),
            str(check.tokens_per_place),
            str(check.places),
            str(check.span),
        ]
        table.add_row(*row, *(["yes" if agrees[check.length] else "no"] if agrees else []))
    console.print(table)
    console.print()
    if found.holds:
        console.print(
            Text("it counts: few tokens per place, places grow linearly, every span is at most 1, also at new lengths")
        )
    for problem in found.check.problems:
        console.print(Text.assemble(("it does not count: ", "bold"), problem))
    if not found.agrees and found.task is not None:
        console.print(Text("the task states no places that length alone decides: nothing to compare with", style="dim"))
