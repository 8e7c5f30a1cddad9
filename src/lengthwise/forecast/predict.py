"""The forecast of a target: each position system's chance to be right at M, in words that agree with the number."""

from __future__ import annotations

import math
import shlex
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from lengthwise.core.config import fields_of
from lengthwise.core.errors import UnknownNameError, require
from lengthwise.core.statistics import wilson
from lengthwise.core.table import Table, Tabular
from lengthwise.crasp.decide import no_counting
from lengthwise.forecast import features
from lengthwise.forecast.model import CUTS, Forecast, forecaster, kinds
from lengthwise.languages.automaton import Dfa, language
from lengthwise.measured.cells import Format, MeasuredCell, cells
from lengthwise.positions.system import CITED_LINK, SYSTEMS
from lengthwise.prediction.predict import predict as theory_of
from lengthwise.prediction.predict import predict_with_search, silent
from lengthwise.prediction.target import AutomatonFile, Expression, parse_target
from lengthwise.prediction.verdict import SHOWN, Prediction
from lengthwise.tasks import Task
from lengthwise.tasks.language import Language

LIKELY, OPEN, UNLIKELY, NOT_MEASURED = "LIKELY", "OPEN", "UNLIKELY", "NOT MEASURED"
ForecastWord = Literal["LIKELY", "OPEN", "UNLIKELY", "NOT MEASURED"]
LIKELY_FROM, UNLIKELY_TO = 0.7, 0.3
"""Probabilities from which the answer is LIKELY, and up to which it is UNLIKELY, the interval on the same side."""
WIDTH = 80
NEAR = 1.6
"""Tests within this factor of M / N are shown as measured."""
VERIFIED = ("nope", "ape")
"""Systems that `lengthwise verify` trains."""
FEW = 10
"""Below this number of languages of a kind, an interval is at least that of their share: resampling three languages
that all came out alike gives no spread."""
Z90, LEAST = 1.645, 0.001
"""The 95 % point of the normal distribution, for an interval of 90 %; no end of an interval is certain."""
INSTEAD = 2
"""Systems that are named instead."""
NAMES = {"nope": "no positions", "ape": "learned positions", "rope": "RoPE", "alibi": "ALiBi", "t5": "T5 bias"}
"""What a position system is called in a sentence; others by their name."""


def words(system: str) -> str:
    """What a position system is called in a sentence."""
    return NAMES.get(system, system)


@dataclass(frozen=True)
class ForecastSystem:
    """A position scheme with an encoding, and its name."""

    name: str
    scheme: str
    random_start: bool
    encoding: str

    @property
    def words(self) -> str:
        """What it is called in a sentence."""
        return words(self.name)

    @property
    def pair(self) -> str:
        """Scheme and encoding, as the evidence names them."""
        return f"{self.scheme}+{self.encoding}"


KNOWN = tuple(ForecastSystem(s.known_as, s.registered_scheme, s.random_start, s.encoding) for s in SYSTEMS)


