"""Features: each against a law or a slow reference on small automata."""

from __future__ import annotations

import itertools
import math

import pytest

from lengthwise.crasp.decide import NEXT, decide
from lengthwise.forecast import features
from lengthwise.forecast.features import ADVERSE, LanguageQuestion, TaskQuestion
from lengthwise.forecast.predict import predict
from lengthwise.languages.automaton import language
from lengthwise.measured.cells import cells
from lengthwise.positions.system import PositionSystem
from lengthwise.prediction import programs
from lengthwise.prediction.predict import predict_task
from lengthwise.tasks import TASKS

EXPRESSIONS = ("a*b*", "(ab)*", "(aa)*", "(abab)*", "(a|b)*abb", "(aa|b)*", "((a|b)(a|b))*", "b*a(a|b)*", "(a|bb)*")


def asked(text: str, encoding: str = "nope", format="next", test: float = 125) -> dict[str, float]:
    return features.of_language(LanguageQuestion(language(text), format, encoding, 50, test))


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_words_are_counted(text: str):
    dfa = language(text)
    most = max(
        sum(dfa.accepts(word) for word in itertools.product(dfa.alphabet, repeat=n))
        for n in range(max(0, 6 - dfa.size), 7)
    )
    assert features.words(dfa, 6) == pytest.approx(min(4, math.log10(max(1, most))))


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_verdicts_are_those_of_the_decision(text: str):
    decision = decide(text, ends=["visible", "eos", NEXT])
    for format, end in (("next", NEXT), ("member", "visible"), ("state", "eos")):
        for fragment in ("none", "local", "periodic", "ape"):
            found = programs.verdict(language(text), format, fragment)
            assert found.verdict == decision.verdict(fragment, end).verdict
    assert features.r_trivial(language(text), "next") == decision.r_trivial
    assert features.star_free(language(text), "next") == decision.star_free
    assert features.monoid(language(text), "next") == decision.monoid_size


def test_a_larger_fragment_is_heard_by_more_encodings():
    """What is heard without windows or periods is heard by learned positions; nothing is without positions."""
    for text in EXPRESSIONS:
        dfa = language(text)
        heard = {encoding: features.heard(dfa, "next", encoding) for encoding in ("nope", "alibi", "rope", "learned")}
        assert not heard["nope"]
        assert heard["learned"] or not (heard["alibi"] or heard["rope"])
        assert not (features.plain(dfa, "next") and any(heard.values()))


def test_smallest_window_and_period():
    needs = {text: programs.verdict(language(text), "next", "ape") for text in ("(aa)*", "(aaaa)*", "a*b*")}
    assert {text: (found.window, found.period) for text, found in needs.items()} == {
        "(aa)*": (1, 2), "(aaaa)*": (1, 4), "a*b*": (1, 1),
    }  # fmt: skip
    assert programs.verdict(language("(aa|b)*"), "member", "ape").window is None or not features.plain(
        language("(aa|b)*"), "member"
    )


def test_distance_enters_by_the_ratio():
    near, far = asked("(aa)*", test=75), asked("(aa)*", test=150)
    assert far["ratio"] - near["ratio"] == pytest.approx(1)
    unchanged = [name for name in near if "farther" not in name and name != "ratio"]
    assert all(near[name] == far[name] for name in unchanged)


def test_renamed_symbols_change_nothing():
    # The margin is that of drawn words.
    assert asked("(ab)*a*") == pytest.approx(asked("(ba)*b*"), rel=0.02)
    assert asked("(ab)*a*") == pytest.approx(asked("(01)*0*"), rel=0.02)


def test_tasks():
    theory = predict_task(TASKS.build("addition"))
    coupled = features.of_task(TaskQuestion(theory, PositionSystem("coupled", "learned"), 10, 40))
    plain = features.of_task(TaskQuestion(theory, PositionSystem("sequential", "rope"), 10, 40))
    assert (coupled["local"], coupled["yes"], plain["local"], plain["no"]) == (1, 1, 0, 1)
    assert set(coupled) == set(plain)


def test_signs_are_of_features():
    theory = predict_task(TASKS.build("majority"))
    names = set(asked("(ab)*")) | set(
        features.of_task(TaskQuestion(theory, PositionSystem("sequential", "nope"), 10, 40))
    )
    assert set(ADVERSE) - names == {"probe rung"}


def test_a_probe_that_does_better_has_larger_features():
    class Found:
        def __init__(self, status: str, rung: int | None, accuracy: float | None, slope: float | None):
            self.status, self.rung, self.accuracy, self.slope = status, rung, accuracy, slope

    good, fair = (features.of_probe(Found("fitted", 1, accuracy, 0.0)) for accuracy in (1.0, 0.8))
    none = features.of_probe(Found("not fitted", None, None, None))
    assert good["probe accuracy"] > fair["probe accuracy"] > none["probe accuracy"]
    assert none["probe fitted"] == 0 < fair["probe fitted"]


def test_the_average_that_a_forecast_is_held_against_is_that_of_the_measured_languages():
    """`UNLIKE`, at the middles of the three bins; and it tells two languages apart of which theory says the same."""
    found = [cell for cell in cells() if cell.forecaster == "language"]
    for name, (mean, *_) in features.UNLIKE.items():
        values = [
            features.of_language(
                features.LanguageQuestion(dfa, c.format, c.encoding, c.train, test)
            )[name]
            for c in found if (dfa := features.language_of(c.task)) for test in (75.5, 125.5, 225.5)
        ]  # fmt: skip
        assert abs(sum(values) / len(values) - mean) < 0.001, name
    never, back = (predict(text, 20, 100, "nope")["nope"].pull for text in ("a*b*", "(abc)*"))
    assert "raised most by this: no state comes back" in never
    assert "lowered most by this: states come back" in back
