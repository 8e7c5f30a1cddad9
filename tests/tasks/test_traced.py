"""Traces: what a machine depends on against all words, and the structure and verdicts of each kind of trace."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lengthwise.core.config import config
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.languages.machine import Machine, Unrolled
from lengthwise.positions.schemes import Coupled, Sequential
from lengthwise.positions.structure import structure_at
from lengthwise.prediction.predict import predict_task
from lengthwise.tasks import TASKS, Task
from lengthwise.tasks.parity import Parity
from lengthwise.tasks.traced import Traced

KINDS = ("states", "signposts", "changes", "wrong", "none")


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    """At most three states over two symbols, of which any but one may be impossible in a state."""
    delta = draw(st.lists(st.tuples(st.integers(0, 2), st.sampled_from([None, 0, 1, 2])), min_size=3, max_size=3))
    outputs = draw(st.lists(st.sampled_from("xy"), min_size=3, max_size=3))
    return Machine(("a", "b"), 0, lambda state, symbol: delta[state]["ab".index(symbol)], outputs.__getitem__)


def runs(machine: Machine, length: int) -> dict[str, list[int]]:
    """The states of every word of a length that the machine reads."""
    found = {}
    for word in map("".join, itertools.product("ab", repeat=length)):
        states = [machine.start]
        for symbol in word:
            states.append(None if states[-1] is None else machine.step(states[-1], symbol))
        if None not in states:
            found[word] = states
    return found


@settings(max_examples=60, deadline=None)
@given(machines(), st.integers(1, 5))
def test_what_depends_on_what_is_what_all_words_say(machine: Machine, length: int) -> None:
    unrolled, every = Unrolled(machine, 3), runs(machine, length)
    pairs = list(itertools.product(every, repeat=2))
    changed = {i for v, w in pairs for i in range(length) if v[:i] + w[i] + v[i + 1 :] == w and v[i] != w[i]
               and machine.output(every[v][-1]) != machine.output(every[w][-1])}  # fmt: skip
    assert unrolled.deciding(length) == sorted(changed)
    for i in range(length):
        steps = {(states[i], word[i], states[i + 1]) for word, states in every.items()}
        both = list(itertools.product(steps, repeat=2))
        by_symbol = any(p == q and after != other for (p, _, after), (q, _, other) in both)
        by_state = any(a == b and after != other for (_, a, after), (_, b, other) in both)
        assert unrolled.depends(unrolled.delta, i) == (by_symbol, by_state)


@settings(max_examples=60, deadline=None)
@given(machines())
def test_traces_branch_where_there_are_exponentially_many(machine: Machine) -> None:
    unrolled, length = Unrolled(machine, 3), 64
    count = {0: 1}
    for _ in range(length):
        after: dict[int, int] = {}
        for state, words in count.items():
            for target in {*unrolled.delta[state].tolist()} - {-1}:
                after[target] = after.get(target, 0) + words
        count = after
    assert unrolled.branches == (sum(count.values()) > (length + 1) ** 3)


def test_a_machine_without_end_is_cut_at_the_length_where_names_run_out() -> None:
    counter = Unrolled(Machine(("a", "b"), 0, lambda at, x: at + (1 if x == "a" else -1), str), 9)
    assert (len(counter.number), counter.longest) == (9, 4)
    traced = TASKS.build({"name": "traced", "task": "Dyck-1", "most": 9})
    assert traced.max_length() == traced.lengths(0, 50)[-1] == 7
    traced.batch(7, 50, stream(0))


@pytest.mark.parametrize("trace", KINDS)
def test_words_and_answers_are_those_of_the_task(trace: str) -> None:
    plain, traced = Parity(), TASKS.build({"name": "traced", "task": "parity", "trace": trace})
    own, batch = plain.batch(6, 20, stream(0)), traced.batch(6, 20, stream(0))
    for row in range(20):
        text = [token for token in batch.text(row) if not token.startswith("@")]
        assert text[:8] == own.text(row)[:8]
        assert text[-2:] == own.text(row)[-2:]


@pytest.mark.parametrize(
    "task", ["parity", "Tomita-4", "cycle-navigation", {"name": "group-words", "scratchpad": False}]
)
def test_states_are_sparse_and_local_under_coupled_ids_and_what_is_wrong_is_not(task: object) -> None:
    tasks = {trace: TASKS.build({"name": "traced", "task": task, "trace": trace}) for trace in KINDS}
    found = {
        (trace, scheme.name): [structure_at(each, scheme, n).both for n in (5, 20)]
        for trace, each in tasks.items() for scheme in (Coupled(max_position=99), Sequential())
    }  # fmt: skip
    for trace in ("states", "signposts"):
        assert [(reach.count, reach.span) for reach in found[trace, "coupled"]] == [(2, 0)] * 2
        assert found[trace, "sequential"][1].span >= 20
    assert found["changes", "coupled"][0].span < found["changes", "coupled"][1].span
    for trace in ("wrong", "none"):
        assert found[trace, "coupled"][1].count == 20


def test_coupled_ids_have_a_yes_for_a_trace_and_none_for_the_answer_alone() -> None:
    answers = {
        trace: {verdict.system: verdict.answer for verdict in predict_task(Traced(trace=trace)).verdicts}
        for trace in KINDS
    }
    assert {trace for trace in KINDS if answers[trace]["coupled+learned"] == "yes"} == {"states", "signposts"}
    assert {trace for trace in KINDS if answers[trace]["ape"] == "no"} == {"states", "changes", "none"}


def test_scratchpads_are_traced_tasks() -> None:
    """A trace of a language that is asked for states, and of the last product."""
    for scratchpad, task in (
        ({"name": "state-scratchpad", "language": "(ab)*"}, {"name": "language", "language": "(ab)*", "ask": "state"}),
        ("group-words", {"name": "group-words", "scratchpad": False}),
    ):  # fmt: skip
        one, two = (each.batch(7, 9, stream(3)) for each in (TASKS.build(scratchpad), Traced(TASKS.build(task))))
        assert one.vocab == two.vocab
        for name in ("input_ids", "places", "labels", "parents", "answer"):
            assert np.array_equal(getattr(one, name), getattr(two, name))


@config
class Last(Parity):
    """The last bit, by a machine of one's own."""

    name = "last"

    def machine(self) -> Machine:
        return Machine(("0", "1"), "", lambda _, bit: bit, lambda bit: "eo"[bit == "1"])


def test_a_task_without_a_machine_is_refused_and_one_that_disagrees_is_caught() -> None:
    with pytest.raises(LengthwiseError, match="has no machine that reads its prompt"):
        TASKS.build({"name": "traced", "task": "copy"})
    with pytest.raises(LengthwiseError, match="most must be at least the number of states"):
        TASKS.build({"name": "traced", "task": "parity", "most": 1})
    wrong: Task = Traced(Last())
    batch = wrong.batch(4, 60, stream(0))
    assert any(wrong.answer(batch.text(row)[:6]) != batch.text(row)[6:] for row in range(60))
