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
        assert line.startswith(
            f"{kind} on membership held for {counts['right']} of {counts['decided']} other languages"
        )
        assert "(blind study: 0.70 right at 101–150 symbols)" in line
        assert (f"of {counts['cells']} trained" in line) == (counts["cells"] > counts["decided"])


def test_rope_and_alibi_have_lines_of_their_own() -> None:
    others = measured_reliability()["other_positions"]
    for system, target, answer in (("rope", "(aa)*", "yes"), ("rope", "(a|b)*abb", "no"), ("alibi", "(ab)*", "yes")):
        (line,) = predict_target(target, [system]).reliability
        counts = others[system][answer]
        held = f"{counts['right']} of {counts['decided']} other languages that fit"
        assert line.startswith(f"{system}: {answer} on membership held for {held}")
        assert "(twelve more: 0.70 right" in line


def test_languages_have_the_verdict_on_next_symbols_too() -> None:
    (line,) = predict_target("((a?c)*)*b*", ["nope"]).reliability
    assert line.startswith("nope: no on membership held for ")
    assert "; yes on next symbols for " in line
    (named,) = predict_target("D-3", ["nope"]).reliability
    assert "; yes on next symbols for " in named


def test_verdicts_that_were_not_measured_get_the_whole_study() -> None:
    counts = [c for by_answer in measured_reliability()["reliability"].values() for c in by_answer.values()]
    (line,) = predict_target("(ab)*", ["sinusoidal"]).reliability
    right, decided, cells = (sum(count[name] for count in counts) for name in ("right", "decided", "cells"))
    assert f"{right} of {decided} other languages that fit, of {cells} trained" in line
    assert predict_target("variable-assignment", ["coupled"]).reliability == (line,)
