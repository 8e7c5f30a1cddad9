"""Examples: strict reading, evidence only, dependencies from data."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lengthwise.core.errors import LengthwiseError
from lengthwise.crasp.synthesis import labelled, read_examples, synthesize
from lengthwise.prediction import predict
from lengthwise.prediction.predict import predict_target


def written(path: Path, rows: list[Any]) -> Path:
    file = path / "examples.jsonl"
    file.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return file


def test_reading(tmp_path: Path) -> None:
    rows = [{"prompt": "a b", "answer": True}, "", {"prompt": ["a"], "answer": "no"}]
    read = read_examples(written(tmp_path, rows))
    assert read == [(("a", "b"), True), (("a",), ("no",))]
    assert labelled(read) == {("a", "b"): True, ("a",): False}
    assert labelled([(("a",), ("b", "c"))]) is None


@pytest.mark.parametrize(
    "line", ["[1]", "{", '{"prompt": "a"}', '{"prompt": 3, "answer": true}', '{"prompt": "a", "answer": 1}']
)
def test_a_bad_line_is_named(line: str, tmp_path: Path) -> None:
    with pytest.raises(LengthwiseError, match="line 2: not an example"):
        read_examples(written(tmp_path, [{"prompt": "a", "answer": True}, line]))


def test_contradictions_and_empty_files(tmp_path: Path) -> None:
    with pytest.raises(LengthwiseError, match="'a' has two answers"):
        labelled([(("a",), True), (("a",), False)])
    with pytest.raises(LengthwiseError, match="holds no examples"):
        read_examples(written(tmp_path, []))


def test_a_program_from_examples_is_evidence_only(tmp_path: Path) -> None:
    words = [" ".join(word) for n in range(5) for word in itertools.product("ab", repeat=n)]
    rows = [{"prompt": word, "answer": word.count("b") > word.count("a")} for word in words]
    prediction = predict_target(str(written(tmp_path, rows)))
    nope = next(v for v in prediction.verdicts if v.system == "nope")
    assert (nope.answer, nope.basis) == ("yes", "evidence")
    assert "proves nothing about other strings" in nope.why
    assert all(v.answer != "no" for v in prediction.verdicts)


@pytest.mark.parametrize(
    ("accepts", "answers"),
    [
        (lambda word: word.count("a") % 2 == 0, {"nope": "no", "ape": "no"}),
        (lambda word: len(word) % 2 == 0, {"nope": "no", "rope": "yes", "ape": "yes"}),
        (lambda word: "b" in word, {"nope": "yes", "ape": "yes"}),
    ],
)
def test_an_automaton_is_inferred_from_examples(
    tmp_path: Path, accepts: Callable[[tuple[str, ...]], bool], answers: dict[str, str]
) -> None:
    """The decision on it, which names its evidence: right on the prompts that were held out."""
    words = [word for n in range(7) for word in itertools.product("ab", repeat=n)]
    rows = [{"prompt": " ".join(word), "answer": accepts(word)} for word in words]
    prediction = predict_target(str(written(tmp_path, rows)))
    found = {verdict.system: verdict for verdict in prediction.verdicts}
    for system, answer in answers.items():
        assert (found[system].answer, found[system].basis) == (answer, "evidence"), system
        assert "inferred from 101 prompts, is right on all 26 others, which proves nothing" in found[system].why
    assert prediction.searched == (
        "searched: an automaton of 2 states, inferred from 101 prompts: right on all 26 others",
    )


def test_an_automaton_that_is_wrong_on_held_out_prompts_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Programs of size 5 and 6, of which none agrees, take seconds.
    monkeypatch.setattr(
        predict, "synthesize", lambda labels, alphabet, max_size: synthesize(labels, alphabet, max_size=4)
    )
    rng = np.random.default_rng(0)
    words = [" ".join(word) for n in range(7) for word in itertools.product("ab", repeat=n)]
    prediction = predict_target(
        str(written(tmp_path, [{"prompt": w, "answer": bool(rng.random() < 0.5)} for w in words]))
    )
    assert all(verdict.basis is None for verdict in prediction.verdicts)
    assert re.search(r"right on \d+ of 2\d others, so it says nothing", prediction.searched[0])


def test_few_examples_are_refused(tmp_path: Path) -> None:
    rows = [{"prompt": " ".join("a" * n), "answer": n % 2 == 0} for n in range(19)] * 2
    with pytest.raises(LengthwiseError, match="has 19 distinct prompts; give at least 20"):
        predict_target(str(written(tmp_path, rows)))


def test_dependencies_from_data(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [{"prompt": w, "answer": [w[2]]} for w in rng.choice(["x", "y"], size=(200, 5)).tolist()]
    prediction = predict_target(str(written(tmp_path, rows)))
    assert len(prediction.depends) == 1
    assert prediction.depends[0].startswith("answer token 1 ← token 2 (")
