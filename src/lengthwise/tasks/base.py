"""What a task is, how its strings are built with their structure, and helpers of string tasks."""

from __future__ import annotations

import re
import traceback
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from string import ascii_lowercase
from typing import Annotated, Any, ClassVar, Literal, final

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray
from pydantic import BeforeValidator, PlainSerializer

from lengthwise.core.batch import Batch, Layout, SequenceBuilder
from lengthwise.core.config import Alphabet1, config
from lengthwise.core.errors import LengthwiseError, UnknownNameError, reject, require, shortened, suggestion
from lengthwise.core.levels import LevelKind, PlaceRule
from lengthwise.core.registry import NameOfClass, Registry
from lengthwise.core.rng import Rng, stream
from lengthwise.core.user_code import place_in_user_code
from lengthwise.core.vocab import BOS, EOS, SEP, SPECIALS, Vocab
from lengthwise.languages.counter import COUNTER_LANGUAGES
from lengthwise.languages.machine import Machine
from lengthwise.languages.named import LANGUAGES
from lengthwise.languages.regex import SPECIAL

Kind = Callable[[list[str]], Any] | tuple[Callable[[list[str]], Any], Callable[[list[str], Rng], list[str]]]
"""Whether a prompt is of a kind; or this with what makes such a prompt of a drawn one, for kinds that are rare."""
Detail = Callable[[list[str], list[str]], Any]
"""Whether something holds of the next token of an answer, from the prompt and the answer before it."""
SetName = Literal["uniform", "enumerated", "adversarial"]
"""``uniform``: drawn like the task draws; ``enumerated``: all strings of these lengths, once; ``adversarial``: hard."""

MOST_LIFTED = 10_000
"""A refusal of a longer length names no setting: it would need as many symbols."""
ROWS = 256
"""The most strings of one batch."""


@dataclass(frozen=True)
class StringSet:
    """Strings in batches of one layout each; a result names the set it was measured on."""

    name: SetName
    batches: Iterator[Batch]


@dataclass(frozen=True)
class AxesLayout(Layout):
    """A layout whose other fields are axes of a result, where they are set."""

    @property
    def axes(self) -> dict[str, int]:
        """The fields besides the length, without those that are None."""
        return {name: value for name, value in vars(self).items() if name != "length" and value is not None}


def shares(lengths: Sequence[int], count: int) -> Iterator[tuple[int, int]]:
    """(length, number of strings): ``count`` strings spread over the lengths as evenly as whole numbers allow.

    >>> list(shares([51, 52, 53], 4))
    [(51, 1), (52, 1), (53, 2)]
    """
    for index, length in enumerate(lengths):
        number = (index + 1) * count // len(lengths) - index * count // len(lengths)
        if number:
            yield length, number


def chunks(rows: int, most: int = ROWS) -> Iterator[int]:
    """``rows`` in parts of at most ``most``."""
    while rows > 0:
        yield min(rows, most)
        rows -= most


MANY_ROWS = (
    "`write` fills a column for many rows at once, so no `if` or `int` can ask what a row holds: use numpy's where, or "
    "put what depends on content into the layout, docs/howto/own-task.md#answers-of-variable-length"
)
"""What to do where a task's `write` takes an array for a truth value."""
ONE_VALUE = (
    "truth value of an array", "only length-1 arrays", "only 0-dimensional arrays", "only integer scalar arrays",
    "unhashable type: 'numpy.ndarray'",
)  # fmt: skip
"""What errors say where an array stands for one value."""
LONGEST_SHORTEST = 200
"""Up to where the shortest length of a task is looked for."""
LAYOUT_ROWS = 8
"""Test strings that share one drawn layout."""


