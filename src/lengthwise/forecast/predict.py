"""The forecast of a target: each position system's chance to be right at M, in words that agree with the number."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lengthwise.core.config import digest
from lengthwise.core.errors import LengthwiseError, UnknownNameError, require, shortened, spelled
from lengthwise.core.statistics import wilson
from lengthwise.core.table import WIDTH
from lengthwise.crasp.decide import no_counting
from lengthwise.forecast import features
from lengthwise.forecast.advice import (
    aimless,
    compare_command,
    compared_at,
    instead_of,
    modulo_instead,
    named_scheme,
    near_instead,
    run_command,
    scratchpad_instead,
    setting_instead,
    settle_command,
    why_untrained,
)
from lengthwise.forecast.answer import (
    AFTER,
    ASKED,
    BEYOND,
    CHOSEN,
    DENSE,
    FEW,
    KNOWN,
    LIKELY,
    LOCAL_BIAS,
    NEEDS_PLACES,
    NOT_KNOWN,
    PLAIN_PLACES,
    PROMISING,
    UNCERTAIN,
    UNLIKE_TRAINED,
    UNLIKELY,
    UNTRIED,
    SystemForecast,
    chance_of,
)
from lengthwise.forecast.forecasts import Forecasts, unfitted
from lengthwise.forecast.measured import (
    SCRATCHPAD_SYSTEM,
    Measured,
    left_out,
    measured_language,
    measured_task,
    name_in_full,
    never_fitted,
    of_all_positions,
    of_kind,
    others_by_name,
    scratchpads,
    with_residues,
)
from lengthwise.forecast.model import CUTS, Forecast, forecaster, kinds
from lengthwise.languages.automaton import Dfa
from lengthwise.languages.sampling import lengths_with_words
from lengthwise.measured.cells import Format, others
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import SCHEMES
from lengthwise.positions.structure import BY_EARLIER, NO_PLACE, farthest_step, needed_by_all, places_tell_content
from lengthwise.positions.system import ALIASES, CITED_LINK, SYSTEMS, PositionSystem, check_ids_are_used, name_of, words
from lengthwise.prediction import programs
from lengthwise.prediction.couple import doubt_in_task
from lengthwise.prediction.determined import UNTOLD
from lengthwise.prediction.predict import COUPLING, nearest, predict_target, predict_with_search
from lengthwise.prediction.recurrent import MODELS
from lengthwise.prediction.search import BY_HAND, COUPLING_SEARCHED, NOT_SEARCHED, STOPPED, search_places
from lengthwise.prediction.target import AutomatonFile, parse_target, settings_of, task_of, typed_name, typed_target
from lengthwise.prediction.verdict import SHOWN, UNMET, Prediction
from lengthwise.tasks import TASKS, Task
from lengthwise.tasks.alike import renamed
from lengthwise.tasks.language import Language, called
from lengthwise.tasks.traced import StateScratchpad, Traced
from lengthwise.tasks.values import spoken

if TYPE_CHECKING:
    from lengthwise.forecast.probe import Probe

NO_PROGRAM = "no program that such a model can run does it at every length"
"""Theory's *no* on a language."""
NO_KIND = "no task behind the forecast was trained with "
"""How the reason begins where the fitted model has no such system."""
VARIANTS_OF_LADDER = ("nope", "ape", "rope", "alibi")
"""Systems that a probe trains as the frozen ladder does."""
Z90, LEAST = 1.645, 0.001
"""The 95 % point of the normal distribution, for an interval of 90 %; no end of an interval is certain."""
WITH_PLACES = ("coupled+learned", f"coupled+{LOCAL_BIAS}", "ape", "rope")
"""What is compared once a task has places: coupled ids with both encodings, their control, and the usual one."""
FAR = 50
"""How far from the length in question another is looked for, where no automaton says how far."""
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


