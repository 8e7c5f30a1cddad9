"""The forecasts for a target and their text: on one screen, and with ``why`` all that is known."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from lengthwise.core.config import fields_of
from lengthwise.core.errors import UnknownNameError, spelled
from lengthwise.core.rng import stream
from lengthwise.core.table import WIDTH, Table, Tabular, command_lines
from lengthwise.forecast.advice import control_of
from lengthwise.forecast.answer import (
    AFTER,
    ASKED,
    BANDS,
    BEYOND,
    CHOSEN,
    DENSE,
    ELSEWHERE,
    FEWEST,
    IF_PREDICTABLE,
    IN_FULL,
    KNOWN,
    LIKELY,
    LOCAL_BIAS,
    MOST_RIGHT,
    NEAR_ALONE,
    NEEDS_PLACES,
    NO_PLACES,
    NONE_RIGHT,
    NOT_FITTED,
    NOT_KNOWN,
    ORDER,
    OTHERS,
    OWN_LANGUAGE,
    PLAIN_PLACES,
    POSSIBLE,
    PROMISING,
    RIGHT,
    SHARED_PLACES,
    SIMILAR,
    TOO_FAR,
    UNCERTAIN,
    UNLIKE_TRAINED,
    UNLIKELY,
    UNLIKELY_TO,
    UNSEARCHED,
    UNTRIED,
    USUAL,
    WRONG,
    Instead,
    SystemForecast,
    counted,
    exceptions,
    in_words,
    near_ratio,
    percent,
    scratchpads_first,
)
from lengthwise.forecast.features import SCHEMES_OF_PLACES, seen_nearby, suffice
from lengthwise.forecast.model import forecaster
from lengthwise.languages.automaton import Dfa
from lengthwise.languages.hard_words import half_pairs
from lengthwise.measured.cells import SHORTEST_TRAINED, Format
from lengthwise.positions.schemes import scheme_with_ids
from lengthwise.positions.structure import structure_at
from lengthwise.positions.system import ALIASES, CITED_LINK, PositionSystem, named_pair, position_systems, words
from lengthwise.prediction import programs
from lengthwise.prediction.determined import shortcut
from lengthwise.prediction.predict import nearest, predict_target, predict_with_search
from lengthwise.prediction.search import NOT_SEARCHED, ONE_TOKEN
from lengthwise.prediction.target import parse_target, task_of
from lengthwise.prediction.verdict import CONDITION, NO_ARGUMENT, SHOWN, STRONGEST, Prediction, Verdict, caveats
from lengthwise.tasks import Task
from lengthwise.tasks.values import spoken

INDENT = 11
"""Columns before the text beside a name."""
IN_THEORY = SHOWN | {"yes": "possible", "no": "no program"}
MOST_ROWS = 8
"""Lines of the table that are shown; where there are more, the last are behind ``why``."""
INTERVAL = "90 % of the refits of the forecast lie in it"
BASES = {
    "proved": "proved, and checked by separate code", "ours": "our proof, unreviewed", "cited": "published",
    "evidence": "seen, not proved",
}  # fmt: skip
"""What theory's answer rests on, in words."""
SHORT = 12
"""The longest strings in which another rule is looked for."""
MORE = ".text(why=True)"
"""What says more, in Python; the command has a flag in its place."""


