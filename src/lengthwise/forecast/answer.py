"""The answer: the forecasts for a target and their text, on one screen, and with ``why`` all that is known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from lengthwise.crasp.decide import Answer
from lengthwise.forecast.model import Forecast
from lengthwise.measured.cells import Format
from lengthwise.positions.system import SYSTEMS, words

SIMILAR = "similar"
"""Said of tasks and languages that are counted beside one: theory says the same of them."""
OTHERS = "others"
"""Said of tasks that are counted beside one where theory leaves both open."""
ForecastWord = Literal["MEASURED RIGHT", "MEASURED WRONG", "LIKELY", "PROMISING", "UNCERTAIN", "UNLIKELY", "NOT KNOWN"]
RIGHT, WRONG, LIKELY, PROMISING, UNCERTAIN, UNLIKELY, NOT_KNOWN = get_args(ForecastWord)
LIKELY_FROM, UNLIKELY_TO = 70, 30
"""Percent from which the answer is LIKELY, and up to which it is UNLIKELY, the interval on the same side."""
FEWEST = 3
"""Targets of which a share makes an answer PROMISING."""
FEW = 10
"""Below this number of languages of a kind, an interval is at least that of their share: resampling three languages
that all came out alike gives no spread."""
CERTAINLY_NOT = 0.05
"""The probability up to which a whole interval says that a training would only confirm the answer."""
BANDS = (
    f"LIKELY: at least {LIKELY_FROM} %, and the interval does not begin below {UNLIKELY_TO}; UNLIKELY: at most "
    f"{UNLIKELY_TO} %, and it does not end above {LIKELY_FROM}; else UNCERTAIN. The best is the likeliest, of equal "
    "ones what theory calls possible, then that with the smallest interval"
)
"""The rule of the words, on the percents that are shown."""
MOST_RIGHT = (
    f"{PROMISING}: possible, and at least {LIKELY_FROM} % of {FEWEST} or more {SIMILAR} were right; whether a training "
    "fits is no part of it"
)
NONE_RIGHT = f"UNLIKELY without a percentage: no program, and none of {FEWEST} or more {SIMILAR} was right"
"""The rules where there are no percents."""
ORDER = (NOT_KNOWN, WRONG, UNLIKELY, "possible in theory", UNCERTAIN, PROMISING, LIKELY, RIGHT)
"""The answers, the worst first; *not known* counts for more where theory has a yes and nothing speaks against it."""
IN_FULL = "; in full, "
"""Where what is measured goes on with what only ``why`` tells."""
LOCAL_BIAS, NEAR_ALONE = "local-bias-sink", "attention to near ids alone"
ELSEWHERE, IF_PREDICTABLE, NO_PLACES, UNSEARCHED = "elsewhere", "if predicted", "needs places", "not searched"
"""Cells of the table."""
BEYOND = " tested beyond "
"""Part of the reason for having no forecast at lengths that are too far."""
NEEDS_PLACES = "it needs places"
"""Part of theory's line on a scheme of places where a task states none."""
PLAIN_PLACES = "its symbols' places are their positions, so these are plain ids"
"""Theory's line on a scheme of places under a language."""
AFTER = "then "
"""How a step begins that comes after the other."""
MOST_NAMED = 4
"""Tasks that are named in the answer; all are behind ``why``."""
NOT_FITTED = "not fitted"
"""What is measured of a system that is wrong on its training lengths, so that longer ones were not tested."""
SHARED_PLACES = "two tokens share the place of the needed one"
"""Why the answer is not known where coupled ids leave in doubt which token is needed."""
DENSE = "a token depends on ever more others"
"""How the reason begins where the number of parents grows."""
CHOSEN = "which token is needed depends on what ever more others say"
"""How the reason begins where the number of selectors grows."""
POSSIBLE = "POSSIBLE, untried"
"""The answer of positions that are advised, that theory allows, and that nothing was trained with."""
UNTRIED = "untried here"
"""How what would help begins where nothing of the kind was trained."""
ASKED: dict[Format, str] = {
    "next": "after every symbol which ones may come next, or the end",
    "member": "membership after every prefix",
    "state": "the state after every prefix",
    "answer": "the whole answer",
}
"""What a model is asked, in words."""
USUAL = "rope"
"""What most language models have, so that a comparison of few has it beside what is likelier."""
KNOWN = {system.known_as: system for system in SYSTEMS}


