"""A prediction says how often verdicts of its kind held in the blind study."""

from __future__ import annotations

import json
from pathlib import Path

from lengthwise.prediction.measured import measured_reliability
from lengthwise.prediction.predict import predict_target

TABLE = Path(__file__).parents[2] / "studies" / "blind" / "results" / "blind" / "table.json"


def test_lines_have_the_numbers_of_the_file() -> None:
    first = measured_reliability()["reliability"]
    table = json.loads(TABLE.read_text(encoding="utf-8"))["reliability"]
    assert {
        encoding: {answer: {**counts, "not run": 0} for answer, counts in by_answer.items()}
        for encoding, by_answer in first.items()
    } == table
    nope, ape = predict_target("unique_copy", ["nope", "ape"]).reliability
    for line, counts, kind in ((nope, first["nope"]["no"], "nope: no"), (ape, first["ape"]["yes"], "ape: yes")):
        system, answer = kind.split()
        assert line.startswith(
            f"{system} a {answer} on membership was true of {counts['right']} of {counts['decided']} other languages"
        )
        assert f"that fit (of {counts['cells']}; blind study)" in line


def test_rope_and_alibi_have_lines_of_their_own() -> None:
    others = measured_reliability()["other_positions"]
    for system, target, answer in (("rope", "(aa)*", "yes"), ("rope", "(a|b)*abb", "no"), ("alibi", "(ab)*", "yes")):
        (line,) = predict_target(target, [system]).reliability
        counts = others[system][answer]
        held = f"{counts['right']} of {counts['decided']} other languages"
        assert line.startswith(f"{system}: a {answer} on membership was true of {held}")
        assert f"that fit (of {counts['cells']}; study of twelve more)" in line


def test_languages_have_the_verdict_on_next_symbols_too() -> None:
    (line,) = predict_target("((a?c)*)*b*", ["nope"]).reliability
    assert line.startswith("nope: a no on membership was true of ")
    assert "; a yes on next symbols of " in line
    (named,) = predict_target("D-3", ["nope"]).reliability
    assert "; a yes on next symbols of " in named


def test_verdicts_that_were_not_measured_get_no_line() -> None:
    assert predict_target("(ab)*", ["sinusoidal"]).reliability == ()
    assert predict_target("variable-assignment", ["coupled"]).reliability == ()