@dataclass(frozen=True, repr=False)
class Forecasts(Tabular):
    """The forecasts for one target, best first; ``forecasts["rope"]`` is one of them."""

    target: str
    train: int
    test: int
    cut: float
    systems: tuple[SystemForecast, ...]
    named: bool
    """Whether the systems were asked for by name."""
    format: Format
    """What a model is asked."""
    cells: int
    """Measured cells behind the forecaster."""
    settle: str
    """A command that measures instead; empty where there is none."""
    source: str | Task
    """The target as it was given."""
    meant: str = ""
    """Why ``test`` is another length than the one asked for, which nothing has; empty where it is that one."""
    couple: str = ""
    """The command that shows the coupling that a search found; empty where none was looked for or found."""
    span: str = ""
    """What coupled ids do not mend in this task; empty where they do, or where it has no places."""
    helps: str = ""
    """What would help in theory where no system has a *yes*, or its ids leave in doubt which token is needed."""
    by_hand: str = ""
    """What to do where no command settles it, or before one does; empty where a command is enough."""
    membership: bool = False
    """Whether the next symbols of a word say if it is in the language: every symbol may always follow, so the end alone
    is left to tell."""
    confirm: str = ""
    """The command that trains the best system itself, where ``settle`` trains what is named instead."""
    fits: str = ""
    """The command that trains the best system, where ``settle`` compares several and nothing says whether it fits."""
    nearer: Forecasts | None = None
    """Where ``test`` is beyond all that was measured: the forecasts for the farthest length that is not."""
    same: tuple[str, str] = ("", "")
    """A built-in task with the same answers, and the command that predicts it; empty where none was found."""
    untried: tuple[SystemForecast, ...] = ()
    """Of a language, what nothing was trained with, and theory allows."""

    @cached_property
    def theory(self) -> Prediction:
        """What theory guarantees under each of these position systems, with its reasons."""
        chosen = [found.system for found in self.systems if found.system in KNOWN] if self.named else []
        if isinstance(self.source, str):
            return predict_target(self.source, chosen)
        return predict_with_search(self.source, position_systems(chosen))

    @cached_property
    def language(self) -> Dfa | None:
        """The automaton of a regular language; None for other targets."""
        regular = programs.language_in(parse_target(self.source) if isinstance(self.source, str) else self.source)
        return None if regular is None else regular[0]

    @cached_property
    def back(self) -> str:
        """How far back under plain ids a token is that is needed, in the test and in training, where that differs.

        Empty for a language, and where a token needs many others.
        """
        task = self._task
        if task is None or self.span.startswith(DENSE):
            return ""
        ids = scheme_with_ids("sequential", 1 << 30)
        far = [structure_at(task, ids, nearest(task, length)).span for length in (self.train, self.test)]
        said = f"under plain ids it looks up to {far[1]} tokens back, in training {far[0]}"
        return said * (0 < far[0] < far[1])

    @cached_property
    def shortcut(self) -> str:
        """Another rule that training may find (`lengthwise.prediction.determined`), of a task with places; or empty."""
        if (task := self._task) is None or not any(f.scheme in SCHEMES_OF_PLACES and f.verdict == "yes" for f in self):
            return ""
        length = nearest(task, min(self.train, SHORT))
        return shortcut(task, length, structure_at(task, scheme_with_ids("coupled", 1 << 30), length).span)

    @cached_property
    def _task(self) -> Task | None:
        """The task that is asked for its answers; None of a language."""
        asked = self.format == "answer"
        return task_of(parse_target(self.source) if isinstance(self.source, str) else self.source) if asked else None

    def __repr__(self) -> str:
        best = self.systems[0]
        of = f", the likeliest of {counted(len(self), 'system')}" * (len(self) > 1)
        return f"<{self.target}, trained to {self.train}, right at {self.test}? {best!r}{of}>"

    def __str__(self) -> str:
        return self.text()

    def __len__(self) -> int:
        return len(self.systems)

    def __getitem__(self, name: str) -> SystemForecast:
        """The forecast of a position system; raises `UnknownNameError` with a suggestion for any other name."""
        every = (*self.systems, *self.untried)
        known = spelled(name, {*(found.system for found in every), *ALIASES})
        for found in every:
            if found.system == ALIASES.get(known, known):
                return found
        raise UnknownNameError("position system", name, [found.system for found in every])

    def __iter__(self) -> Iterator[SystemForecast]:
        return iter(self.systems)

    def table(self) -> Table:
        """One row a position system."""
        rows = tuple(
            (
                f.system,
                f.answer,
                f.probability,
                *(f.interval or (None, None)),
                *((f.counted.fits, f.counted.holds) if f.counted else (None, None)),
                "; ".join([*[f.base_rate] * bool(f.base_rate), *f.reasons]),
            )
            for f in self.systems
        )
        columns = ("system", "answer", "probability", "from", "to", "fits", "holds if it fits", "reasons")
        caption = f"{self.target}, trained to {self.train}: accuracy at least {self.cut} at {self.test}?"
        return Table(columns, rows, caption=caption, sentences=("reasons",))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        shown = ("target", "train", "test", "cut", "named", "format", "cells", "settle", "meant", "couple")
        own = {name: getattr(self, name) for name in (*shown, "span", "helps", "by_hand")}
        systems = [
            {**fields_of(f), "answer": f.answer, "probability": f.probability, "interval": f.interval,
             "reasons": list(f.reasons)}
            for f in self.systems
        ]  # fmt: skip
        return {**own, "systems": systems}

    @property
    def near(self) -> str:
        """How far beyond training measurements are that count here."""
        return near_ratio(self.test / self.train)

    def text(self, why: bool = False) -> str:
        """The answer, then why, then what to do, and of several systems a table; at most 80 columns but for long words.

        Arguments:
            why: Add what theory says of each system, all that was measured, and what the numbers mean.
        """
        return text(self, why)


