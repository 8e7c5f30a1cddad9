"""What theory and structure have on a target: `predict`, `decide`, `structure`, `show`, `couple`. No training."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lengthwise.core import config as arguments
from lengthwise.core.errors import LengthwiseError, UnknownNameError, require
from lengthwise.core.table import Table, Tabular

if TYPE_CHECKING:
    from lengthwise.crasp.certificates import CheckedCertificate
    from lengthwise.crasp.decide import Decision as LanguageDecision
    from lengthwise.crasp.margin import Margin
    from lengthwise.forecast.forecasts import Forecasts
    from lengthwise.forecast.probe import Probe
    from lengthwise.positions.schemes import PositionScheme
    from lengthwise.prediction.couple import Coupling
    from lengthwise.prediction.example import Example as TaskExample
    from lengthwise.prediction.example import StructureTable
    from lengthwise.report.figures import Drawing
    from lengthwise.tasks import Task
from lengthwise.crasp.decide import END_WORDS, FRAGMENT_NAMES
from lengthwise.testing.own_tasks import refuse_broken

MOST_EXAMPLES, LONGEST = 1_000_000, 10_000
"""Bounds of ``examples`` and ``lengths`` of `couple`."""


def predict(
    target: str | Task | dict[str, Any],
    train: int = 40,
    test: int = 200,
    encoding: str | Sequence[str] | None = None,
    scheme: str | None = None,
    probe: Probe | str | float | None = None,
    *,
    changes: Sequence[str] = (),
    cut: float = 0.95,
    out: str | Path | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> Forecasts:
    """How likely is a system that is trained to one length right at another, and what would do better?

    Arguments:
        target: a task's name, a `Task`, ``"regex:(ab)*"``, ``"path/to/file.py:Class"``, a program file (``.crasp``), an
            automaton (``.json``) or a file of examples (``.jsonl``).
        train: the longest length in training, N, in the task's unit.
        test: the length in question, M.
        encoding: position systems such as ``"nope"``, ``"ape"`` or ``"rope"``, or encodings; by default all systems,
            best first.
        scheme: the scheme of position ids that goes with the encoding, such as ``"coupled"``.
        probe: the time for a probe of one system, such as ``"2m"``: it trains on lengths up to N/2, tests up to N,
            never beyond, and goes on where an earlier one stopped. In Python also the `Probe` that one returned.
        changes: settings of the task, such as ``"task.letters=16"``.
        cut: the accuracy that counts as right, 0.7 or 0.95.
        out: the folder of the probe, by default one in ``runs/probe``.
        progress: called with a line before each part of a search, and at least every ten seconds of a probe.

    Returns: the forecasts; ``["rope"]`` has ``probability``, ``interval``, ``answer``, ``reasons`` and ``instead``.
        ``theory`` is what theory guarantees. There is no probability where nothing like the target was measured, and
        where the target itself was: ``accuracy`` is the answer then, and ``forecast`` what the fitted model says.

    Raises: `LengthwiseError` for a target, a system or a scheme that is unknown, for lengths out of range, for a task
        whose laws are broken, and for a probe of several systems or of a target without strings to train on.
    """
    from lengthwise.api.components import changed_task
    from lengthwise.api.components import task as build_task
    from lengthwise.forecast.predict import predict as forecast

    train, test = arguments.whole("train", train), arguments.whole("test", test)
    names = encoding if encoding is None or isinstance(encoding, str) else arguments.names("encoding", encoding)
    asked = None if scheme is None else arguments.text("scheme", scheme)
    typed = ""
    if isinstance(target, str) and changes:
        typed = " ".join([shlex.quote(target), *(f"--set {shlex.quote(change)}" for change in changes)])
    if changes or not isinstance(target, str):
        target = changed_task(build_task(target), changes)
    refuse_broken(target)
    return forecast(
        target, train, test, names, asked, probe, cut, progress,
        None if out is None else arguments.path("out", out), typed=typed,
    )  # fmt: skip


class Certificate(Tabular):
    """The reason behind one verdict of `decide`: a value that separate code has checked."""

    def __init__(self, values: dict[str, Any], lines: Sequence[str]) -> None:
        self.values, self.lines = values, tuple(lines)

    def table(self) -> Table:
        """The argument, a sentence a row."""
        name = FRAGMENT_NAMES[self.values["fragment"]]
        head = f"{name}, {END_WORDS[self.values['end']]}: {self.values['answer']}"
        return Table(("argument",), tuple((line,) for line in self.lines), caption=head)


def fragment_of(system: str) -> str:
    """The fragment of C-RASP that theory links to a position system, or the fragment of this name.

    Raises `UnknownNameError` for any other name, and `LengthwiseError` where no theorem links a system to one.
    """
    from lengthwise.positions.system import SYSTEMS, position_systems

    if system in FRAGMENT_NAMES:
        return system
    (found,) = position_systems([system])
    if found.fragment is None:
        linked = ", ".join(one.known_as for one in SYSTEMS if one.fragment)
        raise LengthwiseError(f"no theorem links {found.known_as} to a fragment of C-RASP; theorems do for {linked}")
    return found.fragment


class Decision(Tabular):
    """The decision whether a regular language is in C-RASP, fragment by fragment."""

    def __init__(self, expression: str, decision: LanguageDecision) -> None:
        self.expression, self.decision = expression, decision

    def table(self) -> Table:
        """One row per fragment, with the position systems that run it, and convention for the end of a word."""
        from lengthwise.positions.system import CITED_LINK, SYSTEMS

        linked = {
            fragment: [s.known_as for s in SYSTEMS if s.fragment == fragment and s.theorem == CITED_LINK]
            for fragment in self.decision.fragments
        }
        rows = []
        for fragment in self.decision.fragments:
            systems = ", ".join(system.known_as for system in SYSTEMS if system.fragment == fragment)
            for end in self.decision.ends:
                found = self.decision.verdict(fragment, end)
                name = FRAGMENT_NAMES[fragment]
                basis = found.basis
                if found.verdict == "yes" and linked[fragment]:
                    basis += f"; that {', '.join(linked[fragment])} can run it: cited"
                rows.append(
                    (systems, name, END_WORDS[end], found.verdict, found.window, found.period, basis, found.reason)
                )
        columns = ("positions", "fragment", "end", "in it?", "window", "period", "basis", "argument")
        return Table(columns, tuple(rows), caption=self.expression, sentences=("argument",))

    def answer(self, system: str, end: str | None = None) -> str:
        """``yes``, ``no`` or ``unknown`` for positions (``nope``, ``rope``, …) or a fragment (``none``, ``local``, …).

        ``end`` is one of those that were decided, by default the first. Raises `UnknownNameError` for others, and
        `LengthwiseError` for positions that no theorem links to a fragment.
        """
        return self.decision.verdict(*_asked(system, self.decision.ends[0] if end is None else end)).verdict

    def certificate(self, system: str = "ape", end: str = "visible") -> Certificate:
        """The certificate of one answer, checked now by code that shares nothing with the decision.

        Raises `LengthwiseError` where the answer is *unknown*.
        """
        from lengthwise.crasp.certificates import certificate, explain
        from lengthwise.crasp.checker import check

        values = certificate(self.decision, *_asked(system, end))
        if values is None:
            raise LengthwiseError(f"{self.expression}: the answer for {system} is unknown, so it has no certificate")
        check(values, self.decision.dfa)
        return Certificate(values, explain(values).splitlines())

    def certified(self) -> dict[str, Any]:
        """The automaton and the certificate of every *yes* and *no*, each checked: an entry of a certificate file."""
        from lengthwise.crasp.certificates import certified

        return certified(self.expression, self.decision)

    def save_certificates(self, path: str | Path) -> Path:
        """Write the certificates of every *yes* and *no* to a file, which `check_certificates` reads.

        Returns its path; raises `LengthwiseError` if it can't be written.
        """
        save_certificates(path, [self])
        return Path(path)

    def program(self, system: str = "ape", end: str = "visible") -> str:
        """The text of a C-RASP program behind a *yes*; raises `LengthwiseError` for any other answer."""
        from lengthwise.crasp.extraction import program_of
        from lengthwise.crasp.syntax import to_text

        return to_text(program_of(self.decision, *_asked(system, end)))

    def programs(self) -> dict[str, dict[str, str]]:
        """By convention for the end of a word: a program of the smallest fragment that has one, and that fragment."""
        found = {end: self._smallest_fragment(end) for end in self.decision.ends}
        return {
            end: {"fragment": fragment, "text": self.program(fragment, end)}
            for end, fragment in found.items()
            if fragment is not None
        }

    def _smallest_fragment(self, end: str) -> str | None:
        yes = (fragment for fragment in ("none", "local", "periodic", "ape") if self.answer(fragment, end) == "yes")
        return next(yes, None)

    def margin(
        self, system: str = "ape", end: str = "visible", lengths: Sequence[int] | None = None, seed: int = 0
    ) -> Margin:
        """How exactly the program behind a *yes* has to average on words of about these lengths.

        Raises `LengthwiseError` for any other answer, and where the language has no such words.
        """
        from lengthwise.crasp.margin import LENGTHS, language_margin

        wanted = LENGTHS if lengths is None else arguments.whole_numbers("lengths", lengths)
        return language_margin(self.decision, *_asked(system, end), wanted, seed=arguments.whole("seed", seed))

    def smallest_margin(self) -> dict[str, Any]:
        """The margin of the program in the smallest fragment that has one, at the first end that was decided."""
        end = self.decision.ends[0]
        fragment = self._smallest_fragment(end)
        if fragment is None:
            return {"line": "no program, so none"}
        try:
            found = self.margin(fragment, end)
        except LengthwiseError as error:
            return {"line": f"none, since {error}"}
        values = {"lengths": found.lengths, "median": found.median, "low": found.low, "growth": found.growth}
        return {"line": found.line, "fragment": fragment, "end": end, **values}

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        from lengthwise.prediction.verdict import answers_by_fragment

        next_symbols = answers_by_fragment(self.decision)
        return {**self.decision.to_json(), "regex": self.expression, "next_symbols": next_symbols}


def decide(
    target: str, alphabet: str | None = None, *, end: str = "both", max_window: int = 8, max_period: int = 12
) -> Decision:
    """Decide for each fragment of C-RASP whether a regular language is in it.

    Arguments:
        target: ``"regex:EXPRESSION"``, an expression with an operator, a published language such as ``"Tomita-4"``, or
            an automaton in ``"FILE.json"``.
        alphabet: the symbols of words, such as ``"abc"``; by default the letters that the expression uses.
        end: what is asked: membership read at the last symbol (``"visible"``), at an end mark (``"eos"``) or
            ``"both"``; the ``"next"`` symbols after prefixes of words; or the ``"state"`` of the minimal automaton
            after every string, also at end marks.
        max_window: the largest window k that is searched.
        max_period: the largest period m that is searched.

    Returns: an answer for every fragment and end, with certificates and programs.

    Raises: `LengthwiseError` for other targets, and for an expression that can't be read.
    """
    from lengthwise.crasp.decide import FORMATS, Bounds
    from lengthwise.crasp.decide import decide as decide_language
    from lengthwise.prediction.target import regular_language

    if end not in FORMATS:
        raise UnknownNameError("end convention", end, FORMATS)
    source, its_alphabet = regular_language(arguments.text("target", target))
    given = None if alphabet is None else arguments.text("alphabet", alphabet)
    bounds = Bounds(arguments.whole("max_window", max_window), arguments.whole("max_period", max_period))
    found = decide_language(source, given or its_alphabet, ends=FORMATS[end], bounds=bounds)
    return Decision(target.removeprefix("regex:"), found)


def _asked(system: str, end: str) -> tuple[str, str]:
    return fragment_of(arguments.text("system", system)), arguments.text("end", end)


def save_certificates(path: str | Path, decisions: Iterable[Decision]) -> int:
    """Write the certificates of several decisions to one file; returns how many there are."""
    from lengthwise.crasp.certificates import write_certificates

    languages = [decision.certified() for decision in decisions]
    write_certificates(arguments.path("path", path), languages)
    return sum(len(entry["certificates"]) for entry in languages)


class CheckedCertificates(Tabular):
    """The certificates of a file, all of which hold."""

    def __init__(self, certificates: Sequence[CheckedCertificate]) -> None:
        self.certificates = tuple(certificates)

    def table(self) -> Table:
        """One row per certificate; ``rebuilt`` if its automaton was made again from an expression."""
        rows = tuple(
            (c.source, FRAGMENT_NAMES[c.fragment], END_WORDS[c.end], c.answer, "yes" if c.rebuilt else "no")
            for c in self.certificates
        )
        return Table(("language", "fragment", "end", "answer", "rebuilt"), rows)


def check_certificates(path: str | Path) -> CheckedCertificates:
    """Check a file of certificates with exact arithmetic and code that the decision does not use.

    Arguments:
        path: what `Decision.save_certificates` wrote.

    Returns: all certificates of the file.

    Raises: `LengthwiseError` at the first that proves nothing, and for another file.
    """
    from lengthwise.crasp import certificates as certificate_file

    return CheckedCertificates(list(certificate_file.check_certificates(arguments.path("path", path))))


class Structure(Tabular):
    """Sparsity k and span of one task under one scheme, by length: of parents, of selectors, and of both.

    A row is a length with the three counts, each followed by its span. ``schemes`` has the spans of all schemes.
    """

    def __init__(self, task: Task, scheme: PositionScheme, schemes: StructureTable) -> None:
        self.task, self.scheme, self.schemes = task, scheme, schemes
        row = next(row for row in schemes.rows if scheme.name in row.schemes)
        selectors, both = (schemes.selectors, row.selectors), (schemes.both, row.both)
        columns = zip(schemes.lengths, schemes.sparsity, row.spans, *selectors, *both, strict=True)
        self.rows: tuple[tuple[int, int, int | None, int, int | None, int, int | None], ...] = tuple(columns)

    @property
    def note(self) -> str:
        """What k and span don't say of this task; empty where they say all."""
        from lengthwise.prediction.example import structure_note

        return structure_note(self.task, self.scheme)

    @property
    def sparsity(self) -> tuple[int, ...]:
        """The largest number of parents of a scored token, by length."""
        return tuple(row[1] for row in self.rows)

    @property
    def span(self) -> tuple[int | None, ...]:
        """The largest distance to a parent in position ids, by length; None where the scheme has too few ids."""
        return tuple(row[2] for row in self.rows)

    def table(self) -> Table:
        """One row per length; a task whose parents are not chosen by content has no columns for selectors."""
        caption = f"sparsity k and span of {self.task.name} under {self.scheme.name} ids"
        columns = ("length", "k", "span", "selectors", "span of selectors", "both", "span of both")
        width = 7 if any(row[3] for row in self.rows) else 3
        notes = (self.note,) if self.note else ()
        return Table(columns[:width], tuple(row[:width] for row in self.rows), caption=caption, notes=notes)

    def plot(self) -> Drawing:
        """Sparsity and span against length, as a matplotlib figure; a span without enough ids is left out."""
        from lengthwise.report.figures import COLOURS, new_figure

        last = self.rows[-1]
        alt = f"{self.task.name} under {self.scheme.name} ids: k {last[1]} and span {last[2]} at length {last[0]}"
        with new_figure(5.5, 3.2, f"structure {self.task.name} {self.scheme.name}", alt) as figure:
            axes = figure.subplots()
            lines = {"sparsity k": [(row[0], row[1]) for row in self.rows]}
            lines["span"] = [(row[0], row[2]) for row in self.rows if row[2] is not None]
            for colour, (label, points) in zip(COLOURS, lines.items(), strict=False):
                axes.plot([x for x, _ in points], [y for _, y in points], "o-", color=colour, label=label)
            axes.set_xlabel("length")
            axes.set_title(f"{self.task.name}, {self.scheme.name} ids", fontweight="bold")
            axes.legend()
            return figure


