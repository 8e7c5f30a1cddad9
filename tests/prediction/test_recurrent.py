"""What theory has on models without attention, against brute force on automata, and that no forecast is given."""

from __future__ import annotations

import pytest

from lengthwise.api.theory import predict
from lengthwise.core.errors import LengthwiseError
from lengthwise.languages.automaton import language
from lengthwise.models.mixers import MIXERS
from lengthwise.prediction.predict import predict_language, predict_task
from lengthwise.prediction.recurrent import MODELS, _order
from lengthwise.tasks import TASKS


def answers(target: str) -> dict[str, str]:
    found = predict_task(TASKS.build(target)) if target in TASKS else predict_language(target, target)
    return {verdict.system: verdict.answer for verdict in found.models}


def test_every_mixer_but_attention_has_a_row() -> None:
    assert {*MODELS} == {name for name in MIXERS if MIXERS.is_built_in(name) and name != "attention"}


@pytest.mark.parametrize("target", ["parity", "(aa)*", "(0*10*1)*0*"])
def test_parity_needs_a_nonlinear_state_or_a_negative_eigenvalue(target: str) -> None:
    found = answers(target)
    assert {model for model, answer in found.items() if answer == "yes"} == {
        "lstm", "deltanet-negative", "gated-deltanet-negative",
    }  # fmt: skip
    assert {model for model, answer in found.items() if answer == "no"} == {"mamba", "deltanet", "gated-deltanet"}


@pytest.mark.parametrize(("regex", "star_free"), [("(ab)*", True), ("(a|b)*aa", True), ("(aaa)*", False)])
def test_decays_of_one_sign_recognize_the_star_free_languages(regex: str, star_free: bool) -> None:
    found = answers(regex)
    assert found["lstm"] == "yes"
    assert found["mamba"] == ("yes" if star_free else "no")
    assert found["rwkv7"] == "unknown"


def test_counting_one_symbol_is_found_by_running_it() -> None:
    for regex in ("(ab)*", "(aa)*", "(aaa)*b*", "(ab|ba)*", "a*b"):
        dfa = language(regex)
        for symbol in range(len(dfa.alphabet)):
            orders = set()
            for start in range(dfa.size):
                state = dfa.run([symbol] * 60, start)
                orders.add(next(n for n in range(1, 61) if dfa.run([symbol] * n, state) == state))
            assert _order(dfa, symbol) == max(orders)


@pytest.mark.parametrize("task", ["copy", "reverse", "repeat_copy", "addition", "sort"])
def test_what_must_be_remembered_fits_no_state_of_fixed_size(task: str) -> None:
    found = predict_task(TASKS.build(task))
    assert {verdict.answer for verdict in found.models} == {"no"}
    assert "a state of fixed size" in found.models[0].why
    assert all(verdict.arguments[0].certificate for verdict in found.models)


@pytest.mark.parametrize("task", ["majority", "retrieval", "counting"])
def test_short_answers_prove_nothing(task: str) -> None:
    assert set(answers(task).values()) == {"unknown"}


@pytest.mark.parametrize("model", MODELS)
def test_the_forecast_gives_them_no_probability(model: str) -> None:
    with pytest.raises(LengthwiseError, match=f"not calibrated for {model}"):
        predict("parity", encoding=model)
