"""What a forecast looks at: properties of a language or a task, each a small function, computed without training."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, count
from typing import TYPE_CHECKING, Any, Literal

from lengthwise.crasp.decide import no_counting
from lengthwise.languages.automaton import Dfa
from lengthwise.languages.sampling import count_words
from lengthwise.measured.cells import Format
from lengthwise.positions.encodings import ENCODINGS, LocalBiasSpec
from lengthwise.positions.system import PositionSystem
from lengthwise.prediction.programs import END, decision_for, verdict
from lengthwise.prediction.verdict import Prediction
from lengthwise.tasks import TASKS

if TYPE_CHECKING:
    from lengthwise.forecast.probe import Probe

MOST_WORDS = 4
"""Beyond 10⁴ words of a length, a model can't know them one by one, and more make no difference."""
WITH_WINDOWS, WITH_PERIODS = ("learned", "alibi"), ("learned", "rope", "sinusoidal")
"""Encodings whose fragment of C-RASP has windows, or periods."""


def plain(dfa: Dfa, format: Format) -> bool:
    """Whether a program without positions is known to exist."""
    return verdict(dfa, format, "none").verdict == "yes"


def heard(dfa: Dfa, format: Format, encoding: str) -> bool:
    """Whether a program needs windows or periods, and the encoding's fragment has what it needs."""
    if plain(dfa, format):
        return False
    windows, periods = encoding in WITH_WINDOWS, encoding in WITH_PERIODS
    if not (windows or periods):
        return False
    fragment = "ape" if windows and periods else "local" if windows else "periodic"
    return verdict(dfa, format, fragment).verdict == "yes"


def suffice(symbols: int) -> str:
    """That so many last symbols tell which come next, in words."""
    return f"the last {symbols} symbols suffice" if symbols > 1 else "the last symbol suffices"


def seen_nearby(dfa: Dfa, format: Format, encoding: str) -> int:
    """Of how many last symbols the next ones follow, where an encoding attends to these, and to few others; else 0."""
    spec = ENCODINGS.build(encoding)
    if format != "next" or not isinstance(spec, LocalBiasSpec):
        return 0
    return next((n for n in range(1, spec.window + 2) if suffices(dfa, n)), 0)


def suffices(dfa: Dfa, window: int | None) -> bool:
    """Whether the last ``window`` symbols of what begins a word fix which symbols may come next, and whether it ends.

    Two live states that the same ``window`` symbols can lead to, from whatever states, must agree in both. None asks
    whether any number of symbols does: fewer and fewer pairs are left, until these stay.
    """
    live = [state for state in range(dfa.size) if dfa.live[state]]
    pairs, before = {(p, q) for p in live for q in live if p < q}, set[tuple[int, int]]()
    for _ in range(window) if window is not None else count():
        if pairs == before:
            break
        before = pairs
        steps = (zip(dfa.delta[p], dfa.delta[q], strict=True) for p, q in pairs)
        pairs = {(min(p, q), max(p, q)) for p, q in chain(*steps) if p != q and dfa.live[p] and dfa.live[q]}

    def what_follows(state: int) -> tuple[bool, ...]:
        return dfa.accepting[state], *(dfa.live[after] for after in dfa.delta[state])

    return all(what_follows(p) == what_follows(q) for p, q in pairs)


Kind = Literal["without counting", "by counting", "by windows or periods", "no"]
"""By what a language has a *yes*, or that it has none."""


def kind(dfa: Dfa, format: Format, encoding: str) -> Kind:
    """By what theory has a *yes* for a language under an encoding."""
    if plain(dfa, format):
        return "without counting" if no_counting(dfa) else "by counting"
    return "by windows or periods" if heard(dfa, format, encoding) else "no"


def monoid(dfa: Dfa, format: Format) -> int:
    """Elements of the syntactic monoid, or the bound on them where there are more."""
    found = decision_for(dfa, format)
    return found.monoid_size or found.analysis.max_elements