def structure(
    task: str | Task | dict[str, Any],
    scheme: str | PositionScheme | dict[str, Any] = "sequential",
    lengths: Sequence[int] | None = None,
    seed: int = 0,
) -> Structure:
    """How many earlier tokens a predicted token depends on (k), and how far they are in position ids (span).

    It counts parents, selectors (the tokens that choose the parents by content), and both together.

    Arguments:
        task: as of `lengthwise.task`.
        scheme: the position scheme that gives the ids, as of `lengthwise.scheme`.
        lengths: in the task's own unit; by default some that show the growth.
        seed: of the problems that are drawn.

    Returns: one row per length.

    Raises: `LengthwiseError` for a length without instances.
    """
    from lengthwise.api.components import scheme as build_scheme
    from lengthwise.api.components import task as build_task
    from lengthwise.prediction.example import structure_table

    built_task, built_scheme = build_task(task), build_scheme(scheme)
    refuse_broken(built_task)
    wanted = None if lengths is None else arguments.whole_numbers("lengths", lengths)
    found = structure_table(built_task, wanted, arguments.whole("seed", seed), built_scheme)
    return Structure(built_task, built_scheme, found)


class Example(Tabular):
    """One example of a task: tokens, places, position ids and parents."""

    def __init__(self, example: TaskExample) -> None:
        self.example = example

    def table(self) -> Table:
        """One row per token; parents and selectors are positions in the sequence."""
        rows = tuple(
            (
                token.position,
                token.text,
                " ".join(map(str, token.places)),
                " ".join(map(str, token.ids)),
                "yes" if token.scored else "",
                " ".join(map(str, token.parents)),
                " ".join(map(str, token.selectors)),
            )
            for token in self.example.tokens
        )
        columns = ("position", "token", "place", "id", "scored", "parents", "selectors")
        return Table(columns, rows, caption=" ".join(token.text for token in self.example.tokens))

    def _repr_html_(self) -> str:
        return self.plot()._repr_html_() + self.table()._repr_html_()

    def plot(self) -> Drawing:
        """The arcs from parents to tokens under plain and under coupled ids, as a matplotlib figure."""
        from lengthwise.report.figures import draw_dependencies

        return draw_dependencies(self.example)


