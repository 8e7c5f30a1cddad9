"""All parts of an explanation, one after the other; those that a folder holds already are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lengthwise.core.config import digest, fields_of, from_fields
from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.files import make_folder, remove_unfinished, write_json, write_text
from lengthwise.core.result_file import read_sealed, write_sealed
from lengthwise.core.table import Table, Tabular
from lengthwise.core.user_code import code_of
from lengthwise.explanation.automaton import Automaton, learn_automaton
from lengthwise.explanation.failures import Failures, find_failures
from lengthwise.explanation.forecast import ModelForecast, forecast_model
from lengthwise.explanation.given import title_of
from lengthwise.explanation.heads import Heads, explain_heads
from lengthwise.explanation.model import CUT, Accuracy, HuggingFaceNetwork, Subject, WordOracle, accuracy
from lengthwise.explanation.program import ModelProgram, learn_program
from lengthwise.positions.schemes import SCHEMES
from lengthwise.tasks import TASKS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VERSION = 5
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
    """What to do now."""

    @property
    def learned(self) -> bool:
        """Whether it is right on at least `CUT` of the strings at trained lengths, so that it can break beyond."""
        return (self.accuracy.rate(inside=True) or 0) >= CUT

    @property
    def answer(self) -> str:
        """To which length it is right, where it breaks, and what is known of the reason."""
        train, rate = self.accuracy.train, self.accuracy.rate(inside=True)
        if rate is None:
            return f"no strings of trained lengths were asked; give `lengths` up to {train}, too"
        shares, broken = self._shares(), self.broken
        held = max((length for length in shares if broken is None or length < broken), default=None)
        right = "" if held is None else f"right to length {held}, "
        if not self.learned:
            short = "" if held is None else f" to length {held}, but"
            return (
                f"not learned: right{short} on {rate:.3f} of the strings up to length {train}, the trained ones, so "
                "there is no length from which it breaks; if its training says otherwise, the fault is in `vocab`, "
                "`offset` or the rule of position ids that it was trained under (lengthwise.hf.attach)"
            )
        if broken is None:
            hard = next((row for row in self.failures.rows if row.hard_right < CUT * row.hard), None)
            but = "" if hard is None else f"; of hard strings, {hard.hard_right} of {hard.hard} of length {hard.length}"
            return f"{right}the longest that was asked{but}"
        lasts = all(share < CUT for length, share in shares.items() if length >= broken)
        found = f"{right}breaks {'from' if lasts else 'first at'} {broken} ({shares[broken]:.2f} right)"
        if broken <= train:
            return f"{found}, within the trained lengths (up to {train})"
        return ": ".join([found, *filter(None, ["; ".join(self._reasons())])])

    @property
    def broken(self) -> int | None:
        """The first length at which less than `CUT` of the strings are right; None if there is none."""
        return next((length for length, share in self._shares().items() if share < CUT), None)

    def _counts(self) -> dict[int, tuple[int, int]]:
        """Right strings, and all, at every length that was asked; a length counts the same strings everywhere."""
        counts = {row.length: (row.random_right, row.random) for row in self.failures.rows}
        return dict(sorted((counts | {row.length: (row.right, row.n) for row in self.accuracy.rows}).items()))

    def _shares(self) -> dict[int, float]:
        return {length: right / n for length, (right, n) in self._counts().items()}

    def _reasons(self) -> list[str]:
        """What is known to be different beyond training: the position ids, and heads that leave their patterns."""
        if self.accuracy.not_finite:
            return [self.accuracy.not_finite]
        moved, heads = self.failures.moved, self.heads.heads if self.heads is not None else ()
        ids = [] if moved is None else [moved.line]
        left = [f"{head.name} {head.fault}" for head in heads if head.fault]
        left += [failure.why for failure in self.failures.smallest if failure.why]
        if not left and heads and (moved is None or not moved.to_blame):
            left = ["no head was found that leaves a pattern there"]
        return ids + left[:1]

    @property
    def lines(self) -> list[str]:
        """The explanation in a few sentences, the answer first."""
        rate, beyond = self.accuracy.rate(inside=True), self.accuracy.rate(inside=False)
        found = [self.answer, *([f"next: {self.next}"] if self.next else [])]
        if self.accuracy.not_finite:
            found.append(f"{self.accuracy.not_finite}, which count as wrong: the model is broken there, not mistaken")
        if self.learned and beyond is not None:
            found.append(f"right on {rate:.3f} of strings up to length {self.accuracy.train}, on {beyond:.3f} beyond")
        if self.automaton is not None:
            found.append(f"computes {self.automaton.line}")
            first = self.automaton.first_contradiction
            if first is not None:
                found.append(
                    f"contradicts its own automaton from length {first.length} on: there on {first.wrong} of {first.n} "
                    f"words of the task and near to it, e.g. on {first.word}"
                )
        if self.program is not None:
            found.append(f"agrees with {self.program.line}")
        if self.heads is not None:
            found += [f"{head.name} {head.fault}" for head in self.heads.heads if head.fault]
        forecast = self.forecast.lines(self._shares()) if self.forecast else []
        return [*found, self.failures.line, *forecast, *self.notes]

    def table(self) -> Table:
        """Accuracy, failures and fidelity by length."""
        random = {row.length: row for row in self.failures.rows}
        agree = {row.length: row for row in self.program.fidelity} if self.program else {}
        own = {row.length: row for row in self.automaton.beyond} if self.automaton else {}
        expected = {row.length: row.probability for row in self.forecast.rows} if self.forecast else {}
        rows = []
        for row in self.accuracy.rows:
            hard, same, states = random.get(row.length), agree.get(row.length), own.get(row.length)
            p = expected.get(row.length)
            rows.append((
                row.length, "trained" if row.length <= self.accuracy.train else "", row.n, row.right,
                round(row.right / row.n, 4),
                round(hard.hard_right / hard.hard, 4) if hard and hard.hard else None,
                round(1 - states.wrong / states.n, 4) if states else None,
                round(same.agree / same.n, 4) if same else None, None if p is None else round(p, 4),
            ))  # fmt: skip
        columns = (
            "length", "", "strings", "right", "share right", "share right, hard strings", "as that automaton",
            "as that program", "forecast P(right)",
        )  # fmt: skip
        return Table(
            columns, tuple(rows), caption=f"{self.model} on {self.task}: {self.answer}", notes=tuple(self.lines[1:])
        )

    def plot(self) -> Figure:
        """Accuracy against length, of random and of hard strings."""
        from lengthwise.explanation.pictures import curve

        return curve(self.accuracy, self.failures)

    def html(self) -> str:
        """The page."""
        from lengthwise.explanation.pictures import curve, draw_automaton, draw_failure, draw_head
        from lengthwise.report.figures import Drawing, Picture
        from lengthwise.report.html import render_page

        def picture(name: str, drawn: Drawing | None) -> Picture | None:
            return None if drawn is None else Picture(name, drawn)

        heads = self.heads.heads if self.heads else ()
        return render_page(
            "explanation.html",
            title=f"{self.model} on {self.task}",
            lines=self.lines,
            learned=self.learned,
            table=self.table(),
            curve=Picture("curve", curve(self.accuracy, self.failures)),
            automaton=self.automaton,
            drawn=self.automaton and picture("automaton", draw_automaton(self.automaton)),
            program=self.program,
            heads=[(head, Picture(f"head {n}", draw_head(head, n))) for n, head in enumerate(heads)],
            ids=self.heads.ids if self.heads else "",
            failures=[(f, picture(f"failure {n}", draw_failure(f, n))) for n, f in enumerate(self.failures.smallest)],
            rows=self.failures.rows,
            counts=self._counts(),
            moved=self.failures.moved,
            forecast=self.forecast,
        )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        parts = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: value if value is None or isinstance(value, str | tuple) else fields_of(value)
            for name, value in parts.items()
        }

    def save(self, folder: str | Path) -> Path:
        """Write ``explanation.json`` and ``explanation.html``; returns the path of the page."""
        target = Path(folder)
        make_folder(target)
        write_json(target / "explanation.json", self.to_json())
        write_text(target / "explanation.html", self.html())
        return target / "explanation.html"


class _Stages:
    """Runs parts, or reads them from a folder in which the same were finished before."""

    def __init__(self, folder: Path | None, key: dict[str, Any] | None, note: Callable[[str], None]) -> None:
        self.folder = folder if key is not None else None
        self.key, self.note = digest(key) if key is not None else "", note
        if self.folder is not None:
            remove_unfinished(self.folder)

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
) -> Explanation:
    """Explain a model; see `lengthwise.explain`."""
    chosen = subject.lengths(lengths)
    require(
        bool(chosen),
        f"the task has no strings of the lengths {', '.join(map(str, lengths or [subject.train]))}, or the model has "
        "too few position ids for them; choose other `lengths`, or a smaller `offset`",
    )
    beyond = [length for length in chosen if length > subject.train]
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
    }  # fmt: skip
    stages = _Stages(out, None if model is None else settings, note)
    scores = stages.run("accuracy", Accuracy, lambda: accuracy(subject, chosen, samples, seed))
    assert scores is not None
    note(f"right on {scores.rate(inside=True) or 0:.3f} of strings up to length {subject.train}")
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
            lambda: learn_program(subject, oracle, learned, chosen, seed=seed, seconds=seconds / 4),
        )  # fmt: skip
        if program is None:
            notes.append("no small program agrees with the model")
    except LengthwiseError as error:
        notes.append(f"no automaton and no program: {error}")
    if subject.network.heads:
        few = max(4, min(16, samples // 8))
        picked = beyond[:: max(1, len(beyond) // 3)][-3:]
        heads = stages.run("heads", Heads, lambda: explain_heads(subject, picked, few, seed))
    elif subject.network.attends:
        notes.append("the heads of a function can't be read")
    dfa = None if automaton is None else automaton.dfa
    failures = stages.run(
        "failures", Failures, lambda: find_failures(subject, chosen, heads, dfa, samples // 2, seed)
    )  # fmt: skip
    assert failures is not None
    forecast = None
    if not subject.network.attends:
        notes.append("no heads, and no forecast, which is not calibrated: the model has other mixers than attention")
    elif automaton is not None and beyond:
        forecast = forecast_model(subject, beyond, scores, automaton, heads, samples // 4, seed)
    else:
        notes.append("no forecast: only models with an automaton, and lengths beyond training, were scored")
    found = Explanation(
        name, title_of(subject.task), scores, automaton, program, heads, failures, forecast, tuple(notes)
    )
    return replace(found, next=_advice(found, subject))


def _advice(found: Explanation, subject: Subject) -> str:
    """What to do about the first length that breaks."""
    network, moved = subject.network, found.failures.moved
    if not found.learned or (found.broken or subject.train + 1) <= subject.train:
        return "train longer first, until the trained lengths are right; nothing beyond them says much before"
    if found.broken is None:
        return "ask longer strings, by `lengths`"
    if moved is None or not moved.to_blame:
        return "train on longer strings, too, or see which position system suits the task: lengthwise.predict(task)"
    most = (network.positions or 4 * moved.known) - 1
    if subject.scheme is not None:
        start = f"lw.scheme({{'name': 'sequential', 'random_start': True, 'max_position': {most}}})"
        jumps = f"lw.scheme({{'name': 'pose', 'max_position': {most}}})"
    elif isinstance(network, HuggingFaceNetwork):
        start = f"hf.attach(model, hf.SchemeIds('sequential', random_start=True, max_position={most}))"
        jumps = f"hf.SchemeIds('pose', max_position={most})"
    else:
        return "train with ids from a random start, or with jumps, so that training shows the larger ids, too"
    return f"train with a random start of the ids, {start}, or with jumps, {jumps}"