@dataclass(frozen=True)
class Measured:
    """A line on what was measured; ``accuracy`` where it was this very target; ``alike``: right ones of its kind."""

    line: str
    accuracy: float | None
    alike: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class SystemForecast:
    """The forecast for one position system."""

    system: str
    scheme: str
    encoding: str
    probability: float | None
    """P(accuracy of at least the cut at M); None where nothing like it was measured."""
    interval: tuple[float, float] | None
    """90 % of the draws of the coefficients, by a bootstrap over languages; wider where few were measured (`FEW`)."""
    fits: float | None
    """P(it fits the training lengths)."""
    holds: float | None
    """P(it is right at M, given that it fits)."""
    theory: str
    """Whether it is possible, and by what."""
    measured: str
    """What was measured of this target, or of targets like it."""
    refusal: str = ""
    """Why there is no probability."""
    instead: tuple[tuple[str, float], ...] = ()
    """Systems with a better forecast, best first."""

    @property
    def answer(self) -> ForecastWord:
        """The answer in a word, from the probability; open, too, where the interval reaches to the other side."""
        if self.probability is None:
            return NOT_MEASURED
        low, high = self.interval or (0.0, 1.0)
        if self.probability >= LIKELY_FROM and low >= UNLIKELY_TO:
            return LIKELY
        return UNLIKELY if self.probability <= UNLIKELY_TO and high <= LIKELY_FROM else OPEN

    @property
    def reasons(self) -> tuple[str, ...]:
        """Theory, then measurements, or the reason for having no probability."""
        return tuple(line for line in (self.refusal, self.theory, self.measured) if line)

    @property
    def chance(self) -> str:
        """The probability and its interval in percent; empty without one."""
        if self.probability is None or self.interval is None:
            return ""
        low, high = self.interval
        return f"{percent(self.probability)} % [{percent(low)}, {percent(high)}]"


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
    cells: int
    """Measured cells behind the forecaster."""
    settle: str
    """A command that measures instead; empty where there is none."""

    def __getitem__(self, name: str) -> SystemForecast:
        """The forecast of a position system; raises `UnknownNameError` with a suggestion for any other name."""
        for found in self.systems:
            if found.system == name or (name == "learned" and found.system == "ape"):
                return found
        raise UnknownNameError("position system", name, [found.system for found in self.systems])

    def __iter__(self) -> Iterator[SystemForecast]:
        return iter(self.systems)

    def table(self) -> Table:
        """One row a position system."""
        rows = tuple(
            (f.system, f.answer, f.probability, *(f.interval or (None, None)), f.fits, f.holds, "; ".join(f.reasons))
            for f in self.systems
        )
        columns = ("system", "answer", "probability", "from", "to", "fits", "holds if it fits", "reasons")
        caption = f"{self.target}, trained to {self.train}: accuracy at least {self.cut} at {self.test}?"
        return Table(columns, rows, caption=caption, sentences=("reasons",))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        systems = [{**fields_of(f), "answer": f.answer, "reasons": list(f.reasons)} for f in self.systems]
        return {**fields_of(self), "systems": systems}

    def text(self) -> str:
        """The answer, at most 80 columns wide, the first line first."""
        if self.named and len(self.systems) == 1:
            (found,) = self.systems
            return "\n".join([self._head(found), *self._details(found)])
        known = [f for f in self.systems if f.probability is not None]
        unknown = [f.system for f in self.systems if f.probability is None]
        best = f"at best {known[0].answer} {known[0].chance}" if known else NOT_MEASURED
        lines = [self._question("", best)]
        lines += [shortened(f"  {f.system:20}{f.answer:10}{f.chance:18}{f.theory}", WIDTH) for f in known]
        if unknown:
            lines += wrapped("unmeasured", ", ".join(unknown))
        if known:
            lines += wrapped("measured", known[0].measured)
        elif self.systems:
            lines += wrapped("why", self.systems[0].refusal) + wrapped("theory", self.systems[0].theory)
        return "\n".join(lines + self._last())

    def _head(self, found: SystemForecast) -> str:
        answer = f"{found.answer} {found.chance}".strip()
        # The short name of a system where the long one leaves no room for the target.
        long, short = (self._question(f" with {name}", answer) for name in (words(found.system), found.system))
        return short if long.count("…") > self.target.count("…") or len(long) > WIDTH else long

    def _question(self, what: str, answer: str) -> str:
        end = f"{what}, trained to {self.train}: right at {self.test}?   {answer}"
        return shortened(self.target, max(8, WIDTH - len(end))) + end

    def _details(self, found: SystemForecast) -> list[str]:
        lines = wrapped("why", found.refusal) if found.refusal else []
        lines += wrapped("theory", found.theory) + wrapped("measured", found.measured)
        if found.instead:
            better = "  ·  ".join(f"{words(name)} {percent(p)} %" for name, p in found.instead)
            lines += wrapped("instead", better)
        return lines + self._last()

    def _last(self) -> list[str]:
        lines = wrapped("settle it", self.settle) if self.settle else []
        return [*lines, *wrapped("forecast", f"of accuracy at least {self.cut}, from {self.cells} measured cells")]


def percent(value: float) -> int:
    """Whole percent, never 0 or 100: no forecast is certain."""
    return min(99, max(1, round(100 * value)))


def shortened(text: str, width: int) -> str:
    """The text, its end left out where it is too long."""
    return text if len(text) <= width else text[: width - 1] + "…"


def wrapped(name: str, text: str) -> list[str]:
    """Lines of the answer: a name, then the text beside it."""
    import textwrap

    if not text:
        return []
    parts = textwrap.wrap(text, WIDTH - 14, break_long_words=False, break_on_hyphens=False)
    return [f"  {name if not i else '':12}{part}" for i, part in enumerate(parts)]