@dataclass(frozen=True, repr=False)
class Instead:
    """A system that does better, by a forecast or by measurements, and the command that trains it."""

    system: str
    words: str
    """What it is called in a sentence."""
    probability: float | None
    """Its forecast; None where there is none. Where it is none or a base rate, `measured` says what was found."""
    interval: tuple[float, float] | None
    measured: str
    command: str
    """What to type to train it; empty where no command does."""
    counted: Mapping[str, bool] = field(default_factory=dict)
    """The tasks that `measured` counts, and whether each was right; empty where it counts none."""
    share: float | None = None
    """The share of what was measured that was right, or the forecast; None where nothing similar was measured."""

    @property
    def line(self) -> str:
        """The system with its forecast, or with its measurements."""
        if self.measured or self.probability is None or self.interval is None:
            return f"{self.words}: {self.measured}"
        return "{}: {} % (from {} to {})".format(self.words, *map(percent, (self.probability, *self.interval)))

    def __repr__(self) -> str:
        return f"<{self.line}>"


class Insteads(tuple[Instead, ...]):
    """What would do better, printed one below the other, each with its command."""

    def __repr__(self) -> str:
        return "\n".join(f"{each.line}\n  {each.command}".rstrip() for each in self) or "nothing better is known"


NOTHING_BETTER = Insteads()


