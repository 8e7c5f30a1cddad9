"""`Result`: what was measured, read from result files, as tables and pictures."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count, product, takewhile
from math import log
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Literal

from lengthwise.core import config as arguments
from lengthwise.core.errors import LengthwiseError, UnknownNameError, listed, require, warn
from lengthwise.core.files import read_json
from lengthwise.core.rank import REACH
from lengthwise.core.result_file import CONFIG, RESULT, Score, each_once, result_files
from lengthwise.core.statistics import Estimate, wilson
from lengthwise.core.table import DIGITS, MOST_BELOW, STUDY, Spread, Table, Tabular, rounded
from lengthwise.core.table import shown as cell_text
from lengthwise.experiments.run_directory import LEASES, divergence
from lengthwise.models.mixers import MIXERS
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import SCHEMES
from lengthwise.positions.system import ALIASES, SYSTEMS
from lengthwise.report.answer import answer
from lengthwise.report.differences import differences
from lengthwise.report.finding import headline, in_groups, leader, told_lengths
from lengthwise.report.names import hidden_text, whole_names
from lengthwise.report.summary import (
    BRACKETS,
    LOW,
    MOST_DRAWN,
    NOT_FITTED,
    Brackets,
    Lost,
    SeedResult,
    Systems,
    SystemSummary,
    above,
    axes_text,
    brackets_of,
    brackets_text,
    called,
    chance,
    chance_text,
    contents,
    details,
    differ_text,
    fitted_means,
    group_of,
    in_order,
    kind_of,
    left_out_text,
    low_seeds,
    over_seeds,
    panel_axes,
    panel_of,
    panels,
    percent,
    read,
    recipe_titles,
    same_training,
    steps_text,
    strings_text,
    summarize,
    task_title,
    trained_text,
)
from lengthwise.tasks import TASKS
from lengthwise.tasks.values import spoken

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lengthwise.report.figures import Drawing

OVER = "medians of the fitted seeds"
FAILED = 0.5
"""A best median below it is a failure, and not in bold."""
COMPARISON = "comparison.json"
"""The file of `lengthwise.compare` with its numbers."""
MOST_TESTS = 60
"""Tests that a terminal shows."""
METRICS = ("exact_match", "exact_match_ids", "oracle_ids", "answer")


class Measured(Tabular):
    """Accuracy against length of several systems: as a table for a paper, a figure, and how sure differences are."""

    @property
    @abstractmethod
    def _curves(self) -> Accuracy:
        """What tables and figures are of."""

    def differences(self, against: str | None = None, *, labels: Mapping[str, str] | None = None) -> Table:
        """How sure differences are: at each length beyond training, each pair of systems with an exact rank test.

        The test is Wilcoxon's of rank sums, two-sided and exact, ties by midranks, over the fitted seeds; `Holm p` is
        corrected for all tests of a task (Holm 1979), also those of systems that `Result.only` left out. Systems of
        different tasks are not compared. Of one task those of the best system come first, at the longest length that
        the finding names. ``ranges disjoint`` says whether every seed of
        one is above every one of the other; one seed has no range. With n seeds of each, no p is below 2 of all ways to
        choose n of 2n: 0.10 for 3 seeds, 0.008 for 5; with unequal numbers of seeds, ties can halve p.

        Arguments:
            against: show the pairs of this system alone, or of all that have this name.
            labels: as of `wide`.

        Raises: `LengthwiseError` for an unknown system, and for one of which no seed fitted.
        """
        of = self._curves
        of.systems.check([] if against is None else [against])
        named = of._labelled(labels)
        rivals = [one for one in of.systems if against in one.known_as]
        fitted = [one.results for one in rivals if one.fitted]
        require(not rivals or bool(fitted), f"no seed of {against!r} fitted, so it can't be compared")
        chosen = [new for new in named if any(new.results is runs for runs in fitted)]
        tests = differences(named, of.metric, chosen, of.whole)
        if against is None and tests and len({one.contest for one in named}) == 1:
            best, names = leader(in_order(named, of.metric)), {one.label for one in named}
            at = max(told_lengths([headline(named)], names), default=0)
            tests = [test.turned if test.other is best else test for test in tests]
            tests.sort(key=lambda test: (test.one is not best, test.length != at))
        rows = tuple(
            (
                test.one.label, test.other.label, test.length, axes_text(test.axes), median(test.rates),
                median(test.other_rates), len(test.rates), len(test.other_rates),
                None if min(len(test.rates), len(test.other_rates)) < 2
                else "yes" if test.apart or test.turned.apart else "no",
                test.p, test.holm,
            )
            for test in tests
        )  # fmt: skip
        columns = ("system", "against", "length", "layout", "median", "median against", "seeds", "seeds against",
                   "ranges disjoint", "p", "Holm p")  # fmt: skip
        if not tests:
            none = "nothing to compare: no two systems of a task fitted and share a longer test"
            return Table(columns, (), caption=none)
        made = listed(map(str, dict.fromkeys(test.made for test in tests)))
        more = " in all of these results" * (len(of.systems) < len(of.whole))
        tried = f"all {made} tests of systems that are compared{more}"
        disjoint = "every fitted seed of one is above every one of the other; a dash where one has one seed"
        return Table(
            columns, rows, caption=f"{of._what}: differences between systems at lengths beyond training.",
            legend={"ranges disjoint": disjoint} if any(row[8] for row in rows) else {},
            notes=(f"p: exact rank test, two-sided; Holm p: corrected for {tried}",),
            named=frozenset(("median", "median against", "p", "Holm p")), most=MOST_TESTS,
        )  # fmt: skip

    def wide(
        self,
        *,
        lengths: Sequence[int] | Literal["all"] | None = None,
        labels: Mapping[str, str] | None = None,
        brackets: Brackets = "interval",
    ) -> Table:
        """One row per system, one column per length: medians over the fitted seeds, the best of a column in bold.

        The caption is the finding and what the numbers are. At most three notes say what the marks mean, how sure the
        finding is, and in what else systems differ; ``advice`` has the rest. Systems of one task and layout compete for
        bold; nothing is bold whose interval holds chance. A dagger marks what is not told apart from the best, of
        several the first in order, whatever ``brackets`` shows, unless another system is above it in every seed.
        Where seeds did not fit, or training lengths differ, a column says so.

        Arguments:
            lengths: the columns, or ``"all"``; by default at most six with brackets: the last, and those nearest to the
                training length, twice, four times it, and so on.
            labels: names to show instead of those of systems; settings stay behind one that several shown systems have.
                Names of other systems of the package have no effect.
            brackets: what stands in brackets, as what `plot` draws as its band: ``"interval"`` of the median, exact by
                order statistics (the range, up to five seeds), ``"range"`` from the lowest to the highest seed, or
                ``"none"``.

        Raises: `LengthwiseError` for a length that was not tested, and for a label of no system.
        """
        if brackets not in BRACKETS:
            raise UnknownNameError("kind of brackets", brackets, BRACKETS)
        of = self._curves
        systems = of._labelled(labels)
        seeds = [len(system.fitted) for system in systems]
        axes = panel_axes([cell for system in systems for cell in system.cells])
        cells, guessed = dict[tuple[str, str, str], dict[int, Estimate]](), set[tuple[tuple[str, str, str], int]]()
        near = set[tuple[tuple[str, str, str], int]]()
        shown: dict[tuple[Any, ...], float | None] = {}
        rates: dict[tuple[Any, ...], list[float]] = {}
        for system in systems:
            for cell in system.cells:
                key = (system.name, system.settings, axes_text(panel_of(cell.axes, axes)))
                row = cells.setdefault(key, {})
                kind = brackets_of(len(cell.scores), seeds)
                if (found := cell.estimate(of.metric, kind)) is not None:
                    row[cell.length] = found
                    rates[key, cell.length] = [score.rate(of.metric) for score in cell.scores]
                    shown[*key, cell.length] = spread(
                        cell.scores, of.metric, kind if brackets == "interval" else brackets
                    )
                    if found.median >= FAILED and found.low <= (
                        chance(system, cell.length, cell.axes, of.metric) or -1
                    ):
                        guessed.add((key, cell.length))
                    strings = min(score.n for score in cell.scores)
                    low, high = wilson(round(found.median * strings), strings)
                    if cell.length > system.max_length and low < REACH <= high:
                        near.add((key, cell.length))
            if not system.fitted:
                cells[system.name, system.settings, ""] = {}
        tested, finding = sorted({length for row in cells.values() for length in row}), headline(systems)
        sure, exact = answer(systems, of.metric, of.whole), of.metric == "exact_match"
        answered = {**dict.fromkeys(["finding"] * exact, finding), **sure.rows}
        sentences = [finding.partition("\n")[0], *sure.rows.values()]
        quoted = told_lengths(sentences, [system.label for system in systems])
        shortest = min(system.max_length for system in systems)
        told = [length for length in quoted if length > shortest]
        if lengths is None:
            often = Counter(length for row in cells.values() for length in row)
            lengths = tested if brackets == "none" else main_lengths(often, shortest, told)
        else:
            lengths = tested if lengths == "all" else arguments.whole_numbers("lengths", lengths)
        untested = [length for length in lengths if length not in tested]
        require(not untested, f"lengths {untested} were not tested; choose from {tested}")
        by_row = {(system.name, system.settings): system for system in systems}
        about = {
            "trained to": lambda system: system.max_length,
            "fitted": lambda system: f"{len(system.fitted)} of {len(system.results)}",
        }
        named = [*["trained to"] * (not same_training(systems)), *["fitted"] * (_over(systems) == OVER)]
        owners = [by_row[key[:2]] for key in cells]
        rows = tuple(
            (*key, *(about[name](owner) for name in named), *(shown.get((*key, length)) for length in lengths))
            for key, owner in zip(cells, owners, strict=True)
        )
        bold, alike = set[tuple[int, int]](), set[tuple[int, int]]()
        few = [system for system in systems if 2 * len(system.fitted) <= len(system.results)]
        contests = {(by_row[key[:2]].contest, key[2]) for key in cells}
        for contest, (column, length) in product(contests, enumerate(lengths, 3 + len(named))):
            rivals = {
                at: (key, row[length])
                for at, (key, row) in enumerate(cells.items())
                if length in row and (by_row[key[:2]].contest, key[2]) == contest
            }
            if any(length <= by_row[key[:2]].max_length for key, _ in rivals.values()):
                continue
            if len(rivals) < 2 or all(by_row[key[:2]] in few for key, _ in rivals.values()):
                continue
            best = max(found.median for key, found in rivals.values() if by_row[key[:2]] not in few)
            first = {
                at for at, (key, found) in rivals.items()
                if rounded(found.median) == rounded(best) and best >= FAILED and by_row[key[:2]] not in few
                and found.low >= FAILED and (key, length) not in guessed
            }  # fmt: skip
            bold |= {(at, column) for at in first}
            least = rivals[min(first)][1].low if first else 2  # rows are in rank
            alike |= {
                (at, column) for at, (key, found) in rivals.items()
                if at not in first and found.high >= least
                and not any(above(rates[other, length], rates[key, length]) for other, _ in rivals.values())
            }  # fmt: skip
        placed = {
            (row, column): (key, length)
            for row, key in enumerate(cells)
            for column, length in enumerate(lengths, 3 + len(named))
        }
        layouts, tasks_of = ({each[at] for each in contests} for at in (1, 0))
        of_each = ["length", *["layout"] * (len(layouts - {""}) > 1), *["task"] * (len(tasks_of) > 1)]
        unseen = f" ({brackets_text(seeds, beside=seeds)})" * (brackets != "interval")
        guess, bracketed = chance_text(systems, lengths, of.metric), brackets != "none" and len(rows) <= MOST_BELOW
        low = low_seeds(in_groups(systems).far, lengths, of.metric, bracketed=bracketed)
        right, hidden = [f"{one.label} {rounded(one.in_distribution.median)}" for one in systems], hidden_text(systems)
        trained_right = f"; right in distribution: {', '.join(right)}" * (not any(one.fitted for one in systems))
        legend = {
            **_inside([system for system in systems if system.fitted], brackets, rows),
            "bold": (f"best of a {spoken(of_each[1:])}" if of_each[1:] else "best beyond training")
            + ", of what mostly fits" * any(one.fitted for one in few),
            "†": f"overlaps it{unseen}",
            "≈": f"{percent(REACH)} is within sampling error",
            **dict.fromkeys([LOW] * bool(low), low),
            **dict.fromkeys(["fitted"] * ("fitted" in named), fitted_means(systems)),
            **dict.fromkeys([NOT_FITTED] * any(not owner.fitted for owner in owners), f"no seed fitted{trained_right}"),
            **dict.fromkeys(
                ["–"] * any(None in row for row, owner in zip(rows, owners, strict=True) if owner.fitted), "not tested"
            ),
            **dict([guess.split(": ", 1)] if guess else []),
            **dict.fromkeys(["…"] * bool(hidden), hidden),
        }
        left_out, whole = [length for length in tested if length not in lengths], headline(systems, whole=True)
        lacks = f"{', '.join(map(str, left_out))} (lengths='all')" * bool(left_out)
        said = (
            *sure.next,
            *of.notes,
            f"tested and not shown: {lacks}" * bool(lacks),
            f"finding, in full: {whole}" * (exact and whole != finding),
            *sure.advice,
            f"…: {hidden}" * bool(hidden),
            *details(systems),
        )
        strings = "".join(f", {says}" for says in [strings_text(systems)] if says)
        trained = f", {trained_text(systems)}" * same_training(systems)
        behind = f": {_over(systems)}{strings}{_left_out(systems)}."
        return Table(
            ("system", "settings", "layout", *named, *map(str, lengths)),
            rows,
            caption=f"{of._what} by length{trained * (not exact)}{behind}",
            printed=f"{of._what} by length{trained}{behind}",
            answer=answered,
            notes=tuple(filter(None, [differ_text(systems)])),
            advice=tuple(line for line in said if line),
            bold=frozenset(bold),
            alike=frozenset(alike),
            near=frozenset(at for at, cell in placed.items() if cell in near),
            inside=partial(_brackets_of, [len(owner.fitted) for owner in owners], brackets),
            source=of.source,
            empty=empty(owners),
            legend=legend,
            named=frozenset(map(str, told)),
            above=("length", frozenset(map(str, lengths))),
            lacks=f"length{'s' * (len(left_out) > 1)} {lacks}" * bool(lacks),
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        figsize: tuple[float, float] | None = None,
        labels: Mapping[str, str] | None = None,
        ylim: tuple[float, float] | None = None,
        band: Brackets = "interval",
    ) -> Drawing | Axes:
        """Accuracy against length, one line per system; of more than 24 of one task the first, ``alt`` has the rest.

        Arguments:
            ax: matplotlib axes to draw on, in their fonts and sizes; by default a figure of its own.
            figsize: width and height of that figure in inches, as in matplotlib; 40 at most.
            labels: names to show instead of those of systems.
            ylim: lowest and highest accuracy of the axis; by default all from 0 to 1.
            band: what is shaded around a line, as `wide` shows in ``brackets``.

        Returns: the figure, or ``ax``; its ``alt`` is a text for the caption that says what is drawn.

        Raises: `LengthwiseError` if no seed of any system fitted, since there is nothing to draw then, if there are
            too many systems or tasks for it, for a label of no system, and for values that can't be drawn with.
        """
        from matplotlib.axes import Axes

        from lengthwise.report.figures import WIDE, draw_accuracy, draw_accuracy_on, limits_of, own_fonts

        of = self._curves
        named, limits = of._labelled(labels), limits_of(ylim)
        if band not in BRACKETS:
            raise UnknownNameError("kind of band", band, BRACKETS)
        whole, of_one = named, (each for each in panels(named) if len({named[at].contest for at in each.cells}) == 1)
        more = {at for panel in of_one for at in sorted(panel.cells)[MOST_DRAWN:]}
        named = [one for at, one in enumerate(whole) if at not in more]
        lines = [len(panel.cells) for panel in panels(named)]
        drawn = max(lines, default=0) if ax is None else sum(lines)
        require(
            drawn <= MOST_DRAWN,
            f"{drawn} lines on the same axes can't be told apart (at most {MOST_DRAWN}); choose some with "
            "`.only(task=…, systems=[…])`",
        )
        require(
            ax is None or isinstance(ax, Axes),
            f"ax must be axes of matplotlib, got {ax!r}; for a figure of its own leave it out, and for a file add "
            ".savefig('figure.pdf')",
        )
        require(ax is None or figsize is None, "figsize is for a figure of its own; give either `ax` or `figsize`")
        if not any(system.fitted for system in named):
            steps = listed(dict.fromkeys(map(steps_text, named)))
            raise LengthwiseError(
                f"no seed fitted in distribution after {steps} steps, so there is no accuracy to draw; train longer"
            )
        sure = f" {answer(whole, of.metric, of.whole).sure}".rstrip()
        if more:
            warn(f"{len(more)} of {len(whole)} systems are not drawn, as they rank last; choose by `.only(systems=…)`")
        if ax is not None:
            alt = draw_accuracy_on(ax, named, of.metric, limits, band, whole) + sure
            ax.alt = alt  # pyright: ignore[reportAttributeAccessIssue]
            return ax
        size = "a width and a height in inches (25.4 mm) from 0.5 to 40, such as (3.3, 2.4)"
        width, height = (WIDE, None) if figsize is None else arguments.pair("figsize", figsize, size, 0.5, 40)
        figure = draw_accuracy(named, width, of.metric, limits, band, whole, height=height, fonts=own_fonts())
        assert figure is not None
        inches = figure.get_figheight()
        require(inches <= 40, f"a figure of all would be {inches:.0f} inches high (at most 40); choose by `.only(…)`")
        figure.alt += sure
        return figure


class Accuracy(Measured):
    """Accuracy against length: the median over the fitted seeds with its interval, and every seed."""

    def __init__(
        self,
        systems: Sequence[SystemSummary],
        metric: str,
        chosen: Sequence[str] = (),
        whole: Sequence[SystemSummary] = (),
        source: str = "",
        notes: Sequence[str] = (),
    ) -> None:
        self.systems, self.metric, self.source = Systems(systems), metric, source
        self.whole = tuple(whole) or self.systems
        """All systems of the results that these were chosen from."""
        self.notes = (*(f"settings: {says}" for says in chosen), *notes)
        """How settings were chosen, where a comparison chose them, and what else to do and read."""

    def table(self) -> Table:
        """One row per system and length; one row without numbers for a system of which no seed fitted.

        ``seeds`` counts all seeds and ``fitted`` those that the numbers are of.
        """
        rows = [row for system in self.systems for row in self._rows(system)]
        columns = (
            "system", "settings", "length", "layout", "seeds", "fitted", "median", "low", "high", "lowest seed",
            "highest seed", "each seed",
        )  # fmt: skip
        return Table(
            columns,
            tuple(rows),
            caption=f"{self._what} by length, {trained_text(self.systems)}{_left_out(self.systems)}.",
            legend={"low to high": brackets_text(len(system.fitted) for system in self.systems)},
            notes=tuple(filter(None, [differ_text(self.systems)])),
            advice=(*answer(self.systems, self.metric, self.whole).next, *details(self.systems), *self.notes),
            empty=empty([system for system in self.systems for _ in self._rows(system)]),
            named=frozenset(("median", "low", "high")),
        )

    def _rows(self, system: SystemSummary) -> list[tuple[Any, ...]]:
        name, seeds = (system.name, system.settings), (len(system.results), len(system.fitted))
        rows = []
        for cell in sorted(system.cells, key=lambda cell: (cell.axes, cell.length)):
            found = cell.estimate(self.metric)
            if found is not None:
                rates = [score.rate(self.metric) for score in cell.scores]
                each = ", ".join(rounded(rate) for rate in rates)
                numbers = (found.median, found.low, found.high, min(rates), max(rates), each)
                rows.append((*name, cell.length, axes_text(cell.axes), *seeds, *numbers))
        return rows if system.fitted else [(*name, None, "", *seeds, None, None, None, None, None, "")]

    @property
    def _what(self) -> str:
        layout = next((system.layout for system in self.systems), "")
        names = {(one.whole_name or one.name).removesuffix(one.short).rstrip(", :") for one in self.systems}
        title = next(iter(names)) if len(names) == 1 and all(names) else task_title(self.systems)
        return f"{self.metric.replace('_', ' ').capitalize()} on {title}{f', {layout}' * bool(layout)}"

    @property
    def _curves(self) -> Accuracy:
        return self

    def _labelled(self, labels: Mapping[str, str] | None) -> Systems:
        """The systems under these names, `in_order`; those of systems that are not there have no effect.

        Raises `LengthwiseError` for a name of no system, or a label used twice.
        """
        if labels is not None and not isinstance(labels, Mapping):
            raise LengthwiseError(f"labels must be a dictionary from systems to names, got {labels!r}")
        drawn = {one.label: of.label for of, one in zip(self.systems, whole_names(self.systems), strict=True)}
        given = {drawn.get(name, name): label for name, label in (labels or {}).items()}
        elsewhere = Systems(self.whole)
        self.systems.check(
            name for name in given if name in self.systems or not (name in elsewhere or _may_be_elsewhere(name))
        )
        for name, label in given.items():
            require(bool(arguments.text(f"the label of {name!r}", label).strip()), f"the label of {name!r} is empty")

        def named(system: SystemSummary) -> SystemSummary:
            asked = next((name for name in system.known_as if name in given), None)
            if asked is None:
                return system
            raw = system.results[0].system
            whole = (*system.labels, *system.names, *[raw] * (raw != system.short))
            name = given[asked] if asked in whole else system.prefix + given[asked]
            return replace(system, name=name, settings="" if asked in system.labels else system.settings)

        made = [named(system) for system in in_order(self.systems, self.metric)]
        times = Counter(system.name for system in made)
        shown = Systems(
            replace(one, settings="") if one.name in given.values() and times[one.name] == 1 else one for one in made
        )
        name, times = max(Counter(shown.names).items(), key=lambda each: each[1], default=("", 1))
        require(times == 1, f"labels must tell systems apart, and {name!r} would be the name of {times}")
        return shown


NO_RUNS = "no training runs in these results; `lengthwise report FOLDER` makes a page of what there is"
MOST_LENGTHS = 6
"""Columns of a table with brackets that fit on a page."""


def main_lengths(tested: Mapping[int, int], trained: int, told: Iterable[int] = ()) -> list[int]:
    """At most `MOST_LENGTHS` of the lengths, given with how many systems were tested at each.

    They are the last, those that are ``told``, and those near 1, 2, 4, … times ``trained``, where most systems were
    tested.
    """
    last = max(tested, default=0)
    first = dict.fromkeys([last, *(length for length in told if length in tested)])
    kept = dict.fromkeys(tested if len(tested) <= MOST_LENGTHS else [*first][:MOST_LENGTHS])
    for goal in takewhile(lambda goal: len(kept) < MOST_LENGTHS and goal < last, (trained * 2**i for i in count())):

        def rank(length: int, goal: int = goal) -> tuple[int, float]:
            apart = abs(log(max(length, 0.5) / goal))
            return (-tested[length] if apart < log(2) / 2 else 0), apart

        kept[min(tested, key=rank)] = None
    return sorted(kept)


def _may_be_elsewhere(name: object) -> bool:
    """Whether a name may be that of a system of other results: of parts of the package, or of classes of the user's."""
    if not isinstance(name, str):
        return False
    mixer, _, positions = re.sub(r" \(.*\)$", "", name.rpartition(", ")[2]).rpartition("@")
    scheme, _, encoding = positions.rpartition("+")
    if all(layer in MIXERS for layer in (mixer or positions).split("+")):
        return True
    if not scheme:
        return positions in {*SCHEMES, *ENCODINGS, *ALIASES, *(one.known_as for one in SYSTEMS)}
    return all(part in known or part[:1].isupper() for part, known in ((scheme, SCHEMES), (encoding, ENCODINGS)))


