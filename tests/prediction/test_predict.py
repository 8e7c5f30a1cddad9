"""The verdict per target and position system: the published flags, what carries over, and what is never claimed."""

from __future__ import annotations

import doctest
import functools
import json
from pathlib import Path

import pytest

from lengthwise.core.errors import LengthwiseError, UnknownNameError
from lengthwise.crasp.decide import decide
from lengthwise.positions.system import SYSTEMS, contains, position_systems
from lengthwise.prediction.predict import (
    arguments_from_locality,
    fragment_answer,
    predict_target,
    predict_task,
    predict_with_search,
)
from lengthwise.prediction.verdict import Prediction, StructureRow
from lengthwise.tasks import TASKS
from lengthwise.tasks.language import HUANG, Language

# Key of the published results: does a program exist for learned positions (APE), without positions (NoPE)?
FLAGS = {
    "bin_majority": (True, True),
    "majority": (True, True),
    "bin_majority_interleave": (True, False),
    "sort": (True, True),
    "unique_copy": (True, False),
    "repeat_copy": (False, False),
    "parity": (False, False),
    "addition": (False, False),
}
ANSWER = {True: "yes", False: "no"}


def answers(prediction: Prediction) -> dict[str, str]:
    return {verdict.system: verdict.answer for verdict in prediction.verdicts}


@functools.cache
def verdicts_of(target: str) -> Prediction:
    """What `predict` says, worked out once for all laws."""
    return predict_target(target)


@pytest.mark.parametrize("key", FLAGS)
def test_the_published_flags(key: str) -> None:
    task = TASKS.build(HUANG[key])
    for system, flag in zip(("ape", "nope"), FLAGS[key], strict=True):
        assert fragment_answer(task, system) == ANSWER[flag]


@pytest.mark.parametrize("name", TASKS)
def test_every_task_gets_a_verdict_with_a_reason(name: str) -> None:
    prediction = verdicts_of(name)
    assert [verdict.system for verdict in prediction.verdicts] == [system.known_as for system in SYSTEMS]
    for verdict in prediction.verdicts:
        assert verdict.why
        assert (verdict.basis is None) == (verdict.answer == "unknown")
        assert verdict.answer != "yes" or not verdict.help
        assert "cannot learn" not in verdict.why
    assert json.loads(json.dumps(prediction.to_json()))["target"] == prediction.target


@pytest.mark.parametrize("name", TASKS)
def test_structure_never_gives_a_no(name: str) -> None:
    for verdict in verdicts_of(name).verdicts:
        for argument in verdict.arguments:
            if argument.certificate.get("kind") == "structure":
                assert argument.answer == "yes"
            if argument.answer == "no":
                assert argument.why.startswith("no guarantee")
        # Schemes that no theorem covers can't get a no at all.
        assert verdict.fragment is not None or verdict.answer != "no"


@pytest.mark.parametrize("target", [*TASKS, "regex:(aa)*", "regex:(ab)*", "regex:(a|b)*b", "regex:(aab|b)*"])
def test_yes_carries_to_larger_fragments_and_no_to_smaller_ones(target: str) -> None:
    # Structure is about one encoding, not about a fragment, so only programs and impossibility are compared.
    found = {}
    for verdict in verdicts_of(target).verdicts:
        if verdict.fragment is not None:
            kinds = {a.answer for a in verdict.arguments if a.certificate.get("kind") != "structure"}
            found[verdict.fragment] = kinds
    for smaller in found:
        for larger in found:
            if contains(larger, smaller):
                assert "yes" not in found[smaller] or "yes" in found[larger]
                assert "no" not in found[larger] or "no" in found[smaller]


FORMATS = {"member": "visible", "next": "next", "state": "eos"}


@pytest.mark.parametrize("ask", FORMATS)
@pytest.mark.parametrize("language", ["(b|c)*ba", "(a|b)*a", "(ab)*", "(aa)*", "((a?c)*)*b*", "Tomita-4"])
def test_a_language_gets_the_verdicts_on_what_it_asks(language: str, ask: str) -> None:
    task = Language(language=language, ask=ask)  # type: ignore[arg-type]
    decision = decide(task.automaton(), ends=[FORMATS[ask]])  # type: ignore[arg-type]
    prediction = predict_task(task)
    for verdict in prediction.verdicts:
        if verdict.fragment is not None:
            assert verdict.answer == decision.verdict(verdict.fragment, FORMATS[ask]).verdict, verdict.system


def test_the_three_formats_differ() -> None:
    def without_positions(language: str) -> list[str]:
        found = [predict_task(Language(language=language, ask=ask)).verdicts[0] for ask in FORMATS]  # type: ignore[arg-type]
        return [verdict.answer for verdict in found]

    assert without_positions("(b|c)*ba") == ["no", "yes", "no"]
    assert without_positions("(a|b)*a") == ["yes", "yes", "no"]


def test_the_reason_for_states_has_their_own_window() -> None:
    (verdict,) = predict_task(Language(language="(a|b)*a", ask="state"), position_systems(["alibi"])).verdicts
    assert (
        "the states, named also at an end mark, of (a|b)*a (it counts symbols and looks at the last 2 symbols)"
        in verdict.why
    )


def test_dense_majority_is_a_yes() -> None:
    assert answers(predict_target("majority", ["nope", "ape"])) == {"nope": "yes", "ape": "yes"}


def test_sets_of_next_tokens_are_no_sparsity() -> None:
    """Without parents, k = 0 would look sparse and local."""
    prediction = predict_target("language")
    assert prediction.structure == ()
    assert all(a.certificate.get("kind") != "structure" for v in prediction.verdicts for a in v.arguments)