def text(found: Forecasts, why: bool = False, more: str = MORE) -> str:
    """The engine of `Forecasts.text`; ``more`` is what to type for all that is known."""
    asked = found
    if found.nearer is not None:
        found = found.nearer
    best, alone = found.systems[0], found.named and len(found) == 1
    lines = fill(head(found, best, alone), "")
    if asked is not found:
        reason = next(f.refusal for f in asked if BEYOND in f.refusal).removeprefix("no forecast: ")
        if untried_of(best) and best.answer != NOT_KNOWN and not alone:  # Theory allows it at every length.
            lines = fill(head(replace(found, test=asked.test), best, alone), "")
            lines += fill(f"{reason}, so what is known of other positions is of {found.test}")
        elif best.answer in (UNLIKELY, UNCERTAIN, WRONG):
            lines = fill(f"{head(found, best, alone)}, and at {asked.test} no likelier", "")
            lines += fill(f"{reason}, so the answer is that at {found.test}")
        else:
            lines = fill(f"{NOT_KNOWN} at {asked.test}: {reason}", "")
            there = head(found, best, alone).replace(f"{NOT_KNOWN} whether", "not known either whether")
            lines += fill(f"at {found.test}: {there}")
    right, of = best.others or best.record
    told = of >= FEWEST and 2 * right > of  # 1 of 3 and 1 of 5 are no different.
    if best.answer == NOT_KNOWN and best.verdict == "yes" and told and not alone and not best.weak:
        lines += fill(f"best positions known: {best.words}; {in_words((right, of), best.alike)}")
    lines += fill(found.meant) * bool(found.meant)
    lines += beside("asked", in_sentences(asked_of(found, best)))
    rows = [] if alone else table(found)
    shown = rows if why or len(rows) <= MOST_ROWS + 1 else rows[:MOST_ROWS]
    lines += [*shown, *[f"  {len(rows) - MOST_ROWS} more rows:\u00a0{more}"] * (shown != rows), ""] * bool(rows)
    for name, reason in reasons(found, best, alone):
        lines += beside(name, in_sentences(reason))
    given = condition_in(best.theory)
    lines += beside("if", in_sentences(given))
    names = ("next", "or", "or")[: 2 + bool(found.same[0] or found.fits)]
    for name, (sentence, command) in zip(names, steps(found, best, alone), strict=False):
        after = sentence.startswith(AFTER)
        lines += beside("then" if after else name, in_sentences(sentence.removeprefix(AFTER))) + command_lines(command)
    lines += ["", *fill(legend(found, shown) if why else f"{short_legend(found, shown)} More:\u00a0{more}")]
    if why:
        for heading, sentences in everything(found, best, rows).items():
            lines += ["", heading, *(line for each in sentences for line in fill(each))] * bool(sentences)
    return "\n".join(lines).replace("\u00a0", " ")


def steps(found: Forecasts, best: SystemForecast, alone: bool) -> Iterator[tuple[str, str]]:
    """What to do and why, the best first, each with its command where there is one.

    Where a built-in task has the same answers, the first is to ask for its forecast, as it was measured.
    """
    other, command = found.same
    if other:
        yield f"see what is known of {other}, which has the same answers with other names of tokens", command
    instead = best.instead if alone or best.answer not in (RIGHT, LIKELY) else ()
    helps, settle = found.helps * (not instead), found.settle
    change = helps if found.couple or not helps.startswith(UNTRIED) else ""
    if change or found.couple:
        places = "write the places that a search found into the task (place=…): under coupled ids they bring near all"
        yield change or f"{places} that a token needs; this shows them", found.couple
    better = next((each for each in instead if each.command and each.command == settle), None)
    if better is not None:
        yield f"train with {in_short(better.line)}", settle
        if found.confirm:
            right, of = best.others or best.record
            proof = " all the same: a forecast is no proof" if best.counted else " itself"
            if best.counted is None and of and 100 * right <= UNLIKELY_TO * of:
                proof += f", which is unlikely to be right: {right} of {of} {SIMILAR} were"
            yield f"train with {best.words}{proof}", found.confirm
    others = [(f"train with {in_short(each.line)}", each.command) for each in instead if each is not better]
    others = [each for each in others if each[1]]
    own = [(found.by_hand or purpose(found, best), settle)] * (better is None and bool(found.by_hand or settle))
    if found.fits:
        yield f"train with {best.words} to see whether it fits (one seed)", found.fits
        own = [(AFTER + sentence, command) for sentence, command in own]
    # What theory has no program for, and nothing was measured of, is not what to train first.
    yield from [*others, *own] if best.verdict == "no" and best.counted is None else [*own, *others]
    if helps and not change:
        yield helps, ""


def purpose(found: Forecasts, best: SystemForecast) -> str:
    """What the command does that settles it."""
    command = found.settle
    if command.startswith("lengthwise predict"):
        return "go on with the probe where it stopped"
    if command.startswith("lengthwise compare"):
        names = (command + " --systems ").split(" --systems ")[1].partition(" ")[0].split(",")
        control = next(filter(None, map(control_of, names)), "")
        beside = {USUAL: "usual", control: "control with plain ids"}
        why = ", ".join(f"{name}: {reason}" for name, reason in beside.items() if name in names)
        return "train and compare these" + f" ({why})" * bool(why)
    trained = {"scheme": "sequential", "encoding": "learned"} | dict(re.findall(r"--(scheme|encoding) (\S+)", command))
    name = PositionSystem(*named_pair(**trained)).known_as
    of = best.words if name == best.system or name not in KNOWN else words(name)
    if m := re.search(r"scheme\.m=(\d+)", command):
        of = f"ids modulo {m[1]}"
    if best.against:
        return f"train with {of} only to confirm this: nothing better is known"
    beyond = max(map(int, re.findall(r"--test-lengths \S*?(\d+)(?: |$)", command)), default=0)
    at = f"the test at {beyond}" if beyond <= found.test else f"the tests at {found.test} and {beyond}"
    tells = f": if it fits, {at} tell{'s' * (beyond <= found.test)} (one seed)" * bool(beyond and best.answer != RIGHT)
    return f"train with {of} at your lengths{tells}"