def show(
    task: str | Task | dict[str, Any],
    length: int | None = None,
    scheme: str | PositionScheme | dict[str, Any] = "coupled",
    seed: int = 0,
) -> Example:
    """One example of a task, with the position ids that a scheme gives.

    Arguments:
        task: as of `lengthwise.task`.
        length: of the problem, in the task's own unit; by default 5, or the nearest that has instances.
        scheme: the position scheme that gives the ids, as of `lengthwise.scheme`.
        seed: which example.

    Returns: its tokens with places, ids, parents and selectors.

    Raises: `LengthwiseError` if the length has no instances or the scheme too few ids.
    """
    from lengthwise.api.components import scheme as build_scheme
    from lengthwise.api.components import task as build_task
    from lengthwise.prediction.example import example, shown_length

    built = build_task(task)
    length = shown_length(built) if length is None else arguments.whole("length", length)
    return Example(example(built, build_scheme(scheme), length, arguments.whole("seed", seed)))


def couple(
    task: str | Task | dict[str, Any],
    *,
    from_data: bool = False,
    examples: int = 20_000,
    lengths: Sequence[int] | None = None,
    budget: float | str = "2m",
    seed: int = 0,
    progress: Callable[[str], None] = lambda line: None,
) -> Coupling:
    """Find places that keep every dependency within one step at every length.

    Arguments:
        task: as of `lengthwise.task`, or the path of a file of examples (``.jsonl``).
        from_data: find it from examples, without any query of the task.
        examples: examples per length, where it is found from them.
        lengths: to check at, in the task's own unit, by default 5, 10, 20 and 40; not for a file, which has its own.
        budget: time for the search and its checks, such as ``"30s"`` or ``"10m"``; then it ends with what it found.
        seed: of the queries or examples.
        progress: called with a line before each part of the search.

    Returns: the rule with its checks, or the reason why there is none.

    Raises: `LengthwiseError` for a target that is neither a task nor examples, and for numbers out of range.
    """
    from lengthwise.api.components import task as build_task
    from lengthwise.prediction.couple import couple as find
    from lengthwise.prediction.couple import couple_examples
    from lengthwise.prediction.target import ExamplesFile, parse_target, task_of, unsuitable

    parsed = parse_target(task) if isinstance(task, str) else build_task(task)
    target = parsed if isinstance(parsed, ExamplesFile) else task_of(parsed)
    if target is None:
        raise unsuitable(str(task), parsed, "couple", "a task or examples")
    checked = None if lengths is None else tuple(sorted(set(arguments.whole_numbers("lengths", lengths))))
    count = arguments.whole("examples", examples)
    require(50 <= count <= MOST_EXAMPLES, f"`examples` must be in 50..{MOST_EXAMPLES}, got {count}")
    longest = max(checked or (0,))
    require(longest <= LONGEST, f"`lengths` must be at most {LONGEST}, got {longest}")
    seed, seconds = arguments.whole("seed", seed), arguments.seconds("budget", budget)
    if isinstance(target, ExamplesFile):
        require(not checked, "`lengths` is for tasks; a file has the lengths of its examples")
        return couple_examples(target.path, seed=seed, progress=progress)
    refuse_broken(target)
    return find(
        target, from_data=from_data, examples=count, checked=checked, seed=seed, seconds=seconds, progress=progress
    )