class Task(ABC):
    """One task: a frozen dataclass whose fields are its configuration.

    A subclass defines the tokens (`vocab`), the lengths that have instances (`lengths`), the layout of the columns
    (`layout`), and the columns with their places, parents and selectors (`write`). `answer` solves one prompt
    independently; the tests compare the two.
    """

    name: ClassVar[str] = NameOfClass()  # type: ignore[assignment]
    summary: ClassVar[str] = ""
    """One line for ``lengthwise list``."""
    place_rule: ClassVar[PlaceRule] = "earlier"
    min_length: ClassVar[int] = 1
    guess: ClassVar[float] = 0.0
    """What `chance` is at every length, such as 0.5 of an answer that is yes or no: figures and tables mark it."""
    tokens: ClassVar[Sequence[str | Callable[[Any], Iterable[str]]]] = ()
    """The tokens besides the special ones; a function of the task stands for those that depend on its settings."""

    def __init_subclass__(cls, **named: Any) -> None:
        """Refuse a class whose ``lengths`` is no method, with its name and what to write."""
        super().__init_subclass__(**named)
        if not callable(cls.lengths):
            raise TypeError(
                f"class {cls.__name__}: lengths is a method, lengths(self, low, high); for a smallest length write "
                "min_length = 3 instead, for a largest one a method max_length(self)"
            )

    @property
    def levels(self) -> tuple[LevelKind, ...]:
        """The kinds of the place levels; the first one is ``position``."""
        return ("position",)

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Kinds of prompts in the words of the task, each such that "where …" reads well: `explain` asks for each.

        A subclass may have a plain mapping: ``kinds = {"the number begins with 0": lambda prompt: prompt[1] == "0"}``.
        """
        return {}

    @final
    def of_kind(self, kind: str, prompt: Sequence[str]) -> bool:
        """Whether a prompt is of one of `kinds`; raises `LengthwiseError` where its function fails."""
        given = self.kinds[kind]
        return bool(self._call(f"kind {kind!r}", given[0] if isinstance(given, tuple) else given, prompt))

    @final
    def made_of_kind(self, kind: str, prompt: Sequence[str], rng: Rng) -> list[str]:
        """A prompt of one of `kinds` made of another one; that one itself where the kind says no way to make them."""
        given = self.kinds[kind]
        return self._call(f"kind {kind!r}", given[1], prompt, rng) if isinstance(given, tuple) else list(prompt)

    @property
    def written(self) -> str:
        """How its strings are written, in a sentence, where people write them otherwise: `explain` adds it."""
        return ""

    @property
    def details(self) -> Mapping[str, Detail]:
        """What may hold of a token of the answer in the words of the task: `explain` compares wrong tokens by it.

        Each such that "first wrong tokens are …" reads well, as
        ``details = {"in a column of two equal digits": lambda prompt, answer: …}``.
        """
        return {}

    @final
    def details_of(self, prompt: Sequence[str], answer: Sequence[str]) -> list[str]:
        """Those of `details` that hold of the token after ``answer``; raises `LengthwiseError` where one fails."""
        return [name for name, holds in self.details.items() if self._call(f"detail {name!r}", holds, prompt, answer)]

    def _call(self, what: str, function: Callable[..., Any], prompt: Sequence[str], *more: Any) -> Any:
        try:
            return function(list(prompt), *more)
        except Exception as error:
            where = place_in_user_code(error)
            raise LengthwiseError(
                f"{where and f'{where}: '}{what} of task {self.name!r} fails on the prompt {' '.join(prompt)!r} "
                f"({type(error).__name__}: {error}); correct its function"
            ) from None

    @property
    def labels_prefixes(self) -> bool:
        """Whether `Batch.allowed` states a fact about each prefix instead of what may come next, as in a word."""
        return False

    @cached_property
    def vocab(self) -> Vocab:
        """The tokens; every task has its own."""
        if not self.tokens:
            raise NotImplementedError(f"task {self.name!r} has no vocab")
        return Vocab.of(t for part in self.tokens for t in ([part] if isinstance(part, str) else part(self)))

    @abstractmethod
    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Write the columns of one batch."""

    @abstractmethod
    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Everything that follows ``prompt`` (scratchpad, answer, ``<eos>``), solved row by row in plain Python.

        Raises `ValueError` where ``prompt`` is not an instance of the task.
        """

    def machine(self) -> Machine | None:
        """A machine that reads what is between ``<bos>`` and the end mark, and says the answer, one token; if any."""
        return None

    @final
    def solve(self, prompt: Sequence[str]) -> list[str]:
        """`answer`, checked: raises `LengthwiseError` unless it returns tokens of the vocabulary."""
        found = self.answer(prompt)
        try:
            right = isinstance(found, list | tuple) and self.vocab.ids.keys() >= set(found)
        except TypeError:  # What can't be looked up is no token.
            right = False
        if not right:
            shown = shortened(repr(found))
            raise LengthwiseError(f"answer of task {self.name!r} returned {shown}; it must return a list of tokens")
        return list(found)

    @final
    def why_no_prompt(self, tokens: Sequence[str]) -> str:
        """What `answer` says against ``tokens`` as a prompt; empty where it has nothing to say."""
        try:
            self.answer(list(tokens))
        except ValueError as error:
            return str(error).partition("\n")[0]
        except Exception:  # A task of one's own may fail in any way on what it was not written for.
            return ""
        return ""

    def layout(self, length: int, rng: Rng) -> Layout:
        """Draw a layout, with the probabilities that it has when rows are drawn one by one."""
        return Layout(length)

    def max_length(self) -> int | None:
        """The largest length with instances, or None if there is no limit."""
        return None

    def lengths(self, low: int, high: int) -> list[int]:
        """The lengths in ``low..high`` that have instances."""
        top = self.max_length()
        return list(range(max(low, self.min_length), (high if top is None else min(high, top)) + 1))

    def chance(self, layout: Layout) -> float:
        """Probability of the answer being right by guessing among the answers that the prompt leaves open."""
        return self.guess

    def test_layouts(self, length: int) -> list[Layout]:
        """The fixed layouts on which a length is tested; empty means: draw them like training's."""
        return []

    def test_strings(self, low: int, high: int, count: int, rng: Rng, *, adversarial: bool = False) -> StringSet:
        """``count`` strings spread evenly over the lengths ``low..high``; a task with few of them gives each once.

        Raises `LengthwiseError` if these lengths have no instances, or the task has no adversarial strings.
        """
        lengths = self.lengths(low, high)
        if not lengths:
            raise LengthwiseError(
                f"task {self.name!r} has no instances of lengths {low} to {high}; choose other bins{self.lifted(low)}"
            )
        if adversarial:
            raise LengthwiseError(f"task {self.name!r} has no adversarial strings; set evaluation.adversarial to false")
        # Layouts are part of the distribution where they are drawn, so there must be many of them.
        most = ROWS if type(self).layout is Task.layout else LAYOUT_ROWS
        sizes = ((length, rows) for length, number in shares(lengths, count) for rows in chunks(number, most))
        return StringSet("uniform", (self.batch(length, rows, rng) for length, rows in sizes))

    @final
    @property
    def states_places(self) -> bool:
        """Whether any token of its shortest strings has a place."""
        shortest = next(iter(self.lengths(1, LONGEST_SHORTEST)), 1)
        return bool(self.batch(shortest, 1, stream(0, "task", "places")).places.any())

    def batch(self, length: int, size: int, rng: Rng, layout: Layout | None = None) -> Batch:
        """``size`` sequences of one layout of ``length``; raises `LengthwiseError` if the length has no instances."""
        require(size >= 1, f"a batch needs at least one sequence, got size {size}; use size 1 or more")
        self.check_lengths([length])
        layout = layout or self.layout(length, rng)
        if layout.length != length:
            raise LengthwiseError(f"the layout is for length {layout.length}, not {length}; use a layout of {length}")
        seq = SequenceBuilder(self.vocab, size, levels=len(self.levels))
        try:
            self.write(seq, layout, rng)
        except IndexError as error:
            if not (where := place_in_user_code(error)):
                raise
            later = f"; if lengths start at {length + 1} or later, write min_length = {length + 1} in the class"
            raise LengthwiseError(f"{where}, at length {length}: {error}{later}").with_traceback(
                error.__traceback__
            ) from None
        except (TypeError, ValueError) as error:
            *_, (frame, _) = traceback.walk_tb(error.__traceback__)
            if frame.f_code is SequenceBuilder.predicted.__code__:
                what = f"parents and selectors are lists of positions, such as parents=[given[i]] ({error})"
            elif any(words in str(error) for words in ONE_VALUE):
                what = MANY_ROWS
            elif unknown := re.search(r"SequenceBuilder\.(\w+)\(\) got an unexpected .* '(\w+)'", str(error)):
                known = getattr(SequenceBuilder, unknown[1]).__code__.co_varnames
                what = f"seq.{unknown[1]} has no {unknown[2]!r}. {suggestion(unknown[2], known[1:])}"
            else:
                raise
            where = place_in_user_code(error)
            raise LengthwiseError(f"{where}: {what}" if where else what).with_traceback(error.__traceback__) from None
        return seq.build(layout)

    def check_lengths(self, lengths: Iterable[int]) -> None:
        """Raise `LengthwiseError` for the first length that has no instances; it names lengths near it that have."""
        lengths = list(lengths)
        for length in lengths:
            if length not in self.lengths(length, length):
                raise LengthwiseError(
                    f"task {self.name!r} has no instances of length {length}; use {self._near(length)}"
                    f"{self.lifted(max(lengths)) or self.lifted(length)}"
                )

    def lifted(self, length: int) -> str:
        """The end of a refusal of a length beyond `max_length`: which setting gives it instances, and what value.

        It is the first whole number among the settings of which a larger value does; empty where there is none.
        """
        top = self.max_length()
        if top is None or not top < length <= MOST_LIFTED:
            return ""

        def enough(name: str, value: int) -> bool:
            with suppress(LengthwiseError, ValueError):
                changed: Any = replace(self, **{name: value})  # type: ignore[type-var]
                return length in changed.lengths(length, length)
            return False

        for name in (each.name for each in fields(self) if each.init) if is_dataclass(self) else ():
            value = getattr(self, name)
            if value is not None and type(value) is not int:
                continue
            low = value or 0
            high = next((n for n in (length, 2 * length + 2, 4 * length) if n > low and enough(name, n)), None)
            if high is not None:
                return f", or set {name}={bisect_left(range(high), True, low + 1, key=lambda n: enough(name, n))}"
        return ""

    def _near(self, length: int) -> str:
        """Words for the lengths with instances around ``length``."""
        top = self.max_length()
        if top is not None and length > top:
            return f"{top} or less"
        below, above = self.lengths(max(length - 50, 0), length), self.lengths(length, max(length, 0) + 50)
        return " or ".join(str(near) for near in (*below[-1:], *above[:1])) or "another length"