@dataclass(frozen=True, repr=False)
class SystemForecast:
    """The forecast for one position system."""

    system: str
    scheme: str
    encoding: str
    forecast: Forecast | None
    """What the fitted model says, also where more is known; None where nothing similar was measured.

    Its interval has 90 % of the draws of the coefficients, by a bootstrap over languages; wider where few were measured
    (`FEW`)."""
    theory: str
    """Whether it is possible, and by what."""
    measured: str
    """What was measured of this target, or of similar ones."""
    refusal: str = ""
    """Why there is no probability."""
    instead: tuple[Instead, ...] = NOTHING_BETTER
    """What would do better, the cheapest first."""
    probe: str = ""
    """How far a probe got and what it found; empty without one."""
    accuracy: float | None = None
    """That of this very target where it was measured, near M / N times the training length; None: it was not."""
    by_probe: bool = False
    """Whether the probability rests on the probe, too."""
    others: tuple[int, int] | None = None
    """Of the other tasks on which theory says the same, how many were right, and of how many; None where more is known
    than that."""
    named: Mapping[str, bool] = field(default_factory=dict)
    """The other tasks that are counted, and whether each was right."""
    nearest: Mapping[str, bool] = field(default_factory=dict)
    """Of `named`, the scratchpads, where this is one; empty where all are."""
    left_out: tuple[str, ...] = ()
    """Tasks that are `SIMILAR` and not counted, since they did not fit or were not tested near M / N."""
    record: tuple[int, int] = (0, 0)
    """Of the targets `SIMILAR` to this one that were measured, how many were right, and of how many."""
    together: tuple[int, int] = (0, 0)
    """The same of languages with all positions together, which a forecast weighs."""
    own: str = ""
    """What was measured of this target that is no answer at these lengths, in two or three words."""
    verdict: Answer = "unknown"
    """Theory's answer."""
    basis: str = ""
    """What theory's answer rests on: *proved*, *ours*, *cited* or *evidence*; empty where there is none."""
    unmet: bool = False
    """Whether the condition of theory's *yes* is not known to hold (`Verdict.unmet`)."""
    hard: bool = False
    """Of a language, whether `accuracy` is of hard words, too."""
    cut: float = 0.95
    tells: bool = False
    """Whether its ids depend on what a string says, so that giving them may give the answer away."""
    m: int = 1
    """Of ids modulo m, the m that a language gives; 1 where it gives none, and for other ids."""
    weak: str = ""
    """How such forecasts were wrong in an earlier study, where they were most often; of coupled ids of a task, what
    they do not tell apart (`doubt_of`); empty elsewhere."""

    pull: str = ""
    """What of a language raises or lowers its forecast most (`features.pull`)."""

    @property
    def counted(self) -> Forecast | None:
        """The forecast where it is the answer: this target was not measured, and more than other tasks is known."""
        return self.forecast if self.accuracy is None and self.others is None else None

    @property
    def probability(self) -> float | None:
        """P(accuracy of at least the cut at M), as the answer says it; None where the answer is no forecast."""
        return None if self.counted is None else self.counted.probability

    @property
    def interval(self) -> tuple[float, float] | None:
        """That of `probability`."""
        return None if self.counted is None else self.counted.interval

    @property
    def seen(self) -> str:
        """What was measured of this target, in few words; else of those `SIMILAR`, where no percentage weighs these."""
        if self.accuracy is not None:
            return self.chance.strip("()")
        right, of = self.record
        found = re.match(rf"{OWN_LANGUAGE}trained to \d+: (\d\.\d\d) at", self.measured)
        elsewhere = f"{found[1]} {ELSEWHERE}" if found else ""
        return self.own or elsewhere or (f"{right} of {of} {SIMILAR}" if of and self.counted is None else "")

    @property
    def words(self) -> str:
        """What it is called in a sentence."""
        return f"ids modulo {self.m}" if self.m > 1 else words(self.system)

    @property
    def base_rate(self) -> str:
        """`others` in words; empty where more is known, and where theory says nothing, so that none is `SIMILAR`."""
        return "" if self.others is None or self.verdict == "unknown" else in_words(self.others, self.alike)

    @property
    def alike(self) -> str:
        """What is counted: languages, or tasks; ids modulo m have no forecast, so of these languages are, too."""
        return "language" if self.others is None or self.scheme == "modulo" else "task"

    @property
    def by_similar(self) -> ForecastWord:
        """PROMISING: theory has a *yes* that is met, and most of at least `FEWEST` that are `SIMILAR` were right; what
        was seen of the target elsewhere must not be worse, and its ids must tell the needed tokens, and not give the
        answer away. UNLIKELY: it has a *no*, none of as many was right, and nor was the target elsewhere. Else NOT
        KNOWN.
        """
        right, of = self.others or self.record
        if of < FEWEST or BEYOND in self.refusal:
            return NOT_KNOWN
        elsewhere = re.fullmatch(rf"\d\.\d\d {ELSEWHERE}", self.own)
        as_good = not self.own or bool(elsewhere and float(self.own[:4]) >= self.cut)
        as_bad = not self.own or self.own == NOT_FITTED or bool(elsewhere and not as_good)
        held_back = self.unmet or self.tells or self.weak
        if self.verdict == "yes" and 100 * right >= LIKELY_FROM * of and as_good and not held_back:
            return PROMISING
        return UNLIKELY if self.verdict == "no" and right == 0 and as_bad else NOT_KNOWN

    @property
    def answer(self) -> ForecastWord:
        """The answer in a word: that of a measurement, else by the rule `BANDS` from the percents that are shown.

        Where nothing but theory and the share of others is known, it is that of `by_similar`.
        """
        if self.accuracy is not None:
            return RIGHT if self.accuracy >= self.cut else WRONG
        if self.counted is None:
            return self.by_similar
        found = whole_percent(self.counted.probability)
        low, high = (whole_percent(end) for end in self.counted.interval)
        if found >= LIKELY_FROM and low >= UNLIKELY_TO:
            return LIKELY
        return UNLIKELY if found <= UNLIKELY_TO and high <= LIKELY_FROM else UNCERTAIN

    @property
    def against(self) -> bool:
        """Whether a training would only confirm the answer: it was measured wrong, or it is UNLIKELY for certain.

        That is by a probe that was heard, or where the whole interval is small.
        """
        sure = self.by_probe or (not self.probe and self.interval is not None and self.interval[1] <= CERTAINLY_NOT)
        return self.answer == WRONG or (sure and self.answer == UNLIKELY)

    @property
    def rank(self) -> tuple[float, ...]:
        """What systems are ordered by, the best last: the answer, the nearest tasks, theory, the number that is shown,
        of equal percents theory, the smaller interval, similar ones, of equal shares the one of more, and attention to
        near ids.

        A forecast counts by its percent alone. Ids that a model predicts ask more of it than the same ids given, so
        they come after these.
        """
        right, of = self.others or self.record
        share = right / of if of else 0.0
        hoped = self.answer == NOT_KNOWN and self.others is not None and self.verdict == "yes"
        hoped &= share > 0 or self.alike == "task"
        forecast = whole_percent(self.probability or 0.0)
        number = self.accuracy if self.accuracy is not None else share if self.counted is None else forecast / 100
        by_theory = ("no", "unknown", "yes").index(self.verdict) - 0.5 * (self.scheme == "predictive-coupling")
        word = "possible in theory" if hoped else self.answer
        if self.counted is not None:
            word = LIKELY if forecast >= LIKELY_FROM else UNLIKELY if forecast <= UNLIKELY_TO else UNCERTAIN
        elif word == UNLIKELY:  # What is open may be better.
            word = NOT_KNOWN
        of_equal = by_theory * (self.counted is not None)
        by_theory *= self.counted is None and word in (NOT_KNOWN, "possible in theory", PROMISING)
        by_nearest = sum(self.nearest.values()) / len(self.nearest) if self.nearest else 0.5
        low, high = self.interval or (0.0, 0.0)
        by_record = self.record[0] / self.record[1] if self.record[1] else 0.0
        last = of * (right > 0), self.encoding == LOCAL_BIAS
        return ORDER.index(word), by_nearest, by_theory, number, of_equal, low - high, by_record, *last

    @property
    def reasons(self) -> tuple[str, ...]:
        """Theory, then measurements, or the reason for having no probability."""
        return tuple(line for line in (self.refusal, self.theory, self.measured, self.probe) if line)

    @property
    def in_brackets(self) -> str:
        """`chance` as it stands beside the word of the answer: of an interval, the end that could change the word.

        What was measured is said with its lengths.
        """
        if self.accuracy is not None:
            where = re.search(r"trained to (\d+)(?:: \S+|, was right)( at \S+| near .*? length)?", self.measured)
            return f"({self.seen}{where[2] or ''}, trained to {where[1]})" if where else f"({self.seen})"
        if self.counted is None and self.answer in (PROMISING, UNLIKELY):
            return f"(no percentage: {in_words(self.others or self.record, self.alike)})"
        if "[" not in self.chance:
            return f"({self.chance.strip('()')})" if self.chance else ""
        low, high = map(percent, self.interval or (0.0, 0.0))
        if low == high:
            return f"({low} %)"
        ends = {LIKELY: f"at least {low} %", UNLIKELY: f"at most {high} %"}
        return f"({percent(self.probability or 0.0)} %, {ends.get(self.answer, f'from {low} to {high} %')})"

    @property
    def chance(self) -> str:
        """What was measured, or the probability and its interval in percent, or the base rate; empty without one."""
        seen = "" if self.accuracy is None else f"{self.accuracy:.2f}"
        seen = "(not fitted)" if seen == "0.00" and NOT_FITTED in self.measured else seen
        return seen or self.base_rate or chance_of(self.probability, self.interval)

    def __repr__(self) -> str:
        return f"<{self.words}: {' '.join(part for part in (self.answer, self.chance) if part)}>"