def head(found: Forecasts, best: SystemForecast, alone: bool) -> str:
    """The answer."""
    same = (best.answer, best.in_brackets, None)
    good = [f for f in found if f is best or not f.nearest or any(f.nearest.values())]  # what is nearest was not wrong
    alike = [f for f in good if (f.answer, f.in_brackets, f.accuracy) == same] or [best]
    tied = [f.words for f in alike]
    of = f" with {spoken(tied, 'or') if len(tied) < 4 else f'{tied[0]} and {len(tied) - 1} others'}"
    trained = f", trained to {found.train}, is right at {found.test}"
    if best.answer == NOT_KNOWN:
        if alone and best.system in {each.system for each in found.untried}:
            return f"{POSSIBLE}: {found.target}{of}{trained}"
        whether = f"{NOT_KNOWN} whether {found.target}{of * alone}{trained}"
        known = best.others or best.record
        count = f"; {in_words(known, best.alike)}" * bool(known[1] and best.verdict != "unknown")
        if best.weak:
            return f"{whether}: {SHARED_PLACES}" + f" ({tied[0]})" * (not alone)
        return whether + count * alone
    trained = trained.replace("is right", "is wrong") if best.answer == WRONG else trained
    if best.answer in (UNLIKELY, UNCERTAIN, WRONG) and len(found) > 1:
        known = "asked about" if found.named else "with a forecast" if best.counted else "known"
        told = [f for f in found if f.answer != NOT_KNOWN]
        equal = {(f.answer, percent(f.probability or 0.0), f.accuracy) for f in told}
        begin = f"{best.answer} {best.in_brackets}: {found.target}{trained}"
        if may := [each.system for each in untried_of(best)]:  # What may work comes first; the table has the others.
            right = f", trained to {found.train}, is right at {found.test}"
            return f"{POSSIBLE}: {found.target} with {spoken(may, 'or')}{right}"
        if len(equal) == 1 and len(told) > len(alike):  # None is the best; the widest interval counts.
            widest = max(told, key=lambda f: f.interval[1] if f.interval else 0.0)
            return f"{begin.replace(best.in_brackets, widest.in_brackets)} under any positions {known}"
        even = ", even" * (best.answer != UNCERTAIN)
        best_ones = f", the best {known}" * (len(told) > len(alike))
        return f"{begin}{even}{of}{best_ones}"
    also = [f for f in good if f.answer == PROMISING == best.answer and f.scheme == best.scheme and f is not best]
    second = f" or {also[0].words}" if also and len(tied) == 1 else ""  # one task more makes none the better
    fits = " if it fits" * unfitted(best)
    return f"{best.answer}{fits} {best.in_brackets}: {found.target}{of}{second}{trained}"


def unfitted(best: SystemForecast) -> bool:
    """Whether a task is PROMISING by others alone, so that nothing says whether training fits it."""
    return best.answer == PROMISING and best.alike == "task" and not best.own


def untried_of(best: SystemForecast) -> list[Instead]:
    """What is advised instead of it that theory allows and that nothing was trained with."""
    return [each for each in best.instead if UNTRIED in each.line and each.system != best.system]