class TaskRegistry(Registry[Task]):
    """Tasks by name; published languages and expressions, such as ``(ab)*``, are the task ``language``."""

    def build(self, spec: Any, **fields: Any) -> Task:
        """A task from itself, its name, that of a language, an expression, or ``{"name": ..., **fields}``."""
        values = {"name": spec} if isinstance(spec, str) else spec
        name = values.get("name") if isinstance(values, dict) else None
        if isinstance(name, str) and name not in self and (language := named_language(name)) is not None:
            values = {**values, **fields}
            if values.setdefault("language", language) != language:
                given = values["language"]
                raise LengthwiseError(f"{name!r} names one language and language={given!r} another; give one")
            return super().build({**values, "name": "language"})
        return super().build(spec, **fields)

    def get(self, name: str) -> type[Task]:
        """The class under ``name``; raises `UnknownNameError`, which suggests languages, too."""
        try:
            return super().get(name)
        except UnknownNameError as error:
            if error.kind != self.kind:
                raise
            raise UnknownNameError(self.kind, name, [*self, *LANGUAGES, *COUNTER_LANGUAGES]) from None


def named_language(text: str) -> str | None:
    """The language that ``text`` is: after ``regex:``, published, or an expression with an operator; None for others.

    Without an operator a text is no expression, so that a mistyped name is never taken for a word.
    """
    if text.startswith(EXPRESSION):
        return text.removeprefix(EXPRESSION)
    if text.endswith(FILES) or ".py:" in text:
        return None
    refuse_call(text)
    return text if text in LANGUAGES or text in COUNTER_LANGUAGES or SPECIAL & set(text) else None