def empty(systems: Iterable[SystemSummary]) -> tuple[str, ...]:
    """What stands in a row for a number that there is not, by the system of the row."""
    return tuple("–" if system.fitted else NOT_FITTED for system in systems)


def spread(scores: Sequence[Score], metric: str = "exact_match", brackets: Brackets = "interval") -> float | None:
    """The median of the seeds, with what stands in brackets; None if a seed lacks the metric."""
    found = over_seeds(scores, metric, brackets)
    if found is None or brackets == "none":
        return None if found is None else found.median
    return Spread(found.median, found.low, found.high)


def _inside(systems: Sequence[SystemSummary], brackets: Brackets, rows: Iterable[Sequence[Any]]) -> dict[str, str]:
    """What the brackets in these rows are; empty where none are shown."""
    shown = any("(" in cell_text(cell, DIGITS) for row in rows for cell in row if isinstance(cell, Spread))
    counts = [len(system.fitted or system.results) for system in systems]
    return {"brackets": brackets_text(counts, brackets, counts)} if shown else {}


def _brackets_of(seeds: Sequence[int], brackets: Brackets, rows: Iterable[int]) -> str:
    """`brackets_text` for these rows, of all of which it is known how many seeds fitted."""
    return brackets_text((seeds[row] for row in rows), brackets, seeds)