def predict(
    target: str | Task,
    train: int = 40,
    test: int = 200,
    encoding: str | Sequence[str] | None = None,
    scheme: str | None = None,
    probe: features.Probed | None = None,
    cut: float = 0.95,
    note: Callable[[str], None] = silent,
) -> Forecasts:
    """How likely is a system that is trained to one length right at another?

    Arguments:
        target: What `lengthwise.predict` takes: a task, an expression, an automaton, a program, examples.
        train: N, the longest length in training.
        test: M, the length in question.
        encoding: A position system (``"nope"``, ``"rope"``) or an encoding, or several; all systems by default.
        scheme: The scheme of position ids that goes with the encoding, such as ``"coupled"``.
        probe: What a probe of this very system found at lengths up to N.
        cut: The accuracy that counts as right, 0.7 or 0.95.
        note: Called with a line before each part of a search, which a task of one's own may need.

    Returns:
        One forecast a system, best first. It has no probability where nothing like it was measured.

    Raises:
        LengthwiseError: If the target or a name is unknown, or a length or the cut is out of range.
    """
    require(cut in CUTS, f"cut must be one of {', '.join(map(str, CUTS))}, got {cut}")
    require(train >= 1, f"train must be at least 1, got {train}")
    require(test > train, f"test must be longer than train, got {test} after {train}; shorter ones are trained on")
    names = [encoding] if encoding is None or isinstance(encoding, str) else list(encoding) or [None]
    requested = tuple(dict.fromkeys(system for name in names for system in systems_of(name, scheme)))
    require(probe is None or len(requested) == 1, "a probe is of one system; name its encoding and scheme")
    parsed = parse_target(target) if isinstance(target, str) else target
    name = target if isinstance(target, str) else target.name
    settle = ""
    if (regular := language_in(parsed)) is not None:
        dfa, format = regular
        forecasts = [of_language(dfa, format, name, system, train, test, cut, probe) for system in known_and(requested)]
        trained = [system.name for system in requested if system.name in VERIFIED]
        if trained or not requested:
            chosen = "".join(f" --encoding {each}" for each in trained)
            settle = f"lengthwise verify {shlex.quote(name)}{chosen} --budget 30m"
        count = forecaster("language").cells
    else:
        theory = theory_of(name, note=note) if isinstance(target, str) else predict_with_search(target, note=note)
        forecasts = [of_task(parsed, theory, system, train, test, cut) for system in known_and(requested)]
        if isinstance(parsed, Task):
            settle = f"lengthwise compare {shlex.quote(name)} --budget 10m"
        count = forecaster("task").cells
    ranked = sorted(forecasts, key=lambda f: -1 if f.probability is None else f.probability, reverse=True)
    wanted = {system.name for system in requested}
    chosen = tuple(with_others(f, ranked) for f in ranked if not requested or f.system in wanted)
    return Forecasts(name, train, test, cut, chosen, bool(requested), count, settle)


def known_and(requested: tuple[ForecastSystem, ...]) -> tuple[ForecastSystem, ...]:
    """All known systems and those that were asked for."""
    return (*KNOWN, *(system for system in requested if system not in KNOWN))


def systems_of(encoding: str | None, scheme: str | None) -> tuple[ForecastSystem, ...]:
    """The systems that a name of a system or an encoding and a scheme mean; none where neither is given.

    Raises `UnknownNameError` for names that are unknown.
    """
    from lengthwise.positions.encodings import ENCODINGS
    from lengthwise.positions.schemes import SCHEMES

    names = {system.name: system for system in KNOWN} | {"learned": KNOWN[1], "ppc": KNOWN[-1]}
    if scheme is None:
        if encoding is None:
            return ()
        if encoding in names:
            return (names[encoding],)
        if encoding not in ENCODINGS:
            raise UnknownNameError("position system", encoding, [*names, *ENCODINGS])
        return (ForecastSystem(encoding, "sequential", False, encoding),)
    if scheme not in SCHEMES:
        raise UnknownNameError("scheme", scheme, SCHEMES)
    if encoding is None:
        return tuple(system for system in KNOWN if system.scheme == scheme) or (
            ForecastSystem(scheme, scheme, False, "learned"),
        )
    heard_by = "learned" if encoding == "ape" else encoding
    if heard_by not in ENCODINGS:
        raise UnknownNameError("encoding", encoding, ENCODINGS)
    found = tuple(s for s in KNOWN if (s.scheme, s.encoding) == (scheme, heard_by))
    return found or (ForecastSystem(f"{scheme}+{heard_by}", scheme, False, heard_by),)


def with_others(found: SystemForecast, ranked: list[SystemForecast]) -> SystemForecast:
    """A forecast with the systems that are likelier to be right."""
    own = found.probability or 0.0
    better = [(f.system, f.probability) for f in ranked if (f.probability or 0.0) > max(own + 0.05, UNLIKELY_TO)]
    return replace(found, instead=tuple((name, p) for name, p in better if p is not None)[:INSTEAD])


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