def refuse_call(text: str) -> None:
    """Raise `LengthwiseError` for a text such as ``copy(letters=16)``, which says where settings of a task go."""
    call = re.fullmatch(r"([\w-]+)\((.*)\)", text)
    if call is not None and call[1] in TASKS:
        setting = call[2].partition(",")[0] if "=" in call[2] else "NAME=VALUE"
        raise LengthwiseError(
            f"{text!r} looks like a call of task {call[1]!r}, whose settings are given apart: in Python as "
            f"lw.task({call[1]!r}, {setting}), to `lengthwise run`, `compare` and `predict` by the option `set`, as "
            f"task.{setting}, to other commands in a file of your own (FILE.py:Class)"
        )


FILES = (".py", ".json", ".jsonl", ".crasp")
"""How the names of files end that may stand where the name of a task may."""
EXPRESSION = "regex:"
"""What a regular expression begins with where the name of a task may stand."""
TASKS: Registry[Task] = TaskRegistry("task", Task)
AnyTask = Annotated[Task, BeforeValidator(TASKS.build), PlainSerializer(TASKS.describe)]
"""A field that holds a task: the object, its name, or its fields."""


def distinct(rng: Rng, pool: int, count: int, rows: int) -> Int[ndarray, "rows count"]:
    """Ordered samples without replacement from ``0..pool-1``, uniform and independent between rows.

    Where repeats are rare, rows that hold one are drawn again, whole: what remains is uniform and costs ``count`` draws
    a row. Otherwise all of the pool is shuffled.
    """
    reject(count > pool, f"{count} distinct symbols do not fit in a pool of {pool}")
    if count * count > pool:
        return shuffles(rng, pool, rows)[:, :count]
    result = rng.integers(pool, size=(rows, count), dtype=np.int64)
    while (bad := np.flatnonzero(_repeats(result))).size:
        fresh = rng.integers(pool, size=(bad.size, count), dtype=np.int64)
        result[bad] = fresh
        if not _repeats(fresh).any():
            break
    return result


