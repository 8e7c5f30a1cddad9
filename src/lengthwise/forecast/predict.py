"""The forecast of a target: each position system's chance to be right at M, in words that agree with the number."""

from __future__ import annotations

import json
import math
import shlex
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lengthwise.core.config import changed_fields, digest
from lengthwise.core.errors import LengthwiseError, UnknownNameError, require, shortened, spelled
from lengthwise.core.statistics import wilson
from lengthwise.core.table import WIDTH
from lengthwise.crasp.decide import no_counting
from lengthwise.forecast import features
from lengthwise.forecast.answer import (
    AFTER,
    ASKED,
    BEYOND,
    ELSEWHERE,
    FEW,
    KNOWN,
    LIKELY,
    MOST_NAMED,
    NEEDS_PLACES,
    NOT_FITTED,
    NOT_KNOWN,
    OWN_LANGUAGE,
    PLAIN_PLACES,
    PROMISING,
    RIGHT,
    SIMILAR,
    SO_FEW,
    TOO_FAR,
    UNCERTAIN,
    UNLIKELY,
    UNLIKELY_TO,
    UNTRIED,
    USUAL,
    WRONG,
    Forecasts,
    Instead,
    SystemForecast,
    chance_of,
    exceptions,
    in_a_row,
    in_words,
    name_of,
    near_ratio,
    percent,
    words,
)
from lengthwise.forecast.model import CUTS, Forecast, forecaster, kinds
from lengthwise.forecast.others import bin_of, name_in_full, others_by_name, trained_plainly
from lengthwise.languages.automaton import Dfa, language, minimize
from lengthwise.languages.sampling import lengths_with_words
from lengthwise.measured.cells import Format, MeasuredCell, cells, others
from lengthwise.positions.structure import farthest_step, needed_by_all, places_tell_content
from lengthwise.positions.system import ALIASES, CITED_LINK, RANDOM_START, SYSTEMS, PositionSystem, check_ids_are_used
from lengthwise.prediction.couple import doubt_in_task
from lengthwise.prediction.measured import same_task
from lengthwise.prediction.predict import COUPLING, nearest, predict_target, predict_with_search
from lengthwise.prediction.recurrent import MODELS
from lengthwise.prediction.search import BY_HAND, COUPLING_SEARCHED, NOT_SEARCHED, STOPPED
from lengthwise.prediction.target import AutomatonFile, Expression, parse_target, setting, task_of, typed_task
from lengthwise.prediction.verdict import SHOWN, UNMET, Prediction
from lengthwise.tasks import TASKS, Task
from lengthwise.tasks.language import Language, called
from lengthwise.tasks.traced import StateScratchpad, Traced

if TYPE_CHECKING:
    from lengthwise.forecast.probe import Probe

NO_PROGRAM = "no program of the kind that such a model can run does it at every length"
"""Theory's *no* on a language."""
NEAR_TRAIN = 2.0
"""Tests near M / N answer if N, too, is within this factor."""
NO_KIND = "no task behind the forecast was trained with "
"""How the reason begins where the fitted model has no such system."""
OUTSIDE = " is outside"
"""How the reason ends where no task was trained to about such a length."""
MOST_COMPARED = 4
"""Systems of a comparison that is proposed."""
VARIANTS_OF_LADDER = ("nope", "ape", "rope", "alibi")
"""Systems that a probe trains as the frozen ladder does."""
Z90, LEAST = 1.645, 0.001
"""The 95 % point of the normal distribution, for an interval of 90 %; no end of an interval is certain."""
WIDE = 0.25
"""How wide few languages of a kind, and not the draws, make an interval of which that is said (`SO_FEW`)."""
FAR = 50
"""How far from the length in question another is looked for, where no automaton says how far."""
GOOD_FROM = 0.9
"""The probability from which a system is named instead of another, the cheapest first."""
CHEAPEST = ("nope", "ape", "alibi", "rope")
"""Systems that are tried first, since they cost nothing but another setting."""
SCRATCHPAD_SYSTEM = KNOWN["predictive-coupling"]
"""The position system under which scratchpads of states were measured."""
OF_KIND: dict[features.Kind, str] = {
    "no": "other languages without such a program",
    "without counting": "other languages whose programs count nothing",
    "by counting": "other languages whose programs compare counts",
    "by windows or periods": "other languages that need the last few symbols or the position modulo a number",
}
"""Languages of a kind, in words."""
OF_NEEDS: dict[tuple[bool, bool], str] = {
    (True, False): "other languages that need the last few symbols",
    (False, True): "other languages that need the position modulo a number",
    (True, True): "other languages that need both the last few symbols and the position modulo a number",
}
"""Languages by whether their programs have windows and periods, in words."""
WRONG_YES: dict[tuple[Format, str], int] = {("next", "alibi"): 7, ("state", "nope"): 4, ("state", "learned"): 4}
"""Languages of the third study that the fit before this one said yes to, none of them right, by what was asked under
which encoding; under ALiBi those whose programs need the last few symbols. A test reads them from the study's page."""


def weak_spot(kind: features.Kind, format: Format, encoding: str) -> str:
    """How forecasts like a language's were wrong in the third study, where they were most often; empty elsewhere."""
    languages = WRONG_YES.get((format, encoding), 0)
    if not languages or (format == "next" and kind != "by windows or periods"):  # ALiBi's fragment has no periods.
        return ""
    return (
        f"an earlier version said yes to {languages} such languages, and none was right (third study); this one was "
        "not tested on fresh ones"
    )


def of_kind(dfa: Dfa, format: Format, system: PositionSystem) -> str:
    """The other languages of a language's kind, in words; windows and periods are told apart."""
    kind = features.kind(dfa, format, system.encoding)
    if kind != "by windows or periods" or system.fragment is None:
        return OF_KIND[kind]
    found = features.verdict(dfa, format, system.fragment)
    return OF_NEEDS[(found.window or 1) > 1, (found.period or 1) > 1]


def pair(system: PositionSystem) -> str:
    """Scheme and encoding, as the evidence names them."""
    return f"{system.registered_scheme}+{system.encoding}"


@dataclass(frozen=True)
class Measured:
    """A line on what was measured; ``accuracy`` where it was this very target; ``alike``: right ones of its kind.

    ``seen`` is what was measured of the target where it is no accuracy, in a word or two.
    """

    line: str
    accuracy: float | None
    alike: tuple[int, int] = (0, 0)
    seen: str = ""