def _over(systems: Sequence[SystemSummary]) -> str:
    """Of which seeds numbers are medians; `OVER` where a column says how many fitted."""
    counts = {len(system.results) for system in systems}
    if len(counts) > 1 or any(len(system.fitted) < len(system.results) for system in systems):
        return OVER
    return f"medians of {counts.pop()} seeds" if counts != {1} else "one seed"


def _left_out(systems: Sequence[SystemSummary]) -> str:
    return f"; {says}" if (says := left_out_text(systems)) else ""


class Result(Measured):
    """The finished runs of one or several systems, a run per seed."""

    def __init__(
        self, files: Sequence[tuple[Path, SeedResult]], whole: Result | None = None, lost: Lost = (), layout: str = ""
    ) -> None:
        self.files, self.lost = tuple(files), tuple(lost)
        """The runs without a result: folder, configuration, and ``not finished`` or ``diverged``."""
        self.whole = self if whole is None else whole.whole
        """The results that these were chosen from."""
        every = summarize((run for _, run in self.files), self.lost) if whole is None else self.whole._every
        self._every, kept = every, {id(result) for _, result in self.files}
        self.layout = layout
        """The layout, or the value of an axis, that is kept; empty for all."""
        chosen = self._named(every, [one for one in every if id(one.results[0]) in kept])
        self.systems = Systems(replace(one, layout=layout) for one in chosen)

    @staticmethod
    def _named(every: Sequence[SystemSummary], chosen: Sequence[SystemSummary]) -> Iterator[SystemSummary]:
        """Systems with their recipe and task before their name where these are several, else without."""
        titles = recipe_titles(every)

        def prefix(system: SystemSummary, among: Sequence[SystemSummary]) -> str:
            if len({one.recipe for one in among}) > 1:
                return f"{titles[system.recipe]}: {system.prefix}"
            return system.prefix if len({one.prefix for one in among}) > 1 else ""

        for system in chosen:
            first = prefix(system, chosen)
            whole_name = prefix(system, every) + system.short
            yield replace(system, name=first + system.short, prefix=first, whole_name=whole_name)

    @classmethod
    def of(cls, folders: Iterable[str | Path]) -> Result:
        """The results in and under ``folders``; raises `LengthwiseError` if there is none or one is damaged."""
        folders = [Path(folder) for folder in folders]
        for folder in folders:
            require(
                not folder.name.startswith("stack-") or any(folder.rglob("result.json")),
                f"{folder} is a training of several seeds that was interrupted, so it has no results; the same command "
                f"goes on with it. Those that ended are in {folder.parent}",
            )
        found = ((path, values) for path, values in contents(folders) if kind_of(values) is None)
        return cls([(path.parent, result) for path, result in each_once(read(found))], lost=_lost(folders))

    def __len__(self) -> int:
        return len(self.files)

    def only(self, task: str | None = None, systems: Sequence[str] = (), *, layout: str | None = None) -> Result:
        """The runs of one task or recipe, and of these systems; by default all.

        A task goes by its name, or by what tables print before the comma. A system goes by a name in
        ``systems.names``, or by that without task or settings, which takes all of these. A layout goes by what tables
        print, such as ``chains 4, depth 20``, or by the value of one axis, such as ``chains 4``.

        Raises: `LengthwiseError` for a name that none of the runs has.
        """
        files, names = self.files, arguments.names("systems", systems)
        self.systems.check(name for name in names if name in self.systems)
        every = list(self.systems)
        of = {id(run): one for one in every for run in one.results}
        in_figures = {id(one): named.label for one, named in zip(every, whole_names(every), strict=True)}
        raw, titles = {id(one.results[0]): one for one in self.whole._every}, recipe_titles(self.whole.systems)
        for what, wanted, shown, more in (
            (
                "task", [] if task is None else [arguments.text("task", task)],
                lambda run: (run.experiment["task"]["name"], group_of(raw[id(of[id(run)].results[0])]),
                             called(run.experiment["task"])),
                lambda run: (run.recipe, titles[run.recipe]),
            ),
            (
                "system", names,
                lambda run: (*of[id(run)].known_as, in_figures[id(of[id(run)])]), lambda _: (),
            ),
        ):  # fmt: skip
            known = {name for _, run in files for name in shown(run)} - {""}
            for name in wanted:
                if name not in known and all(name not in more(run) for _, run in files):
                    of_these = f"these results are of {listed(sorted(known))}"
                    require(what != "task" or name not in TASKS, f"no runs of task {name!r}: {of_these}")
                    raise UnknownNameError(f"{what} of these results", name, known)
            files = tuple(f for f in files if not wanted or not {*shown(f[1]), *more(f[1])}.isdisjoint(wanted))
        chosen = Result(files, self, layout=self.layout)
        if layout is None:
            return chosen
        texts = {axes_text(cell.axes) for system in chosen.systems for cell in system.cells} - {""}
        known = texts | {part for text in texts for part in text.split(", ")}
        if arguments.text("layout", layout) not in known:
            raise UnknownNameError("layout of these results", layout, known)
        return Result(files, self, layout=layout)

    @property
    def _curves(self) -> Accuracy:
        require(bool(self.systems), NO_RUNS)
        return self.accuracy()

    @property
    def runs(self) -> tuple[SeedResult, ...]:
        """One entry per system and seed."""
        return tuple(result for _, result in self.files)

    @property
    def folders(self) -> tuple[Path, ...]:
        """The run directory of each entry of `runs`."""
        return tuple(folder for folder, _ in self.files)

    def accuracy(self, metric: str = "exact_match") -> Accuracy:
        """Accuracy against length by ``exact_match``, ``exact_match_ids``, ``oracle_ids`` or ``answer``."""
        if metric not in METRICS:
            raise UnknownNameError("metric", metric, METRICS)
        return Accuracy(self.systems, metric, self.chosen, self.whole.systems, self.source, self._page_notes)

    @property
    def source(self) -> str:
        """The folder that holds all of these runs, and the commits that they were made with."""
        shared = takewhile(
            lambda names: len({*names}) == 1, zip(*(folder.parts for folder in self.folders), strict=False)
        )
        commits = [one for one in dict.fromkeys(run.commit for run in self.runs) if one != "unknown"]
        some = ", ".join(one[:12] for one in commits[:3]) + f" and {len(commits) - 3} more" * (len(commits) > 3)
        folder = Path(*(names[0] for names in shared)).as_posix()
        return f"results: {folder}" + f"; commit{'s' * (len(commits) > 1)} {some}" * bool(commits)

    @property
    def chosen(self) -> tuple[str, ...]:
        """How settings were chosen, a sentence for each of `lengthwise.compare`'s folders that these runs are of."""
        files = dict.fromkeys(folder.parent.parent / COMPARISON for folder in self.folders)
        found = (read_json(file, what="comparison") for file in files if file.exists())
        return tuple(str(values["selection"]) for values in found if isinstance(values, dict) and "selection" in values)

    @property
    def pages(self) -> tuple[str, ...]:
        """The pages of studies that these runs are of.

        Beside a folder ``results`` it is the page with the name of the recipe, or else the study's ``README.md``.
        """
        found = dict[Path, None]()
        for recipe in dict.fromkeys(folder.parent for folder in self.folders):
            study = recipe.parent.parent
            pages = [page for page in (study / f"{recipe.name}.md", study / "README.md") if page.is_file()]
            found |= dict.fromkeys(pages[:1] if recipe.parent.name == "results" else [])
        return tuple(page.as_posix() for page in found)

    @property
    def _page_notes(self) -> tuple[str, ...]:
        return tuple(f"{STUDY}{page}" for page in self.pages)

    def table(self) -> Table:
        """One row per system: all seeds, how many fitted, accuracy in distribution and at the longest length.

        Numbers are over the seeds that fitted; accuracy in distribution is over all where none did.
        """
        if not self.systems:
            return Table((), (), caption=NO_RUNS)
        rows, systems, unlike = [], self.systems, not same_training(self.systems)
        fitted = [len(system.fitted or system.results) for system in systems]
        for system in systems:
            own, last = system.fitted or system.results, max(system.cells, key=lambda cell: cell.length, default=None)
            rows.append(
                (
                    system.name,
                    system.settings,
                    *[system.max_length] * unlike,
                    f"{len(system.fitted)} of {len(system.results)}",
                    spread([one.in_distribution for one in own], brackets=brackets_of(len(own), fitted)),
                    None if last is None else last.length,
                    None if last is None else spread(last.scores, brackets=brackets_of(len(last.scores), fitted)),
                )
            )
        columns = (
            "system", "settings", *["trained to"] * unlike, "fitted", "in distribution", "longest test",
            "accuracy there",
        )  # fmt: skip
        ends = ((one, max((cell.length for cell in one.cells), default=0)) for one in systems)
        bracketed = len(rows) <= MOST_BELOW
        low = "; ".join(filter(None, (low_seeds([one], [end], bracketed=bracketed) for one, end in ends)))
        of_all = "in distribution: of all seeds where none fitted" * any(not system.fitted for system in systems)
        return Table(
            columns,
            tuple(rows),
            f"Exact match on {task_title(systems)} at training lengths and at the longest test: {OVER}"
            f"{_left_out(systems)}.",
            notes=tuple(filter(None, (of_all, differ_text(systems)))),
            advice=(*answer(systems, whole=self.whole.systems).next, *details(systems), *self._page_notes),
            legend=_inside(systems, "interval", rows)
            | dict.fromkeys([LOW] * bool(low), low)
            | dict.fromkeys([NOT_FITTED] * any(not one.fitted for one in systems), "not fitted"),
            source=self.source,
            empty=empty(systems),
        )

    def save_report(self, path: str | Path = "report.html") -> Path:
        """Write the report page of these results; returns its path."""
        from lengthwise.report.page import write_report

        write_report(self.folders, target := arguments.path("path", path), lost=self.lost)
        return target