def star_free(dfa: Dfa, format: Format) -> bool:
    """Whether the syntactic monoid is aperiodic; no where it is too large."""
    return bool(decision_for(dfa, format).star_free)


def r_trivial(dfa: Dfa, format: Format) -> bool:
    """Whether no two states reach each other."""
    return decision_for(dfa, format).r_trivial


def words(dfa: Dfa, length: int) -> float:
    """Decimal logarithm of the number of words, at most `MOST_WORDS`, of the length near ``length`` that has most."""
    most = max(count_words(dfa, near) for near in range(max(0, length - dfa.size), length + 1))
    return min(MOST_WORDS, math.log10(max(1, most)))


@lru_cache(maxsize=2048)
def margin(dfa: Dfa, format: Format, length: int) -> float:
    """Binary logarithm of the median margin at a length of the program without positions; 0 where none counts.

    It is that of the program for membership. Where only next symbols have a program, it counts as 1 / length, the
    least that a comparison of counts leaves.
    """
    from lengthwise.crasp.margin import language_margin

    if not plain(dfa, format) or no_counting(dfa):
        return 0.0
    if not plain(dfa, "member"):
        return -math.log2(length)
    found = language_margin(decision_for(dfa, "member"), "none", END["member"], [length])
    return math.log2(max(found.median[0], 1 / (2 * length)))


@dataclass(frozen=True)
class LanguageQuestion:
    """What is asked of one language: a model with an encoding, trained to ``train``, right at ``test``?"""

    dfa: Dfa
    format: Format
    encoding: str
    train: float
    test: float


def of_language(question: LanguageQuestion) -> dict[str, float]:
    """All features by name. Each is larger where a *yes* is likelier, apart from those in `ADVERSE`."""
    dfa, format, encoding = question.dfa, question.format, question.encoding
    found = plain(dfa, format)
    counts = not no_counting(dfa)
    ratio = math.log2(question.test / question.train)
    uses = heard(dfa, format, encoding)
    needs = verdict(dfa, format, "ape")
    possible = needs.verdict == "yes"
    return {
        "plain": float(found),
        "heard": float(uses),
        "heard by ALiBi": float(uses and encoding == "alibi"),
        "heard by RoPE": float(uses and encoding == "rope"),
        "window": math.log2(needs.window or 1) if possible else 0.0,
        "period": math.log2(needs.period or 1) if possible else 0.0,
        "counting": float(counts),
        "counting, farther": counts * ratio,
        "margin": margin(dfa, format, round(question.test)),
        "not plain, farther": (not found) * ratio,
        "r-trivial": float(r_trivial(dfa, format)),
        "star-free": float(star_free(dfa, format)),
        "states": math.log2(dfa.size),
        "monoid": math.log2(monoid(dfa, format)),
        "words": words(dfa, round(question.train)),
        "learned": float(encoding == "learned"),
        "learned, plain": float(encoding == "learned" and found),
        "rope": float(encoding == "rope"),
        "ratio": ratio,
    }


ADVERSE = frozenset((
    "window", "period", "counting", "counting, farther", "not plain, farther", "states", "monoid", "words",
    "learned", "learned, plain", "rope", "ratio", "heard by RoPE",
    "no", "plain, sparse", "local, farther", "not local, farther", "randomized", "probe rung",
))  # fmt: skip
"""Features of which more can only lower a forecast."""


UNLIKE: dict[str, tuple[float, str, str]] = {
    "r-trivial": (0.146, "states come back after they are left", "no state comes back once it is left"),
    "star-free": (0.699, "it counts modulo a number", "it counts nothing modulo a number"),
    "monoid": (3.279, "it has a small syntactic monoid", "it has a large syntactic monoid"),
    "states": (2.077, "it has few states", "it has many states"),
    "margin": (-0.586, "counts that are close are to be compared", "no close counts are to be compared"),
}
"""Of features that theory's line does not tell: the mean of the measured languages, and what less and more of it is."""