def predict(
    target: str | Task,
    train: int = 40,
    test: int = 200,
    encoding: str | Sequence[str] | None = None,
    scheme: str | None = None,
    probe: Probe | str | float | None = None,
    cut: float = 0.95,
    note: Callable[[str], None] = lambda line: None,
    folder: Path | None = None,
    tested: int | None = None,
    typed: str = "",
) -> Forecasts:
    """The engine of `lengthwise.predict`, which says what the arguments are.

    Arguments:
        target, train, test, encoding, scheme, cut: As of `lengthwise.predict`.
        probe: What a probe of this very system found at lengths up to N, or the time for one.
        note: Called with a line of progress.
        folder: Where a probe that is run keeps its checkpoints; by default one in ``runs/probe``.
        tested: The length at which commands test; by default ``test``.
        typed: What to type for the target in a shell; by default its name, with its settings.
    """
    require(cut in CUTS, f"cut must be one of {', '.join(map(str, CUTS))}, got {cut}")
    require(train >= 1, f"train must be at least 1, got {train}")
    require(test > train, f"test must be longer than `train`, got {test} after {train}; shorter ones are trained on")
    if isinstance(probe, str | int | float) and not encoding and scheme is None:
        encoding = predict(target, train, test, cut=cut, note=note).systems[0].system
        note(f"the probe is of {words(encoding)}, the best without one")
    names = [encoding] if encoding is None or isinstance(encoding, str) else list(encoding) or [None]
    requested = tuple(dict.fromkeys(system for name in names for system in systems_of(name, scheme)))
    if probe is not None:
        given = ", ".join(map(name_of, requested)) or "none"
        require(len(requested) == 1, f"probe is of one system, got {given}; name one by encoding and scheme")
    systems = tuple(dict.fromkeys((*SYSTEMS, *requested)))
    parsed = parse_target(target) if isinstance(target, str) else target
    if isinstance(target, str):
        name, word = target, shlex.quote(target)
    else:
        name, word = called_in_full(target), typed or typed_name(target)
    from lengthwise.experiments.defaults import coupled_name, places_follow_from_layout

    trainable, couple = task_of(parsed), ""
    test, meant = meant_length(parsed, name, train, test)
    at = (test, tested or test)
    if isinstance(probe, str | int | float):
        probe = run_probe(trainable, name, requested[0], train, probe, note, folder)

    def probed(system: PositionSystem) -> Probe | None:
        return probe if system in requested else None

    if (regular := language_in(parsed)) is not None:
        dfa, format = regular
        forecasts = [of_language(dfa, format, system, train, test, cut, probed(system)) for system in systems]
        count, pad = forecaster("language").cells, scratchpad_instead(trainable, train, test, cut, at)
        span = helps = ""
        periods = modulo_instead(dfa, format, trainable, word, train, test, at, cut)
    else:
        theory = predict_target(name, note=note) if isinstance(target, str) else predict_with_search(target, note=note)
        forecasts = [of_task(parsed, theory, system, train, test, cut, probed(system)) for system in systems]
        format = parsed.ask if isinstance(parsed, Language) else "answer"
        count, periods, pad = forecaster("task").cells, None, scratchpad_instead(trainable, train, test, cut, at)
        found_by_search = any(a.certificate.get("kind") == "coupling" for v in theory.verdicts for a in v.arguments)
        couple = f"lengthwise couple {word}" if found_by_search and word else ""
        span, mend = not_near(theory, trainable)
        asked = set(map(name_of, requested))
        helps = "" if any(f.verdict == "yes" for f in forecasts) else mend or what_helps(theory, asked)
        if helps.endswith(COUPLING) and trainable and (needs := needed_by_all(trainable, nearest(trainable, 20))):
            helps, span = "", f"every answer token needs token {needs}, which no places bring near all of them"
        elif helps.endswith(COUPLING) and word:
            searched = [line for line in theory.searched if line.startswith(COUPLING_SEARCHED)]
            if searched and not any(STOPPED in line for line in searched):  # `couple` would search the same again.
                helps += f"; a search found none of the usual forms; {BY_HAND}"
            else:
                looks = "a search of seconds found none, this takes its time" if searched else "this looks for them"
                helps, couple = f"{helps}; {looks}", f"lengthwise couple {word}"
    if probe is not None and (probe.accuracy or 0.0) >= cut:
        pad = None  # What was seen to work has no rival that nobody measured.
    if any(found.by_probe for found in forecasts):
        count = forecaster(f"{'task' if regular is None else 'language'} with probe").cells
    if span:  # Tasks whose tokens coupled ids do bring near tell nothing.
        of_places = features.SCHEMES_OF_PLACES
        forecasts = [
            replace(f, others=(0, 0), record=(0, 0)) if f.others and f.scheme in of_places else f for f in forecasts
        ]
    no_places = trainable is not None and coupled_name(trainable) is None
    if no_places:
        lacks = PLAIN_PLACES if regular else f"{NEEDS_PLACES}, and it states none"
        forecasts = [
            replace(
                f,
                theory=f"unknown: {lacks}",
                others=None,
                forecast=None,
                refusal=f.refusal or "no forecast: it has no places",
            )
            if f.scheme in features.SCHEMES_OF_PLACES and f.verdict != "yes"
            else f
            for f in forecasts
        ]
    if regular is None and trainable is not None:
        tells = places_tell_content(trainable) or not places_follow_from_layout(trainable)
        forecasts = [replace(f, tells=tells and f.scheme == "coupled") for f in forecasts]
    ranked = sorted(forecasts, key=lambda f: f.rank, reverse=True)
    wanted = set(map(name_of, requested))

    def train_it(found: SystemForecast) -> str:
        if no_places and found.scheme in features.SCHEMES_OF_PLACES:
            return ""  # All of its ids would be 0.
        scheme = named_scheme(found)
        more = f" --set scheme.m={period_of(trainable)}" if trainable and scheme == "modulo" else ""
        return run_command(trainable, word, scheme, found.encoding, train, *at, more=more)

    chosen = tuple(
        replace(
            f,
            instead=instead_of(f, ranked, periods, pad, setting_instead(trainable, f, train, test, cut, at), train_it),
        )
        for f in ranked
        if not requested or f.system in wanted
    )
    settle = settle_command(
        trainable, word, chosen, bool(requested), train, at[-1], probe, folder, train_it, bool(span)
    )
    by_hand = ""
    if trainable is None:
        by_hand = "there are no strings of it to train on: write it as an expression or a task (docs/howto/own-task.md)"
    elif not settle and not isinstance(target, str):
        one = f", systems=[{short_name(chosen[0])!r}]" * bool(requested)
        by_hand = f"in Python, with this task: lw.compare(task{one}, max_length={train}, budget='10m')"
    elif not settle and requested:
        by_hand = why_untrained(trainable, f"{named_scheme(chosen[0])}+{chosen[0].encoding}")
    if no_places and couple and not helps and not requested:
        settle, by_hand = (
            f"lengthwise compare {word} --max-length {train}",
            f"{AFTER}compare, with the places written in",
        )
    other = any(each.command == settle for each in chosen[0].instead if settle)
    open_ones = chosen[0].answer in (UNLIKELY, UNCERTAIN, PROMISING, NOT_KNOWN) and not chosen[0].against
    confirm = train_it(chosen[0]) * (other and chosen[0].verdict == "yes" and open_ones and not aimless(chosen[0]))
    nearer = None
    if tested is None and probe is None and any(BEYOND in f.refusal for f in chosen):
        limit = math.floor(train * forecaster("task" if regular is None else "language").domain["ratio"][1])
        lengths = range(limit, max(train, limit - FAR), -1)
        if near := next((n for n in lengths if meant_length(parsed, name, train, n)[0] == n), None):
            nearer = predict(target, train, near, encoding, scheme, cut=cut, note=note, tested=test, typed=typed)
            best_first = [f.system for f in nearer]
            chosen = tuple(sorted(chosen, key=lambda f: best_first.index(f.system)))
    return Forecasts(
        name, train, test, cut, chosen, bool(requested), format, count, settle, target, meant, couple, span, helps,
        by_hand, regular is not None and all(regular[0].live), confirm, nearer,
    )  # fmt: skip


NOT_FEW_AND_NEAR = "what its tokens need is not few and near at every length, which would be enough"
"""Why no theorem on sparsity and locality speaks for a task."""
SPAN = "coupled ids do not shorten what it looks back on"
"""How the reason begins where the span grows."""


