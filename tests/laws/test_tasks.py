"""The contract of a task, run on everything registered and on variants small enough to show all their cases.

Each law is a function of one task that raises `AssertionError`, so it can also be held against broken tasks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lengthwise.core.batch import NOT_SCORED, Batch, Layout, SequenceBuilder
from lengthwise.core.config import config
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import Rng, stream
from lengthwise.core.vocab import BOS, EOS
from lengthwise.tasks import TASKS, Task
from lengthwise.tasks.huang import HUANG
from lengthwise.tasks.parity_scratchpad import ParityScratchpad

# Small alphabets: in a large batch every case occurs, so grouping rows by their parents is a real test.
SMALL: list[dict[str, Any]] = [
    {"name": "addition", "base": 2},
    {"name": "addition", "base": 3, "operands": "msd_first"},
    {"name": "addition", "base": 2, "operands": "msd_first"},
    {"name": "copy", "symbols": "distinct", "letters": 5},
    {"name": "copy", "symbols": "repeats", "letters": 3},
    {"name": "reverse", "symbols": "distinct", "letters": 5},
    {"name": "reverse", "symbols": "repeats"},
    {"name": "look-back", "t": 1, "letters": 5},
    {"name": "look-back", "t": 3, "letters": 5},
    {"name": "sort", "letters": 6},
    {"name": "majority", "letters": 2},
    {"name": "majority", "letters": 3},
    {"name": "bin-majority-interleave", "period": 2},
    {"name": "parity"},
    {"name": "parity", "ones": "uniform"},
    {"name": "parity-scratchpad"},
    {"name": "sparse-parity", "k_max": 2},
    {"name": "sparse-parity", "k_max": 3, "span": 3},
    {"name": "sparse-parity", "k_max": 2, "k_test": [1, 2, 4]},
    {"name": "parity-scratchpad", "end_mark": True},
    {"name": "parity-scratchpad-offset-one", "end_mark": True},
    {"name": "variable-assignment", "names": 8, "values": 4},
    {"name": "variable-assignment", "names": 8, "values": 4, "scratchpad": False},
    {"name": "variable-assignment", "names": 8, "values": 4, "slots": False},
    {"name": "variable-assignment", "names": 8, "values": 4, "test_chains": 2},
    {"name": "variable-assignment", "names": 8, "values": 4, "separators": True},
    {"name": "variable-assignment", "names": 8, "values": 4, "separators": True, "scratchpad": False, "slots": False},
    {"name": "planted", "k": 1, "values": 3},
    {"name": "planted", "k": 3, "span": 3},
    {"name": "planted", "k": 3, "values": 3, "label": {"name": "majority"}, "placement": [[0, 1, 3], [0, 2, 3]]},
    {"name": "planted", "k": 2, "values": 3, "label": {"name": "sum_mod", "modulus": 4}, "placement": "strided"},
    {"name": "planted", "k": 2, "label": {"name": "lookup", "m": 2, "table": [0, 1, 0, 1]}},
    {"name": "recoupled", "task": {"name": "copy", "symbols": "repeats", "letters": 3}},
    {"name": "retrieval", "letters": 3},
    {"name": "retrieval", "side": "before", "letters": 3},
    {"name": "flip-flop", "ignore": 0.3},
    {"name": "induction", "letters": 5},
    {"name": "binary-addition"},
    {"name": "language", "language": "Tomita-4"},
    {"name": "language", "language": "Dyck-1"},
    {"name": "language", "language": "a*(b|c)", "alphabet": "abcd"},
]
ALL: list[Any] = [*TASKS, *HUANG.values(), *SMALL]


def label(spec: Any) -> str:
    """A readable test name."""
    return spec if isinstance(spec, str) else "-".join(str(value) for value in spec.values())


def batches(task: Task, size: int, *, lengths: int = 4, draws: int = 3) -> Iterator[Batch]:
    """Batches of the shortest lengths: drawn layouts and test layouts."""
    for length in [length for length in task.lengths(0, 12) if length][:lengths]:
        for draw in range(draws):
            yield task.batch(length, size, stream(draw, "law", length))
        for index, layout in enumerate(task.test_layouts(length)):
            yield task.batch(length, size, stream(index, "test", length), layout)


# ---------------------------------------------------------------------------------------------------------------------
# The laws


def law_same_stream_same_batch(task: Task) -> None:
    for length in task.lengths(0, 9):
        one, two = (task.batch(length, 5, stream(7, length)) for _ in range(2))
        other = task.batch(length, 50, stream(8, length))
        for field in ("input_ids", "labels", "places", "parents", "selectors"):
            assert np.array_equal(getattr(one, field), getattr(two, field))
        assert one.layout == two.layout
        assert other.layout.length == length


def law_shapes_and_labels(task: Task) -> None:
    for batch in batches(task, 20):
        assert batch.input_ids.shape == batch.labels.shape == batch.places.shape[:2]
        assert batch.places.shape[2] == len(task.levels)
        assert (batch.input_ids[:, 0] == task.vocab[BOS]).all()
        assert batch.input_ids.min() >= 0
        assert batch.input_ids.max() < len(task.vocab)
        assert batch.scored.any()
        # What is predicted is one block at the end, so a prompt is everything before it.
        assert batch.scored[batch.prompt_length :].all()
        assert (batch.labels[:, batch.scored] == batch.input_ids[:, batch.scored]).all()
        assert (batch.labels[:, ~batch.scored] == NOT_SCORED).all()
        assert batch.answer.any()
        assert not batch.answer[~batch.scored].any()
        assert 0 <= task.chance(batch.layout) <= 1


def law_answers_agree(task: Task) -> None:
    for batch in batches(task, 60, lengths=9):
        for row in range(batch.size):
            text, cut = batch.text(row), batch.prompt_length
            if batch.allowed is not None:
                # A next-symbol task answers every prefix with the set of tokens that may follow.
                for t in range(batch.tokens - 1):
                    assert task.answer(text[: t + 1]) == task.vocab.decode(np.flatnonzero(batch.allowed[row, t]))
                    assert batch.allowed[row, t, batch.input_ids[row, t + 1]]
                assert not batch.allowed[row, -1].any()
                continue
            assert task.answer(text[:cut]) == text[cut:], f"{text[:cut]} -> {task.answer(text[:cut])}, not {text[cut:]}"


def law_parents_are_earlier(task: Task) -> None:
    for batch in batches(task, 50):
        for positions in (batch.parents, batch.selectors):
            assert positions.min(initial=-1) >= -1
            assert (positions < np.arange(batch.tokens)[None, :, None]).all(), "a parent stands before its token"
            assert (positions[:, ~batch.scored] == -1).all()
        ordered = np.sort(batch.parents, axis=2)
        twice = (ordered[:, :, 1:] == ordered[:, :, :-1]) & (ordered[:, :, 1:] >= 0)
        assert not twice.any(), "a parent is named once"


def _tables(task: Task, size: int) -> Iterator[tuple[Batch, int, np.ndarray, np.ndarray]]:
    """Per batch and scored column: the values of the parents (-1: none), ``[B P]``, and of the token, ``[B]``."""
    for batch in batches(task, size):
        if batch.allowed is not None:
            # What comes next is not determined: such a token has no parents to speak of.
            assert batch.parents.shape[2] == 0
            continue
        every_row = np.arange(batch.size)[:, None]
        for t in np.flatnonzero(batch.scored):
            parents = batch.parents[:, t]
            values = np.where(parents >= 0, batch.input_ids[every_row, parents], -1)
            yield batch, int(t), values, batch.input_ids[:, t]


def law_token_is_a_function_of_its_parents(task: Task) -> None:
    for batch, t, values, tokens in _tables(task, 2000):
        seen = np.unique(np.column_stack([values, tokens]), axis=0)
        distinct_values = np.unique(values, axis=0)
        assert len(seen) == len(distinct_values), f"length {batch.layout.length}, column {t}: a parent is missing"


def law_no_parent_is_superfluous(task: Task) -> None:
    for batch, t, values, tokens in _tables(task, 6000):
        for slot in range(values.shape[1]):
            rows = values[:, slot] >= 0
            if not rows.any():
                continue
            # Rows that agree on all other parents, yet differ in the token, differ because of this parent.
            others = np.unique(np.delete(values[rows], slot, axis=1), axis=0)
            with_token = np.column_stack([np.delete(values[rows], slot, axis=1), tokens[rows]])
            if len(np.unique(with_token, axis=0)) > len(others):
                continue
            message = f"length {batch.layout.length}, {batch.layout}, column {t}: parent {slot} is superfluous"
            assert _an_edit_changes(task, batch, t, slot), message


def _an_edit_changes(task: Task, batch: Batch, t: int, slot: int) -> bool:
    """Whether some edit of this parent alone changes the token, all re-solved by `Task.answer`."""
    cut = batch.prompt_length
    for row in range(min(batch.size, 100)):
        at = int(batch.parents[row, t, slot])
        if not 0 <= at < cut:
            continue
        text = batch.text(row)
        for token in task.vocab.tokens:
            prompt = [*text[:at], token, *text[at + 1 : cut]]
            try:
                answer = task.answer(prompt)
            except ValueError:
                continue
            if len(answer) == len(text) - cut and answer[t - cut] != text[t]:
                return True
    return False


def law_places_start_at_one_without_gaps(task: Task) -> None:
    for batch in batches(task, 50, lengths=6):
        assert (batch.places >= 0).all()
        assert (batch.places[:, 0] == 0).all(), "<bos> has no place"
        for row in batch.places[:, :, 0]:
            used = set(row.tolist()) - {0}
            assert used == set(range(1, len(used) + 1))


def law_places_follow_the_rule(task: Task) -> None:
    assert task.levels[0] == "coupled"
    for batch in batches(task, 50, lengths=6):
        for t in np.flatnonzero(batch.scored):
            now, before = batch.places[:, t], batch.places[:, :t]
            for level, kind in enumerate(task.levels):
                if kind == "fixed":
                    continue
                if task.place_rule == "earlier":
                    follows = (before[:, :, level] == now[:, None, level]).any(axis=1)
                else:
                    follows = np.isin(now[:, level] - before[:, -1, level], (0, 1))
                assert follows.all(), f"column {t}: the place breaks the rule {task.place_rule!r}"


def law_places_are_functions_of_the_prefix(task: Task) -> None:
    for batch in batches(task, 2000, lengths=3):
        given = defaultdict(set)
        for row in range(batch.size):
            cut = batch.prompt_length
            # All that is generated is a function of the prompt, so equal prompts have equal places throughout.
            given[batch.input_ids[row, :cut].tobytes()].add(batch.places[row].tobytes())
        assert all(len(places) == 1 for places in given.values())


def law_json_round_trip(task: Task) -> None:
    assert TASKS.build(TASKS.describe(task)) == task


def law_lengths_without_instances_are_refused(task: Task) -> None:
    has = task.lengths(-3, 400)
    assert has == sorted(set(has))
    assert has, "some length has instances"
    for length in [*range(-3, 14), 399, 400]:
        assert (length in has) == (task.lengths(length, length) == [length])
        if length not in has:
            with pytest.raises(LengthwiseError, match=f"has no instances of length {length}; use "):
                task.batch(length, 2, stream(0))
    with pytest.raises(LengthwiseError, match="at least one sequence"):
        task.batch(has[0], 0, stream(0))
    with pytest.raises(LengthwiseError, match="the layout is for length"):
        task.batch(has[0], 1, stream(0), replace(task.layout(has[0], stream(0)), length=has[0] + 1))


def law_nonsense_is_no_instance(task: Task) -> None:
    for prompt in (["<sep>"], ["<eos>", "<eos>", "<eos>", "<eos>"], ["<bos>", "<pad>", "<sep>", "<pad>", "<sep>"]):
        with pytest.raises(ValueError, match=r".+"):
            task.answer(prompt)


LAWS: list[Callable[[Task], None]] = [value for name, value in list(globals().items()) if name.startswith("law_")]


@pytest.mark.parametrize("spec", ALL, ids=label)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_law(law: Callable[[Task], None], spec: Any) -> None:
    law(TASKS.build(spec))


# ---------------------------------------------------------------------------------------------------------------------
# The laws can fail


@config
class MissingParent(ParityScratchpad):
    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        bits = rng.integers(2, size=(layout.length, seq.size), dtype=np.int64)
        seq.bos()
        given = [seq.given(bit + 4, place=i + 1) for i, bit in enumerate(bits)]
        seq.given(self.vocab["="], place=1)
        for i in range(layout.length):
            seq.predicted(bits[: i + 1].sum(axis=0) % 2 + 4, i + 2, parents=[given[i]])
        seq.eos(place=layout.length + 2)


@config
class SuperfluousParent(ParityScratchpad):
    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        bits = rng.integers(2, size=(layout.length, seq.size), dtype=np.int64)
        seq.bos()
        given = [seq.given(bit + 4, place=i + 1) for i, bit in enumerate(bits)]
        seq.given(self.vocab["="], place=1)
        last: list[int] = []
        for i in range(layout.length):
            parents = [*given[max(i - 1, 0) : i + 1], *last]
            last = [seq.predicted(bits[: i + 1].sum(axis=0) % 2 + 4, i + 2, parents=parents)]
        seq.eos(place=layout.length + 2)


@config
class LaterParent(ParityScratchpad):
    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        seq.bos()
        seq.given(self.vocab["0"], place=1)
        seq.predicted(self.vocab["0"], place=2, parents=[2])


@config
class WrongAnswer(ParityScratchpad):
    def answer(self, prompt: Any) -> list[str]:
        return [*prompt[1:-1], EOS]


@config
class WrongRule(ParityScratchpad):
    place_rule = "earlier"


@config
class GapInPlaces(ParityScratchpad):
    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        seq.bos()
        seq.given(self.vocab["0"], place=1)
        seq.predicted(self.vocab["0"], place=3)


@config
class PlaceOutOfNowhere(ParityScratchpad):
    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        seq.bos()
        seq.given(self.vocab["0"], place=1)
        seq.predicted(self.vocab["0"], place=rng.integers(1, 3, size=seq.size))


@config
class OwnRandomness(ParityScratchpad):
    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        ParityScratchpad.write(self, seq, layout, np.random.default_rng())


@config
class BelievesAnything(ParityScratchpad):
    def answer(self, prompt: Any) -> list[str]:
        return [EOS]


@config
class TakesAnyLength(ParityScratchpad):
    def lengths(self, low: int, high: int) -> list[int]:
        return [length for length in range(low, high + 1) if length > 0 and (low, high) != (length, length)]


@pytest.mark.parametrize(
    ("law", "broken"),
    [
        (law_token_is_a_function_of_its_parents, MissingParent),
        (law_no_parent_is_superfluous, SuperfluousParent),
        (law_parents_are_earlier, LaterParent),
        (law_answers_agree, WrongAnswer),
        (law_places_follow_the_rule, WrongRule),
        (law_places_start_at_one_without_gaps, GapInPlaces),
        (law_places_are_functions_of_the_prefix, PlaceOutOfNowhere),
        (law_same_stream_same_batch, OwnRandomness),
        (law_lengths_without_instances_are_refused, TakesAnyLength),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_broken_task_is_caught(law: Callable[[Task], None], broken: type[Task]) -> None:
    with pytest.raises(AssertionError):
        law(broken())


def test_a_task_that_believes_anything_is_caught() -> None:
    with pytest.raises(pytest.fail.Exception):
        law_nonsense_is_no_instance(BelievesAnything())