def pair(system: PositionSystem) -> str:
    """Scheme and encoding, as the evidence names them."""
    return f"{system.registered_scheme}+{system.encoding}"


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
        name, word = target, typed_target(target)
    else:
        name, word = called_in_full(target), typed or typed_name(target)
    from lengthwise.experiments.defaults import coupled_name, places_follow_from_layout

    trainable, couple, untried = task_of(parsed), "", ()
    test, meant = meant_length(parsed, name, train, test)
    at = (test, tested or test)
    if isinstance(probe, str | int | float):
        probe = run_probe(trainable, name, requested[0], train, probe, note, folder)

    def probed(system: PositionSystem) -> Probe | None:
        return probe if system in requested else None

    if (regular := programs.language_in(parsed)) is not None:
        dfa, format = regular
        forecasts = [of_language(dfa, format, system, train, test, cut, probed(system)) for system in systems]
        count = forecaster("language").cells
        span = helps = ""
        periods = modulo_instead(dfa, format, trainable, word, train, test, at, cut)
        near = near_instead(dfa, format, trainable, word, train, at)
        local = PositionSystem("sequential", LOCAL_BIAS)
        untried = (of_language(dfa, format, local, train, test, cut, None),) if near else ()
    else:
        theory = predict_target(name, note=note) if isinstance(target, str) else predict_with_search(target, note=note)
        forecasts = [of_task(parsed, theory, system, train, test, cut, probed(system)) for system in systems]
        format = parsed.ask if isinstance(parsed, Language) else "answer"
        count, periods, near = forecaster("task").cells, None, None
        found_by_search = any(a.certificate.get("kind") == "coupling" for v in theory.verdicts for a in v.arguments)
        couple = f"lengthwise couple {word}" if found_by_search and word else ""
        span, mend = not_near(theory, trainable)
        asked = set(map(name_of, requested))
        helps = "" if any(f.verdict == "yes" for f in forecasts) else mend or what_helps(theory, asked)
        if helps.endswith(COUPLING) and trainable and (needs := needed_by_all(trainable, nearest(trainable, 20))):
            helps, span = "", f"by its parents {BY_EARLIER.format(min(needs))}"
        elif helps.endswith(COUPLING) and (chosen_by := chosen_by_ever_more(theory)):
            helps, span = "", chosen_by
        elif helps.endswith(COUPLING) and word:
            searched = [line for line in theory.searched if line.startswith(COUPLING_SEARCHED)]
            if untold := [line.removeprefix(COUPLING_SEARCHED) for line in searched if UNTOLD in line]:
                helps = f"{UNTRIED}: places that a search found, but {untold[0]}"
            elif searched and not any(STOPPED in line for line in searched):  # `couple` would search the same again.
                helps += f"; a search found none of the usual forms; {BY_HAND}"
            else:
                looks = "a search of seconds found none, this takes its time" if searched else "this looks for them"
                helps, couple = f"{helps}; {looks}", f"lengthwise couple {word}"
    pad = None  # What a probe saw to work has no rival that nobody measured.
    if probe is None or (probe.accuracy or 0.0) < cut:
        pad = scratchpad_instead(
            trainable, train, at, lambda pad: predict(pad, train, test, cut=cut, tested=at[-1]).systems
        )
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
        for place, f in enumerate(forecasts):
            if f.scheme in features.SCHEMES_OF_PLACES and f.verdict != "yes":
                why = f.refusal or "no forecast: it has no places"
                forecasts[place] = replace(f, theory=f"unknown: {lacks}", others=None, forecast=None, refusal=why)
    if regular is None and trainable is not None:
        tells = places_tell_content(trainable) or not places_follow_from_layout(trainable)
        forecasts = [replace(f, tells=tells and f.scheme == "coupled") for f in forecasts]
    ranked = sorted(forecasts, key=lambda f: f.rank, reverse=True)
    wanted = set(map(name_of, requested))

    def train_it(found: SystemForecast) -> str:
        if no_places and found.scheme in features.SCHEMES_OF_PLACES:
            return ""  # All of its ids would be 0.
        scheme = named_scheme(found)
        more = f" --set scheme.m={programs.period_of(trainable)}" if trainable and scheme == "modulo" else ""
        return run_command(trainable, word, scheme, found.encoding, train, *at, more=more)

    chosen = tuple(
        replace(
            f,
            instead=instead_of(
                f, ranked, periods, near, pad, setting_instead(trainable, f, train, test, cut, at), train_it
            ),
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
        one = f", systems=[{chosen[0].system!r}]" * bool(requested)
        tests = f", test_lengths={lengths}" if (lengths := compared_at(trainable, train, at[-1])) else ""
        by_hand = f"in Python, with this task: lw.compare(task{one}, max_length={train}{tests}, budget='10m')"
    elif not settle and requested:
        by_hand = why_untrained(trainable, f"{named_scheme(chosen[0])}+{chosen[0].encoding}")
    if chosen[0].weak and chosen[0].answer == NOT_KNOWN and word:
        found_ones = search_places(trainable, note)[0] if trainable else []
        if any("; but " not in argument.why for argument in found_ones):
            helps, couple = "find places that tell the tokens apart, and write them in", f"lengthwise couple {word}"
        else:
            helps, couple = "give one of the two tokens that share a place another, near what needs it", ""
        by_hand = f"{AFTER}train, with the places written in" if settle else by_hand
    if no_places and trainable and couple and not helps and not requested:
        settle, by_hand = (
            compare_command(trainable, word, WITH_PLACES, train, at[-1]),
            f"{AFTER}compare, with the places written in",
        )
    next_is = " ".join(each.words for each in chosen[0].instead if settle and each.command == settle)
    open_ones = chosen[0].answer in (UNLIKELY, UNCERTAIN, PROMISING, NOT_KNOWN) and not chosen[0].against
    other = next_is if requested or chosen[0].answer != UNLIKELY else "another task" in next_is
    confirm = train_it(chosen[0]) * bool(other and chosen[0].verdict == "yes" and open_ones and not aimless(chosen[0]))
    fits = train_it(chosen[0]) * bool(unfitted(chosen[0]) and settle.startswith("lengthwise compare"))
    nearer = None
    if tested is None and probe is None and any(BEYOND in f.refusal for f in chosen):
        limit = math.floor(train * forecaster("task" if regular is None else "language").domain["ratio"][1])
        lengths = range(limit, max(train, limit - FAR), -1)
        if near := next((n for n in lengths if meant_length(parsed, name, train, n)[0] == n), None):
            nearer = predict(target, train, near, encoding, scheme, cut=cut, note=note, tested=test, typed=typed)
            best_first = [f.system for f in nearer]
            chosen = tuple(sorted(chosen, key=lambda f: best_first.index(f.system)))
    same = renamed(trainable) if regular is None and trainable is not None else None
    return Forecasts(
        name, train, test, cut, chosen, bool(requested), format, count, settle, target, meant, couple, span, helps,
        by_hand, regular is not None and all(regular[0].live), confirm, fits, nearer,
        same=(called_in_full(same), f"lengthwise predict {typed_name(same)} --train {train} --test {test}")
        if same is not None else ("", ""),
        untried=untried,
    )  # fmt: skip


SPAN = "coupled ids do not shorten what it looks back on"
"""How the reason begins where the span grows."""


def not_near(theory: Prediction, task: Task | None) -> tuple[str, str]:
    """Why coupled ids give no guarantee for a task, by its structure, and what to change; empty where they do.

    Of few dependencies that are far the farthest is named, and where the place of the last token of the prompt makes
    it far, that place.
    """
    row = next((row for row in theory.structure if row.scheme == "coupled" or not row.sparse), None)
    if row is None or task is None or (row.sparse and row.local):
        return "", ""
    at = f"at lengths {', '.join(map(str, row.lengths))}"
    if not row.sparse:
        counts = f"({', '.join(map(str, row.sparsity))} {at})"
        if row.sparsity[-1] < max(row.sparsity):
            return f"how many others a token depends on changes {counts}: a parent may be missing at some lengths", ""
        return f"{DENSE} {counts}, under any ids", ""
    if row.levels > 1:
        return f"{SPAN} ({', '.join(map(str, row.span))} places {at})", ""
    found = [farthest_step(task, length) for length in row.lengths]
    shown = min(1, len(found) - 1)
    step, length = found[shown][0], row.lengths[shown]

    def named(position: int) -> str:
        return f"{step.text[position]!r} at position {position}"

    def placed(position: int) -> str:
        place = step.places[position]
        return f"{named(position)} " + ("without a place" if place == NO_PLACE else f"of place {place}")

    before = step.target - 1
    why = (
        f"{SPAN}: at length {length}, {named(step.target)} needs {placed(step.needed)}, but is predicted from "
        f"{placed(before)} "
        f"({', '.join(map(str, row.span))} places {at})"
    )
    spans = {span for _, span in found}
    lonely = step.places[before] == 1 == step.places.count(1)
    lower = ", and all other places one lower, as they begin at 1" * lonely
    wanted = [each.places[each.needed] - lonely for each, _ in found]
    ends = {place - n for place, n in zip(wanted, row.lengths, strict=True)}
    place = f"{wanted[shown]}" + f" at length {length}" * (len(set(wanted)) > 1)
    if len(ends) == 1:
        place = "layout.length" + "".join(f" {end:+d}" for end in ends - {0})
    mend = (
        f"write {step.text[before]!r} with the place of what the token after it needs: "
        f"place={place}{lower}; under coupled ids all that a token needs is then "
        + (f"at most {max(spans)} place{'s' * (max(spans) != 1)} away" if max(spans) else "of its own place")
    )
    return why, mend * (len(found) > 1 and len(spans) == 1 and step.distance > max(spans))


def chosen_by_ever_more(theory: Prediction) -> str:
    """That the content of ever more tokens chooses which one is needed; empty where it does not."""
    for row in theory.structure:
        if row.selectors[-1] == max(row.selectors) > min(row.selectors):
            return f"{CHOSEN} ({', '.join(map(str, row.selectors))} at lengths {', '.join(map(str, row.lengths))})"
    return ""


def what_helps(theory: Prediction, asked: set[str]) -> str:
    """What would help in theory, for the systems asked about where there are any, and where it says how."""
    found = next((v.help for v in theory.verdicts if v.help and (not asked or v.system in asked)), "")
    how = "for an answer of one token by a method `machine`: docs/howto/own-task.md"
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


def called_in_full(task: Task) -> str:
    """What a task is called, with its settings in brackets."""
    named = {key: value["name"] if isinstance(value, dict) and "name" in value else value
             for key, value in settings_of(task).items()}  # fmt: skip
    settings = ", ".join(f"{key} {value}" for key, value in named.items())
    return called(task) + f" ({settings})" * bool(settings)


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

    if task is None:
        raise LengthwiseError(f"a probe trains on strings of a task or an expression, and {name} has none")
    plain = name_of(system) in VARIANTS_OF_LADDER
    ids = None if plain else roomy_scheme(task, system.scheme, train)
    if ids is not None and ids.wraps:
        ids = replace(ids, m=programs.period_of(task))  # type: ignore[call-arg]
    cell = ProbeCell(task, name_of(system) if plain else ENCODINGS.build(system.encoding), train, ids)
    code = {"code": cell.code} if cell.code else {}
    own = digest(
        {"task": TASKS.describe(task), "system": pair(system), "random": system.random_start, "train": train} | code
    )
    note(f"a probe at lengths up to {train}: training to {cell.half}, then tests; one thread, at most {budget}")
    return probe(cell, budget=budget, folder=folder or Path("runs") / "probe" / own, note=note)


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
        return f"{saw}not done: {probe.stopped}; with more time it goes on there, and the forecast does without it"
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
    return replace(found, forecast=forecast, probe=line, by_probe=True, others=None, weak="")


def systems_of(encoding: str | None, scheme: str | None) -> tuple[PositionSystem, ...]:
    """The systems that a name of a system or an encoding and a scheme mean; none where neither is given.

    Raises `UnknownNameError` for names that are unknown, and `LengthwiseError` for models without attention.
    """
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


def of_language(
    dfa: Dfa, format: Format, system: PositionSystem, train: int, test: int, cut: float, probe: Probe | None
) -> SystemForecast:
    """The forecast of one system on a regular language."""
    found = forecaster("language")
    theory = in_theory(dfa, format, system)
    fragment = system.fragment
    decided = None if fragment is None else programs.verdict(dfa, format, fragment)
    answer = decided.verdict if decided is not None else "no" if theory.startswith(NO_PROGRAM) else "unknown"
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
        refusal = (
            f"languages were trained to {domain['trained'][0]}{UNLIKE_TRAINED}{train} for percentages; there are some "
        )
        refusal += (
            f"from --train {low} on" if train < (low := domain["train"][0]) else f"up to --train {domain['train'][1]}"
        )
    if refusal:
        known, values = answered(system, None, theory, measured, cut, refusal), dict[str, float]()
    else:
        asked = features.LanguageQuestion(dfa, format, system.encoding, train, test)
        values = features.of_language(asked)
        forecast = found.forecast(values, cut)
        part = found.fits if forecast.fits < forecast.holds else found.holds[cut]
        known = answered(system, forecast, theory, measured, cut)
        known = replace(known, pull=features.pull(values, dict(zip(part.features, part.weights, strict=False))))
        known = replace(known, weak=weak_spot(kind, format, system.encoding) * (known.answer in (LIKELY, UNCERTAIN)))
    together = of_all_positions(of_kind(dfa, format, system), format, test / train, cut) if known.forecast else (0, 0)
    known = replace(known, record=measured.alike, together=together)
    if system.scheme == "modulo":
        known = replace(known, m=programs.period(dfa, format))
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
        refusal = "tasks were trained to {} to {}, and {} is outside".format(*found.domain["train"], train)
    task = target if isinstance(target, Task) else None
    no_kind = refusal.startswith(NO_KIND) and verdict is not None
    measured = measured_task(task, system, train, test / train, cut) if task else Measured("", None)
    if task and refusal and not measured.line:
        measured = measured_task(task, system, train, test / train, cut, others(system.registered_scheme))
    argument = "no theorem covers such ids"
    if verdict is not None:
        answer = UNMET if verdict.unmet else "possible" if verdict.answer == "yes" else SHOWN[verdict.answer]
        argument = f"{answer}: {verdict.in_theory}"
        unsearched = next((line for line in theory.searched if line.startswith(NOT_SEARCHED)), "")
        if unsearched and not verdict.arguments and verdict.fragment is not None:
            argument = unsearched
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
            theirs = left_out(system, test / train, verdict.short) if verdict and verdict.answer != "unknown" else ()
            theirs = tuple(name for name in theirs if name != name_in_full(TASKS.show(task)))
            pads = {name: right for name, right in alike.items() if "scratchpad" in name or " with its states" in name}
            near = "scratchpad" in task.name or isinstance(task, Traced)
            known = replace(known, others=counts, named=alike, nearest=pads if near else {}, left_out=theirs)
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
        forecast = widened(forecast, measured.alike)
        if measured.accuracy is not None:
            line += f"; the forecast without it was {chance_of(forecast.probability, forecast.interval)}"
    if refusal and not refusal.startswith("too few"):
        refusal = f"no forecast: {refusal}"
    return SystemForecast(
        name_of(system), system.registered_scheme, system.encoding, forecast, theory, line, refusal,
        accuracy=measured.accuracy, hard=measured.hard, cut=cut,
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
        local = system.scheme == "sequential" and system.encoding.startswith("local-bias")
        if local and format == "next" and not features.suffices(dfa, None):
            return f"{NO_PROGRAM}: no number of last symbols suffices, and it attends to near ones alone"
        near = features.seen_nearby(dfa, format, system.encoding) if local else 0
        at_all = "and it attends to near ones alone at every length (our Theorem A, unreviewed)"
        return f"possible: {features.suffice(near)}, {at_all}" if near else "no theorem covers such ids"
    found = programs.verdict(dfa, format, fragment)
    if found.verdict == "unknown":
        return "unknown: no program is known that does it, and no proof that there is none"
    if found.verdict == "no":
        needs = programs.lacks(dfa, format, fragment)
        return f"{NO_PROGRAM}; {f'it would have to {needs}; ' * bool(needs)}a model may still learn it"
    cited = f"program: {found.basis}; that {words(system)} can run it: cited"
    basis = cited if system.theorem == CITED_LINK else found.basis
    m = found.period or 1
    m = programs.period(dfa, format) if m == 1 and system.scheme == "modulo" else m
    if m > 1 and not no_counting(dfa) and no_counting(with_residues(dfa, m)):
        return f"possible: a program uses the position modulo {m}, without counting ({basis})"
    uses = ["what came before" if no_counting(dfa) else "counts of symbols"]
    uses += [f"the last {found.window} symbols"] if (found.window or 1) > 1 else []
    uses += [f"the position modulo {found.period}"] if (found.period or 1) > 1 else []
    if format == "next" and (found.window or 1) > 1 and features.suffices(dfa, found.window or 1):
        return f"possible: {features.suffice(found.window or 1)} ({basis})"
    return f"possible: a program uses {spoken(uses)}{', without counting' * no_counting(dfa)} ({basis})"
