"""All parts of an explanation, one after the other; those that a folder holds already are read."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TypeVar

from lengthwise.core.config import digest, fields_of, from_fields
from lengthwise.core.deadline import DOING
from lengthwise.core.errors import LengthwiseError, OutOfTimeError, require
from lengthwise.core.files import make_folder, remove_unfinished, write_json, write_text
from lengthwise.core.result_file import read_sealed, write_sealed
from lengthwise.core.rng import stream
from lengthwise.core.table import Spread, Table, Tabular
from lengthwise.core.user_code import code_of
from lengthwise.explanation.advice import Call, advice, without_program
from lengthwise.explanation.automaton import Automaton, learn_automaton
from lengthwise.explanation.before import FILE, Before, Since
from lengthwise.explanation.clock import Clock
from lengthwise.explanation.common_cause import UNKNOWN
from lengthwise.explanation.failures import Failures, find_failures
from lengthwise.explanation.faults import (
    LETTERS,
    RANDOM,
    Fault,
    at_random,
    faults_of,
    left_of,
    others_named,
    run_of,
    shared_cause,
)
from lengthwise.explanation.forecast import ModelForecast, forecast_model
from lengthwise.explanation.given import title_of
from lengthwise.explanation.heads import Heads, explain_heads
from lengthwise.explanation.kinds import NAMED
from lengthwise.explanation.mistakes import HARD
from lengthwise.explanation.model import Accuracy, RandomStrings, Subject, WordOracle, accuracy
from lengthwise.explanation.program import ModelProgram, learn_program
from lengthwise.explanation.verdict import CUT, Share, Verdict
from lengthwise.forecast.forecasts import MORE, beside, fill, typed
from lengthwise.positions.schemes import SCHEMES
from lengthwise.tasks import TASKS
from lengthwise.tasks.language import Language
from lengthwise.tasks.values import spoken

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VERSION = 56
COLUMNS = {
    "share right": "strings, right: drawn at random, and of these right; in brackets 95 % intervals, none where all "
    "strings were asked",
    "edited share": "edited: the same of edited strings",
    "as constant": "as automaton, as program, as constant: share of words, of the task and near to it, that the model "
    "and its automaton, its program, or the best constant answer both accept or both refuse",
    "forecast P": "forecast P: that at least 0.95 are right",
}
"""What columns of the table mean, by the last one that a text is about."""
ASKED = "accuracy.json"
"""The first part, which tells of what call a folder holds the answer."""
INDENT = 12
"""Of what stands beside a name."""
WIDTHS = 28, 17, 8, 15
"""Most columns of the cells of an overview."""
SINCE = 28, 17, 17, 8
"""Of what became better or worse."""
RULES = (f"right: at least {100 * CUT:.0f} % are", "breaks: surely fewer; between: unsure")
"""What is said of a length, and when."""
AT_RANDOM = "; random strings: "
FEWER, ENDED = "few strings", "time ended"
"""How notes on what was left out for want of time begin, which every answer shows."""
AGAIN = "lengthwise"
"""How what explains a copy begins."""
T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class Explanation(Tabular):
    """What a model computes, what its heads do, and where it breaks."""

    model: str
    task: str
    accuracy: Accuracy
    automaton: Automaton | None
    program: ModelProgram | None
    heads: Heads | None
    failures: Failures
    forecast: ModelForecast | None
    """How likely the model is right beyond training, from what it does within."""
    notes: tuple[str, ...]
    """Parts that are missing, and why."""
    next: str = ""
    """What to do now, a sentence a line, and the command that explains what comes of it."""
    command: str = ""
    """The same as it is typed; empty where there is no command for it."""
    asked: tuple[int, ...] = ()
    """Lengths that were chosen; all of them are shown."""
    written: str = ""
    """How the task writes what it is about, where people write it otherwise."""
    measured: str = ""
    """What the shares are shares of: which strings, and when one of them is right."""
    theory: str = ""
    """That theory has no program for such a model, if it has none; perhaps why it breaks, where that is not known."""
    before: tuple[Since, ...] = ()
    """What became better or worse since an earlier explanation."""

    @property
    def learned(self) -> bool:
        """Whether it is right on trained lengths, so that it can break beyond; see `Verdict.learned`."""
        return self.verdict.learned

    @property
    def verdict(self) -> Verdict:
        """Where it breaks: the one decision that every sentence about it follows."""
        return Verdict(self.failures.rows, self.accuracy.train)

    @property
    def answer(self) -> str:
        """To which length it is right and from which it breaks; the fault that comes first."""
        trained, random = f"{self.verdict.trained.counts} right", self.verdict.of("random")
        if self.learned:
            line, right = self.verdict.line, max(self.accuracy.train, random.held or 0)
            # What is to be mended comes first; it is told where random strings are right still.
            fails = next((each.fails for each in self.faults if each.first is not None and each.first <= right), "")
            line = line.replace("right to", "right on random strings to") if fails else line
            return "; ".join(filter(None, [line, fails or self.verdict.edited]))
        if (apart := self.failures.apart) is not None:
            return f"not fully learned: {trained} at trained lengths; {apart.line}{apart.at}"
        though = f", though right to length {random.held}" if random.held else ""
        return f"not learned: {trained} at trained lengths{though}"

    @property
    def _of(self) -> str:
        return f"{self.model} on {self.task} (trained to {self.accuracy.train}): "

    @property
    def computes(self) -> str:
        """The automaton, or else the program; empty where there is neither."""
        found = self.automaton or self.program
        first = self.automaton and self.automaton.first_contradiction
        left = f" At length {first.length} it contradicts that." if first else ""
        of = (
            f"To length {self.accuracy.train}, the words that it accepts are those of"
            if self.automaton
            else "It computes"
        )
        return f"{of} {found.line}.{left}" if found else ""

    @property
    def faults(self) -> list[Fault]:
        """All that breaks, the worst first, each with what is known of it."""
        found = [] if self.accuracy.not_finite else faults_of(self.failures, self.accuracy.train)
        beyond = self.theory if self.learned else ""
        return [
            replace(each, why=tuple(beyond or line if line == UNKNOWN else line for line in each.why)) for each in found
        ]

    @property
    def why(self) -> str:
        """The causes, a sentence a line, as far as they were tested; or that they are not known."""
        said = itertools.chain(*((*fault.why, *fault.tested) for fault in self.faults))
        return "\n".join(said) or self.accuracy.not_finite

    @property
    def others(self) -> list[str]:
        """Findings that no fault says in full."""
        said = " ".join(line for _, rows in self.blocks(whole=True) for each in rows.values() for line in each)
        told = [f"Where {each.kind}:" for each in self.faults if each.kind]
        left = (each for each in self.failures.findings if not any(each[0].startswith(of) for of in told))
        return [" ".join(each) for each in left if any(line not in said for line in each)]

    @property
    def fails_where(self) -> str:
        """All that tells failing strings from right ones, or wrong tokens from right ones, a finding a line."""
        return "\n".join(" ".join(each) for each in self.failures.findings)

    @property
    def overview(self) -> Table:
        """Which strings fail, how many, and at which lengths, a row for each fault; random strings in any case."""
        faults, kinds, cells = self.faults, {each.kind for each in self.failures.kinds}, list[tuple[str, ...]]()
        common = self.failures.common
        values = common.strings if common is not None else None
        for letter, each in zip(LETTERS, faults, strict=False):
            named = [other for other, one in zip(LETTERS, faults, strict=False) if one.kind in kinds]
            named = [other for other in named if other < letter or each.kind == values]
            worse = named if each.kind in kinds or each.kind == values else []
            less = [f"without {', '.join(worse)}"] * bool(worse)
            less = [*filter(None, [common.named if common is not None and each.kind == values else "", *less])]
            but = f" ({'; '.join(one.replace(' ', HARD) for one in less)})" * bool(less)
            cells.append((f"{letter}. " * (len(faults) > 1) + each.cells[0] + but, *each.cells[1:]))
        if all(each.strings != RANDOM for each in faults):
            cells.append(at_random(self.failures).cells)
        return Table(("strings", "wrong", "right to", "first breaks at"), tuple(cells))

    @property
    def since(self) -> Table:
        """What became better or worse since an earlier explanation, a row each; no rows without one."""
        rows = tuple((f"{each.strings}{' *' * each.fresh}", each.then, each.now, each.how) for each in self.before)
        notes = [each.more for each in self.before if each.more]
        notes += ["*: fresh strings, not those that are counted below."] * any(each.fresh for each in self.before)
        return Table(("strings", "wrong, before", "wrong, now", "now"), rows, notes=tuple(notes))

    @property
    def by_length(self) -> Table:
        """How many strings are wrong of each fault and length, the worst first; no rows where random ones alone are."""
        faults = self.faults
        named = {f"{letter}. {each.strings}": each for letter, each in zip(LETTERS, faults, strict=False)}
        named = named if len(faults) > 1 else {each.strings: each for each in faults}
        if all(each.strings != RANDOM for each in faults):
            named[RANDOM] = at_random(self.failures)
        shares = {name: dict(each.by_length) for name, each in named.items()}
        lengths = sorted({n for each in shares.values() for n in each} if len(named) > 1 else ())

        def cell(share: Share | None) -> str:
            return f"{share.wrong}{' *' * share.breaks}" if share is not None and share.n else "–"

        rows = tuple((n, *(cell(each.get(n)) for each in shares.values())) for n in lengths)
        return Table(("length", *shares), rows, "wrong strings of each length; *: it breaks")

    def blocks(self, whole: bool = False) -> list[tuple[str, dict[str, list[str]]]]:
        """What is known of the faults, by name, behind a heading where there is one; and what is left.

        Arguments:
            whole: all of it, a heading for each fault; else what a reader needs first, by letter.
        """
        faults, found, shown = self.faults, list[tuple[str, dict[str, list[str]]]](), False
        (by, cause), several = shared_cause(self.failures, faults), len(faults) > 1
        values = self.failures.common.strings if self.failures.common is not None else None
        unknown = [letter for letter, each in zip(LETTERS, faults, strict=False) if UNKNOWN in each.why]
        bare = list[str]()
        for letter, each in zip(LETTERS, faults, strict=False):
            of, does = f" {letter}" * several, [*each.found, *each.mistakes]
            rows = {"found": [*each.found], "mistakes": [*each.mistakes], "why": [*each.why, *each.tested]}
            if not whole and each.by_values:
                rows, cause = {f"why {by}" if several else "why": cause}, []  # is told once
            elif not whole:  # of others than the first what it does, in a sentence, or else the cause
                same = next(other for other, one in zip(LETTERS, faults, strict=False) if one.brief == each.brief)
                brief = f"As {same}: {each.brief[:1].lower()}{each.brief[1:]}" if same < letter else each.brief
                does = does if letter == LETTERS[0] else [brief] * bool(each.brief)
                does = [line + left_of(line) * bool(self.written) for line in does]
                causes = () if UNKNOWN in each.why else each.why
                left = ["Why is not known."] * (letter in unknown)
                rows = {f"how{of}": [" ".join([*does, *left])] if does else []}
                rows = {f"why{of}": [*does, *causes]} if causes else rows
            if each.example is not None and (whole or not shown or each.strings == values):
                name, written = "example" if whole else f"example{of}", [self.written] * (not shown)
                rows[name] = [*([each.example.whole] if whole else each.example.rows), *filter(None, written)]
                shown = True
            found.append((f"{letter}. {each.heading}" * (whole and several), rows))
            bare += [letter] * (not whole and letter in unknown and not does)
        found += [("", {f"why {run_of(bare)}" if several else "why": [UNKNOWN]})] * bool(bare)
        advised = self.next.splitlines()
        rows = {
            "why": [f"{self.accuracy.not_finite} They count as wrong: it is broken there, not mistaken."]
            if self.accuracy.not_finite else [],
            "also": others_named(self.failures, whole=whole) if faults else self._right_too(whole),
            "next": [line for line in advised if not line.startswith(AGAIN)],
            "command": self.command.splitlines(), "then": [line for line in advised if line.startswith(AGAIN)],
            "computes": [self.computes] if not faults or whole else [],
        }  # fmt: skip
        every = [*found, ("", rows)]
        told = [(heading, {name: said for name, said in rows.items() if any(said)}) for heading, rows in every]
        return [(heading, rows) for heading, rows in told if rows]

    def _right_too(self, whole: bool) -> list[str]:
        """Which kinds of strings were asked, where none fails."""
        kinds = [way.how for way in self.failures.asked]
        few = kinds if whole else kinds[:NAMED]
        names = [f"where {kind}" for kind in few]
        names += [f"in {len(kinds) - len(few)} kinds more"] * (len(few) < len(kinds))
        return [f"It is right, too, {spoken(names)}."] * bool(names)

    @property
    def lines(self) -> list[str]:
        """The explanation in a few sentences, the answer first."""
        told = [
            f"{strings}: {wrong} wrong; right to {right}; first breaks at {breaks}"
            for strings, wrong, right, breaks in self.overview.rows
        ]
        told += [f"{each.strings}: {each.then} before, now {each.now}: {each.how}" for each in self.before]
        told += self.since.notes
        for _, rows in self.blocks():
            told += [f"{name.rstrip('.')}: {' '.join(said)}" for name, said in rows.items() if name != "command"]
        told = [" ".join(line.replace(HARD, " ").split()) for line in told]
        return [self.answer, *told, *filter(None, [self.command, self.measured]), *self.notes]

    def __repr__(self) -> str:
        return self.text()

    def text(self, why: bool = False) -> str:
        """The answer, why, what to do next, and a small table, in 80 columns; the page has the rest.

        Arguments:
            why: all findings and lengths, and what words mean, too.

        Returns: the lines.
        """
        end = "no longer ones" if self.verdict.first("random") is None else "\0"
        shown = (FEWER, ENDED, *["length "] * bool(self.asked))
        left = [note for note in self.notes if why or note.startswith(shown) or end in note]
        lines = [*fill(self._of + self.answer, "", 2), ""]
        if self.before:
            lines += _side_by_side(self.since, SINCE)
            lines += [*itertools.chain(*(fill(line, "  ", 2) for line in self.since.notes)), ""]
        lines += [*_side_by_side(self.overview, WIDTHS), ""]
        for heading, rows in [*self.blocks(why), ("", {"findings": self.others if why else [], "notes": left})]:
            lines += ["", *fill(heading, "", 3)] if heading else [""] * ("next" in rows and bool(lines[-1]))
            for name, said in rows.items():
                for number, sentence in enumerate(said):
                    as_typed = name in ("command", "then")
                    lines += (typed if as_typed else beside)("" if number else name, sentence, INDENT)
        lines += self._wrong_by_length() if why else ()
        whole = "\n".join([*lines, "", *(self._small_table(why) if why or self.asked else ())])
        legend = [each for each in self.legend if each.partition(":")[0] in whole]
        legend = "; ".join([*legend, *[f"more:{HARD}{MORE}"] * (not why)])
        return "\n".join([whole, *fill(legend, "", 0)]).replace(HARD, " ")

    @property
    def legend(self) -> list[str]:
        """What the words of the answer and of the small table mean, word by word."""
        return [*filter(None, self.measured.partition(AT_RANDOM)[0].split("; ")), *RULES]

    def _wrong_by_length(self) -> list[str]:
        """`by_length` in 80 columns, faults by letter."""
        told = self.by_length
        heads = tuple(name.partition(".")[0] for name in told.heads)
        return ["", f"{told.caption}:", *Table(heads, told.rows).text().splitlines()] if told.rows else []

    def _small_table(self, every: bool) -> list[str]:
        """Right strings of the lengths that the answer is about, or of all with their intervals."""
        edited = every or bool(self.learned and self.verdict.edited and not self.failures.kinds)
        shown = self.failures.rows if every else self.verdict.shown(self.asked, edited=edited)
        hard = edited and any(row.hard.n for row in shown)
        kinds = {"right": "random", "edited": "hard"} if hard else {"right": "random"}
        cells = ((row.length, *(getattr(row, kind).cell(interval=every) for kind in kinds.values())) for row in shown)
        return [line.rstrip() for line in Table(("length", *kinds), tuple(cells)).text().splitlines()]

    def table(self) -> Table:
        """Accuracy, failures and fidelity by length."""
        agree = {row.length: row for row in self.program.fidelity} if self.program else {}
        own = {row.length: row for row in self.automaton.beyond} if self.automaton else {}
        expected = {row.length: row.probability for row in self.forecast.rows} if self.forecast else {}
        rows = []
        for row in self.failures.rows:
            same, states = agree.get(row.length), own.get(row.length)
            words, p = same or states, expected.get(row.length)
            rows.append((
                row.length, "trained" if row.length <= self.accuracy.train else "", row.random.n, row.random.right,
                _cell(row.random), row.hard.n or None, row.hard.right if row.hard.n else None, _cell(row.hard),
                round(1 - states.wrong / states.n, 4) if states else None,
                round(same.agree / same.n, 4) if same else None,
                round(words.constant / words.n, 4) if words else None, None if p is None else round(p, 4),
            ))  # fmt: skip
        columns = (
            "length", "", "strings", "right", "share right", "edited", "edited right", "edited share",
            "as automaton", "as program", "as constant", "forecast P",
        )  # fmt: skip
        told = Table(columns, tuple(rows), f"{self.model} on {self.task}: {self.answer}")
        legend = "; ".join(text for name, text in COLUMNS.items() if name in told.heads)
        return replace(told, notes=(f"columns: {legend}", "; ".join(RULES)))

    def plot(self) -> Figure:
        """Accuracy against length, of random and of edited strings."""
        from lengthwise.explanation.pictures import curve

        return curve(self.accuracy, self.failures)

    def html(self) -> str:
        """The page."""
        from lengthwise.explanation.pictures import curve, draw_automaton
        from lengthwise.report.figures import Picture
        from lengthwise.report.html import render_page

        # Examples of the kinds come first, and then the one that is told.
        examples = [kind.example for kind in self.failures.kinds if kind.example is not None]
        ordered = sorted(self.failures.smallest, key=lambda failure: failure != self.failures.example)
        drawn = draw_automaton(self.automaton) if self.automaton else None
        return render_page(
            "explanation.html",
            title=f"{self.model} on {self.task}",
            told=self,
            table=self.table(),
            curve=Picture("curve", curve(self.accuracy, self.failures)),
            drawn=drawn and Picture("automaton", drawn),
            dead=self.automaton and self.automaton.dfa.size - sum(self.automaton.dfa.live),
            failures=[*examples, *(failure for failure in ordered if failure not in examples)],
            measured={row.length: row.random.value for row in self.failures.rows},
        )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values: the fields, and the sentences that are said of them."""
        names = "answer", "computes", "faults", "fails_where", "why"
        parts = {name: getattr(self, name) for name in (*names, *(field.name for field in fields(self)))}
        return {
            name: value if value is None or isinstance(value, str) else fields_of(value)
            for name, value in parts.items()
        }

    def save(self, folder: str | Path) -> Path:
        """Write ``explanation.json`` and ``explanation.html``; returns the path of the page."""
        target = Path(folder)
        make_folder(target)
        write_json(target / FILE, self.to_json())
        write_text(target / "explanation.html", self.html())
        return target / "explanation.html"