def not_near(theory: Prediction, task: Task | None) -> tuple[str, str]:
    """Why coupled ids give no guarantee for a task, by its structure, and what to change; empty where they do.

    Of few dependencies that are far the farthest is named, and where the place of the last token of the prompt makes
    it far, that place.
    """
    row = next((row for row in theory.structure if row.scheme == "coupled"), None)
    if row is None or task is None or (row.sparse and row.local):
        return "", ""
    at = f"at lengths {', '.join(map(str, row.lengths))}"
    if not row.sparse:
        counts = f"({', '.join(map(str, row.sparsity))} {at})"
        if row.sparsity[-1] < max(row.sparsity):
            return f"how many others a token depends on changes {counts}: a parent may be missing at some lengths", ""
        return f"a token depends on ever more others {counts}, also under coupled ids", ""
    if row.levels > 1:
        return f"{SPAN} ({', '.join(map(str, row.span))} places {at})", ""
    found = [farthest_step(task, length) for length in row.lengths]
    shown = min(1, len(found) - 1)
    step, length = found[shown][0], row.lengths[shown]

    def named(position: int) -> str:
        return f"{step.text[position]!r} at position {position}"

    before = step.target - 1
    why = (
        f"{SPAN}: at length {length}, {named(step.target)} needs {named(step.needed)}, which has place "
        f"{step.places[step.needed]}, and is predicted from {named(before)}, which has place {step.places[before]} "
        f"({', '.join(map(str, row.span))} places {at})"
    )
    spans = {span for _, span in found}
    lonely = step.places[before] == 1 == step.places.count(1)
    lower = ", all places one lower, since they begin at 1" * lonely
    mend = (
        f"write {step.text[before]!r} with the place of what the token after it needs: "
        f"place={step.places[step.needed]} at length {length}{lower}; under coupled ids all that a token needs is then "
        + (f"at most {max(spans)} place{'s' * (max(spans) != 1)} away" if max(spans) else "of its own place")
    )
    return why, mend * (len(found) > 1 and len(spans) == 1 and step.distance > max(spans))


def what_helps(theory: Prediction, asked: set[str]) -> str:
    """What would help in theory, for the systems asked about where there are any, and where it says how."""
    found = next((v.help for v in theory.verdicts if v.help and (not asked or v.system in asked)), "")
    how = "docs/howto/own-task.md says how, for an answer of one token by a method `machine`"
    found = f"{found} ({how})" if "scratchpad" in found else found
    return f"{UNTRIED}: {found}" if found else ""


def meant_length(parsed: Any, name: str, train: int, test: int) -> tuple[int, str]:
    """The length nearest to ``test`` that something has, and a sentence on it where that is another; else empty.

    Raises `LengthwiseError` for a language without words beyond ``train``, or without any that are shorter.
    """
    dfa = parsed.dfa if isinstance(parsed, AutomatonFile) else None
    task = task_of(parsed)
    if dfa is None and isinstance(task, Language) and task.ask == "next":
        dfa = task.automaton()
    if dfa is None and task is None:
        return test, ""
    lengths = partial(lengths_with_words, dfa) if dfa is not None else task.lengths  # type: ignore[union-attr]
    name = shortened(name, WIDTH)
    # Words of an infinite language are at most one turn through its automaton apart.
    apart = FAR if dfa is None else max(dfa.size, 1)
    below, above = lengths(max(test - apart, train + 1), test), lengths(test, test + apart)
    if dfa is not None and not above:
        longest = max(lengths(0, dfa.size), default=None)
        require(longest is not None, f"{name} has no words, so nothing can be asked of it")
        require(
            test <= (longest or 0), f"{name} is finite: no word is longer than {longest}, so none has {test} symbols; "
            f"choose test up to {longest} and train below it, or a language with longer words"
        )  # fmt: skip
    if dfa is not None:
        shortest = min(lengths(1, dfa.size), default=0)
        require(shortest <= train, f"{name} has no word of 1 to {train} symbols to train on; the shortest has "
                f"{shortest}: choose train from there")  # fmt: skip
    found = (*below, *above) or lengths(train + 1, test)[-1:]  # Some tasks have a longest problem.
    near = min(found, key=lambda length: abs(length - test), default=test)
    if near == test:
        return test, ""
    of_words = dfa is not None or isinstance(task, Language)
    what = f"no word has {test} symbols" if of_words else f"no problem has length {test}"
    return near, f"{what}; {near} is the nearest length with any, and is meant"


def settings_of(task: Task) -> dict[str, Any]:
    """The settings of a task that are not the usual ones, but for what its name says of them."""
    if "name" not in vars(type(task)):
        return {}
    return {key: value for key, value in changed_fields(task).items()
            if not (isinstance(task, Language) and key == "language")}  # fmt: skip


def called_in_full(task: Task) -> str:
    """What a task is called, with its settings in brackets."""
    settings = ", ".join(f"{key} {as_text(value)}" for key, value in settings_of(task).items())
    return called(task) + f" ({settings})" * bool(settings)


def as_text(value: Any) -> str:
    """A setting in words: what is built of other parts by their names."""
    return str(value["name"]) if isinstance(value, dict) and "name" in value else str(value)


def typed_name(task: Task) -> str:
    """As `typed_task`; empty for a task that no name stands for."""
    return typed_task({"name": task.name, **changed_fields(task)}) if "name" in vars(type(task)) else ""


def run_probe(
    task: Task | None,
    name: str,
    system: PositionSystem,
    train: int,
    budget: str | float,
    note: Callable[[str], None],
    folder: Path | None,
) -> Probe:
    """Probe a system within lengths up to ``train``, where an earlier call stopped.

    Raises `LengthwiseError` for a target without strings and for a time that is none.
    """
    from lengthwise.experiments.defaults import roomy_scheme
    from lengthwise.forecast.probe import ProbeCell, probe
    from lengthwise.positions.encodings import ENCODINGS

    if task is None:
        raise LengthwiseError(f"a probe trains on strings of a task or an expression, and {name} has none")
    plain = name_of(system) in VARIANTS_OF_LADDER
    ids = None if plain else roomy_scheme(task, system.scheme, train)
    if ids is not None and ids.wraps:
        ids = replace(ids, m=period_of(task))  # type: ignore[call-arg]
    cell = ProbeCell(task, name_of(system) if plain else ENCODINGS.build(system.encoding), train, ids)
    code = {"code": cell.code} if cell.code else {}
    own = digest(
        {"task": TASKS.describe(task), "system": pair(system), "random": system.random_start, "train": train} | code
    )
    note(f"a probe at lengths up to {train}: training to {cell.half}, then tests; one thread, at most {budget}")
    return probe(cell, budget=budget, folder=folder or Path("runs") / "probe" / own, note=note)


def period_of(task: Task) -> int:
    """The m of ids modulo m for a language (`features.period`); the smallest where none is known."""
    regular = language_in(task)
    return 2 if regular is None else max(features.period(*regular), 2)


def probe_line(probe: Probe) -> str:
    """How far a probe got and what it found."""
    low, high = probe.bins[-1]
    if probe.status == "out of time":
        saw = ""
        if probe.rungs:
            last = probe.rungs[-1]
            fits = ", ".join(f"{fit:.2f}" for fit in last.fits)
            saw = f"fits {fits} of the strings of trained lengths so far (rung {last.rung}, a seed each); not tested "
            saw += "longer; "
        return f"{saw}not done: {probe.stopped}; the same again goes on there, and the forecast does without it"
    if probe.status == "not fitted":
        return f"does not fit lengths up to {probe.trained[1]}: {probe.stopped}"
    return (
        f"trained to {probe.trained[1]} it fits (at rung {probe.rung}, the settings being tried in order), and is "
        f"right on {probe.accuracy:.2f} of strings of {low}–{high}"
    )


def with_probe(
    found: SystemForecast, kind: str, values: dict[str, float], cut: float, probe: Probe | None
) -> SystemForecast:
    """The forecast with what a probe found, where it knows enough and a forecaster takes it."""
    if probe is None:
        return found
    line = probe_line(probe)
    if probe.status == "out of time" or found.forecast is None:
        return replace(found, probe=line)
    if f"{kind} with probe" not in kinds():
        return replace(found, probe=f"{line}; no forecaster takes it yet, so the forecast does without it")
    forecast = forecaster(f"{kind} with probe").forecast(values | features.of_probe(probe), cut)
    # What the probe saw can't be ruled out by few languages.
    (low, high), (least, most) = forecast.interval, widened(forecast, found.record).interval
    saw = probe.status == "fitted" and probe.accuracy is not None and probe.accuracy >= cut
    forecast = replace(forecast, interval=(low, most) if saw else (least, high))
    few = forecast.interval[1] - forecast.interval[0] >= WIDE
    measured = found.measured if few else found.measured.removesuffix(SO_FEW)
    return replace(found, forecast=forecast, measured=measured, probe=line, by_probe=True, others=None, weak="")