def _lost(folders: Iterable[Path]) -> list[tuple[Path, dict[str, Any], str]]:
    """The runs in and under these folders that have no result, as `Result.lost`."""
    found: dict[Path, tuple[Path, dict[str, Any], str]] = {}
    for folder in {file.parent: None for at in folders for file in result_files(at, CONFIG)}:
        tried = (folder.parent.parent / "comparison.json").exists()  # A setting that a comparison did not choose.
        if LEASES in folder.parts or (folder / RESULT).exists() or tried:
            continue
        with suppress(LengthwiseError):  # the configuration of another program
            values = read_json(folder / CONFIG, what="run configuration")
            if isinstance(values, dict) and {"experiment", "seed"} <= values.keys():
                why = "diverged" if divergence(folder) is not None else "not finished"
                found[folder.resolve()] = (folder, values["experiment"], why)
    return list(found.values())


def results(*folders: str | Path) -> Result:
    """The results in and under these folders (``runs`` by default), by task, system and seed.

    A warning says how many runs are left out since they have no result, and what goes on with them.

    Raises: `LengthwiseError` for a list of folders, for a folder without results, and for a damaged file.
    """
    for folder in folders:
        require(
            not isinstance(folder, list | tuple),
            f"give folders one after the other, such as lw.results('one', 'two'), got the list {folder!r}",
        )
    found = Result.of(arguments.path("folder", folder) for folder in folders or ("runs",))
    _warn(found.lost)
    in_order = sorted(found.files, key=lambda file: (file[1].recipe, file[1].system, file[1].seed))
    return Result(in_order, lost=found.lost)


