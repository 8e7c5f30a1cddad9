"""What to do next: what would do better than a system, and the commands that train and compare."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.forecast import features
from lengthwise.forecast.answer import (
    IN_FULL,
    KNOWN,
    LIKELY,
    LOCAL_BIAS,
    NEAR_ALONE,
    NOT_KNOWN,
    NOTHING_BETTER,
    OWN_LANGUAGE,
    PROMISING,
    RIGHT,
    SHARED_PLACES,
    SIMILAR,
    UNCERTAIN,
    UNLIKELY,
    UNLIKELY_TO,
    UNTRIED,
    USUAL,
    WRONG,
    Instead,
    Insteads,
    SystemForecast,
    exceptions,
    in_words,
    near_ratio,
    percent,
    scratchpads_first,
)
from lengthwise.forecast.measured import (
    SCRATCHPAD_SYSTEM,
    line_of,
    measured_modulo,
    setting_right,
    settings_tested,
    traced_cells,
)
from lengthwise.languages.automaton import Dfa
from lengthwise.measured.cells import Format
from lengthwise.positions.system import RANDOM_START, SYSTEMS, PositionSystem, words
from lengthwise.prediction import programs
from lengthwise.prediction.target import setting, settings_of, typed_name
from lengthwise.prediction.verdict import UNMET
from lengthwise.report.control import PLAIN
from lengthwise.tasks import TASKS, Task
from lengthwise.tasks.language import Language
from lengthwise.tasks.traced import StateScratchpad, Traced
from lengthwise.tasks.values import spoken

if TYPE_CHECKING:
    from lengthwise.forecast.probe import Probe

MOST_COMPARED = 4
"""Systems of a comparison that is proposed."""
GOOD_FROM = 0.9
"""The probability from which a system is named instead of another, the cheapest first."""
SHORT, DRAWN, LONGEST_EXAMPLE, MOST_ACCEPTING = 3, 16, 36, 6
"""Symbols of an example of a scratchpad, strings of which it is one, its most letters, and accepting states named."""
CHEAPEST = ("nope", "ape", "alibi", "rope")
"""Systems that are tried first, since they cost nothing but another setting."""


def instead_of(
    found: SystemForecast,
    ranked: list[SystemForecast],
    periods: Instead | None,
    near: Instead | None,
    pad: Instead | None,
    setting: Instead | None,
    train_it: Callable[[SystemForecast], str],
) -> Insteads:
    """What would do better: the cheapest system with a forecast above `GOOD_FROM`, else ids modulo m where these were
    mostly right, else the best of the others, attention to near ids, another setting of the task, and a scratchpad."""
    own = share(found) or 0.0
    if found.answer == RIGHT or own >= GOOD_FROM:
        return NOTHING_BETTER
    others = [f for f in ranked if f.system not in (found.system, "modulo") and f.answer != WRONG]
    cheapest = sorted(others, key=lambda f: CHEAPEST.index(f.system) if f.system in CHEAPEST else len(CHEAPEST))
    best = first_with_command([f for f in cheapest if (sure(f) or 0.0) > max(GOOD_FROM, own)], train_it)
    good = bool(best)
    if not best and periods is not None and found.system != periods.system and better(periods.share, found):
        return Insteads((periods,))
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
        theory += f", but {SHARED_PLACES}" * bool(f.weak)
        seen = f"{theory}, {f.base_rate}" if f.base_rate else ""
        seen = f"measured right, {f.measured.removeprefix(OWN_LANGUAGE)}" if f.answer == RIGHT else seen
        number = (None, None) if seen else (f.probability, f.interval)
        known.append(Instead(f.system, words(f.system), *number, seen, line, share=share(f)))
    near = None if near is not None and near.system == found.system else near
    tasks = [each for each in (near, setting, pad) if each is not None and better(each.share, found)]
    return Insteads((*known, *tasks * (not good)))


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


def scratchpad_instead(
    task: Task | None, train: int, at: tuple[int, int], forecasts_of: Callable[[Task], Sequence[SystemForecast]]
) -> Instead | None:
    """A scratchpad of the states of a machine, under the best positions of its own forecast, with its record.

    ``at`` are the lengths in question and that of the last test of its command.
    """
    if isinstance(task, Language) and task.ask == "next" and task.automaton() is not None:
        pad: Task = StateScratchpad(language=task.language, alphabet=task.alphabet)
        given = {"language": task.language} | ({"alphabet": task.alphabet} if task.alphabet else {})
        typed = " ".join([pad.name, *(setting(f"task.{key}", value) for key, value in given.items())])
        writes, states = "the automaton's state after each symbol", accepting_states(task)
    elif task is not None and "name" in vars(type(task)) and task.machine() and not isinstance(task, Language):
        pad = Traced(task)
        typed = f"{pad.name} {setting('task.task', {'name': task.name, **settings_of(task)})}"
        writes, states = "a machine's state after each symbol, before the answer", ()
    else:
        return None
    best, *others = forecasts_of(pad)
    drawn = example_of(pad, states)
    states = sorted(states, key=lambda state: not drawn.endswith(state))
    shown = "; ".join(filter(None, (drawn, means_member(states) * bool(states))))
    writes += f" ({shown})" * bool(shown)
    writes = f"its data need {writes}{' and coupled ids' * (best.scheme in features.SCHEMES_OF_PLACES)}"
    command = run_command(pad, typed, named_scheme(best), best.encoding, train, *at)
    known, pads = best.others or best.record, best.nearest
    seen = f"{sum(pads.values())} of {len(pads)} scratchpads, " * bool(pads) + in_words(known, best.alike)
    line = (
        f"{writes}; {best.answer} with {best.words}: {seen}{IN_FULL}"
        f"{scratchpads_first(best, others)}{SIMILAR} ones {near_ratio(at[0] / train)}"
        f"{exceptions(best.named)}"
    )
    for cell, place in traced_cells(at[0] / train):
        if TASKS.build(cell.task["task"]) == task:
            line += f"; with {words(SCRATCHPAD_SYSTEM)}, {line_of(cell, place)}"
    return Instead(best.system, "a scratchpad, another task", None, None, line, command, best.named, share(best))


def example_of(pad: Task, last: Sequence[str] = ()) -> str:
    """A shortest prompt and what is written after it, with most different states, one of ``last`` where it is drawn."""
    drawn = []
    for length in pad.lengths(SHORT, 2 * SHORT):
        batch = pad.batch(length, DRAWN, stream(0, "advice", "example"))
        for text in map(batch.text, range(batch.size)):
            prompt, answer = text[1 : batch.prompt_length - 1], text[batch.prompt_length : -1]
            said = f"{' '.join(prompt)}: {' '.join(answer)}"
            drawn += [((answer[-1] in last, -length, len({*answer})), said)] * (len(said) <= LONGEST_EXAMPLE)
    return max(drawn, key=lambda each: each[0], default=((), ""))[1]


def accepting_states(language: Language) -> tuple[str, ...]:
    """The states, by the names that a scratchpad writes, after which what was read is a word of a regular language."""
    traced = StateScratchpad(language=language.language, alphabet=language.alphabet).traced
    dfa = language.automaton()
    assert dfa is not None
    return tuple(traced.states[traced.unrolled.number[q]] for q, accepts in enumerate(dfa.accepting) if accepts)


def means_member(states: Sequence[str]) -> str:
    """What the last of the states that are written says, where these are the accepting ones; the first are named."""
    more = len(states) - MOST_ACCEPTING
    named = f"{', '.join(states[:MOST_ACCEPTING])} and {more} more" if more > 0 else spoken(states, "or")
    return f"a word if {named} is last"


def modulo_instead(
    dfa: Dfa, format: Format, task: Task | None, word: str, train: int, test: int, at: tuple[int, int], cut: float
) -> Instead | None:
    """Ids modulo a language's period, where such ids were mostly right when measured.

    They have no forecast: the languages that were measured are counted instead. The command tests at ``at``.
    """
    m, system = programs.period(dfa, format), KNOWN["modulo"]
    if m < 2 or format != "next":
        return None
    measured, speaks, rate = measured_modulo(dfa, format, train, test / train, cut)
    if not speaks:
        return None
    command = run_command(task, word, system.scheme, system.encoding, train, *at, more=f" --set scheme.m={m}")
    return Instead("modulo", f"ids modulo {m}", None, None, measured.line, command, share=rate)


def near_instead(
    dfa: Dfa, format: Format, task: Task | None, word: str, train: int, at: tuple[int, int]
) -> Instead | None:
    """Attention to near ids alone, where the symbols that it sees suffice at every length; no language was tried."""
    symbols = features.seen_nearby(dfa, format, LOCAL_BIAS)
    command = run_command(task, word, "sequential", LOCAL_BIAS, train, *at) if symbols else ""
    line = f"it sees {features.suffice(symbols).rpartition(' ')[0]} at every length; {UNTRIED}"
    return Instead(LOCAL_BIAS, f"{NEAR_ALONE} ({LOCAL_BIAS})", None, None, line, command) if command else None


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
        tied = [f.system for f in close if train_it(f)]
        if first and (one.answer != UNCERTAIN or len(tied) < 2 or test > MULTIPLES[-1] * train):
            return first[0][1]
        return compare_command(task, word, with_partners(tied, found), train, test) if first else ""
    yes = [f for f in found if f.verdict == "yes" and f.scheme != "modulo"]  # whose m nobody named
    open_ones = [
        f for f in found if f.verdict == "unknown" and not (places_far and f.scheme in features.SCHEMES_OF_PLACES)
    ]
    hopeful = [f for f in known if f.answer in (RIGHT, LIKELY, PROMISING, UNCERTAIN)][:2] + (yes or open_ones)
    hopeful = [f for f in found if any(f is one for one in hopeful)]
    named_ones = [f for f in hopeful if f.answer not in (WRONG, UNLIKELY) and train_it(f)]
    if len(named_ones) < 2:
        named_ones += [f for f in open_ones if f.answer == NOT_KNOWN and f.scheme != "modulo" and train_it(f)]
    if not named_ones:
        named_ones = [f for f in found if train_it(f) and not (places_far and f.scheme in features.SCHEMES_OF_PLACES)]
    if not named and any(f.scheme == "coupled" for f in named_ones):  # The same ids, given.
        named_ones = [f for f in named_ones if f.scheme != "predictive-coupling"]
    if not named_ones:
        return ""
    systems = with_partners(list(dict.fromkeys(f.system for f in named_ones)), found)
    if one.answer == RIGHT or len(systems) < 2 or test > MULTIPLES[-1] * train:  # A comparison tests no farther.
        return train_it(named_ones[0])
    return compare_command(task, word, systems, train, test)


def aimless(found: SystemForecast) -> bool:
    """Whether ids modulo m are asked about, and nothing known names an m."""
    return found.scheme == "modulo" and found.m == 1


def named_scheme(found: SystemForecast) -> str:
    """The scheme as commands name it: ids from a random start have a name of their own."""
    return KNOWN[found.system].scheme if found.system in KNOWN else found.scheme


def with_partners(systems: Sequence[str], found: Sequence[SystemForecast]) -> list[str]:
    """The systems that a comparison has room for: with the control of the first that has one, so that it can tell
    whether the ids are the cause, and with `USUAL` where it is one of them, or open and there is room."""
    pairs = ([name, control] for name in systems[:MOST_COMPARED] if (control := control_of(name)))
    kept = next(pairs, [])
    is_open = any(f.system == USUAL and f.answer == NOT_KNOWN and f.verdict != "no" for f in found)
    if USUAL in systems or (is_open and len({*systems, *kept}) < MOST_COMPARED):
        kept = [*kept, USUAL]
    every = list(dict.fromkeys([*systems, *kept]))
    others = [name for name in every if name not in kept][: MOST_COMPARED - len(set(kept))]
    return [name for name in every if name in kept or name in others]


def control_of(name: str) -> str:
    """The system with plain ids and the same encoding; empty for plain ids, and where none of `SYSTEMS` is that."""
    system = KNOWN.get(name)
    if system is None or system.scheme in PLAIN:
        return ""
    return next((s.known_as for s in SYSTEMS if s.scheme in PLAIN and s.encoding == system.encoding), "")


def compare_command(task: Task, word: str, systems: Sequence[str], train: int, test: int) -> str:
    """The command that compares systems, by default the usual ones, with a test at ``test``."""
    named, lengths = f" --systems {','.join(systems)}" * bool(systems), compared_at(task, train, test)
    tests = f" --test-lengths {','.join(map(str, lengths))}" * bool(lengths)
    return f"lengthwise compare {word}{named} --max-length {train}{tests} --budget 10m"


def compared_at(task: Task, train: int, test: int) -> list[int]:
    """The lengths up to ``test`` at which a comparison is to test; none where it tests there by itself."""
    from lengthwise.experiments.compare import default_tests

    usual = default_tests(task, train)
    return [] if test in usual else [*(n for n in usual if n < test), test]


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


def why_untrained(task: Task, system: str) -> str:
    """Why no command trains this system on a task; empty where one does."""
    from lengthwise.experiments.defaults import chosen_systems

    try:
        chosen_systems(task, [system])
    except LengthwiseError as error:
        return str(error)
    return ""
