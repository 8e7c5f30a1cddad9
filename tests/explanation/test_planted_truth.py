"""Models whose truth is known: compiled programs, and weights with a planted fault."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import torch

import lengthwise as lw
from lengthwise.crasp import library
from lengthwise.crasp.interpreter import run
from lengthwise.crasp.syntax import parse
from lengthwise.explanation.heads import explain_heads
from lengthwise.explanation.model import Network, Subject, WordOracle, subject_of
from lengthwise.explanation.program import learn_program
from lengthwise.languages.automaton import language
from lengthwise.models.compile import compile_program
from lengthwise.models.limit import LimitTransformer
from lengthwise.tasks import TASKS

LANGUAGES = {
    "D-2": "D-2", "D-3": "D-3", "Tomita-1": "Tomita 1", "Tomita-2": "Tomita-2", "Tomita-4": "Tomita-4",
    "Tomita-7": "Tomita-7", "(aa)*": "(aa)*", "(aaaa)*": "(aaaa)*", "(abab)*": "(abab)*",
    "contains_ab": "{a,b}*ab{a,b}*", "aa*bb*cc*dd*ee*": "aa*bb*cc*dd*ee*", "{a,b}*d{b,c}*": "{a,b}*d{b,c}*",
}  # fmt: skip
WINDOW_4 = """alphabet: 0 1
bos: true
accept := #[Q_0 and exists[j = i-1] Q_0 and exists[j = i-2] Q_0 and exists[j = i-3] Q_0] <= 0
"""


def member(name: str):
    return TASKS.build({"name": "language", "language": name, "ask": "member"})


def all_words(symbols: int) -> Iterator[np.ndarray]:
    for length in range(1, 11 if symbols == 2 else 6):
        yield np.array(list(itertools.product(range(symbols), repeat=length)))


def expected_pattern(name: str) -> str:
    if name == "count":
        return "uniform over all tokens"
    if name == "phase of BOS":
        return "first token"
    distance = name.removeprefix("distance ")
    return "previous token" if distance == "1" else name


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_compiled_program_is_explained_exactly(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lengthwise.explanation.program.MOST", 30_000)  # Where the search ends, a program is extracted.
    program, task = library.get(name), member(LANGUAGES[name])
    found = lw.explain(compile_program(program).required(), task, train=16, lengths=[8, 16, 24, 32], samples=32)
    assert found.automaton is not None
    assert found.automaton.equal
    assert found.automaton.dfa == task.automaton()  # type: ignore[attr-defined]
    assert found.automaton.first_contradiction is None
    assert found.program is not None
    learned = parse(found.program.text)
    for words in all_words(len(learned.alphabet)):
        assert (run(learned, words) == task.automaton().accepts_batch(words)).all()  # type: ignore[attr-defined]
    assert found.program.rate(inside=True) == found.program.rate(inside=False) == 1
    assert found.accuracy.rate(inside=False) == 1
    assert not found.failures.smallest
    assert found.heads is not None
    assert all(head.named and head.pattern == expected_pattern(head.given_name) for head in found.heads.heads)
    assert not any(head.fault for head in found.heads.heads)


def test_a_language_that_is_not_regular_has_a_program_and_no_small_automaton() -> None:
    program = library.get("Dyck-1")
    subject = subject_of(compile_program(program).required(), member("Dyck-1"), train=16)
    oracle = WordOracle(subject)
    learned = learn_program(subject, oracle, None, [8, 16, 32], seed=0, seconds=20)
    assert learned is not None
    assert learned.rate(inside=True) == learned.rate(inside=False) == 1
    for words in all_words(2):
        assert (run(parse(learned.text), words) == run(program, words)).all()


def test_a_window_of_three_instead_of_four_is_found() -> None:
    model = compile_program(parse(WINDOW_4)).required()
    task = member("(ε|0|00|000)(1(ε|0|00|000))*")
    right = lw.explain(model, task, train=14, lengths=[7, 14, 28], samples=32)
    assert right.automaton is not None
    assert right.automaton.equal
    far = next(head for layer in model.layers for head in layer.heads if head.name == "distance 3")
    far.phi = torch.tensor([0.0, 0.0, 4.0, 0.0], dtype=torch.float64)
    found = lw.explain(model, task, train=14, lengths=[7, 14, 28], samples=32)
    assert found.automaton is not None
    assert found.automaton.dfa == language("(ε|0|00)(1(ε|0|00))*", "01")
    assert found.automaton.differing[0] == ("000", False)
    assert found.heads is not None
    assert next(h for h in found.heads.heads if h.given_name == "distance 3").pattern == "distance 2"
    assert not found.learned  # So its longer strings say nothing.
    assert all(f.length <= 14 and "0 0 0" in " ".join(f.tokens) for f in found.failures.smallest)
    assert found.failures.smallest


class Slipped(LimitTransformer):
    """Phases that slip by one from position 31 on."""

    def position_vectors(self, offsets, length):
        vectors = super().position_vectors(offsets, length)
        moved = super().position_vectors(offsets + 1, length)
        late = offsets[:, None] + torch.arange(1, length + 1) > 30
        return torch.where(late[..., None], moved, vectors)


def test_a_period_that_slips_contradicts_its_own_automaton_where_it_slips() -> None:
    model = compile_program(library.get("(aa)*")).required()
    model.__class__ = Slipped
    found = lw.explain(model, member("(aa)*"), train=16, lengths=[8, 16, 24, 29, 30, 40], samples=32)
    assert found.automaton is not None
    assert found.automaton.equal
    first = found.automaton.first_contradiction
    assert first is not None
    assert first.length == 30
    assert found.failures.smallest[0].length == 30
    # The position ids are the fault: under the ids of length 30, a word of half of the training lengths is wrong, too.
    moved = found.failures.moved
    assert moved is not None
    assert (moved.known, moved.right, {arm.right for arm in moved.inside}) == (17, 32, {32})
    assert {moved.length + 1 + arm.shift: arm.right for arm in moved.beyond}[31] == 0
    assert moved.to_blame
    assert found.answer.startswith("right to length 29, breaks at 30")
    assert found.why.splitlines() == [
        "It is the position ids above 17: training never showed them.",
        "Tested: shifted to them, 0 of 32 right strings stay right; to ids that training showed, 32.",
    ]
    assert found.lines[0] == found.answer


class HandMade(Network):
    """One head with given logits, and outputs that are always right for (aa)*."""

    tokens = ("a", "<bos>", "<eos>")
    heads = (("head 0",),)

    def __init__(self, drift: float, dilutes: bool) -> None:
        self.drift, self.dilutes = drift, dilutes

    def logits(self, ids, positions):
        even = (torch.arange(ids.shape[1]) % 2 == 0).expand(ids.shape)
        return torch.stack([torch.ones_like(ids), -torch.ones_like(ids), torch.where(even, 1, -1)], -1).float()

    def attention(self, ids, positions):
        size = ids.shape[1]
        distance = torch.arange(size)[:, None] - torch.arange(size)
        scores = 8 * torch.cos(torch.pi * (1 + self.drift) * distance)
        if self.dilutes:
            scores = torch.where(torch.arange(size) == 0, 4.5, 0.0).expand(size, size)
        return [torch.softmax(scores.masked_fill(distance < 0, -torch.inf), -1).expand(len(ids), 1, size, size)]

    @contextmanager
    def ablated(self, layer, head):
        yield


def heads_of(network: Network, train: int) -> Subject:
    return subject_of(network, TASKS.build("regex:(aa)*"), train=train)


def test_a_period_that_drifts_is_named_and_found() -> None:
    (head,) = explain_heads(heads_of(HandMade(0.003, dilutes=False), 20), [100, 300], 4, 0).heads
    assert head.named
    assert head.pattern == "period 2: distances a multiple of 2"
    assert head.fault.startswith("drifts")
    (steady,) = explain_heads(heads_of(HandMade(0, dilutes=False), 20), [100, 300], 4, 0).heads
    assert steady.fault == ""


def test_a_head_that_dilutes_is_named_and_found() -> None:
    (head,) = explain_heads(heads_of(HandMade(0, dilutes=True), 10), [100, 300], 4, 0).heads
    assert head.named
    assert head.pattern == "first token"
    assert head.fault.startswith("dilutes")
    assert head.rows[0].gap == pytest.approx(4.5, abs=1e-6)


class FixedDistance(Network):
    """Copies the token of a fixed distance back, which is right for strings of six symbols only."""

    heads = (("head 0",),)
    gone = False
    counts = True
    """Whether the outputs need the head."""

    def __init__(self, tokens: tuple[str, ...]) -> None:
        self.tokens = tokens

    def attention(self, ids, positions):
        size = ids.shape[1]
        distance = torch.arange(size)[:, None] - torch.arange(size)
        scores = torch.where(distance == 6, 9.0, 0.0).masked_fill(distance < 0, -torch.inf)
        return [torch.softmax(scores, -1).expand(len(ids), 1, size, size)]

    def logits(self, ids, positions):
        if self.gone:
            return torch.zeros(*ids.shape, len(self.tokens))
        ended = (ids == 2).cumsum(1).cumsum(1) > 6
        copied = torch.cat([ids[:, :1].expand(-1, 6), ids], 1)[:, : ids.shape[1]]
        return torch.nn.functional.one_hot(torch.where(ended, 3, copied), len(self.tokens)).float()

    @contextmanager
    def ablated(self, layer, head):
        self.gone = self.counts
        yield
        self.gone = False


class ById(FixedDistance):
    """Attends to the tokens whose position id is that of the query and so much more."""

    def __init__(self, tokens: tuple[str, ...], more: int) -> None:
        super().__init__(tokens)
        self.more = more

    def attention(self, ids, positions):
        size, places = ids.shape[1], positions[..., 0]
        scores = torch.where(places[:, None, :] - places[:, :, None] == self.more, 12.0, 0.0)
        scores = scores.masked_fill(torch.arange(size)[:, None] < torch.arange(size), -torch.inf)
        return [torch.softmax(scores, -1)[:, None]]


def coupled(network: Network, task: lw.Task) -> Subject:
    scheme = lw.scheme({"name": "coupled", "draw": "pose", "max_position": 40})
    return dataclasses.replace(subject_of(network, task, train=6), scheme=scheme)


def test_a_distance_is_a_pattern_only_where_position_ids_count_tokens() -> None:
    task = TASKS.build({"name": "copy", "symbols": "distinct", "letters": 20})
    plain = subject_of(FixedDistance(task.vocab.tokens), task, train=6)
    subjects = (plain, coupled(FixedDistance(task.vocab.tokens), task))
    (seen,), (by_ids,) = (explain_heads(subject, [9], 8, 0).heads for subject in subjects)
    assert (seen.pattern, seen.named) == ("distance 6", True)
    assert "distance" not in by_ids.pattern
    assert "period" not in by_ids.pattern


@pytest.mark.parametrize(("more", "words"), [(0, "its own"), (1, "one more than its own"), (-2, "2 less than its own")])
def test_under_coupled_ids_a_head_is_described_in_ids(more: int, words: str) -> None:
    task = TASKS.build("addition")
    (head,) = explain_heads(coupled(ById(task.vocab.tokens, more), task), [9], 8, 0).heads
    assert (head.pattern, head.named, head.fault) == (f"the tokens whose position id is {words}", True, "")


def test_the_first_wrong_token_of_a_head_of_a_fixed_distance_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    task = TASKS.build({"name": "copy", "symbols": "distinct", "letters": 20})
    # The model is right at length 6 alone, so the task has no shorter problems.
    monkeypatch.setattr(type(task), "lengths", lambda _, low, high: list(range(max(6, low), min(20, high) + 1)))
    found = lw.explain(FixedDistance(task.vocab.tokens), task, train=6, lengths=[6, 9], samples=32)
    assert {row.length: row.right / row.n for row in found.accuracy.rows} == {6: 1, 9: 0}
    assert found.heads is not None
    assert found.heads.heads[0].pattern == "distance 6"
    assert found.automaton is None
    first = found.failures.smallest[0]
    assert first.length == 7
    assert first.position == 9  # <bos>, seven symbols, <sep>: the first copied symbol
    assert found.failures.moved is None, "its positions are relative"
    assert "breaks at 7" in found.answer
    assert found.why == "Not known."


def test_a_head_whose_removal_changes_nothing_is_said_to() -> None:
    task = TASKS.build({"name": "copy", "symbols": "distinct", "letters": 20})
    network = FixedDistance(task.vocab.tokens)
    network.counts = False
    found = lw.explain(network, task, train=6, lengths=[6, 9], samples=32)
    assert found.heads is not None
    assert not any(head.matters for head in found.heads.heads)
    assert "to remove any one head costs nothing" in found.heads.line


def test_ids_that_are_relative_are_not_tested_by_larger_ones() -> None:
    """A model that reads tokens alone is right under any ids, which says nothing of the ids."""
    task = lw.task("reverse", letters=12)
    names = task.vocab

    def logits(tokens: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        found = torch.zeros(*tokens.shape, len(names))
        for row, ids in enumerate(tokens.tolist()):
            words = names.decode(ids)
            prompt = words[: words.index("<sep>") + 1]
            due = names.encode(task.solve(prompt) if len(prompt) < 9 else ["<eos>"] * 9)
            for at, token in enumerate(due):
                if len(prompt) - 1 + at < tokens.shape[1]:
                    found[row, len(prompt) - 1 + at, token] = 9.0
        return found

    found = lw.explain(logits, task, train=6, lengths=[4, 6, 9], samples=16)
    assert found.failures.moved is None
    assert "they are relative" in found.failures.ids
    assert "Not position ids alone" not in found.why