def of_language(
    dfa: Dfa,
    format: Format,
    name: str,
    system: ForecastSystem,
    train: int,
    test: int,
    cut: float,
    probe: features.Probed | None,
) -> SystemForecast:
    """The forecast of one system on a regular language."""
    found = forecaster("language")
    theory = in_theory(dfa, format, system)
    measured = measured_language(dfa, format, system, test / train)
    domain = found.domain
    kind = features.kind(dfa, format, system.encoding)
    refusal = ""
    if system not in KNOWN or system.pair not in domain["kinds"]:
        refusal = f"no language was trained with {system.words}"
    elif kind not in domain["kinds"][system.pair]:
        refusal = f"no language with a yes {kind} was trained with {system.words}"
    elif test / train > domain["ratio"][1]:
        refusal = f"no language was tested beyond {domain['ratio'][1]:g} times the training length"
    elif not domain["train"][0] <= train <= domain["train"][1]:
        refusal = f"languages were trained to {domain['trained'][0]}; too far from {train}"
    elif dfa.size > domain["states"]:
        refusal = f"no language of more than {domain['states']} states was measured, this has {dfa.size}"
    if refusal:
        return refused(system, theory, measured.line, refusal)
    values = features.of_language(features.LanguageQuestion(dfa, format, system.encoding, train, test))
    if probe is not None:
        require(
            "language with probe" in kinds(), "no forecaster with a probe was fitted yet; leave out probe to use theory"
        )
        found, values = forecaster("language with probe"), values | features.of_probe(probe)
    return answered(system, found.forecast(values, cut), theory, measured)


def of_task(
    target: Any, theory: Prediction, system: ForecastSystem, train: int, test: int, cut: float
) -> SystemForecast:
    """The forecast of one system on a task with answers, from its structure and theory's answer."""
    verdict = next((v for v in theory.verdicts if v.system == system.name), None)
    found = forecaster("task")
    refusal = ""
    if not isinstance(target, Task):
        refusal = f"{theory.kind} files have no strings to train on, so no such target was measured"
    elif isinstance(target, Language):
        refusal = "no counter language was measured under settings that were fixed beforehand"
    elif system.pair not in found.domain["systems"]:
        refusal = f"no task was trained with {system.words}"
    elif test / train > found.domain["ratio"][1]:
        refusal = f"few tasks were tested beyond {found.domain['ratio'][1]:g} times the training length"
    elif not found.domain["train"][0] <= train <= found.domain["train"][1]:
        refusal = "tasks were trained to {} to {}; {} is outside".format(*found.domain["train"], train)
    task = target if isinstance(target, Task) else None
    measured = measured_task(task, system, test / train) if task else Measured("", None)
    argument = f"{SHOWN[verdict.answer]}: {verdict.in_theory}" if verdict else "no theorem covers this system"
    if refusal:
        return refused(system, argument, measured.line, refusal)
    requested = features.TaskQuestion(theory, system.scheme, system.random_start, system.encoding, train, test)
    forecast = found.forecast(features.of_task(requested), cut)
    if verdict is not None and verdict.answer == "yes":
        argument = f"{possible(forecast.probability)}: {verdict.in_theory}"
    return answered(system, forecast, argument, measured)


def refused(system: ForecastSystem, theory: str, measured: str, why: str) -> SystemForecast:
    """No probability; ``theory`` is worded without a promise."""
    theory = theory.replace("possible:", "possible in principle:", 1) if theory.startswith("possible:") else theory
    why = f"nothing like this was measured: {why}"
    return SystemForecast(system.name, system.scheme, system.encoding, None, None, None, None, theory, measured, why)


def answered(system: ForecastSystem, forecast: Forecast, theory: str, measured: Measured) -> SystemForecast:
    """The forecast, with theory's *yes* and a measurement that came out otherwise worded by the probability."""
    line = measured.line
    if measured.accuracy is not None and (measured.accuracy >= forecast.cut) != (forecast.probability >= 0.5):
        line = f"otherwise than forecast: {line}"
    if theory.startswith("possible:"):
        theory = theory.replace("possible", possible(forecast.probability), 1)
    low, high = forecast.interval
    if 0 < measured.alike[1] < FEW:
        least, most = wilson(*measured.alike, z=Z90)
        low, high = min(low, max(least, LEAST)), max(high, min(most, 1 - LEAST))
    return SystemForecast(
        system.name, system.scheme, system.encoding, forecast.probability, (low, high), forecast.fits,
        forecast.holds, theory, line,
    )  # fmt: skip


