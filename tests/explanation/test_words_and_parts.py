"""What an explanation counts: the words of each length, the lengths that are left out, and parts that are kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import lengthwise as lw
from lengthwise.crasp import library
from lengthwise.explanation.automaton import SHORT, WANTED, words_of_length
from lengthwise.explanation.explain import Explanation
from lengthwise.explanation.failures import Failures, LengthFailures
from lengthwise.explanation.model import Accuracy, LengthAccuracy, WordOracle, subject_of
from lengthwise.explanation.program import Fidelity
from lengthwise.languages.sampling import count_words
from lengthwise.models.compile import compile_program
from lengthwise.tasks import TASKS


def member(name: str):
    return TASKS.build({"name": "language", "language": name, "ask": "member"})


def nothing(task) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    return lambda ids, _: torch.zeros(*ids.shape, len(task.vocab))


@pytest.mark.parametrize("name", ["(aa)*", "(ab)*", "Tomita-4", "D-2", "aa*bb*cc*dd*ee*", "Dyck-1"])
@pytest.mark.parametrize("length", [4, 10, 40])
def test_a_length_has_all_words_or_a_hundred(name: str, length: int) -> None:
    task = member(name)
    oracle = WordOracle(subject_of(nothing(task), task, train=12))
    symbols = len(oracle.alphabet)
    words = words_of_length(oracle, None, length, seed=0)
    assert all(len(word) == length and set(word) <= set(range(symbols)) for word in words)
    assert len(set(words)) == len(words)
    if symbols**length <= SHORT:
        assert len(words) == symbols**length
    else:
        assert len(words) >= WANTED
        # Agreement says something if some are words of the language and some are not.
        assert oracle.right(words).any() == (oracle.dfa is None or count_words(oracle.dfa, length) > 0)
        assert not oracle.right(words).all()
    assert words == words_of_length(oracle, None, length, seed=0)


def test_fidelity_says_its_words_and_an_interval() -> None:
    task = member("Tomita-4")
    model = compile_program(library.get("Tomita-4")).required()
    explained = lw.explain(model, task, train=12, lengths=[6, 12, 24], samples=16)
    assert explained.program is not None
    assert [(row.length, row.every) for row in explained.program.fidelity] == [(6, True), (12, False), (24, False)]
    for row in explained.program.fidelity:
        low, high = row.interval
        assert low <= row.agree / row.n <= high
        assert row.n >= (2**6 if row.every else 80)
        assert row.both <= row.accepted <= row.n
        assert row.n - row.agree == row.accepted - row.both
        assert (low == high) == row.every
    beyond = explained.program.total(inside=False)
    assert beyond is not None
    assert f"{beyond.agree} of {beyond.n} words" in explained.program.line
    assert explained.automaton is not None
    assert [row.n for row in explained.automaton.beyond] >= [WANTED]
    assert explained.automaton.fresh > 0
    # Of 100 words with 95 right, Wilson's interval, by hand.
    assert Fidelity(9, 100, 95, 50, 45, every=False).interval == pytest.approx((0.888, 0.978), abs=1e-3)


def test_lengths_that_are_left_out_are_named() -> None:
    task = TASKS.build({"name": "language", "language": "(aa)*"})
    even = lw.explain(nothing(task), task, train=10, lengths=[4, 7, 8, 20], samples=8, seconds=10)
    assert [row.length for row in even.accuracy.rows] == [4, 8, 20]
    assert "length 8 stands for 7, which the task has not" in even.lines
    finite = TASKS.build("regex:aab")
    with pytest.raises(lw.LengthwiseError, match="no strings of the lengths 9"):
        lw.explain(nothing(finite), finite, train=3, lengths=[9])
    short = lw.explain(nothing(finite), finite, train=3, lengths=[3, 9], samples=8, seconds=10)
    assert "length 9 is left out: the task has none of 9 to 19" in short.lines


def found(right: dict[int, int], hard: int = 10) -> Explanation:
    """Of ten strings of each length, so many were right; trained to length 10."""
    rows = tuple(LengthAccuracy(length, 10, count) for length, count in right.items())
    failures = tuple(LengthFailures(length, 10, count, 10, hard) for length, count in right.items() if length > 10)
    return Explanation("m", "t", Accuracy(rows, 10), None, None, None, Failures(failures, (), None), None, ())


def test_the_answer_comes_first_and_says_breaks_only_of_what_was_learned() -> None:
    assert found({5: 10, 10: 10, 20: 10}).answer == "right to length 20, the longest that was asked"
    assert found({5: 10, 10: 10, 20: 3, 30: 0}).answer == "right to length 10, breaks from 20 (0.30 right)"
    assert found({5: 10, 10: 10, 20: 3, 30: 10}).answer == "right to length 10, breaks first at 20 (0.30 right)"
    assert found({5: 10, 10: 10, 20: 10}, hard=4).answer.endswith("; of hard strings, 4 of 10 of length 20")
    late = found({2: 10, 4: 10, 6: 10, 8: 10, 9: 10, 10: 9, 20: 0}).answer
    assert late == "right to length 9, breaks from 10 (0.90 right), within the trained lengths (up to 10)"
    for never in (found({5: 2, 10: 0, 20: 0}), found({2: 10, 5: 2, 10: 0})):
        assert never.answer.startswith("not learned: right")
        assert "breaks from" not in " ".join(never.answer.split("no length from which it breaks"))
    for one in (found({5: 10, 20: 0}), never):
        assert one.lines[0] == one.answer
        assert one.answer in one.table().caption
    assert "no strings of trained lengths" in found({20: 3}).answer


PARTS = ["accuracy", "automaton", "program", "heads", "failures"]


class Stop(Exception):
    """What a test raises where a user presses a key."""


def test_an_interrupted_explanation_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    task, model = member("Tomita-2"), compile_program(library.get("Tomita-2")).required()
    settings = {"train": 12, "lengths": [6, 12, 24], "samples": 16}
    lw.explain(model, task, out=tmp_path / "whole", **settings).save(tmp_path / "whole")
    for number, part in enumerate(PARTS):
        seen = []

        def note(line: str, part: str = part, seen: list[str] = seen) -> None:
            seen.append(line)
            if line == f"{part} …":
                raise Stop

        with pytest.raises(Stop):
            lw.explain(model, task, out=tmp_path / "parts", note=note, **settings)
        assert sum("read from" in line for line in seen) == max(0, number - 1)
    lw.explain(model, task, out=tmp_path / "parts", **settings).save(tmp_path / "parts")
    for name in (*(f"{part}.json" for part in PARTS), "explanation.json", "explanation.html"):
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    # Other weights, and other position ids, are not taken for the same model.
    lines: list[str] = []
    lw.explain(model, task, out=tmp_path / "parts", note=lines.append, **{**settings, "samples": 17})
    assert not any("read from" in line for line in lines)


@pytest.mark.slow
def test_a_model_of_four_layers_and_length_150_takes_five_minutes_and_two_gigabytes(tmp_path: Path) -> None:
    """On two cores; time is that of the processor, so that other programs don't count."""
    import resource
    import subprocess
    import sys

    experiment = lw.Experiment(
        {"name": "language", "language": "D-2"}, "sequential", "rope", max_length=150, test_lengths=[300], steps=3,
        model={"layers": 4, "width": 256, "heads": 4}, training={"batch_size": 4}, evaluation={"samples": 8},
    )  # fmt: skip
    run = experiment.run(1, out=tmp_path / "runs", progress=False).files[0][0]
    ran = subprocess.run(
        [sys.executable, "-m", "lengthwise", "explain", run, "--out", tmp_path / "out", "--threads", "1"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert [line for line in ran.stderr.splitlines() if line.endswith("…")] == [f"{part} …" for part in PARTS]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    # The search of automaton and program ends at once here, and after 120 s where it has more to do.
    assert used.ru_utime + used.ru_stime < 300 - 120
    assert used.ru_maxrss < 2 * 1024**2
    assert (tmp_path / "out" / "explanation.html").exists()