def reasons(found: Forecasts, best: SystemForecast, alone: bool) -> Iterator[tuple[str, str]]:
    """Why, in short, each reason beside a name: theory, measurements, a probe, a doubt."""
    first = best
    if not alone and best.verdict == "unknown":
        first = next((f for f in found if f.theory.startswith(NOT_SEARCHED)), best)
    word, colon, reason = brief(first.theory).replace(SHOWN["no"], IN_THEORY["no"]).partition(": ")
    if not alone and best.verdict == "unknown":
        some = [f.words for f in found if f.verdict == "yes" and not f.unmet]
        covers = f"no theorem covers {best.words}; a program exists with {spoken(some)}"
        none = [f.words for f in found if f.verdict == "no"]
        left = f"no theorem decides it for {best.words}; no program with {spoken(none)}"
        covers = covers if some else left if none else "no theorem decides it for any positions"
        reason = reason.replace("no theorem covers such ids", covers)
    dense = found.span.startswith((DENSE, CHOSEN)) and first.theory == f"{NOT_SEARCHED}: {ONE_TOKEN}"
    word, colon, reason = (SHOWN["unknown"], ": ", found.span) if dense else (word, colon, reason)
    given = condition_in(best.theory)
    possible = [f for f in found if f.verdict == "yes" and not f.unmet and brief(f.theory).partition(": ")[2] == reason]
    alike = [f for f in possible if f.scheme == "modulo" or condition_in(f.theory) == given]
    same = [f.words for f in alike]
    whole = len(same) == len(possible) <= 3  # Those on another condition are behind ``why``.
    named = same if whole or not same else [same[0], counted(len(possible) - 1, "other")]
    of = f" with {spoken(named)}" if same and not alone else ""
    near = seen_nearby(found.language, found.format, LOCAL_BIAS) if found.language and untried_of(best) else 0
    reason += f"; {suffice(near).replace(' suffice', ' alone suffice')}, too" * (
        near > 0 and suffice(near) not in reason
    )
    twice = f"{IN_THEORY['no']}: " * reason.startswith(IN_THEORY["no"])
    first, semicolon, rest = f"{word}{of}{colon}{reason}".removeprefix(twice).partition("; ")
    bases = [f.basis for f in (alike if same and not alone else [best]) if f.basis]
    basis = BASES[max(bases, key=STRONGEST.index)] if bases else ""
    tables = [f for f in (best, *found) if f.scheme == best.scheme and f.encoding == "learned"]
    tables = [f for f in tables if f is best or (f.answer == best.answer and not alone)]
    if tables and best.scheme in SCHEMES_OF_PLACES and best.verdict == "yes":
        basis += f", of {NEAR_ALONE}, which {tables[0].system} must learn"
    yield "theory", f"{first}{f' ({basis})' * bool(basis)}{semicolon}{rest}"
    placed = not any(NEEDS_PLACES in f.theory for f in found)
    if (
        found.span
        and placed
        and not dense
        and (best.verdict != "yes" if not alone else best.scheme in SCHEMES_OF_PLACES)
    ):
        yield "", brief(found.span)
    elif best.answer == PROMISING or (alone and best.scheme == "sequential" and best.answer == NOT_KNOWN):
        yield "", found.back
    seen = [in_short(best.measured)] * bool(best.measured)
    if best.others is not None and best.alike == "task":
        yield "measured", "; ".join(filter(None, [*seen, alike_in_words(found, best, alone)]))
    elif seen:
        yield "measured", seen[0] + also_weighs(best)
    elif best.refusal:
        yield "measured", best.refusal
    if best.probe:
        yield "probe", best.probe
    doubts, refusal = [best.weak] * bool(best.weak), best.refusal
    if best.scheme == "modulo":  # of which there never is a forecast
        refusal = next((f.refusal for f in found if UNLIKE_TRAINED in f.refusal), refusal)
    if best.answer in (PROMISING, NOT_KNOWN) and seen and "was trained with" not in refusal:
        doubts += [refusal.removeprefix("no forecast: ")] * refusal.startswith("no forecast")
    if best.scheme in SCHEMES_OF_PLACES and best.answer not in (RIGHT, WRONG):
        doubts += filter(None, [found.shortcut])
        short = best.alike == "task" and found.train < SHORTEST_TRAINED
        doubts += [
            f"no measured task was trained to less than {SHORTEST_TRAINED}: on short strings other rules are right, too"
        ] * short
    if doubts:
        yield "doubt", "; ".join(doubts)


NEXT_SYMBOL = "which symbol or end may come next"
"""`ASKED` in short."""


def asked_of(found: Forecasts, best: SystemForecast) -> str:
    """What is asked of a language; empty for a task, which is asked for its answer."""
    if found.format == "next":
        return NEXT_SYMBOL + _membership(found, best)
    return "" if found.format == "answer" else ASKED[found.format]


def _membership(found: Forecasts, best: SystemForecast) -> str:
    """What decides membership, which is not asked, and theory's answer where it is another; empty where it is asked."""
    if found.membership:
        return ", and so whether it is a word"
    fragment = KNOWN[best.system].fragment if best.system in KNOWN else None
    whole = programs.verdict(found.language, "member", fragment).verdict if found.language and fragment else "no"
    if best.verdict == "yes" != whole:
        return f"; for membership theory says {whole} with {best.words}: lengthwise decide"
    return ", not whether a string is a word (lengthwise decide)"


def also_weighs(best: SystemForecast) -> str:
    """What the chance comes from, beside what was measured of the target or of those `SIMILAR` with these positions."""
    if best.probability is None or best.by_probe:
        return ""
    if best.own and ELSEWHERE not in best.own and best.own != NOT_FITTED:
        return "; how this one came out depends on the model's settings"
    right, of = best.together
    return f", and {right} of {of} pairs of such a language and positions" * (of > best.record[1] > 0)


def alike_in_words(found: Forecasts, best: SystemForecast, alone: bool) -> str:
    """How tasks came out that are like this one in what theory says of them; empty where nothing was trained.

    Of several such systems all tasks are counted that it leaves open under any of them.
    """
    right, of = best.others or (0, 0)
    if best.verdict == "unknown":
        tasks = of_any(found)
        which = f"{sum(tasks.values())} of {counted(len(tasks), 'other task')} that theory leaves open"
        were, under = "was" if len(tasks) == 1 else "were", best.words if alone else "the positions of any row"
        return f"{which} {were} right under {under} {found.near}{exceptions(tasks)}" * bool(tasks)
    by_places = best.scheme in SCHEMES_OF_PLACES and best.verdict == "yes"
    if not of:
        kind = "sparse and local under such ids" if by_places else f"{IN_THEORY[best.verdict]} in theory, too"
        return f"no {SIMILAR} task was trained: {kind}"
    were = "was" if of == 1 else "were"
    said = f"{right} of {counted(of, f'{SIMILAR} task')} {were} right {found.near}{exceptions(best.named)}"
    return scratchpads_first(best, () if alone else found) + said