def pull(values: Mapping[str, float], weights: Mapping[str, float]) -> str:
    """By which of these a forecast with such weights differs most from that of the average language, in words."""
    pulls = {name: weights.get(name, 0.0) * (values[name] - mean) for name, (mean, *_) in UNLIKE.items()}
    most = max(pulls, key=lambda name: abs(pulls[name]))
    mean, less, more = UNLIKE[most]
    says = more if values[most] > mean else less
    return f"beside theory and lengths, the chance is {'raised' if pulls[most] > 0 else 'lowered'} most by this: {says}"


def language_of(task: Mapping[str, Any]) -> Dfa | None:
    """The automaton of a measured task's configuration; None if it is no regular language."""
    return _automaton(json.dumps(dict(task))) if task["name"] == "language" else None


@lru_cache(maxsize=512)
def _automaton(task: str) -> Dfa | None:
    """Kept, since each system that is asked about is compared with every measured language."""
    built: Any = TASKS.build(json.loads(task))
    return built.automaton()


@dataclass(frozen=True)
class TaskQuestion:
    """What is asked of one task: a system, trained to ``train``, right at ``test``? With `predict_task`'s theory."""

    theory: Prediction
    system: PositionSystem
    train: float
    test: float


SCHEMES_OF_PLACES = ("coupled", "predictive-coupling", "abacus", "coupled-rare-jump")
"""Schemes that give tokens of one place one id."""


def answer_for(theory: Prediction, system: PositionSystem) -> str:
    """Theory's answer for a system; *unknown* for one without a row."""
    return next((v.answer for v in theory.verdicts if v.system == system.known_as), "unknown")


def of_task(question: TaskQuestion) -> dict[str, float]:
    """All features of a task by name."""
    theory, scheme, encoding = question.theory, question.system.registered_scheme, question.system.encoding
    answer = answer_for(theory, question.system)
    without = answer_for(theory, PositionSystem("sequential", "nope"))
    row = next((row for row in theory.structure if row.scheme == "coupled"), None)
    # The task's parents are few and near at all lengths, in the ids of a scheme that couples.
    local = scheme in SCHEMES_OF_PLACES and row is not None and row.sparse and row.local
    sparse = all(row.sparse for row in theory.structure)
    ratio = math.log2(question.test / question.train)
    return {
        "yes": float(answer == "yes"),
        "no": float(answer == "no"),
        "plain": float(without == "yes"),
        "plain, sparse": float(without == "yes" and sparse),
        "local": float(local),
        "local, local bias": float(local and encoding == "local-bias"),
        "local, farther": ratio * local * (encoding != "local-bias"),
        "not local, farther": ratio * (not local),
        "places": float(scheme in SCHEMES_OF_PLACES),
        "learned": float(encoding == "learned"),
        "rope": float(encoding in ("rope", "xpos", "sinusoidal")),
        "randomized": float(scheme in ("pose", "randomized")),
        "ratio": ratio,
    }


PROBE_RUNGS = 2
"""A probe counts as fitted if it fits by this rung; most that were measured had no time for the third."""
FLOOR = 0.002
"""An accuracy of 1 on a few hundred strings is taken for this much less."""


def log_odds(accuracy: float) -> float:
    """The logarithm of right strings to wrong ones, cut at `FLOOR` from both ends."""
    cut = min(1 - FLOOR, max(FLOOR, accuracy))
    return math.log(cut / (1 - cut))


def of_probe(probe: Probe) -> dict[str, float]:
    """All features of a probe by name: whether it fits at N / 2, at which rung, and what it does up to N."""
    fitted = probe.status == "fitted" and (probe.rung or 0) <= PROBE_RUNGS
    return {
        "probe fitted": float(fitted),
        "probe accuracy": log_odds(probe.accuracy or 0.0 if fitted else 0.0),
        "probe slope": (probe.slope or 0.0) if fitted else 0.0,
        "probe rung": float(probe.rung or 0) if fitted else PROBE_RUNGS + 1.0,
    }