def _repeats(samples: Int[ndarray, "rows count"]) -> Bool[ndarray, " rows"]:
    ordered = np.sort(samples, axis=1)
    return (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)


def shuffles(rng: Rng, count: int, rows: int) -> Int[ndarray, "rows count"]:
    """Uniform random orders of ``0..count-1``, one per row."""
    if count > 1 << 10:
        return np.argsort(rng.random((rows, count)), axis=1)
    # The number in the low bits makes the keys distinct, so sorting them sorts the numbers by random keys.
    keys = rng.integers(1 << 53, size=(rows, count), dtype=np.int64)
    keys <<= 10
    keys |= np.arange(count)
    keys.sort(axis=1)
    keys &= (1 << 10) - 1
    return keys


def inverse(orders: Int[ndarray, "rows count"]) -> Int[ndarray, "rows count"]:
    """The inverse of each row's permutation."""
    result = np.empty_like(orders)
    np.put_along_axis(result, orders, np.broadcast_to(np.arange(orders.shape[1]), orders.shape), axis=1)
    return result


def bits_with_ones(rng: Rng, length: int, ones: Int[ndarray, " rows"]) -> Int[ndarray, "rows length"]:
    """Rows of bits, each uniform among those with its number of ones."""
    return (shuffles(rng, length, len(ones)) < ones[:, None]).astype(np.int64)


def symbol_names(count: int) -> list[str]:
    """Letters where they suffice, numbers otherwise."""
    return list(ascii_lowercase[:count]) if count <= 26 else [str(number) for number in range(count)]


def letters_of(task: Any) -> list[str]:
    """So many symbols as ``letters`` of a task says, for its `Task.tokens`."""
    return symbol_names(task.letters)


def numbered(prefix: str, field: str) -> Callable[[Any], list[str]]:
    """The tokens ``k0``, ``k1``, … for the prefix ``k``, so many as a field of the task says, for `Task.tokens`."""
    return lambda task: [f"{prefix}{number}" for number in range(getattr(task, field))]


SymbolChoice = Literal["distinct", "repeats"]


