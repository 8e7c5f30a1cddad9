"""The contract of a task, run on everything registered and on variants small enough to show all their cases.

The laws are public (`lengthwise.testing`); here they are also held against broken tasks.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.config import config
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import Rng, stream
from lengthwise.core.vocab import EOS
from lengthwise.tasks import TASKS, Task
from lengthwise.tasks.base import AxesLayout
from lengthwise.tasks.copying import Copy
from lengthwise.tasks.language import HUANG
from lengthwise.tasks.parity import ParityScratchpad
from lengthwise.testing import laws

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
    {"name": "state-scratchpad"},
    {"name": "state-scratchpad", "language": "(ab)*", "alphabet": "ab"},
    {"name": "parity-scratchpad-offset-one", "end_mark": True},
    {"name": "traced", "task": "Tomita-5", "trace": "signposts", "most": 14},
    {"name": "traced", "task": "(aa)*", "trace": "changes"},
    {"name": "traced", "task": "Dyck-1", "trace": "wrong", "most": 30},
    {"name": "traced", "task": {"name": "modular-arithmetic", "modulus": 3}, "trace": "changes"},
    {"name": "traced", "task": {"name": "language", "language": "Tomita-4", "ask": "state"}, "trace": "none"},
    {"name": "traced", "task": {"name": "cycle-navigation", "size": 3}, "trace": "signposts", "most": 14},
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
    {"name": "subtraction", "base": 3},
    {"name": "addition-hinted", "base": 3, "hints": 8},
    {"name": "addition-turing", "base": 2},
    {"name": "successor", "letters": 5},
    {"name": "task-hinting", "task": {"name": "sort", "letters": 5}, "hint": {"name": "successor", "letters": 5}},
    {"name": "task-hinting", "task": {"name": "addition", "base": 2}, "hint": {"name": "bitwise-or"}, "share": 0.5},
    {"name": "addition-multi", "base": 3},
    {"name": "multiplication", "base": 2, "second": 1},
    {"name": "multiplication", "base": 3, "second": 2},
    {"name": "modular-arithmetic", "modulus": 3, "times": False},
    {"name": "cycle-navigation", "size": 3},
    {"name": "odds-first", "symbols": "distinct", "letters": 5},
    {"name": "bucket-sort", "letters": 3},
    {"name": "counting", "numbers": 8},
    {"name": "group-words", "scratchpad": False},
    {"name": "pointer-value-retrieval", "window": 2},
    {"name": "mqar", "keys": 6, "queries": 2},
    {"name": "lego", "variables": 8, "ordered": True},
    {"name": "induction", "letters": 5},
    {"name": "binary-addition"},
    {"name": "language", "language": "Tomita-4"},
    {"name": "language", "language": "Dyck-1"},
    {"name": "language", "language": "Tomita-4", "ask": "member"},
    {"name": "language", "language": "(a|b)*ab", "ask": "state"},
    {"name": "language", "language": "a*(b|c)", "alphabet": "abcd"},
]
ALL: list[Any] = list({repr(TASKS.build(spec)): spec for spec in [*SMALL, *HUANG.values(), *TASKS]}.values())
"""One name per task: some have several."""


def label(spec: Any) -> str:
    """A readable test name."""
    return spec if isinstance(spec, str) else "-".join(str(value) for value in spec.values())


@pytest.mark.parametrize("name", [name for name in TASKS if {*"0123456789="} < {*TASKS.build(name).vocab.tokens}])
def test_a_task_of_sums_and_products_says_so_where_the_ones_come_first(name: str) -> None:
    task = TASKS.build(name)
    batch = task.batch(task.lengths(4, 9)[0], 1, stream(0, "ones first"))
    told = "".join(token for token in batch.text(0) if token in "0123456789+-*=>")
    question, _, answer = told.partition("=")
    numbers, sign = re.split(r"[-+*]", question), re.sub(r"\d", "", question)[:1]
    works = {"+": sum, "-": lambda n: n[0] - n[1], "*": np.prod}
    last = re.split(r"[+=>]", answer)[-1]
    assert sign
    assert bool(task.written) == (works[sign]([int(n[::-1]) for n in numbers]) == int(last[::-1]))


@pytest.mark.parametrize("spec", ALL, ids=label)
def test_every_law(spec: Any) -> None:
    for law in laws.TASK_LAWS.values():
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
class Lookup(Task):
    """``<bos> 1 b c <sep> c <eos>``: the symbol that the first token counts to; ``says`` is how it states that."""

    min_length, tokens = 2, ("0", "1", "2", "3", "a", "b", "c")
    says: str = "selector"

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        rows, n = np.arange(seq.size), layout.length
        x = rng.integers(3, size=(n, seq.size)) + self.vocab["a"]
        asked = rng.integers(min(n, 4), size=seq.size)
        seq.bos()
        query = seq.given(asked + self.vocab["0"])
        given = seq.givens(x)
        seq.sep()
        found = [asked + given[0]] if self.says != "all" else given[:4]
        parents = [query, *found] if self.says in ("parent", "both", "all") else found
        seq.predicted(x[asked, rows], parents=parents, selectors=[query] if self.says in ("selector", "both") else [])
        seq.eos()

    def answer(self, prompt: Any) -> list[str]:
        asked, *string = prompt[1:-1]
        if asked not in "0123"[: len(string)] or not set(string) <= set("abc"):
            raise ValueError("no digit that counts to a symbol")
        return [string[int(asked)], EOS]


@config
class WithoutRepeats(Task):
    """``<bos> a b b <sep> a b <eos>``: the layout, which the letters decide, says where a run begins."""

    tokens = ("a", "b", "c")
    selected: bool = True

    def layout(self, length: int, rng: Rng) -> AxesLayout:
        return AxesLayout(length) if length < 2 or rng.random() < 0.5 else Again(length)

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        n, again = layout.length, isinstance(layout, Again)
        steps = np.concatenate([rng.integers(3, size=(1, seq.size)), rng.integers(1, 3, size=(n - 1, seq.size))])
        steps[-1] *= not again
        letters = steps.cumsum(axis=0) % 3 + self.vocab["a"]
        seq.bos()
        given = seq.givens(letters)
        seq.sep()
        selectors = given if self.selected else []
        for at in range(n - again):
            seq.predicted(letters[at], parents=[given[at]], selectors=selectors)
        seq.eos(selectors=selectors)

    def answer(self, prompt: Any) -> list[str]:
        text = prompt[1:-1]
        return [*(letter for at, letter in enumerate(text) if at == 0 or text[at - 1] != letter), EOS]


@dataclass(frozen=True)
class Again(AxesLayout):
    """The last letter is that before it."""


@config
class TakesAnyLength(ParityScratchpad):
    def lengths(self, low: int, high: int) -> list[int]:
        return [length for length in range(low, high + 1) if length > 0 and (low, high) != (length, length)]


SELECTORS = laws.no_parent_is_superfluous, laws.no_selector_is_missing, laws.answers_agree, laws.parents_are_earlier


@pytest.mark.parametrize(
    ("task", "broken"),
    [
        (Lookup(), ""),
        (Lookup(says="all"), ""),
        (Lookup(says="nothing"), "token 1 decides which; add what decides to selectors"),
        (
            Lookup(says="parent"),
            r"its parent '.' at position \d is superfluous, .*; leave it out, or name it in selectors",
        ),
        (Lookup(says="both"), "its parent .* is superfluous"),
        (WithoutRepeats(), ""),
        (WithoutRepeats(selected=False), r"token \d decides which; add what decides to selectors"),
    ],
    ids=lambda value: repr(value) if isinstance(value, Task) else "",
)
def test_what_says_which_tokens_are_the_parents_is_a_selector_and_no_parent(task: Task, broken: str) -> None:
    """Within one layout, and where the layout is decided by content: the second is what only several layouts show."""
    with pytest.raises(laws.LawError, match=broken) if broken else nullcontext():
        for law in SELECTORS:
            law(task)


@pytest.mark.parametrize(
    ("law", "broken"),
    [
        (laws.token_is_a_function_of_its_parents, MissingParent),
        (laws.no_parent_is_superfluous, SuperfluousParent),
        (laws.parents_are_earlier, LaterParent),
        (laws.answers_agree, WrongAnswer),
        (laws.places_follow_the_rule, WrongRule),
        (laws.places_start_at_one_without_gaps, GapInPlaces),
        (laws.places_are_functions_of_the_prefix, PlaceOutOfNowhere),
        (laws.same_stream_same_batch, OwnRandomness),
        (laws.lengths_without_instances_are_refused, TakesAnyLength),
        (laws.nonsense_is_refused, BelievesAnything),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_broken_task_is_caught(law: Callable[[Task], None], broken: type[Task]) -> None:
    with pytest.raises((AssertionError, LengthwiseError)):
        law(broken())


@pytest.mark.parametrize("name", [name for name in TASKS if TASKS.build(name).max_length() is not None])
def test_a_refused_length_names_the_setting_that_lifts_it(name: str) -> None:
    task = TASKS.build(name)
    top = task.max_length()
    assert top is not None
    for length in (top + 1, 2 * top):
        with pytest.raises(LengthwiseError, match=f"no instances of length {length}; use {top} or less") as refused:
            task.check_lengths([length])
        said = re.search(r", or set (\w+)=(\d+)$", str(refused.value))
        if said is None:  # where no single number suffices
            assert name in ("unique-bigram-copy", "task-hinting")
            continue
        setting, value = said[1], int(said[2])
        assert length in TASKS.build(name, **{setting: value}).lengths(length, length)
        assert length not in TASKS.build(name, **{setting: value - 1}).lengths(length, length), "and no less does"


def test_what_belongs_to_a_class_is_no_setting_that_lifts_a_length() -> None:
    @dataclass(frozen=True)
    class Styled(Copy):
        style: ClassVar[int] = 3

    top = Styled(letters=20).max_length()
    assert top is not None
    with pytest.raises(LengthwiseError, match="or set letters="):
        Styled(letters=20).check_lengths([top + 1])