def of_any(systems: Iterable[SystemForecast]) -> dict[str, bool]:
    """The other tasks that theory leaves open under these systems, and whether each was right under any of them."""
    tasks = dict[str, bool]()
    for f in systems:
        if f.others and f.verdict == "unknown" and f.alike == "task":
            tasks |= {name: right or tasks.get(name, False) for name, right in f.named.items()}
    return tasks


def left_open(same: Sequence[SystemForecast]) -> str:
    """How many of the tasks `of_any` were right, in a cell; empty where there are none or more is known."""
    tasks = {} if any(f.seen for f in same) else of_any(same)
    return f"{sum(tasks.values())} of {len(tasks)} {OTHERS}" * bool(tasks)


def grouped(found: Forecasts) -> dict[tuple[str, str, str], list[SystemForecast]]:
    """The systems by what a row of the table says of them."""
    groups: dict[tuple[str, str, str], list[SystemForecast]] = {}
    for f in found:
        if PLAIN_PLACES in f.theory and not found.named:
            continue
        theory = IF_PREDICTABLE if f.unmet else IN_THEORY[f.verdict]
        theory = UNSEARCHED if f.theory.startswith(NOT_SEARCHED) else theory
        theory = NO_PLACES if NEEDS_PLACES in f.theory else "plain ids" if PLAIN_PLACES in f.theory else theory
        answer = f"{f.answer} {f.chance}" if f.counted else f.answer
        groups.setdefault((answer, theory, f.seen or "–"), []).append(f)
    return groups