def why_untrained(task: Task, system: str) -> str:
    """Why no command trains this system on a task; empty where one does."""
    from lengthwise.experiments.defaults import chosen_systems

    try:
        chosen_systems(task, [system])
    except LengthwiseError as error:
        return str(error)
    return ""


def run_command(
    task: Task | None, word: str, scheme: str, encoding: str, train: int, *tests: int, more: str = ""
) -> str:
    """The command that trains a system to ``train`` and tests at 2N, then at ``tests``; empty if none does."""
    if task is None or not word or why_untrained(task, f"{scheme}+{encoding}"):
        return ""
    ends = (min(2 * train, max(tests)), *tests)
    lengths = sorted({length for end in ends for length in task.lengths(train + 1, end)[-1:]})
    if not lengths:
        return ""
    # A scheme of its own has a learned table, unless another encoding is named.
    ids = "" if scheme == "sequential" else f" --scheme {scheme}"
    ids += f" --encoding {encoding}" * (not ids or encoding != "learned")
    ids = " --encoding ape" if scheme == RANDOM_START and encoding == "learned" else ids
    return f"lengthwise run {word}{ids}{more} --max-length {train} --test-lengths {','.join(map(str, lengths))}"


def aimless(found: SystemForecast) -> bool:
    """Whether ids modulo m are asked about, and nothing known names an m."""
    return found.scheme == "modulo" and found.m == 1


def named_scheme(found: SystemForecast) -> str:
    """The scheme as commands name it: ids from a random start have a name of their own."""
    return KNOWN[found.system].scheme if found.system in KNOWN else found.scheme


def settle_command(
    task: Task | None,
    word: str,
    found: Sequence[SystemForecast],
    named: bool,
    train: int,
    test: int,
    probe: Probe | None,
    folder: Path | None,
    train_it: Callable[[SystemForecast], str],
    places_far: bool,
) -> str:
    """The command that finds out: training and a test at M, or more time for a probe; empty where nothing trains.

    Of several systems of a task those are compared that theory has a *yes* for, and, where fewer than two of them can
    be trained as the task is, those that it does not exclude; no coupled ids where ``places_far`` says that they mend
    nothing.
    """
    from lengthwise.experiments.defaults import MULTIPLES

    if task is None or not word:
        return ""
    one = found[0]
    if probe is not None and probe.status == "out of time" and one.accuracy is None:
        lengths = "" if (train, test) == (40, 200) else f" --train {train} --test {test}"
        how = f" --scheme {one.scheme} --encoding {one.encoding}"
        how = f" --encoding {one.system}" if one.system in KNOWN else how
        minutes = math.ceil(1.5 * probe.needs / 60) or 10  # Tests come on top.
        where = "" if folder is None else f" --out {shlex.quote(str(folder))}"
        return f"lengthwise predict {word}{how}{lengths} --probe {minutes}m{where}"
    alone = named and len(found) == 1
    hopeless = one.answer in (WRONG, UNLIKELY) or (one.answer == NOT_KNOWN and one.verdict != "yes" and not alone)
    is_open = one.answer == UNCERTAIN or (one.answer in (PROMISING, NOT_KNOWN) and not alone)
    for each in one.instead:
        if each.command and (hopeless or (is_open and (each.share or 0.0) > (share(one) or 0.0))):
            return each.command
    if alone:
        other = next((each.command for each in one.instead), "")
        return other if other and aimless(one) else train_it(one) or other
    known = [f for f in found if f.answer != NOT_KNOWN]
    hopeful = [f for f in found[:1] if f.scheme == "modulo" and f.others]
    first = first_with_command(hopeful or known or found, train_it)
    if isinstance(task, Language) and task.automaton() is not None:
        as_best = percent(found[0].probability or 0.0)
        close = [f for f in found if f.answer == UNCERTAIN or (f.counted and percent(f.counted.probability) == as_best)]
        tied = [short_name(f) for f in close if train_it(f)]
        if first and (one.answer != UNCERTAIN or len(tied) < 2 or test > MULTIPLES[-1] * train):
            return first[0][1]
        return compare_command(word, with_usual(tied, found), train) if first else ""
    yes = [f for f in found if f.verdict == "yes" and f.scheme != "modulo"]  # whose m nobody named
    open_ones = [
        f for f in found if f.verdict == "unknown" and not (places_far and f.scheme in features.SCHEMES_OF_PLACES)
    ]
    promising = [f for f in known if f.answer in (RIGHT, LIKELY, PROMISING, UNCERTAIN)][:2]
    named_ones = [f for f in [*promising, *(yes or open_ones)] if f.answer not in (WRONG, UNLIKELY) and train_it(f)]
    if len(named_ones) < 2:
        named_ones += [f for f in open_ones if f.answer == NOT_KNOWN and f.scheme != "modulo" and train_it(f)]
    if not named_ones:
        named_ones = [f for f in found if train_it(f) and not (places_far and f.scheme in features.SCHEMES_OF_PLACES)]
    if not named and any(f.scheme == "coupled" for f in named_ones):  # The same ids, given.
        named_ones = [f for f in named_ones if f.scheme != "predictive-coupling"]
    if not named_ones:
        return ""
    systems = with_usual(list(dict.fromkeys(map(short_name, named_ones))), found)
    if one.answer == RIGHT or len(systems) < 2 or test > MULTIPLES[-1] * train:  # A comparison tests no farther.
        return train_it(named_ones[0])
    return compare_command(word, systems, train)


def with_usual(systems: Sequence[str], found: Sequence[SystemForecast]) -> list[str]:
    """The systems that a comparison has room for, with `USUAL` where it is one of them, or open and there is room."""
    is_open = any(f.system == USUAL and f.answer == NOT_KNOWN and f.verdict != "no" for f in found)
    if USUAL in systems[MOST_COMPARED:] or (is_open and USUAL not in systems and len(systems) < MOST_COMPARED):
        return [*systems[: MOST_COMPARED - 1], USUAL]
    return list(systems[:MOST_COMPARED])


def compare_command(word: str, systems: Sequence[str], train: int) -> str:
    """The command that compares systems, by default the usual ones."""
    named = f" --systems {','.join(systems)}" if systems else ""
    return f"lengthwise compare {word}{named} --max-length {train} --budget 10m"


def short_name(found: SystemForecast) -> str:
    """The shortest name that `compare` takes for a system."""
    from lengthwise.experiments.defaults import chosen_systems

    scheme = named_scheme(found)
    own = PositionSystem(scheme, found.encoding)
    for name in (found.system, found.encoding, scheme):
        try:
            if chosen_systems(TASKS.build("copy"), [name]) == (own,):
                return name
        except LengthwiseError:
            continue
    return own.name