@config
class StringTask(Task):
    """A task whose prompt is ``<bos> a b a <sep>``; with distinct symbols no symbol occurs twice in a string.

    Length = number of symbols. ``letters`` is the size of the alphabet, by default 150 for distinct symbols and 2 for
    repeats (the sizes of Huang et al. 2025).
    """

    symbols: SymbolChoice = "distinct"
    letters: Alphabet1 | None = None

    @property
    def kinds(self) -> dict[str, Kind]:
        """By the order of the symbols, and, where they repeat, by their repetitions."""
        order = self.vocab.tokens.index
        ordered: dict[str, Kind] = {
            f"the symbols are in {word} order": (
                lambda prompt, step=step: prompt[1:-1] == sorted(prompt[1:-1], key=order)[::step],
                lambda prompt, rng, step=step: [prompt[0], *sorted(prompt[1:-1], key=order)[::step], prompt[-1]],
            )
            for word, step in (("ascending", 1), ("descending", -1))
        }  # fmt: skip
        if self.symbols == "distinct":
            return ordered
        return ordered | {
            "all symbols are the same": (
                lambda prompt: len(prompt) > 3 and len(set(prompt[1:-1])) == 1,
                lambda prompt, rng: [prompt[0], *[prompt[1]] * (len(prompt) - 2), prompt[-1]],
            )
        }

    tokens = (lambda task: symbol_names(task.letters or (150 if task.symbols == "distinct" else 2)),)

    def max_length(self) -> int | None:
        """Distinct symbols run out."""
        return len(self.vocab) - 4 if self.symbols == "distinct" else None

    @abstractmethod
    def arranged(self, string: list[Any]) -> list[Any]:
        """The symbols of the answer."""

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Symbol i (from 0) and its copies have place i + 2, ``<sep>`` has 1."""
        x = draw(self.symbols, self.vocab, layout.length, seq.size, rng)
        write_copies(seq, x, self.arranged(list(range(layout.length))))

    def answer(self, prompt: Sequence[str]) -> list[str]:
        return [*self.arranged(read(self.symbols, self.vocab, prompt)), EOS]


class DistinctSymbols(Task):
    """A task on strings of distinct symbols out of ``letters``."""

    tokens = (letters_of,)

    letters: int

    def max_length(self) -> int:
        return self.letters


def write_prompt(seq: SequenceBuilder, x: np.ndarray, place: Any, sep: Any = 1, end: str = SEP) -> list[int]:
    """``<bos>``, a string ``[length, B]`` at its places and ``end`` at the place ``sep``; the string's positions."""
    seq.bos()
    given = seq.givens(x, place=place)
    seq.given(seq.vocab[end], sep)
    return given


def write_copies(seq: SequenceBuilder, x: np.ndarray, order: Iterable[int], *, first: int = 2, sep: int = 1) -> None:
    """A string ``[length, B]`` of token ids, then its symbols in ``order``, each at the place of the one it copies.

    The places of the string begin with ``first``; ``sep`` is that of ``<sep>``.
    """
    given = write_prompt(seq, x, np.arange(len(x)) + first, sep)
    for i in order:
        seq.predicted(x[i], place=i + first, parents=[given[i]])
    seq.eos()


def draw(symbols: SymbolChoice, vocab: Vocab, length: int, rows: int, rng: Rng) -> np.ndarray:
    """Token ids of random strings, column by column: shape ``[length, rows]``."""
    letters = len(vocab) - 4
    if symbols == "distinct":
        return np.ascontiguousarray(distinct(rng, letters, length, rows).T) + 4
    return rng.integers(letters, size=(length, rows), dtype=np.int64) + 4


def read(symbols: SymbolChoice, vocab: Vocab, prompt: Sequence[str]) -> list[str]:
    """The string of a prompt ``<bos> … <sep>``; raises `ValueError` for any other prompt."""
    string = body(prompt, SEP, what := "a string between <bos> and <sep>")
    found = set(string)
    if not found <= vocab.ids.keys():
        vocab.encode(string)  # names the foreign symbol
    reject(not string or not found.isdisjoint(SPECIALS), f"not {what}")
    reject(symbols == "distinct" and len(found) < len(string), "the symbols are not distinct")
    return string


def body(prompt: Sequence[str], end: str, what: str) -> list[str]:
    """The tokens between ``<bos>`` and ``end``; raises `ValueError` for a prompt that is not ``what``."""
    reject(len(prompt) < 2 or prompt[0] != BOS or prompt[-1] != end, f"not {what}")
    return list(prompt[1:-1])