def table(found: Forecasts) -> list[str]:
    """The systems with their answers, those of which it says the same in one row."""
    groups = grouped(found)
    if len(groups) == 1 and not found.named:
        return []  # Nothing tells them apart.
    best = found.systems[0].answer

    def place(same: Sequence[SystemForecast]) -> int:
        return ORDER.index(same[0].answer) + len(ORDER) * (same[0].answer == best)

    groups = dict(sorted(groups.items(), key=lambda row: place(row[1]), reverse=True))
    chances = any(f.counted and "%" in f.chance for f in found)
    heading = "answer [90 % interval]" if chances else "answer"
    rows: list[tuple[str, ...]] = [("positions", heading, "in theory", "share right")]
    rows += [("", *said[:-1], left_open(same) or said[-1]) for said, same in groups.items()]
    rows[1:1] = [(each.system, POSSIBLE, IN_THEORY["yes"], "–") for each in untried_of(found.systems[0])]
    if all(f.answer == NOT_KNOWN for f in found):
        rows = [(name, *rest) for name, _, *rest in rows]
    if all(row[-1] == "–" for row in rows[1:]):
        rows = [row[:-1] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    room = WIDTH - 2 * len(widths) - sum(widths[1:])
    same = iter(groups.values())
    rows[1:] = [(name or named_within(room, next(same)), *rest) for name, *rest in rows[1:]]
    widths[0] = max(len(row[0]) for row in rows)
    lines = ("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows)
    return [f"  {line}".rstrip() for line in lines]


def named_within(room: int, same: Sequence[SystemForecast]) -> str:
    """The names of systems of one row; where these have no room in a line, a name and how many others."""
    names = [f.system for f in same]
    ways = ", ".join(names), in_brief(names), f"{len(names)} others"
    return next((way for way in ways if len(way) <= room), names[0] if len(names) == 1 else ways[-1])


def in_brief(names: Sequence[str]) -> str:
    """One of several names, and how many others there are."""
    first = USUAL if USUAL in names else min(names, key=len)
    return f"{first} and {len(names) - 1} other{'s' * (len(names) > 2)}"


def left_out(found: Forecasts, rows: Sequence[str]) -> Iterator[str]:
    """Of rows of the table that do not name all their systems, which these are."""
    for names in ([f.system for f in same] for same in grouped(found).values()):
        if not any(", ".join(names) in row for row in rows):
            yield f"{in_brief(names)}: {', '.join(names)}"


def legend(found: Forecasts, rows: Sequence[str]) -> str:
    """What the words and numbers of the answer mean."""
    of = "strings (the whole answer)" if found.format == "answer" else _which_words(found)
    means = [f"right: on at least {100 * found.cut:.0f} % of random {of}"]
    means += ["%: the chance of that, forecast" + ", with its 90 % interval" * (not rows)] * _has_chances(found, rows)
    means += [f"{ELSEWHERE}: with other settings or lengths"] * any(ELSEWHERE in row for row in rows)
    return ". ".join(means) + "."


def short_legend(found: Forecasts, rows: Sequence[str]) -> str:
    """What *right* and *%* mean, in a part of a line."""
    words = "strings" if found.format == "answer" else _which_words(found).partition(" (")[0]
    chance = " %: its chance." * _has_chances(found, rows)
    return f"right: ≥ {100 * found.cut:.0f} % of random {words}.{chance}"


def _has_chances(found: Forecasts, rows: Sequence[str]) -> bool:
    return any(" %" in row for row in rows[1:]) or bool(found.systems[0].counted and not rows)


def _which_words(found: Forecasts) -> str:
    """Whether what is said of a language comes from tests of random words alone, where it has hard ones, too."""
    dfa = found.language
    known = [f for f in found if f.accuracy is not None or f.counted or f.record[1]]
    # Studies of ids modulo m tested random words alone.
    hard = [f for f in known if (f.scheme != "modulo" if f.accuracy is None else f.hard)]
    if not hard or dfa is None or half_pairs(dfa, found.test, 2, stream(0, "forecast", "hard")) is None:
        return "words"
    if hard[0] is found.systems[0]:
        rest = [f.system for f in known if f not in hard]
        return "and hard words" + f" ({spoken(rest)}: random alone)" * bool(rest)
    return f"words{' (%: of hard ones, too)' * any(f.counted for f in hard)}"


def everything(found: Forecasts, best: SystemForecast, rows: Sequence[str]) -> dict[str, list[str]]:
    """What is known beside the answer, as sentences below headings: theory, measurements, what the numbers mean."""
    theory, basis = found.theory, f"theory and {found.cells} measured settings"
    said = {verdict.system: verdict.in_theory for verdict in theory.verdicts}
    own = [
        (f, f.theory)
        for f in found
        if NOT_SEARCHED not in f.theory and (f.theory.partition(": ")[2] or f.theory) not in said.get(f.system, "")
    ]
    told = {f.measured for f in found}
    instead = [e.line for e in best.instead if e.measured not in told and in_short(e.measured) != e.measured]
    if any(f.by_probe for f in found):
        of = forecaster("task" if found.format == "answer" else "language").cells
        basis = f"theory, {found.cells} measured settings (of {of}: those that had a probe) and the probe"
    numbers = [f"the model: a decoder-only transformer that tells {ASKED[found.format]}"]
    if any(f.interval for f in found):
        numbers += [f"chance: a forecast by {basis}. No test at {found.test}"]
        numbers += together((f, f.pull) for f in found if f.counted and f.pull and not f.by_probe)
        numbers += [f"interval: {INTERVAL}", BANDS]
    if found.format != "answer" and "hard" in _which_words(found):
        numbers.append(
            "random words: each of a length is equally likely; hard ones: pairs that agree for half their length and "
            "need different answers then. The lower share counts"
        )
    numbers += [MOST_RIGHT] * any(f.answer == PROMISING for f in found)
    numbers += [NONE_RIGHT] * any(f.counted is None and f.answer == UNLIKELY for f in found)
    numbers += [f"{SIMILAR}: theory says the same of them"] * any(SIMILAR in f.seen for f in found)
    numbers += [f"{OTHERS}: theory leaves them open"] * any(left_open([f]) for f in found)
    numbers += [f"{IF_PREDICTABLE}: possible if the model can predict its ids"] * any(f.unmet for f in found)
    numbers += [f"{NO_PLACES}: the task states none"] * any(NEEDS_PLACES in f.theory for f in found)
    numbers += [f"{LOCAL_BIAS}: {NEAR_ALONE}"] * any(LOCAL_BIAS in f.system for f in found)
    if found.format != "answer":
        numbers.append("possible: a program for such models does it at every length; training may miss it")
    numbers.append("measured: in this package's studies; your own runs are not counted")
    asked = {"next": " of next symbols", "state": " of states", "member": " of membership"}.get(found.format, "")
    whole = [*in_full(theory), *[found.span] * bool(found.span)]
    if found.format != "answer" and any(f.verdict != "unknown" for f, _ in own):  # Those of `theory` are of membership.
        own = [(f, f.theory) for f in found]
        text = theory.target.removeprefix("regex:")
        decide = f"lengthwise decide {'-- ' * text.startswith('-')}{shlex.quote(text)}"
        whole = [f"whether a whole word is in the language is another question: {decide}"]
    return {
        f"theory{asked}: does a program exist? (not: does training find it)": [*together(own), *whole],
        "measured": [
            *together((f, f.measured) for f in found if f.measured), *other_tasks(found), *instead,
        ],
        "numbers": [
            *(left_out(found, rows) if rows else ()),
            *together((f, f.refusal) for f in found if f.refusal), *numbers,
            *caveats(theory.verdicts if found.format == "answer" else ()),
        ],
    }  # fmt: skip


def in_full(theory: Prediction) -> Iterator[str]:
    """Dependencies, structure, theory's answers with their reasons, and what would help."""
    yield f"{theory.target}: {theory.summary}"
    yield from (f"  {line}" for line in theory.depends[:9])
    if len(theory.depends) > 9:
        yield f"  … {len(theory.depends) - 9} more"
    rows: list[tuple[str, Sequence[int]]] = []
    for row in theory.structure:
        if not rows:
            rows += [("length", row.lengths), ("sparsity k (parents)", row.sparsity), ("selectors", row.selectors)]
        rows.append((f"span of parents, {row.scheme} ids", row.span))
        if any(row.selectors):
            rows.append((f"span of selectors, {row.scheme} ids", row.selector_span))
            rows.append((f"span of both, {row.scheme} ids", row.both_span))
    yield from (
        f"  {name:34}" + "".join(f"{number:>7}" for number in numbers) for name, numbers in rows if any(numbers)
    )
    yield from verdict_lines(theory.verdicts)
    yield from dict.fromkeys(f"what would help in theory: {v.help}" for v in theory.verdicts if v.help)
    yield from theory.searched
    if linked := ", ".join(v.system for v in theory.verdicts if v.source.startswith("cited") and v.answer == "yes"):
        yield f"that a program is enough for {linked} is {CITED_LINK}"


def verdict_lines(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """Theory's answers with their reasons; those that are alike share a sentence, but for conditions."""
    groups: dict[tuple[str | None, ...], list[Verdict]] = {}
    for v in verdicts:
        groups.setdefault((v.shown, v.basis, v.why, v.next_symbols), []).append(v)
    for (shown, basis, why, next_symbols), found in groups.items():
        easier = f"; next symbols: {next_symbols}" * (next_symbols not in (None, found[0].answer))
        rests = f" ({basis})" * bool(basis)
        reason = (why or "").removeprefix("no guarantee: ")
        yield f"{', '.join(v.system for v in found)}: {shown}{easier}{rests}: {reason}"
        for condition in dict.fromkeys(v.condition for v in found if v.condition):
            yield f"  {', '.join(v.system for v in found if v.condition == condition)}, on condition: {condition}"


def other_tasks(found: Forecasts) -> Iterator[str]:
    """Which the other tasks are that are counted, those of a row of the table in one list."""
    for same in grouped(found).values():
        if tasks := of_any(same):
            counts = f"{sum(tasks.values())} of {len(tasks)} {OTHERS} that theory leaves open"
            yield f"{', '.join(f.system for f in same)}: {counts}: {named(tasks)}"
    lines = list[tuple[SystemForecast, str]]()
    for f in found:
        if f.others and f.others[1] and f.alike == "task" and f.verdict != "unknown":
            gone = f". Not counted, as none fit or was tested {found.near}: {', '.join(f.left_out)}" * bool(f.left_out)
            lines.append((f, f"{SIMILAR} tasks: {named(f.named)}{gone}"))
    yield from together(lines)
    yield from (f"{each.words}: {named(each.counted)}" for each in found.systems[0].instead if each.counted)


def named(found: Mapping[str, bool]) -> str:
    """The tasks that were right, and the others."""
    right, wrong = (", ".join(n for n, good in found.items() if good is of) or "none" for of in (True, False))
    return f"right: {right}. Not: {wrong}"


def together(found: Iterable[tuple[SystemForecast, str]]) -> Iterator[str]:
    """Sentences on systems; those of which the same is said share one."""
    groups: dict[str, list[str]] = {}
    for f, line in found:
        groups.setdefault(line.replace(f.words, "such positions"), []).append(f.system)
    return (f"{', '.join(names)}: {line}" for line, names in groups.items())


def brief(theory: str) -> str:
    """Theory in short: without sources, steps of a proof, and what a learned rule is."""
    short = theory.partition(CONDITION)[0]
    for detail in (
        f"; {NO_ARGUMENT}", f", and {NO_ARGUMENT}", ", counting parents", " and selectors", "under coupled ids ",
        "under sequential ids ", "earlier ", ", at every length", "C-RASP ",
    ):  # fmt: skip
        short = short.replace(detail, "")
    short = re.sub(r" \((?:[^()]|\([^()]*\))*\)(?=[,.; ]|$)", "", short).partition(". ")[0]
    return short.replace("communication bound", "it needs more memory than such a model has")


def condition_in(theory: str) -> str:
    """The condition of theory's *yes* in short; empty without one."""
    return theory.partition(CONDITION)[2].partition(":")[0]


def in_short(measured: str) -> str:
    """What was measured without its study and names, and, where that is this very language, without others."""
    measured = re.sub(rf"{TOO_FAR} \d+", "", measured.partition(IN_FULL)[0])
    if own := re.search(rf"{OWN_LANGUAGE}.* seeds[^;]*(?=; \d)", measured):
        return measured[: own.end()]
    more = r"\d+ of \d+ seeds of .*|[\w-]+(, commit \w+)?(?=;|$)|(wrong:|right:|these are) [^;]*"
    return re.sub(rf"; ({more}|the forecast without .*)", "", measured)


def in_sentences(text: str) -> str:
    """What semicolons keep apart, as sentences."""
    said = (part[:1].upper() + part[1:] for part in text.split("; "))
    return ". ".join(said) + "." if text else ""


def fill(sentence: str, first: str = "  ", later: int = 4) -> list[str]:
    """Lines of at most 80 columns, but for longer words: a target stays what can be typed."""
    return textwrap.wrap(
        sentence.replace(" %", "\u00a0%"), WIDTH, initial_indent=first, subsequent_indent=" " * later,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def beside(name: str, sentence: str, indent: int = INDENT) -> list[str]:
    """A sentence beside a name; no line without a sentence."""
    return fill(sentence, f"  {name:{indent - 2}}", indent) if sentence else []


def typed(name: str, command: str, indent: int) -> list[str]:
    """A command beside a name, in lines that a shell takes as they are."""
    first, *more = command_lines(command, indent)
    return [f"  {name:{indent - 2}}{first[indent:]}", *more]