def systems_of(encoding: str | None, scheme: str | None) -> tuple[PositionSystem, ...]:
    """The systems that a name of a system or an encoding and a scheme mean; none where neither is given.

    Raises `UnknownNameError` for names that are unknown, and `LengthwiseError` for models without attention.
    """
    from lengthwise.positions.encodings import ENCODINGS
    from lengthwise.positions.schemes import SCHEMES

    require(
        encoding not in MODELS,
        f"the forecast is not calibrated for {encoding}: no training of it has been counted yet; "
        "`lengthwise predict … --certificate` says what theory has on it, and "
        f"`lengthwise compare … --systems {encoding},rope` trains it",
    )
    names = KNOWN | {alias: KNOWN[name] for alias, name in ALIASES.items()}
    encoding = None if encoding is None else spelled(encoding, {*names, *ENCODINGS})
    scheme = None if scheme is None else spelled(scheme, SCHEMES)
    if scheme is None:
        if encoding is None:
            return ()
        if encoding in names:
            return (names[encoding],)
        if encoding not in ENCODINGS:
            raise UnknownNameError("position system", encoding, [*names, *ENCODINGS])
        return (PositionSystem("sequential", encoding),)
    if scheme not in SCHEMES:
        raise UnknownNameError("scheme", scheme, SCHEMES)
    if encoding is None:
        found = tuple(system for system in SYSTEMS if scheme in (system.scheme, system.registered_scheme))
        return found or (PositionSystem(scheme, "learned"),)
    heard_by = "learned" if encoding == "ape" else encoding
    if heard_by not in ENCODINGS:
        raise UnknownNameError("encoding", encoding, ENCODINGS)
    check_ids_are_used(scheme, ENCODINGS.build(heard_by))
    found = tuple(s for s in SYSTEMS if (s.registered_scheme, s.encoding) == (scheme, heard_by))
    return found or (PositionSystem(scheme, heard_by),)


def instead_of(
    found: SystemForecast,
    ranked: list[SystemForecast],
    periods: Instead | None,
    pad: Instead | None,
    setting: Instead | None,
    train_it: Callable[[SystemForecast], str],
) -> tuple[Instead, ...]:
    """What would do better: the cheapest system with a forecast above `GOOD_FROM`, else ids modulo m where these were
    mostly right, else the best of the others, another setting of the task and a scratchpad of states."""
    own = share(found) or 0.0
    if found.answer == RIGHT or own >= GOOD_FROM:
        return ()
    others = [f for f in ranked if f.system not in (found.system, "modulo") and f.answer != WRONG]
    cheapest = sorted(others, key=lambda f: CHEAPEST.index(f.system) if f.system in CHEAPEST else len(CHEAPEST))
    best = first_with_command([f for f in cheapest if (sure(f) or 0.0) > max(GOOD_FROM, own)], train_it)
    good = bool(best)
    if not best and periods is not None and found.system != periods.system and better(periods.share, found):
        return (periods,)
    better_ones = [
        f
        for f in others
        if (sure(f) or 0.0) > max(own + 0.05, UNLIKELY_TO / 100)
        or (found.verdict != "yes" and f.others and f.verdict == "yes" and better(share(f), found))
    ]
    best = best or first_with_command(better_ones, train_it)
    known = []
    for f, line in best:
        theory = UNMET if f.unmet else "promising" if f.answer == PROMISING else "possible in theory"
        seen = f"{theory}, {f.base_rate}" if f.base_rate else ""
        seen = f"measured right, {f.measured.removeprefix(OWN_LANGUAGE)}" if f.answer == RIGHT else seen
        number = (None, None) if seen else (f.probability, f.interval)
        known.append(Instead(f.system, words(f.system), *number, seen, line, share=share(f)))
    tasks = [each for each in (setting, pad) if each is not None and better(each.share, found)]
    return (*known, *tasks * (not good))


def share(found: SystemForecast) -> float | None:
    """How likely a system is right by all that is known: `sure`, else the share of others; None without both."""
    right, of = found.others or found.record
    by_others = right / of if of else None
    return by_others if sure(found) is None else sure(found)


def better(known: float | None, found: SystemForecast) -> bool:
    """Whether what is known of something speaks for it more than for a system; what nobody measured may be tried."""
    return known is None or known > (share(found) or 0.0)


def sure(found: SystemForecast) -> float | None:
    """How likely a system is right: 1 or 0 where it was measured, else by the forecast; None where there is none."""
    return found.probability if found.accuracy is None else float(found.accuracy >= found.cut)


def first_with_command(
    found: Sequence[SystemForecast], train_it: Callable[[SystemForecast], str]
) -> list[tuple[SystemForecast, str]]:
    """The first system that a command trains, with it; without such a one the first."""
    with_commands = ((f, line) for f in found if (line := train_it(f)))
    first = next(with_commands, None) or next(((f, "") for f in found), None)
    return [] if first is None else [first]


def traced_cells(ratio: float) -> Iterator[tuple[MeasuredCell, tuple[int, int]]]:
    """Tasks that were trained with the states of their machine under predicted ids, with the tests near this ratio."""
    for cell in others(SCRATCHPAD_SYSTEM.scheme):
        place = bin_of(ratio, cell)
        if cell.task.get("trace") == "states" and trained_plainly(cell, SCRATCHPAD_SYSTEM) and place is not None:
            yield cell, place


def scratchpads(ratio: float, cut: float) -> dict[str, bool]:
    """The tasks that were trained with a scratchpad under predicted ids, and whether each was right near this ratio."""
    found = others_by_name(SCRATCHPAD_SYSTEM, ratio, cut)
    written = {name: right for name, right in found.items() if "scratchpad" in name}
    for cell, place in traced_cells(ratio):
        of = cell.task["task"]
        name = f"{shortened(str(of.get('language', of['name'])), 20)} with its states"
        name += f" {len(written) + 1}" * (name in written)
        written[name] = (cell.accuracy(*place) or 0.0) >= cut
    return written


def scratchpad_instead(task: Task | None, train: int, test: int, cut: float, at: tuple[int, int]) -> Instead | None:
    """A scratchpad of the states of a machine, under the best positions that its own forecast names, with its record.

    Its command tests at ``at``.
    """
    if isinstance(task, Language) and task.ask == "next" and task.automaton() is not None:
        pad: Task = StateScratchpad(language=task.language, alphabet=task.alphabet)
        given = {"language": task.language} | ({"alphabet": task.alphabet} if task.alphabet else {})
        typed = " ".join([pad.name, *(setting(f"task.{key}", value) for key, value in given.items())])
        writes = f"the model writes the automaton's state after each symbol; {means_member(accepting_states(task))}"
    elif task is not None and "name" in vars(type(task)) and task.machine() and not isinstance(task, Language):
        pad = Traced(task)
        typed = f"{pad.name} {setting('task.task', {'name': task.name, **settings_of(task)})}"
        writes = "before the answer the model writes a machine's state after each symbol"
    else:
        return None
    best = predict(pad, train, test, cut=cut, tested=at[-1]).systems[0]
    command = run_command(pad, typed, named_scheme(best), best.encoding, train, *at)
    known = best.others or best.record
    line = f"{writes}; with {best.words} {in_words(known, best.alike)} {near_ratio(test / train)}"
    for cell, place in traced_cells(test / train):
        if TASKS.build(cell.task["task"]) == task:
            line += f"; with {words(SCRATCHPAD_SYSTEM)}, {line_of(cell, place)}"
    return Instead(best.system, "a scratchpad, another task", None, None, line, command, best.named, share(best))


def accepting_states(language: Language) -> tuple[str, ...]:
    """The states, by the names that a scratchpad writes, after which what was read is a word of a regular language."""
    traced = StateScratchpad(language=language.language, alphabet=language.alphabet).traced
    dfa = language.automaton()
    assert dfa is not None
    return tuple(traced.states[traced.unrolled.number[q]] for q, accepts in enumerate(dfa.accepting) if accepts)


def means_member(states: Sequence[str]) -> str:
    """What the last of the states that are written says, where these are the accepting ones; the first are named."""
    more = len(states) - MOST_NAMED
    named = f"{', '.join(states[:MOST_NAMED])} and {more} more" if more > 0 else in_a_row(states, "or")
    return f"a word is in the language if the last state is {named}"


def modulo_instead(
    dfa: Dfa, format: Format, task: Task | None, word: str, train: int, test: int, at: tuple[int, int], cut: float
) -> Instead | None:
    """Ids modulo a language's period, where such ids were mostly right when measured.

    They have no forecast: the languages that were measured are counted instead. The command tests at ``at``.
    """
    m, system = features.period(dfa, format), KNOWN["modulo"]
    if m < 2 or format != "next":
        return None
    measured, speaks, rate = measured_modulo(dfa, format, train, test / train, cut)
    if not speaks:
        return None
    command = run_command(task, word, system.scheme, system.encoding, train, *at, more=f" --set scheme.m={m}")
    return Instead("modulo", f"ids modulo {m}", None, None, measured.line, command, share=rate)