def possible(probability: float) -> str:
    """Theory's *yes*: a promise only where the forecast agrees."""
    return "possible" if probability >= 0.5 else "possible in principle"


def in_theory(dfa: Dfa, format: Format, system: ForecastSystem) -> str:
    """Whether a program exists for what the model is asked, and by what it works."""
    fragment = next((s.fragment for s in SYSTEMS if s.known_as == system.name), None)
    if fragment is None:
        return "no theorem covers this system"
    found = features.verdict(dfa, format, fragment)
    if found.verdict == "unknown":
        return "undecided: no program found and none excluded"
    if found.verdict == "no":
        return "no program exists for its fragment of C-RASP; a model may still learn it"
    uses = ["counts"] if not no_counting(dfa) else ["what was read before, without counting"]
    uses += [f"the last {found.window} symbols"] if (found.window or 1) > 1 else []
    uses += [f"the position modulo {found.period}"] if (found.period or 1) > 1 else []
    source = next(s.theorem for s in SYSTEMS if s.known_as == system.name)
    basis = "cited" if source == CITED_LINK else found.basis
    return f"possible: {', '.join(uses[:-1])}{' and ' if uses[:-1] else ''}{uses[-1]} ({basis})"


def bin_of(ratio: float, cell: MeasuredCell) -> tuple[int, int] | None:
    """The tested lengths of a cell whose middle is nearest to M / N, within the factor `NEAR`."""
    places = {(t.low, t.high) for t in cell.tests if not t.axes and t.low > cell.train}
    if not places:
        return None
    apart = {place: abs(math.log(sum(place) / 2 / cell.train / ratio)) for place in places}
    best = min(apart, key=lambda place: (apart[place], place))
    return best if apart[best] <= math.log(NEAR) else None


def of_system(cell: MeasuredCell, system: ForecastSystem) -> bool:
    """Whether a cell was trained with a system, without further changes."""
    changed = any(mark in cell.system for mark in ("+reg", "no-qk"))
    same = (cell.scheme, cell.random_start, cell.encoding) == (system.scheme, system.random_start, system.encoding)
    return same and not changed


def line_of(cell: MeasuredCell, place: tuple[int, int]) -> str:
    """What one cell measured, in a few words."""
    found = cell.accuracy(*place)
    where = f"{place[0]}–{place[1]}" if place[0] < place[1] else str(place[0])
    count = f"{sum(cell.fitted)} of {len(cell.seeds)} seeds fit"
    result = f"{found:.2f} at {where} ({count})" if found is not None else f"not fitted ({count})"
    return f"trained to {cell.train}: {result}; {cell.study}, commit {cell.commit}"


def measured_language(dfa: Dfa, format: Format, system: ForecastSystem, ratio: float) -> Measured:
    """What was measured of this language; if it was not, how often languages with the same answer were right."""
    alike, kind, own = [], features.kind(dfa, format, system.encoding), None
    for cell in cells():
        if cell.rung is None or cell.format != format or not of_system(cell, system):
            continue
        other = features.language_of(cell.task)
        place = bin_of(ratio, cell)
        if other is None or place is None:
            continue
        accuracy = cell.accuracy(*place) or 0.0
        if other == dfa:
            own = f"this language, {line_of(cell, place)}", accuracy
        if features.kind(other, format, system.encoding) == kind:
            alike.append(accuracy >= max(CUTS))
    counts = sum(alike), len(alike)
    if own is not None:
        return Measured(*own, counts)
    if not alike:
        return Measured("", None)
    what = f"a no with {system.words}" if kind == "no" else f"a yes {kind}, with {system.words},"
    return Measured(f"{what} was right in {counts[0]} of {counts[1]} languages at {ratio:.1f} × N", None, counts)


def measured_task(task: Task, system: ForecastSystem, ratio: float) -> Measured:
    """What was measured of this task near this ratio, with its median accuracy."""
    found = []
    for cell in cells():
        if cell.task["name"] == task.name and of_system(cell, system) and (place := bin_of(ratio, cell)) is not None:
            found.append((cell, place))
    if not found:
        return Measured("", None)
    middle = statistics.median(cell.accuracy(*place) or 0.0 for cell, place in found)
    if len(found) > 1:
        return Measured(f"median accuracy {middle:.2f} over {len(found)} settings near {ratio:.1f} × N", middle)
    return Measured(line_of(*found[0]), middle)