def test_coupling_makes_addition_local() -> None:
    prediction = predict_target("addition")
    found = answers(prediction)
    assert (found["coupled+learned"], found["ape"], found["rope"]) == ("yes", "no", "no")
    spans = {row.scheme: row.span for row in prediction.structure}
    assert len(set(spans["coupled"])) == 1 < len(set(spans["sequential"]))
    assert {v.help.split(" (")[0] for v in prediction.verdicts if v.answer != "yes"} == {"coupled positions"}


def test_help_names_what_is_a_yes() -> None:
    helps = {v.system: v.help for v in predict_target("copy").verdicts}
    assert helps["ape"] == ""
    assert "ape, alibi" in helps["nope"]
    assert "scratchpad" in {v.system: v.help for v in predict_target("parity").verdicts}["ape"]
    assert all(v.help == "" for v in predict_target("majority").verdicts)


def test_help_does_not_depend_on_what_is_asked() -> None:
    (alone,) = predict_target("copy", ["nope"]).verdicts
    assert alone == next(v for v in predict_target("copy").verdicts if v.system == "nope")


def test_regular_expressions_and_programs(tmp_path: Path) -> None:
    assert answers(predict_target("regex:(aa)*", ["nope", "ape", "alibi", "rope"])) == {
        "nope": "no", "ape": "yes", "alibi": "no", "rope": "yes",
    }  # fmt: skip
    path = tmp_path / "even.crasp"
    path.write_text("alphabet: a\naccept := i mod 2 = 1\n")
    assert answers(predict_target(str(path), ["nope", "ape", "alibi", "rope"])) == {
        "nope": "unknown", "ape": "yes", "alibi": "unknown", "rope": "yes",
    }  # fmt: skip


def test_a_class_in_a_file() -> None:
    file = Path(__file__).parents[2] / "examples" / "my_task.py"
    assert len(predict_target(f"{file}:EverySecond").verdicts) == len(SYSTEMS)


def test_unknown_names_are_errors() -> None:
    with pytest.raises(LengthwiseError, match="Did you mean 'addition'"):
        predict_target("additon")
    with pytest.raises(UnknownNameError, match="position system"):
        predict_target("addition", ["ropee"])
    with pytest.raises(LengthwiseError):
        predict_target("regex:(a")
    with pytest.raises(LengthwiseError, match="no examples file at"):
        predict_target("missing.jsonl")


def test_a_cited_link_weakens_the_basis() -> None:
    basis = {v.system: v.basis for v in predict_target("majority").verdicts}
    assert (basis["nope"], basis["alibi"]) == ("proved", "cited")


def test_the_page_is_run() -> None:
    page = Path(__file__).parents[2] / "docs" / "verdicts.md"
    result = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert result.attempted == 4
    assert result.failed == 0


def test_theorems_say_which_tokens_they_count() -> None:
    for task in ("addition", "variable-assignment", "copy"):
        for verdict in predict_target(task).verdicts:
            for argument in verdict.arguments:
                if argument.certificate.get("kind") == "structure":
                    assert "counting parents (Corollary C" in argument.why


def test_plain_ids_need_selectors_in_the_window_too() -> None:
    """Parents next to the token, chosen by a token that is far away: no case for Theorem A."""
    row = StructureRow("sequential", (5, 10, 20), (1, 1, 1), (2, 2, 2), (1, 1, 1), (5, 10, 20), (2, 2, 2), (5, 10, 20))
    near = StructureRow("sequential", (5, 10, 20), (1, 1, 1), (2, 2, 2), (1, 1, 1), (3, 3, 3), (2, 2, 2), (3, 3, 3))
    rope = next(system for system in SYSTEMS if system.known_as == "rope")
    coupled = next(system for system in SYSTEMS if system.known_as == "coupled+learned")
    assert arguments_from_locality(rope, row) == []
    assert "parents and selectors (Theorem A" in arguments_from_locality(rope, near)[0].why
    assert arguments_from_locality(coupled, row)


def test_no_theorem_is_claimed_for_several_levels_of_positions():
    found = predict_target("addition-running-sums")
    verdict = next(verdict for verdict in found.verdicts if verdict.system == "coupled+learned")
    assert (verdict.answer, verdict.arguments) == ("unknown", ())
    assert "under which it is local on 2 levels; nothing is proved" in verdict.help


@pytest.mark.parametrize("name", ["reverse", "copy"])
def test_a_small_alphabet_takes_no_theorem_away(name: str) -> None:
    """Symbols that are not repeated bound the length, and the answer of theory is that of many symbols."""
    answers = {
        letters: tuple((v.system, v.answer) for v in predict_with_search(TASKS.build(name, letters=letters)).verdicts)
        for letters in (8, 10, 16, 150)
    }
    assert len(set(answers.values())) == 1, answers


def test_attention_to_near_ids_alone_has_the_verdict_of_coupled_ids_where_its_window_reaches() -> None:
    """Corollary C holds for both; an encoding with a window needs one that is as wide as the span."""
    beyond = set()
    for name in sorted(TASKS):
        try:
            found = {v.system: v for v in predict_task(TASKS.build(name)).verdicts}
        except LengthwiseError:
            continue
        table, near = found["coupled+learned"], found["coupled+local-bias-sink"]
        assert near.condition == table.condition or near.limit
        if near.limit:
            beyond.add(name)
            assert (table.answer, near.answer) == ("yes", "unknown")
            (span,) = {argument.certificate["span"][0] for argument in table.arguments}
            assert f"encoding.window={span}" in near.in_theory
        else:
            assert (near.answer, near.arguments) == (table.answer, table.arguments)
    assert beyond == {"needle-multi-hop"}