def asked_before(folder: Path) -> str:
    """The digest of the settings whose parts a folder holds; empty where it holds none, or none that can be read."""
    with suppress(LengthwiseError):
        held = read_sealed(folder / ASKED, "part of an explanation")
        return str(held.get("key", "")) if isinstance(held, dict) else ""
    return ""


def moved_away(folder: Path) -> Path:
    """Move the parts and the page of an answer to the folder of this name and a number that is not there yet."""
    names = (folder.with_name(f"{folder.name}-{number}") for number in itertools.count(1))
    kept = next(name for name in names if not name.exists())
    make_folder(kept)
    # The part that tells whose they are comes last, so that an interrupted move is seen.
    files = [*folder.glob("*.json"), *folder.glob("*.html")]
    for file in sorted(files, key=lambda file: file.name == ASKED):
        file.rename(kept / file.name)
    return kept


def _cell(share: Share) -> float | None:
    """A share with its interval, unless all strings were asked."""
    value = round(share.value, 4) if share.n else None
    return value if value is None or share.every else Spread(value, *(round(end, 4) for end in share.interval))


def _side_by_side(table: Table, most: Sequence[int]) -> list[str]:
    """A table of texts, cells in as many lines as they need, for columns of these widths at most."""
    rows = [table.columns, *table.rows]
    widths = [min(width, max(len(row[at]) for row in rows)) for at, width in enumerate(most)]
    lines = list[str]()
    for number, row in enumerate(rows):
        cells = (
            wrap(re.sub(r" ([+*]|of|at) ", f"{HARD}\\1{HARD}", cell), width, subsequent_indent="   " * (at == 0))
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        parts = itertools.zip_longest(*cells, fillvalue="")
        lines += [
            "  " + "  ".join(f"{each:{width}}" for each, width in zip(part, widths, strict=True)).rstrip()
            for part in parts
        ]
        lines += ["  " + "  ".join("-" * width for width in widths)] * (number == 0)
    return lines


class _Stages:
    """Runs parts, or reads them from a folder in which the same were finished before."""

    def __init__(
        self, folder: Path | None, key: dict[str, Any] | None, note: Callable[[str], None], clock: Clock
    ) -> None:
        self.folder = folder if key is not None else None
        self.key, self.note, self.clock = digest(key) if key is not None else "", note, clock
        if self.folder is not None:
            remove_unfinished(self.folder)
            if asked_before(self.folder) not in ("", self.key):
                kept = moved_away(self.folder)
                note(f"the earlier answer in {self.folder}, to other settings, was moved to {kept}")

    def run(self, name: str, cls: type[T], compute: Callable[[], T | None]) -> T | None:
        """The part ``name``; None is kept, too."""
        file = None if self.folder is None else self.folder / f"{name}.json"
        if file is not None and file.exists():
            stored = read_sealed(file, "part of an explanation")
            if isinstance(stored, dict) and stored.get("key") == self.key:
                value = stored.get("value")
                # What another version wrote is made anew.
                with suppress(LengthwiseError):
                    part = None if value is None else from_fields(cls, value, where=str(file))
                    self.note(f"{name}: read from {file}")
                    return part
        self.note(f"{name} …")
        self.clock.stage = name
        found = compute()
        if file is not None:
            value = None if found is None else fields_of(found)
            write_sealed(file, {"key": self.key, "value": value})
        return found


def explain_subject(
    subject: Subject,
    name: str,
    *,
    lengths: Sequence[int] | None,
    samples: int,
    seconds: float,
    out: Path | None,
    seed: int,
    note: Callable[[str], None],
    call: Call,
    before: Before | None = None,
) -> Explanation:
    """Explain a model; see `lengthwise.explain`."""
    import torch

    clock = Clock(seconds)
    subject = replace(subject, clock=clock)
    chosen = subject.lengths(lengths)
    if before is not None:
        before.check(title_of(subject.task))
    smaller = ", or a smaller `offset`" * ("offset" in call.settings)
    require(
        bool(chosen), f"nothing can be asked: {'; '.join(subject.left_out(lengths))}; choose other `lengths`{smaller}"
    )
    model, notes = subject.network.digest(), subject.left_out(lengths)
    if subject.network.rule is not None:
        notes.append(f"its position ids are those of the rule {type(subject.network.rule).__name__}")
    settings = {
        "version": VERSION, "model": model, "task": TASKS.show(subject.task), "train": subject.train,
        "code": code_of([subject.task, subject.scheme, subject.network.rule]),
        "scheme": subject.scheme and SCHEMES.show(subject.scheme),
        "ids": [digest(subject.ids_of(length).tolist()) for length in (subject.inside[-1], chosen[-1])],
        "tokens": subject.token_ids.tolist(), "outputs": subject.output_ids.tolist(),
        "lengths": chosen, "samples": samples, "seconds": seconds, "seed": seed,
        # The last bits of the logits depend on them.
        "threads": torch.get_num_threads(),
    }  # fmt: skip
    stages = _Stages(out, None if model is None else settings, note, clock)
    _time_a_string(subject, chosen)
    # Beside the default lengths, the first ones beyond training show where it breaks.
    near = (n for n in subject.task.lengths(subject.train + 1, subject.train + 40) if not subject.misfit(n))
    every = sorted({*chosen, *(itertools.islice(near, 4) if lengths is None else ())})
    strings = RandomStrings(subject, samples, seed)
    scores = stages.run("accuracy", Accuracy, lambda: accuracy(subject, chosen, samples, seed, strings))
    assert scores is not None
    answered = {row.length for row in scores.rows}
    notes += [f"{ENDED} before length {n} (`seconds`: {seconds:g})" for n in chosen if n not in answered]
    chosen, every = ([n for n in some if n not in {*chosen} - answered] for some in (chosen, every))
    # Of costly lengths only strings are asked.
    cheap = [length for length in chosen if not clock.costly(length)]
    beyond = [length for length in cheap if length > subject.train]
    automaton = program = heads = None
    try:
        oracle = WordOracle(subject)
        automaton = stages.run(
            "automaton", Automaton,
            lambda: learn_automaton(subject, oracle, seed=seed, seconds=seconds / 4, lengths=beyond),
        )  # fmt: skip
        assert automaton is not None
        learned = automaton.dfa if automaton.complete or automaton.fidelity >= 0.9 else None
        program = stages.run(
            "program", ModelProgram,
            lambda: learn_program(subject, oracle, learned, cheap, seed=seed, seconds=seconds / 4),
        )  # fmt: skip
        if program is None:
            notes.append("no small program agrees with the model")
    except LengthwiseError as error:
        notes.append(f"no automaton and no program: {error}")
    except OutOfTimeError:
        notes.append("no automaton and no program: no time was left")
    if subject.network.heads:
        few = max(4, min(16, samples // 8))
        picked = beyond[:: max(1, len(beyond) // 3)][-3:]
        with suppress(OutOfTimeError):
            heads = stages.run("heads", Heads, lambda: explain_heads(subject, picked, few, seed))
    elif subject.network.attends:
        notes.append("the heads of a function can't be read")
    dfa = None if automaton is None else automaton.dfa
    failures = stages.run(
        "failures", Failures, lambda: find_failures(strings, every, dfa, further=lengths is None)
    )  # fmt: skip
    assert failures is not None
    notes += _cut(failures, seconds)
    if lengths is not None and failures.common is not None:
        notes.append("causes were tested at some of the chosen `lengths`: with others, other causes can be found")
    forecast = None
    if subject.network.positioned:
        notes.append("no forecast: such forecasts were scored on models without positions only")
    elif not subject.network.attends:
        notes.append("no heads, and no forecast, which is not calibrated: the model has other mixers than attention")
    elif automaton is not None and beyond:
        with suppress(OutOfTimeError):
            forecast = forecast_model(subject, beyond, scores, automaton, heads, samples // 4, seed)
    else:
        notes.append("no forecast: only models with an automaton, and lengths beyond training, were scored")
    found = Explanation(
        name, title_of(subject.task), scores, automaton, program, heads, failures, forecast, tuple(notes),
        asked=() if lengths is None else tuple(chosen), written=subject.task.written,
        measured=_measured(subject, samples), theory=without_program(subject, failures),
        before=tuple(_since(before, failures, subject, seed)),
    )  # fmt: skip
    DOING.now = ""
    text, command = advice(subject, call, failures, before and before.failures)
    return replace(found, next=text, command=command)


def _since(before: Before | None, failures: Failures, subject: Subject, seed: int) -> list[Since]:
    """What became better or worse; nothing without an earlier explanation."""
    with subject.clock.unlimited():
        return before.since(failures, subject, seed) if before is not None else []


def _time_a_string(subject: Subject, lengths: Sequence[int]) -> None:
    """Ask two strings of each length, so that what one takes is known; twice at first, as a first one takes longer."""
    with suppress(OutOfTimeError):
        for length in (lengths[0], *lengths):
            subject.right(subject.task.batch(length, 2, stream(0, "explain", "time", length)))


def _cut(failures: Failures, seconds: float) -> list[str]:
    """What was left out for want of time, in sentences."""
    few = f"{FEWER} at length {', '.join(map(str, failures.few))}, and no causes or heads: each takes long"
    ended = f"{ENDED}: strings, kinds or causes may be missing"
    found = [*[few] * bool(failures.few), *[ended] * failures.ended]
    return [f"{each} (`seconds`: {seconds:g})" for each in found]


def _measured(subject: Subject, samples: int) -> str:
    """Which strings are asked, and when one is right."""
    task, drawn, right = subject.task, "drawn as the task draws them", "its whole answer is"
    unit = task.batch(subject.inside[-1], 1, stream(0, "explain", "unit")).unit
    edited = f"{unit}s replaced, exchanged, repeated or sorted"
    if isinstance(task, Language):
        drawn = "half words and half not" if task.ask == "member" else "words of a length, equally likely"
        drawn += f" (all of them, where they are at most {samples})" if task.ask == "next" else ""
        edited = "a symbol or a part edited, or a far symbol decides"
        right = {
            "next": "after each of its symbols the set of those that may come next is",
            "member": "after each of its symbols the model knows whether that is a word",
            "state": "every state is",
        }[task.ask]
    said = re.search(r"Length = ([^.,;]+)[.,;]", " ".join((type(task).__doc__ or "").split()))
    length = "length: {}; ".format(said[1].replace("``", "")) if said else ""
    return f"{length}edited: {edited}{AT_RANDOM}{drawn}; a string is right if {right}"