def near_ratio(ratio: float) -> str:
    """How far beyond training something was tested, or is asked, in words."""
    return f"near {round(ratio, 1):g} times the training length"


def chance_of(probability: float | None, interval: tuple[float, float] | None) -> str:
    """A probability and its interval in percent; empty without one."""
    if probability is None or interval is None:
        return ""
    shown, low, high = percent(probability), *map(percent, interval)
    return f"{shown} % [{low}, {high}]"


def percent(value: float) -> str:
    """Percent as it is shown: whole, and below 1 or above 99 no more than that."""
    return "<1" if value < 0.01 else ">99" if value > 0.99 else str(whole_percent(value))


def whole_percent(value: float) -> int:
    """Whole percent."""
    return round(100 * value)


OWN_LANGUAGE = "this language, "
"""How what was measured of a language begins where it is that of the question."""
UNLIKE_TRAINED = ", which is too far from "
"""Part of the reason for having no forecast where training is shorter or longer than any that was measured."""
TOO_FAR = "; it may differ where it is trained to"
"""Said of what was measured of a target that was trained to a far shorter, or longer, length."""


def in_words(others: tuple[int, int], alike: str = "task") -> str:
    """How many other tasks, or languages alike, were right, and of how many, in words."""
    (right, of), similar = others, f"{SIMILAR} {alike}"
    were = "was" if of == 1 else "were"
    return f"{right} of {counted(of, similar)} {were} right" if of else f"no {similar} was measured"


def counted(number: int, of: str = "task") -> str:
    """A number of tasks, or of languages, in words."""
    return f"{number} {of}{'s' * (number != 1)}"


def scratchpads_first(best: SystemForecast, others: Iterable[SystemForecast]) -> str:
    """How many of the nearest tasks were right under a system, and under those with the same ids and answer."""
    alike = [best, *(f for f in others if f is not best and (f.scheme, f.answer) == (best.scheme, best.answer))]
    alike = [f for f in alike if f.nearest]
    said = [f"{sum(f.nearest.values())} of {len(f.nearest)} with {f.words}" for f in alike]
    names = sorted({name for f in alike for name in f.nearest})
    return f"scratchpads ({', '.join(names[:MOST_NAMED])}) that were right: {', '.join(said)}; " if said else ""


def exceptions(counted: Mapping[str, bool]) -> str:
    """The fewer of those that were right and those that were not, by name; of few that came out alike all of them."""
    right, wrong = ([name for name, good in counted.items() if good is of] for of in (True, False))
    if not counted or (len(counted) > FEWEST and not (right and wrong)):
        return ""
    few, word = (wrong, "wrong:") if not right or 0 < len(wrong) <= len(right) else (right, "right:")
    more = f" and {len(few) - MOST_NAMED} more" * (len(few) > MOST_NAMED)
    return f" ({word} {', '.join(few[:MOST_NAMED])}{more})"