def measured_modulo(dfa: Dfa, format: Format, train: int, ratio: float, cut: float) -> tuple[Measured, bool, float]:
    """How languages that, like this one, need or don't need a count beside their period came out under ids modulo m.

    And whether that speaks for such ids: most of them were right, and this one, too, if it was measured. And the share
    that was right, of its own seeds if it was.
    """
    m = features.period(dfa, format)
    counts = not no_counting(with_residues(dfa, m))
    alike: list[list[bool]] = []
    others: list[list[bool]] = []
    own: tuple[list[bool], float | None, int] | None = None
    for cell in cells():
        plainly = trained_plainly(cell, KNOWN["modulo"]) and cell.format == format
        other = features.language_of(cell.task) if plainly else None
        place = None if other is None else bin_of(ratio, cell)
        if place is None or other is None:
            continue
        seeds = seeds_right(cell, place, cut)
        same = counts != no_counting(with_residues(other, cell.settings["scheme"]["m"]))
        (alike if same else others).append(seeds)
        if other == dfa:
            near = (cell.accuracy(*place) or 0.0) if trained_near(cell, train) else None
            own = seeds, near, cell.train
    if not alike:
        return Measured("", None), False, 0.0
    held, seeds = sum(all(each) for each in alike), [seed for each in alike for seed in each]
    right, (needed, other) = sum(all(each) for each in others), ("a", "no count") if counts else ("no", "a count")
    if m > 1:
        line = (
            f"{held} of {len(alike)} {SIMILAR} languages ({needed} count is needed once the position modulo {m} is "
            f"known) were right {near_ratio(ratio)}; of those that need {other}, {right} of {len(others)}; "
            f"{sum(seeds)} of {len(seeds)} seeds of the {SIMILAR} ones"
        )
    else:
        of = len(alike) + len(others)
        line = f"{held + right} of {of} languages were right {near_ratio(ratio)}, none known to be like this one"
    speaks = 2 * held > len(alike)
    if own is not None:
        far = f"{TOO_FAR} {train}" * (own[1] is None)
        seen = f"right {near_ratio(ratio)} in {sum(own[0])} of {len(own[0])} seeds{far}"
        line = f"{OWN_LANGUAGE}trained to {own[2]}: {seen}; {line}"
        speaks &= 2 * sum(own[0]) > len(own[0])
    rate = held / len(alike) if own is None else sum(own[0]) / len(own[0])
    return Measured(line, None if own is None else own[1], (held, len(alike)) if m > 1 else (0, 0)), speaks, rate


def with_residues(dfa: Dfa, m: int) -> Dfa:
    """The language over symbols that say their position modulo m, which is what a model reads under ids modulo m."""
    sink = dfa.size * m
    symbols = [(symbol, r) for symbol in range(len(dfa.alphabet)) for r in range(m)]
    delta = [
        tuple(dfa.delta[state][symbol] * m + (place + 1) % m if r == place else sink for symbol, r in symbols)
        for state in range(dfa.size)
        for place in range(m)
    ]
    names = tuple(f"{r}:{dfa.alphabet[symbol]}" for symbol, r in symbols)
    accepting = tuple(accepts for accepts in dfa.accepting for _ in range(m))
    return minimize(Dfa(names, (*delta, (sink,) * len(symbols)), (*accepting, False)))


def seeds_right(cell: MeasuredCell, place: tuple[int, int], cut: float) -> list[bool]:
    """For each seed of a cell whether it fit and was right in these lengths on at least this share."""
    tests = [t for t in cell.tests if (t.low, t.high) == place]
    return [
        fit and all((value or 0.0) >= cut for value in values)
        for fit, *values in zip(cell.fitted, *(t.accuracy for t in tests), strict=True)
    ]


def language_in(target: Any) -> tuple[Dfa, Format] | None:
    """The automaton of a target and what a model is asked; None if it is no regular language."""
    match target:
        case Expression(text):
            return language(text), "next"
        case AutomatonFile(_, dfa):
            return language(dfa), "next"
        case Language() if (dfa := target.automaton()) is not None:
            return dfa, target.ask
    return None


