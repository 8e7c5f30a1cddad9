"""What an explanation counts: the words of each length, the lengths that are left out, and parts that are kept."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

import lengthwise as lw
from explained import said
from lengthwise.crasp import library
from lengthwise.explanation.automaton import SHORT, WANTED, words_of_length
from lengthwise.explanation.explain import Explanation
from lengthwise.explanation.failures import Failures, find_failures
from lengthwise.explanation.features import Compared, Nearby, either, features_of, holds, telling_feature
from lengthwise.explanation.kinds import right_again
from lengthwise.explanation.model import (
    Accuracy,
    FunctionNetwork,
    LengthAccuracy,
    RandomStrings,
    WordOracle,
    subject_of,
)
from lengthwise.explanation.program import Fidelity
from lengthwise.explanation.verdict import LengthShares, Share, Verdict
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
        assert row.n / 2 <= row.constant <= row.n
        if row.agree == row.n:  # Then the model accepts what the program accepts.
            assert row.constant == max(row.both, row.n - row.both)
        assert (low == high) == row.every
    beyond = explained.program.total(inside=False)
    assert beyond is not None
    assert f"{beyond.agree} of {beyond.n} words" in explained.program.line
    assert explained.automaton is not None
    assert [row.n for row in explained.automaton.beyond] >= [WANTED]
    assert explained.automaton.fresh > 0
    # Of 100 words with 95 right, Wilson's interval, by hand.
    assert Fidelity(9, 100, 95, 50, 45, 50, every=False).interval == pytest.approx((0.888, 0.978), abs=1e-3)


def test_lengths_that_are_left_out_are_named() -> None:
    task = TASKS.build({"name": "language", "language": "(aa)*"})
    even = lw.explain(nothing(task), task, train=10, lengths=[4, 7, 8, 20], samples=8)
    assert [row.length for row in even.accuracy.rows] == [4, 8, 10, 20]
    assert "length 8 stands for 7, which the task has not" in even.lines
    finite = TASKS.build("regex:aab")
    with pytest.raises(
        lw.LengthwiseError, match="nothing can be asked: length 9 is left out: the task has none of 9 to 19"
    ):
        lw.explain(nothing(finite), finite, train=3, lengths=[9])
    short = lw.explain(nothing(finite), finite, train=3, lengths=[3, 9], samples=8)
    assert "length 9 is left out: the task has none of 9 to 19" in short.lines


def found(right: dict[int, int], hard: int = 10) -> Explanation:
    """Of the ten strings that each length has, so many were right; trained to length 10."""
    rows = tuple(LengthAccuracy(length, 10, count) for length, count in right.items())
    shares = tuple(
        LengthShares(n, Share(count, 10, every=True), Share(hard if n > 10 else 10, 10)) for n, count in right.items()
    )
    return Explanation("m", "t", Accuracy(rows, 10), None, None, None, Failures(shares, (), None, None, 10), None, ())


def test_a_length_breaks_for_sure_where_all_its_strings_were_asked() -> None:
    rows = (LengthShares(4, Share(19, 19, every=True), Share(0, 0, every=True)),
            LengthShares(6, Share(18, 19, every=True), Share(5, 6, every=True)))  # fmt: skip
    assert Verdict(rows, 4).line == "right to length 4, breaks at 6 (94 % right)"
    drawn = Verdict((LengthShares(6, Share(100, 128), Share(20, 20)),), 4)
    assert drawn.line == "breaks at length 6 (78 % right)"
    assert drawn.rows[0].random.cell(interval=True) == "100 of 128 [0.70, 0.84] breaks"
    cells = [Share(right, 128).cell(interval=False) for right in (128, 122, 120, 100)]
    assert cells == ["128 of 128", "122 of 128", "120 of 128 unsure", "100 of 128 breaks"]


def test_a_wrong_vocabulary_is_told_from_wrong_training_lengths_and_no_training_is_advised_for_it() -> None:
    task = TASKS.build("regex:{a,b}*b")
    ended, swapped = [
        lw.explain(model, task, train=12, lengths=[2, 6, 12, 24], samples=8)
        for model in (ends_with_b("b", 4, task), ends_with_b("a", 99, task))
    ]
    assert not ended.learned
    assert not swapped.learned
    assert "right to length 4" in ended.answer
    assert ended.next.startswith("If training ended at length 4, say so. Else train longer.")
    assert "train=4" in ended.command
    assert swapped.next.startswith("If your training script counts the example as right, correct vocabulary or offset")
    assert "vocabulary" not in ended.answer + ended.next
    # What decides it is a string whose right answer the training script can be asked for.
    assert swapped.failures.example is not None
    assert swapped.blocks()[0][1]["example"] == [swapped.failures.example.shown]


def test_json_has_the_sentences() -> None:
    one = found({5: 10, 10: 10, 20: 3})
    kept = one.to_json()
    for name in ("answer", "computes", "fails_where", "why", "next", "command"):
        assert kept[name] == getattr(one, name)
    assert [fault["strings"] for fault in kept["faults"]] == ["random strings"]
    assert all(one.lines)


def test_the_answer_comes_first_and_says_breaks_only_of_what_was_learned() -> None:
    assert found({5: 10, 10: 10, 20: 10}).answer == "right to length 20, the longest asked"
    late = found({5: 10, 10: 10, 20: 3, 30: 0}).answer
    assert late == "right to length 10, breaks at 20 (30 % right), none right at 30"
    assert found({5: 10, 10: 10, 20: 3, 30: 0, 40: 0}).answer.endswith("20 (30 % right), none right from 30")
    assert found({5: 10, 10: 10, 20: 9, 30: 0, 40: 1}).answer.endswith("20 (90 % right), 10 % right at 40")
    assert found({5: 10, 10: 10, 20: 3, 30: 10}).answer.endswith("breaks at 20 (30 % right), right again at 30")
    twice = found({5: 10, 10: 10, 20: 3, 30: 10, 34: 10, 40: 10, 50: 0, 60: 10, 70: 0})
    assert twice.answer.endswith("right again at 30–40")
    assert [row.length for row in twice.verdict.shown()] == [10, 20, 30, 40, 70]
    edited = "; edited strings break at length 20"
    for right in ({5: 10, 10: 10, 20: 10}, {10: 10, 20: 10, 30: 3}):
        assert found(right, hard=4).answer == found(right).answer + edited
    assert "edited" not in found({10: 10, 20: 3, 30: 3}, hard=4).answer
    within = found({2: 10, 4: 10, 6: 10, 8: 10, 9: 10, 10: 9, 20: 0}).answer
    assert within == "not fully learned: right to length 9, breaks at 10 (90 % right), none right at 20"
    for never in (found({5: 2, 10: 0, 20: 0}), found({2: 10, 5: 2, 10: 0})):
        assert never.answer.startswith("not learned: ")
        assert "breaks" not in never.answer
    for one in (found({5: 10, 20: 0}), never):
        assert one.lines[0] == one.answer
        assert one.answer in one.table().caption


COUNTS = st.lists(st.tuples(st.integers(0, 128), st.integers(0, 40), st.booleans()), min_size=1, max_size=8)


@given(COUNTS)
@example([(128, 40, False), (122, 21, False), (121, 40, False)])
def test_first_line_and_what_follows_come_from_one_decision(counts: list[tuple[int, int, bool]]) -> None:
    """An oracle of its own: a length breaks if even the upper end of an interval is below 0.95."""
    rows = tuple(
        LengthShares(10 * n, Share(right, 128, every), Share(hard, 40))
        for n, (right, hard, every) in enumerate(counts, 1)
    )
    verdict = Verdict(rows, 10)

    def breaks(row: LengthShares) -> bool:
        return any(
            (right / n if every else proportion_confint(right, n)[1]) < 0.95
            for right, n, every in ((row.random.right, 128, row.random.every), (row.hard.right, 40, False))
        )

    def proportion_confint(right: int, n: int) -> tuple[float, float]:
        z, p = 1.959963984540054, right / n
        roots = np.roots([1 + z * z / n, -(2 * p + z * z / n), p * p])
        return float(roots.real.min()), float(roots.real.max())

    expected = next((row.length for row in rows if breaks(row)), None)
    assert verdict.broken() == expected
    line = verdict.line
    longest = rows[-1].length
    random, drawn = verdict.of("random"), next((row.length for row in rows if row.random.breaks), None)
    assert ("breaks" in line) == (drawn is not None)
    # Edited strings are told where they break first.
    assert verdict.edited == (
        f"edited strings break at length {expected}" if expected is not None and expected != drawn else ""
    )
    verdict, expected = random, drawn
    if expected is not None:
        share = next(row.random for row in rows if row.length == expected)
        assert re.search(rf"breaks at (length )?{expected} \({share.percent} right\)", line)
        said = int("".join(filter(str.isdecimal, share.percent)))
        assert said <= 100 * share.value < said + 1 or (share.percent == "under 1 %" and 0 < share.value < 0.01)
    # "Right to" is the last length before one that is not right, and it comes first.
    before = [row for row in rows if expected is None or row.length < expected]
    assert verdict.doubted == [row.length for row in before if not row.random.holds]
    right = [*itertools.takewhile(lambda row: row.random.right >= 0.95 * 128, rows)]
    assert verdict.held == (right[-1].length if right else None)
    # Lengths that are too close to say are told where nothing breaks, or within training.
    told = bool(verdict.doubted) and (expected is None or verdict.doubted[0] <= 10)
    assert ("unsure " in line) == told
    assert not told or re.search(rf"unsure (?:from|at) (length )?{verdict.doubted[0]}\b", line)
    if verdict.held is not None:
        assert expected is None or verdict.held < expected
        open_ones = "not fully learned: " * (expected is not None and expected <= 10)
        assert line.startswith(f"{open_ones}right to length {verdict.held}")
    assert ("the longest asked" in line) == (verdict.held == longest)
    verdict = Verdict(rows, 10)
    if verdict.learned:
        said = {int(number) for number in re.findall(r"\d+\b(?! %)", line + verdict.edited)}
        assert {expected, random.held} - {None} <= said
        assert said - {None} <= {row.length for row in verdict.shown()}
    else:
        assert sum(row.random.right for row in verdict.shown()) == verdict.trained.right
    assert len(verdict.shown()) <= 7
    told = Explanation("m", "t", Accuracy((), 10), None, None, None, Failures(rows, (), None, None, 10), None, ())
    assert [(row[2], row[3], row[5]) for row in told.table().rows] == [
        (row.random.n, row.random.right, row.hard.n) for row in rows
    ]


def test_a_trained_length_that_is_close_is_no_border_and_is_shown() -> None:
    def row(length: int, right: int, n: int = 128) -> LengthShares:
        return LengthShares(length, Share(right, n), Share(60, 60) if length < 9 else Share(80, 80))

    verdict = Verdict([row(3, 128), row(4, 120), row(6, 128), row(9, 90)], 6)
    assert (verdict.held, verdict.doubted, verdict.unclear) == (3, [4], [4])
    assert verdict.line == "right to length 3, unsure at 4, breaks at 9 (70 % right)"
    assert [row.length for row in verdict.shown()] == [3, 4, 6, 9]
    longer = Verdict([row(5, 128), row(6, 120), row(7, 120), row(8, 128)], 5)
    assert (longer.held, longer.unclear) == (5, [6])
    assert longer.line == "right to length 5, unsure at 6"
    # Nearly all right is right; more strings can show that they are not.
    nearly = Verdict([row(3, 128), row(4, 126), row(6, 128), row(9, 126)], 6)
    assert nearly.line == "right to length 9, the longest asked"
    assert nearly.unclear == [4, 9]


def test_where_a_kind_is_right_again_is_told_where_strings_are_enough() -> None:
    """A length of which 32 are right says nothing alone, with its neighbours it does."""
    right = {4: (32, 32), 5: (20, 32), 6: (32, 32), 7: (32, 32), 8: (32, 32), 9: (0, 32), 10: (32, 32), 12: (9, 32)}
    shares = [(n, Share(*counts)) for n, counts in right.items()]
    assert right_again(shares) == "Right again at 6–8: it hangs on the length, too."
    enough = [(n, Share(128, 128) if n == 10 else share) for n, share in shares]
    assert right_again(enough) == "Right again at 6–8 and 10: it hangs on the length, too."
    assert right_again(shares[:2]) == right_again([each for each in shares if each[1].holds]) == ""


@given(
    st.integers(14, 34), st.integers(0, 5), st.integers(1, 12), st.sampled_from([0.9, 0.93, 0.94]), st.integers(0, 3)
)
@example(30, 3, 9, 0.94, 0)
def test_a_dip_is_never_run_across(first: int, wide: int, step: int, shoulder: float, seed: int) -> None:
    """A model that is right everywhere but at a dip with shoulders: asked are lengths in it, beside it, or neither."""
    last = first + wide

    def share(length: int) -> float:
        return 0.7 if first <= length <= last else shoulder if length in (first - 1, last + 1) else 1.0

    rng = np.random.default_rng(seed)
    rows = {n: int(rng.binomial(256, share(n))) for n in {4, 6, *range(8, 49, step)}}
    while True:
        shares = [LengthShares(n, Share(right, 256), Share(0, 0)) for n, right in sorted(rows.items())]
        verdict = Verdict(shares, 6)
        edges = [*verdict.edges, *verdict.doubt_ends]
        between = next((range(low + 1, high) for low, high in edges if high - low > 1), None)
        if between is None:
            break
        rows[between[len(between) // 2]] = int(rng.binomial(256, share(between[len(between) // 2])))
    poor = [n for n, right in sorted(rows.items()) if right < 0.95 * 256]
    if not poor:
        assert verdict.line.startswith("right to length")
        return
    assert verdict.held == max(n for n in rows if n < poor[0])
    assert verdict.line.startswith(f"right to length {verdict.held}, ")
    # The first that is not right is beside one that is, and so is the last of the first ones that are too close to say.
    assert poor[0] - 1 in rows
    assert verdict.held < first or not rows.keys() & {*range(first, last + 1)}
    if verdict.broken() is None:
        end = next(n for n in sorted(rows) if n > poor[0] and n not in poor)
        assert end - 1 in rows


def test_a_trained_length_that_is_close_is_asked_again() -> None:
    """Of six symbols one word in 64 is wrong: 126 of 128 is too close to say, and 504 of 512 is not."""
    task = TASKS.build("copy")

    def model(ids: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
        found = torch.zeros(*ids.shape, len(task.vocab))
        for row, tokens in enumerate(ids.tolist()):
            end = tokens.index(task.vocab["<sep>"]) + 1
            said = [*tokens[1 : end - 1], task.vocab["<eos>"]]
            said[0] += (end == 8 and sum(tokens[:end]) % 29 == 0) * 50 % 7
            for number, token in enumerate(said[: len(tokens) - end + 1]):
                found[row, end - 1 + number, min(token, len(task.vocab) - 1)] = 1
        return found

    asked = RandomStrings(subject_of(model, task, train=8), 128, 0)
    rows = {row.length: row for row in find_failures(asked, [4, 6, 8], None).rows}
    close = [row for row in rows.values() if row.length <= 8 and not (row.holds or row.breaks)]
    assert all(row.random.n == 4 * 128 for row in close)
    assert rows[6].random.n > 128
    assert len({row.random.n for row in rows.values()} - {128, 256, 384, 512}) == 0


def right_up_to(last: int, task) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """A model that allows every symbol after at most ``last`` symbols, and none later."""

    def model(ids: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
        late = torch.arange(ids.shape[1]) > last
        return torch.where(late[:, None], -1.0, torch.ones(len(task.vocab))).expand(len(ids), -1, -1)

    return model


def ends_with_b(symbol: str, last: int, task) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """A model that lets words end after ``symbol``, up to ``last`` symbols."""

    def model(ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        logits = right_up_to(last, task)(ids, positions).clone()
        logits[..., task.vocab["<eos>"]] = torch.where(ids == task.vocab[symbol], logits[..., 0], -1)
        return logits

    return model


@pytest.mark.parametrize("last", [6, 8, 12, 13, 37, 58, 59])
@pytest.mark.parametrize(("language", "step"), [("{a,b}*", 1), ("(aa)*", 2)])
def test_the_border_is_the_exact_length_whichever_lengths_are_chosen(language: str, step: int, last: int) -> None:
    task = TASKS.build(f"regex:{language}")

    def model(ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        logits = right_up_to(last, task)(ids, positions).clone()
        if step == 2:
            logits[:, 1::2, task.vocab["<eos>"]] = -1
        return logits

    asked = RandomStrings(subject_of(model, task, train=8), 16, 0)
    found = find_failures(asked, [4, 8, 60], None)
    held = last // step * step
    assert Verdict(found.rows, 8).held == held
    assert Verdict(found.rows, 8).broken() == held + step
    assert len(found.rows) <= 4 + 2 + 4 + 6
    lengths = [row.length for row in found.rows]
    assert lengths == sorted(set(lengths))
    assert found.smallest[0].length == held + step


def test_a_length_has_one_count_and_the_page_one_story() -> None:
    """Right up to 12 symbols, whatever they are; the two lengths of the border count twice as many strings."""
    task = TASKS.build("regex:{a,b}*")
    told = lw.explain(right_up_to(12, task), task, train=8, lengths=[4, 8, 12, 16, 24], samples=32)
    counts = {row.length: row.random for row in told.failures.rows}
    for row in told.accuracy.rows:
        times = 1 + (row.length in (12, 13))
        assert (counts[row.length].right, counts[row.length].n) == (times * row.right, times * row.n)
    assert told.answer == "right to length 12, breaks at 13 (0 % right)"  # 13 is not among `lengths`
    assert told.failures.feature is None  # That longer strings fail is what the answer says.
    page = told.html()
    order = [told.answer[1:], told.why.splitlines()[0], "<svg", "Where it breaks"]
    assert sorted(order, key=page.index) == order
    assert told.computes.startswith("To length 8, the words that it accepts are those of an automaton")
    for line in (told.answer, *told.why.splitlines(), *itertools.chain(*told.failures.findings)):  # No sentence twice.
        assert page.count(line[1:]) == 1
    screen = repr(told).splitlines()
    assert len(screen) <= 25
    assert all(len(line) <= 80 for line in screen)
    for line in told.lines:
        assert "`" not in line  # The page and the terminal say the same words, flags of a command neither.


def shifted(kind: str) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """Right for (aa)* up to 20 symbols, with a planted reason for being wrong later."""

    def logits(ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        count = torch.arange(ids.shape[1]).expand(ids.shape)
        even = (positions if kind == "reads the absolute position" else count) % 2 == 0
        wrong = (positions if kind == "the position ids above 20" else count) > 20
        end = torch.where(even & ~wrong, 1.0, -1.0)
        none = -torch.ones_like(end)
        return torch.stack([none, none, none, end, torch.ones_like(end)], -1)

    return logits


@pytest.mark.parametrize("kind", ["the position ids above 20", "reads the absolute position"])
def test_ids_are_the_cause_only_if_ids_of_training_are_not(kind: str) -> None:
    task = TASKS.build("regex:(aa)*")
    told = lw.explain(shifted(kind), task, train=20, lengths=[10, 20, 22, 30], samples=8)
    moved = told.failures.moved
    assert moved is not None
    assert {arm.shift % 2 for arm in moved.inside} == {0, 1}
    assert all(moved.length + arm.shift <= moved.known for arm in moved.inside)
    assert all(moved.length + arm.shift > moved.known for arm in moved.beyond)
    assert kind in told.why
    assert moved.to_blame == (kind == "the position ids above 20")
    assert ("by an odd number" in told.why) == moved.absolute == (kind == "reads the absolute position")


def test_no_longer_strings_are_advised_than_the_model_has_room_for() -> None:
    network = FunctionNetwork(shifted("Not position ids alone"))
    for positions, advice in ((None, "as of length 36"), (32, "as of length 30"), (20, "no room beyond length 18")):
        network.positions = positions
        told = lw.explain(network, "regex:(aa)*", train=6, lengths=[6, 18], samples=8)
        assert told.verdict.broken() is None
        assert advice in told.next


NAMES = [name for name, _ in features_of(["a", "b"])]


@pytest.mark.parametrize("name", NAMES)
def test_a_planted_feature_is_found_and_noise_is_not(name: str) -> None:
    rng, value = lw.stream(0, "test"), dict(features_of(["a", "b"]))[name]
    words = {tuple("ab"[s] for s in rng.integers(2, size=int(rng.integers(4, 40)))) for _ in range(400)}
    words |= {tuple("ab"[s] for s in np.resize(rng.integers(2, size=int(rng.integers(1, 9))), 24)) for _ in range(200)}
    cut = int(np.median([value(word) for word in words]))
    told = telling_feature({word: value(word) <= cut for word in sorted(words)}, 0)
    assert told is not None
    assert told.balanced >= 0.95
    # Counts are recounted: the threshold that is told splits all strings nearly as the planted one.
    what, side, threshold = re.findall("where (.+) is (above|at most) (.+)", told.name)[0]
    own = dict(features_of(["a", "b"]))[what]
    same = [((own(word) > int(threshold)) == (side == "above")) == (value(word) > cut) for word in words]
    assert np.mean(same) > 0.93
    assert NAMES.index(what) <= NAMES.index(name)
    assert telling_feature({word: bool(rng.integers(2)) for word in sorted(words)}, 0) is None
    # That long strings fail is no finding, not even if a few are wrong for no reason.
    longer = {word: (len(word) <= 20) != (rng.random() < 0.02) for word in sorted(words)}
    assert telling_feature(longer, 0) is None
    assert telling_feature({word: len(word) <= 20 for word in sorted(words)}, 0) is None


PARTS = ["accuracy", "automaton", "program", "heads", "failures"]


class Stop(Exception):
    """What a test raises where a user presses a key."""


def test_an_interrupted_explanation_goes_on_with_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    before = (tmp_path / "parts" / "explanation.html").read_bytes()
    (tmp_path / "parts-2").mkdir()  # Which is not taken, so that the other one is in parts-3.
    for changes in ({"samples": 17}, {"lengths": [6, 12]}):
        seen = []
        lw.explain(model, task, out=tmp_path / "parts", note=seen.append, **{**settings, **changes})
        assert not any("read from" in line for line in seen)
        assert sum("was moved to" in line for line in seen) == 1
    assert (tmp_path / "parts-1" / "explanation.html").read_bytes() == before
    # Nor are parts of another number of threads taken for its own.
    lines: list[str] = []
    lw.explain(model, task, out=tmp_path / "whole", note=lines.append, **settings)
    assert any("read from" in line for line in lines)
    monkeypatch.setattr("torch.get_num_threads", lambda: 97)
    lines = []
    lw.explain(model, task, out=tmp_path / "whole", note=lines.append, **settings)
    assert not any("read from" in line for line in lines)
    assert (tmp_path / "parts-3" / "accuracy.json").exists()
    assert (tmp_path / "whole-1" / "explanation.html").exists()


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


@pytest.mark.parametrize("alike", [9, 12, 20])
def test_what_first_mistakes_share_has_its_base_rate_and_is_no_cause(alike: int) -> None:
    near = Nearby("where 9 is due", alike, 24, 2, 192)
    border = Compared(24, 0, (14,), (near,), True)
    told = dataclasses.replace(found({5: 10, 10: 10, 14: 0}), failures=dataclasses.replace(
        found({5: 10, 10: 10, 14: 0}).failures, border=border,
    ))  # fmt: skip
    few, none = "(1\u00a0% of right tokens are there, too)", "(never where it is right)"
    line = f"Of 24 wrong answers at length 14, {alike} first go wrong where 9 is due {few}."
    # What tells most of these is said with it; of nearly all, in its place.
    some, nearly = (dataclasses.replace(near, also=(Nearby("in a pair", n, alike, 0, 2),)) for n in (alike - 3, alike))
    assert some.narrow == (
        alike, f"where 9 is due {few}, {alike - 3} of these in a pair {none}"
    )  # fmt: skip
    assert nearly.narrow == (alike, f"where 9 is due and in a pair {none}")
    assert (said(told, "mistakes") == line) == (alike >= 20), "the rest of the findings has it"
    # All findings have the base rate.
    assert "of right tokens at the same places, 2 of 192 are" in told.fails_where
    assert told.why == "Not known."
    # What the model does there is a sentence of its own, and no cause.
    does = dataclasses.replace(border, does="writes a digit one too large", alike=24)
    assert does.lines[0] == "Of 24 wrong answers at length 14, in all it writes a digit one too large."


def test_one_of_two_facts_is_of_two_that_differ_in_one_thing() -> None:
    assert either("where the column is 9 + 9", "where the column is 0 + 0") == "where the column is 0 + 0 or 9 + 9"
    assert either("where 9 is due", "where 0 is due") == (both := "where 0 or 9 is due")
    assert not either("where 9 is due", "where the column is 0 + 0")
    assert not either(both, "where 5 is due")
    assert holds(both, {"where 9 is due"})
    assert not holds(both, {"where 5 is due", "after 0"})


def test_where_nothing_breaks_no_mistakes_are_told() -> None:
    near = Nearby("where 9 is due", 20, 24, 2, 192)
    whole, late = (
        dataclasses.replace(
            one, failures=dataclasses.replace(one.failures, border=Compared(24, 0, (14,), (near,), True))
        )
        for one in (found({5: 10, 10: 10, 14: 10}), found({5: 10, 10: 10, 14: 0}))
    )
    assert not whole.faults
    assert late.faults[0].mistakes
    assert late.faults[0].why


def test_a_task_whose_words_are_longer_than_its_lengths_say_is_explained() -> None:
    task = lw.task("flip-flop")
    size, names = len(task.vocab), task.vocab.tokens

    def right(ids: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
        """What was written last, after each r."""
        logits = torch.zeros(*ids.shape, size)
        for row, string in enumerate(ids.tolist()):
            stored = "<eos>"
            for at, token in enumerate(names[one] for one in string):
                stored = token if at and names[string[at - 1]] == "w" else stored
                logits[row, at, task.vocab[stored if token == "r" else "<eos>"]] = 9
        return logits

    told = lw.explain(right, task, train=6, lengths=[4, 6, 8], samples=16)
    assert told.answer == "right to length 8, the longest asked"
    assert told.program is not None
    assert [row.length for row in told.program.fidelity] == [4, 6, 8]