def _warn(lost: Sequence[tuple[Path, Mapping[str, Any], str]]) -> None:
    going = [folder for folder, _, why in lost if why == "not finished"]
    diverged = len(lost) - len(going)
    said = [
        *[f"{_runs(len(going))} not finished and left out ({folder}{', …' * (len(going) > 1)}): what began it, "
          "`lengthwise run` or `Experiment.run`, goes on with it" for folder in going[:1]],
        *[f"{_runs(diverged)} left out, since the training diverged"] * bool(diverged),
    ]  # fmt: skip
    if said:
        warn("; ".join(said))


def _runs(number: int) -> str:
    return "1 run is" if number == 1 else f"{number} runs are"


def write_report(
    folders: Iterable[str | Path], output: str | Path = "report.html", *, figures: str | Path | None = None
) -> int:
    """Write one self-contained page: accuracy against length, the structure that explains it, errors, every setting.

    Runs without a result are left out; the page counts them, and a warning says so.

    Arguments:
        folders: searched for result files.
        output: the page to write.
        figures: a folder for the figures as SVG, PDF and PNG.

    Returns: how many result files the page is of.

    Raises: `LengthwiseError` if there are none, one is damaged, or the page can't be written.
    """
    from lengthwise.report.page import write_report as write

    require(
        not isinstance(folders, str | Path), f"folders must be a list of paths, such as ['runs'], got {str(folders)!r}"
    )
    found = [arguments.path("folder", folder) for folder in folders]
    figures = None if figures is None else arguments.path("figures", figures)
    lost = _lost(found)
    count = write(found, arguments.path("output", output), figures, lost=lost)
    _warn(lost)
    return count