def nearest_forecast(domain: Sequence[int], train: int, test: int, lengths: Callable[[int, int], Sequence[int]]) -> str:
    """The training length nearest to ``train`` that has a forecast, with the test as much longer; empty without words.

    ``lengths`` are those that something has between two.
    """
    near, end = (domain[0], "shortest") if train < domain[0] else (domain[1], "longest")
    longer = lengths(near + 1, max(near + 1, near * test // train))
    if not longer or not lengths(1, near):
        return ""
    return f"; the {end} with a forecast is {near} (--train {near} --test {longer[-1]})"


def of_language(
    dfa: Dfa, format: Format, system: PositionSystem, train: int, test: int, cut: float, probe: Probe | None
) -> SystemForecast:
    """The forecast of one system on a regular language."""
    found = forecaster("language")
    theory = in_theory(dfa, format, system)
    fragment = system.fragment
    decided = None if fragment is None else features.verdict(dfa, format, fragment)
    answer = "unknown" if decided is None else decided.verdict
    measured = measured_language(dfa, format, system, train, test / train, cut)
    domain = found.domain
    kind = features.kind(dfa, format, system.encoding)
    refusal = ""
    if format not in domain["formats"]:
        refusal = f"no model was asked for {ASKED[format]} of a language, only for {ASKED[domain['formats'][0]]}"
    elif system.scheme == "modulo" and measured.line:
        refusal = f"too few languages were trained with {words(system)} for a forecast"
    elif system not in SYSTEMS or pair(system) not in domain["kinds"]:
        refusal = f"no language was trained with {words(system)}"
    elif kind not in domain["kinds"][pair(system)]:
        refusal = f"none of the {of_kind(dfa, format, system)} was trained with {words(system)}"
    elif test / train > domain["ratio"][1]:
        refusal = f"no language was{BEYOND}{domain['ratio'][1]:g} times the training length"
    elif dfa.size > domain["states"]:
        refusal = f"no language of more than {domain['states']} states was measured, this has {dfa.size}"
    elif not domain["train"][0] <= train <= domain["train"][1]:
        refusal = f"languages were trained to {domain['trained'][0]}, which is too far from {train}"
        refusal += nearest_forecast(domain["train"], train, test, partial(lengths_with_words, dfa))
    if refusal:
        known, values = answered(system, None, theory, measured, cut, refusal), dict[str, float]()
    else:
        asked = features.LanguageQuestion(dfa, format, system.encoding, train, test)
        values = features.of_language(asked)
        forecast = found.forecast(values, cut)
        known = answered(system, forecast, theory, measured, cut)
        known = replace(known, weak=weak_spot(kind, format, system.encoding) * (known.answer in (LIKELY, UNCERTAIN)))
    known = replace(known, record=measured.alike)
    if system.scheme == "modulo":
        known = replace(known, m=features.period(dfa, format))
        if known.accuracy is None:
            known = replace(known, others=measured.alike if measured.alike[1] else None)
    basis = "" if decided is None or answer == "unknown" else system.rests_on(answer, decided.basis)
    return with_probe(replace(known, verdict=answer, basis=basis), "language", values, cut, probe)


def of_task(
    target: Any, theory: Prediction, system: PositionSystem, train: int, test: int, cut: float, probe: Probe | None
) -> SystemForecast:
    """The forecast of one system on a task with answers, from its structure and theory's answer."""
    verdict = next((v for v in theory.verdicts if v.system == name_of(system)), None)
    found = forecaster("task")
    refusal = ""
    if not isinstance(target, Task):
        refusal = f"{theory.kind} files have no strings to train on, so no such target was measured"
    elif isinstance(target, Language):
        refusal = "no counter language was measured under settings that were fixed beforehand"
    elif pair(system) not in found.domain["systems"]:
        refusal = f"{NO_KIND}{words(system)}"
    elif test / train > found.domain["ratio"][1]:
        refusal = f"few tasks were{BEYOND}{found.domain['ratio'][1]:g} times the training length"
    elif not found.domain["train"][0] <= train <= found.domain["train"][1]:
        refusal = "tasks were trained to {} to {}, and {}{}".format(*found.domain["train"], train, OUTSIDE)
    task = target if isinstance(target, Task) else None
    no_kind = refusal.startswith(NO_KIND) and verdict is not None
    measured = measured_task(task, system, train, test / train, cut) if task else Measured("", None)
    if task and measured.line and refusal.endswith(OUTSIDE):  # Without, other tasks are counted at any length.
        refusal += nearest_forecast(found.domain["train"], train, test, task.lengths)
    if task and refusal and not measured.line:
        measured = measured_task(task, system, train, test / train, cut, others(system.registered_scheme))
    argument = "no theorem covers such ids"
    if verdict is not None:
        answer = UNMET if verdict.unmet else "possible" if verdict.answer == "yes" else SHOWN[verdict.answer]
        argument = f"{answer}: {verdict.in_theory}"
        unsearched = next((line for line in theory.searched if line.startswith(NOT_SEARCHED)), "")
        if unsearched and not verdict.arguments and verdict.fragment is not None:
            argument = f"unknown: {NOT_FEW_AND_NEAR}; and {unsearched}"
    if refusal:
        known, values = answered(system, None, argument, measured, cut, refusal), dict[str, float]()
    else:
        values = features.of_task(features.TaskQuestion(theory, system, train, test))
        known = answered(system, found.forecast(values, cut), argument, measured, cut)
    if task and measured.accuracy is None and (no_kind or not (refusal or measured.line)):
        measured = measured if measured.line else never_fitted(task, system, train)
        alike = others_by_name(system, test / train, cut, "" if verdict is None else verdict.short)
        if isinstance(task, StateScratchpad | Traced) and system == SCRATCHPAD_SYSTEM:
            alike = scratchpads(test / train, cut)
        alike = {name: right for name, right in alike.items() if name != name_in_full(TASKS.show(task))}
        counts = sum(alike.values()), len(alike)
        if measured.accuracy is None and (alike or not refusal):
            known = replace(known, others=counts, named=alike)
        # Tasks of which theory says nothing, as of this one, are alike in nothing else.
        counts = counts if verdict is not None and verdict.answer != "unknown" else (0, 0)
        known = replace(known, measured=measured.line, accuracy=measured.accuracy)
        measured = replace(measured, alike=counts)
    if verdict is not None:
        known = replace(known, verdict=verdict.answer, unmet=verdict.unmet, basis=verdict.basis or "")
        if task and system.coupled and verdict.answer == "yes" and known.accuracy is None:
            known = replace(known, weak=doubt_in_task(task))
    known = replace(known, record=measured.alike, own=measured.seen)
    return with_probe(known, "task", values, cut, probe)


def answered(
    system: PositionSystem, forecast: Forecast | None, theory: str, measured: Measured, cut: float, refusal: str = ""
) -> SystemForecast:
    """The forecast, or why there is none, beside what was measured."""
    line = measured.line
    if forecast is not None:
        wide = widened(forecast, measured.alike)
        if wide != forecast and measured.accuracy is None and wide.interval[1] - wide.interval[0] >= WIDE:
            line += SO_FEW
        forecast = wide
        if measured.accuracy is not None:
            line += f"; the forecast without it was {chance_of(forecast.probability, forecast.interval)}"
    if refusal and not refusal.startswith("too few"):
        refusal = f"no forecast: {refusal}"
    return SystemForecast(
        name_of(system), system.registered_scheme, system.encoding, forecast, theory, line, refusal,
        accuracy=measured.accuracy, cut=cut,
    )  # fmt: skip


def widened(forecast: Forecast, alike: tuple[int, int]) -> Forecast:
    """The forecast with an interval that covers that of the count of what is alike, where that is `FEW`."""
    if not 0 < alike[1] < FEW:
        return forecast
    (low, high), (least, most) = forecast.interval, wilson(*alike, z=Z90)
    return replace(forecast, interval=(min(low, max(least, LEAST)), max(high, min(most, 1 - LEAST))))


def in_theory(dfa: Dfa, format: Format, system: PositionSystem) -> str:
    """Whether a program exists for what the model is asked, and by what it works."""
    if (fragment := system.fragment) is None:
        return "no theorem covers such ids"
    found = features.verdict(dfa, format, fragment)
    if found.verdict == "unknown":
        return "unknown: no program is known that does it, and no proof that there is none"
    if found.verdict == "no":
        return f"{NO_PROGRAM}; a model may still learn it"
    cited = f"program: {found.basis}; that {words(system)} can run it: cited"
    basis = cited if system.theorem == CITED_LINK else found.basis
    m = found.period or 1
    m = features.period(dfa, format) if m == 1 and system.scheme == "modulo" else m
    if m > 1 and not no_counting(dfa) and no_counting(with_residues(dfa, m)):
        return f"possible: a program uses the position modulo {m}, without counting ({basis})"
    uses = ["counts of symbols"] if not no_counting(dfa) else ["what was read before, without counting"]
    uses += [f"the last {found.window} symbols"] if (found.window or 1) > 1 else []
    uses += [f"the position modulo {found.period}"] if (found.period or 1) > 1 else []
    if format == "next" and (found.window or 1) > 1 and features.suffices(dfa, found.window or 1):
        return f"possible: the last {found.window} symbols suffice ({basis})"
    return f"possible: a program uses {', '.join(uses[:-1])}{' and ' if uses[:-1] else ''}{uses[-1]} ({basis})"


def agreeing(shares: Sequence[float], cut: float) -> bool:
    """Whether all settings came out alike; where they did not, a measurement answers nothing by itself."""
    return len({share >= cut for share in shares}) == 1


def trained_near(cell: MeasuredCell, train: int) -> bool:
    """Whether a cell was trained to about as long as is asked."""
    return 1 / NEAR_TRAIN <= cell.train / train <= NEAR_TRAIN


def line_of(cell: MeasuredCell, place: tuple[int, int]) -> str:
    """What one cell measured, in a few words."""
    found = cell.accuracy(*place)
    where = f"{place[0]}–{place[1]}" if place[0] < place[1] else str(place[0])
    count = f"{sum(cell.fitted)} of {len(cell.seeds)} seeds fit"
    result = f"{found:.2f} at {where} ({count})" if found is not None else f"{NOT_FITTED} ({count})"
    return f"trained to {cell.train}: {result}; {cell.study}" + f", commit {cell.commit}" * bool(cell.commit)


def measured_language(
    dfa: Dfa, format: Format, system: PositionSystem, train: int, ratio: float, cut: float
) -> Measured:
    """What was measured of this language; if it was not, how often languages with the same answer were right."""
    if system.scheme == "modulo":
        return measured_modulo(dfa, format, train, ratio, cut)[0]
    alike: dict[str, dict[str, bool]] = {of_kind(dfa, format, system): {}}
    others: list[bool] = []
    kind = features.kind(dfa, format, system.encoding)
    tested = list(measured_languages(format, system, ratio))
    own = [(cell, place) for cell, other, place in tested if other == dfa]
    tested = [each for each in tested if each[0].rung is not None]
    for cell, other, place in tested:
        accuracy = cell.accuracy(*place) or 0.0
        same = features.kind(other, format, system.encoding) == kind
        right = accuracy >= cut
        if same:
            alike.setdefault(of_kind(other, format, system), {})[str(cell.task["language"])] = right
        else:
            others.append(right)
    if first := alike[of_kind(dfa, format, system)]:  # Of languages that need something else the same is known.
        alike = {of_kind(dfa, format, system): first}
    counts = sum(sum(found.values()) for found in alike.values()), sum(map(len, alike.values()))
    near = [one for one in own if trained_near(one[0], train)]
    elsewhere = ""
    if own:
        cell, place = min(near or own, key=lambda one: abs(math.log(one[0].train / train)))
        shares = [each.accuracy(*there) or 0.0 for each, there in near or own]
        line = OWN_LANGUAGE + line_of(cell, place)
        if near and agreeing(shares, cut):
            return Measured(line, cell.accuracy(*place) or 0.0, counts)
        mixed = f"; in {len(shares)} settings from {min(shares):.2f} to {max(shares):.2f}" * (not agreeing(shares, cut))
        elsewhere = f"{line}{mixed}" + f"{TOO_FAR} {train}" * (not near)
        if near:
            return Measured(elsewhere, None, counts)
        elsewhere += "; "
    if not counts[1]:
        right = f"{sum(others)} {'was' if sum(others) == 1 else 'were'} right"
        line = f"no {SIMILAR} language was trained with {words(system)}, and of {len(others)} others {right}"
        return Measured(elsewhere + line * bool(others), None)
    said = ", and ".join(f"{sum(found.values())} of {len(found)} {of}" for of, found in alike.items() if found)
    named = exceptions(*alike.values()).strip(" ()") if len(alike) == 1 else ""
    reached = {(round(low / cell.train), round(high / cell.train)) for cell, _, (low, high) in tested}
    at = "; ".join(f"{low} to {high}" if low < high else f"{low}" for low, high in sorted(reached))
    return Measured(
        f"{elsewhere}{said} were right with {words(system)}, at {at} times the training length"
        + f"; {named}" * bool(named),
        None,
        counts,
    )


def measured_languages(
    format: Format, system: PositionSystem, ratio: float
) -> Iterator[tuple[MeasuredCell, Dfa, tuple[int, int]]]:
    """The languages that were trained with a system, with the tested lengths near this ratio."""
    for cell in cells():
        if cell.format == format and trained_plainly(cell, system):
            other, place = features.language_of(cell.task), bin_of(ratio, cell)
            if other is not None and place is not None:
                yield cell, other, place


def never_fitted(task: Task, system: PositionSystem, train: int) -> Measured:
    """The run nearest to this N that was not right on its training lengths, so that none longer was tested.

    It answers where it is of this very task, and near this N; without a line there is none.
    """
    setting = TASKS.show(task)
    found = [c for c in cells() if not c.fit and trained_plainly(c, system) and same_task(c.task, setting)]
    own = [cell for cell in found if TASKS.build(dict(cell.task)) == task]
    if not found:
        return Measured("", None)
    cell = min(own or found, key=lambda cell: abs(math.log(cell.train / train)))
    line = f"trained to {cell.train}: {NOT_FITTED} ({sum(cell.fitted)} of {len(cell.seeds)} seeds fit)"
    if not own:
        return Measured(f"with other settings of the task, {line}", None)
    return Measured(line, 0.0 if trained_near(cell, train) else None, seen=NOT_FITTED)


Tested = Sequence[tuple[MeasuredCell, tuple[int, int]]]
"""Cells, each with tested lengths."""


def measured_task(
    task: Task, system: PositionSystem, train: int, ratio: float, cut: float, among: Sequence[MeasuredCell] = ()
) -> Measured:
    """What these cells have of this task near this ratio: near this N, with its median accuracy, else at others.

    Where it is not right there, the settings with which it is are named, too.
    """
    by_setting = settings_tested(task, system, ratio, among)
    own = by_setting.pop("", [])
    near = [(cell, place) for cell, place in own if trained_near(cell, train)]
    found = own or [each for tested in by_setting.values() for each in tested]
    if not found:
        return Measured("", None)
    shares = [cell.accuracy(*place) or 0.0 for cell, place in found]
    middle, mixed = statistics.median(shares), not agreeing(shares, cut)
    studies = {cell.study for cell, _ in found}
    of = f" of {studies.pop()}" if len(studies) == 1 else ""
    line = f"median accuracy {middle:.2f} over {len(found)} settings{of} {near_ratio(ratio)}"
    line += f", from {min(shares):.2f} to {max(shares):.2f}" * mixed
    line = line if len(found) > 1 else line_of(*found[0])
    line += f"{TOO_FAR} {train}" * bool(own and not near)
    apart = f"{min(shares):.2f}–{max(shares):.2f}" if mixed else f"{middle:.2f}"
    seen = f"mixed {ELSEWHERE}" if mixed else f"{apart} {ELSEWHERE}"
    seen = f"{apart} right" if near else seen
    if all(cell.accuracy(*place) is None for cell, place in found):
        seen = NOT_FITTED
    accuracy = middle if near and not mixed else None
    if not own:
        line = f"with {'other settings of the task' if len(by_setting) > 1 else ''.join(by_setting)}, {line}"
    right = setting_right(by_setting, train, ratio, cut)
    if right and (len(by_setting) > 1 if not own else accuracy is None or accuracy < cut):
        line += f"; with {right[0]}, {right[1]}"
    return Measured(line, accuracy, seen=seen)


def settings_tested(
    task: Task, system: PositionSystem, ratio: float, among: Sequence[MeasuredCell] = ()
) -> dict[str, Tested]:
    """What was trained of a task with a system and tested near this ratio, by the settings that are not those asked."""
    asked, found = TASKS.show(task), dict[str, list[tuple[MeasuredCell, tuple[int, int]]]]()
    for cell in among or cells():
        alike = cell.task["name"] == asked["name"] and same_task(cell.task, asked) and trained_plainly(cell, system)
        if alike and (place := bin_of(ratio, cell)) is not None:
            own = TASKS.show(TASKS.build(dict(cell.task)))
            apart = ", ".join(f"{key}={json.dumps(value)}" for key, value in own.items() if value != asked.get(key))
            found.setdefault(apart, []).append((cell, place))
    return found  # type: ignore[return-value]


def setting_right(
    by_setting: Mapping[str, Tested], train: int, ratio: float, cut: float
) -> tuple[str, str, float] | None:
    """The setting of which all cells near this N are right, with its seeds in words and their share, the best."""
    found = list[tuple[str, str, float]]()
    for name, tested in by_setting.items():
        near = [(cell, place) for cell, place in tested if trained_near(cell, train)]
        if near and all((cell.accuracy(*place) or 0.0) >= cut for cell, place in near):
            seeds = [seed for cell, place in near for seed in seeds_right(cell, place, cut)]
            studies = ", ".join(sorted({cell.study for cell, _ in near}))
            record = f"{sum(seeds)} of {len(seeds)} seeds were right {near_ratio(ratio)} ({studies})"
            found.append((name, record, sum(seeds) / len(seeds)))
    return max(found, key=lambda each: each[2], default=None)


def setting_instead(
    task: Task | None, found: SystemForecast, train: int, test: int, cut: float, at: tuple[int, int]
) -> Instead | None:
    """The setting of a task with which the positions that were wrong were right, and the command that trains it."""
    if task is None or found.answer != WRONG or isinstance(task, Language):
        return None
    system = PositionSystem(named_scheme(found), found.encoding)
    by_setting = settings_tested(task, system, test / train)
    by_setting.pop("", None)
    right = setting_right(by_setting, train, test / train, cut)
    if right is None:
        return None
    name, record, share_right = right
    other: Any = TASKS.build(dict(by_setting[name][0][0].task))
    command = run_command(other, typed_name(other), system.scheme, system.encoding, train, *at)
    words = f"{found.words} and {name}, another setting of the task"
    return Instead(found.system, words, None, None, record, command, share=share_right)
