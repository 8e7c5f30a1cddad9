"""An example of a task with its structure, and tasks kept in result files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from lengthwise.core.batch import Layout
from lengthwise.core.config import apply_edits, fields_of
from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.rng import stream
from lengthwise.positions.schemes import SCHEMES, PositionScheme
from lengthwise.positions.structure import NO_PLACE, NO_PLACES, distance, lacks_place, structure_at
from lengthwise.tasks import TASKS, Task

STRUCTURE_LENGTHS = (5, 20, 100)
"""Lengths at which sparsity and span are shown by default."""
SHOWN_LENGTH, LONGEST_BY_DEFAULT = 5, 50
"""The length of an example unless another is asked for, and up to where the nearest is looked for."""
MOST_CELLS = 200_000
"""Tokens of an example, times the most parents and selectors of one, or times the symbols that may come next."""
MOST_TOKENS = 72
"""A longer sequence would be too small to read in a figure."""
_Spans = tuple[int | None, int | None, int | None]


@dataclass(frozen=True)
class Token:
    """One token with its text, its places and position ids by level, and the tokens that it depends on."""

    position: int
    text: str
    places: tuple[int, ...]
    ids: tuple[int, ...]
    scored: bool
    answer: bool
    parents: tuple[int, ...]
    selectors: tuple[int, ...]
    allowed: tuple[str, ...] = ()
    """The allowed tokens, if the task states a set instead of one answer."""

    def to_json(self) -> dict[str, Any]:
        """The token as JSON values; ``allowed`` only where there are some."""
        values = {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}
        return {"token" if k == "text" else k: v for k, v in values.items() if k != "allowed" or v}


@dataclass(frozen=True)
class TokenSequence:
    """One sequence of the task ``title``, token by token."""

    title: str
    length: int
    tokens: tuple[Token, ...]

    @property
    def scored(self) -> tuple[Token, ...]:
        """The scored tokens, which count in loss and metrics."""
        return tuple(token for token in self.tokens if token.scored)

    def reach(self, token: Token, *, places: bool = False) -> int:
        """Largest distance from the predicting token (position − 1) to a parent, in tokens or in places."""
        where = np.array(
            [t.position if not places else t.places[0] if any(t.places) else NO_PLACE for t in self.tokens]
        )
        return int(distance(where[token.position - 1], where[list(token.parents)], where.max()).max(initial=0))


@dataclass(frozen=True)
class Example(TokenSequence):
    """One training sequence of a task under a position scheme."""

    task: Task
    scheme: PositionScheme
    seed: int
    axes: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """The example as JSON values."""
        return {
            "task": TASKS.show(self.task),
            "scheme": SCHEMES.show(self.scheme),
            "length": self.length,
            "seed": self.seed,
            "axes": self.axes,
            "levels": list(self.task.levels),
            "tokens": [token.to_json() for token in self.tokens],
        }


@dataclass(frozen=True)
class SpanRow:
    """The spans of schemes that have equal spans; None where a scheme has too few position ids.

    ``spans`` counts parents, ``selectors`` selectors, ``both`` parents and selectors.
    """

    schemes: tuple[str, ...]
    spans: tuple[int | None, ...]
    both: tuple[int | None, ...]
    selectors: tuple[int | None, ...] = ()
    """Empty where it comes from a result file that is older than this field."""


@dataclass(frozen=True)
class StructureTable:
    """Sparsity k and span by length for every registered scheme; ``selectors`` and ``both`` are numbers of tokens."""

    lengths: tuple[int, ...]
    sparsity: tuple[int, ...]
    selectors: tuple[int, ...]
    both: tuple[int, ...]
    rows: tuple[SpanRow, ...]

    def to_json(self) -> dict[str, Any]:
        """The table as JSON values, with one list of spans per scheme."""
        counts = {"sparsity": self.sparsity, "selectors": self.selectors, "both": self.both}
        return {
            "lengths": list(self.lengths),
            **{key: list(values) for key, values in counts.items()},
            "span": {scheme: list(row.spans) for row in self.rows for scheme in row.schemes},
            "span_selectors": {scheme: list(row.selectors) for row in self.rows for scheme in row.schemes},
            "span_both": {scheme: list(row.both) for row in self.rows for scheme in row.schemes},
        }


def configured(task: str, scheme: str, edits: Sequence[str]) -> tuple[Task, PositionScheme]:
    """A task and a scheme by name, with edits ``field=value`` of the task and ``scheme.field=value`` of the scheme.

    Raises `LengthwiseError` for unknown names and fields and for values of the wrong type.
    """
    plain_task, plain_scheme = TASKS.build(task), SCHEMES.build(scheme)
    values = apply_edits({**fields_of(plain_task), "scheme": fields_of(plain_scheme)}, list(edits))
    scheme_values = values.pop("scheme")
    if not isinstance(scheme_values, dict):
        raise LengthwiseError(f"changes has scheme={scheme_values}: choose the scheme by `scheme`, as {scheme_values}")
    return TASKS.build({"name": plain_task.name, **values}), SCHEMES.build({"name": scheme, **scheme_values})


def example(task: Task, scheme: PositionScheme, length: int, seed: int, layout: Layout | None = None) -> Example:
    """The example of a seed; its tokens do not depend on the scheme.

    Raises `LengthwiseError` if the length has no instances or the scheme too few ids.
    """
    _refuse_large(task, length)
    batch = task.batch(length, 1, stream(seed, "show", "task"), layout)
    ids = scheme.assign(batch.places, task.levels, stream(seed, "show", "ids"))
    text = batch.text(0)
    tokens = tuple(
        Token(
            position=t,
            text=text[t],
            places=tuple(batch.places[0, t].tolist()),
            ids=tuple(ids[0, t].tolist()),
            scored=bool(batch.scored[t]),
            answer=bool(batch.answer[t]),
            parents=_valid(batch.parents[0, t]),
            selectors=_valid(batch.selectors[0, t]),
            allowed=() if batch.allowed is None else tuple(batch.vocab.decode(np.flatnonzero(batch.allowed[0, t]))),
        )
        for t in range(batch.tokens)
    )
    return Example(task.name, length, tokens, task, scheme, seed, batch.layout.axes)


def _too_large(task: Task, length: int) -> int:
    """How many cells an example has at least if these are too many, else 0; shorter ones show how they grow."""
    near = 32
    while near < length and task.lengths(length, length):
        for shorter in task.lengths(near, min(2 * near, length))[:1]:
            batch = task.batch(shorter, 1, stream(0))
            cells = batch.parents.size + batch.selectors.size + (0 if batch.allowed is None else batch.allowed.size)
            cells = cells * length // shorter
            if cells > MOST_CELLS:
                return cells
        near *= 2
    return 0


def _refuse_large(task: Task, length: int) -> None:
    """Raise `LengthwiseError` where an example would be too large, before it is made."""
    cells = _too_large(task, length)
    why = f"length {length} is too large for {task.name!r}: tokens times parents are {cells:,} or more"
    require(not cells, f"{why}, and at most {MOST_CELLS:,} are shown; choose a smaller length")


def shown_length(task: Task) -> int:
    """The length of an example unless another is asked for: 5, or the nearest that has instances."""
    return min(task.lengths(1, LONGEST_BY_DEFAULT), key=lambda n: abs(n - SHOWN_LENGTH), default=SHOWN_LENGTH)


def short_example(task: Task) -> Example | None:
    """The longest test layout of at most 12 if there is one, else a length near 5; None if all are too long to draw."""
    lengths: Sequence[int] = task.lengths(1, 12)
    tested = [(length, layout) for length in lengths for layout in task.test_layouts(length)[:1]]
    others = [(length, None) for length in sorted(lengths, key=lambda n: abs(n - 5))]
    for length, layout in [*tested[-1:], *others]:
        shown = example(task, SCHEMES.build("coupled"), length, 0, layout)
        if shown.scored and len(shown.tokens) <= MOST_TOKENS:
            return shown
    return None


def tested_structure(task: Task, lengths: Sequence[int]) -> StructureTable:
    """The structure at the first six of these lengths that have instances, or at the default lengths."""
    known = (int(n) for n in lengths if task.lengths(int(n), int(n)))
    return structure_table(task, sorted({n for n in known if not _too_large(task, n)})[:6] or None, 0)


def _valid(positions: np.ndarray) -> tuple[int, ...]:
    return tuple(sorted({int(position) for position in positions if position >= 0}))


def structure_table(
    task: Task, lengths: Sequence[int] | None, seed: int, scheme: PositionScheme | None = None
) -> StructureTable:
    """Sparsity and span under every registered scheme and ``scheme``, which replaces the default one of its name.

    ``lengths=None`` takes the default lengths that have instances. Raises `LengthwiseError` for lengths without any.
    """
    for n in lengths or ():
        _refuse_large(task, n)
    if lengths is None:
        lengths = [n for n in STRUCTURE_LENGTHS if task.lengths(n, n)] or task.lengths(1, max(STRUCTURE_LENGTHS))[-3:]
    plain = SCHEMES.build("sequential", max_position=1 << 30)
    counted = [structure_at(task, plain, n, seed) for n in lengths]
    by_spans: dict[tuple[_Spans, ...], list[str]] = {}
    of_places: tuple[_Spans, ...] = ()
    given = {} if scheme is None else {scheme.name: scheme}
    for name in dict.fromkeys([*SCHEMES, *given]):
        used = given.get(name) or SCHEMES.build(name)
        if used.wraps and name not in given:  # Ids that come again are near each other and mean nothing.
            continue
        # All schemes that give each place one id have the spans of the places.
        spans = (used.equals_places and of_places) or tuple(_spans(task, used, n, seed) for n in lengths)
        of_places = spans if used.equals_places else of_places
        by_spans.setdefault(spans, []).append(name)
    by_kind = ((names, zip(*spans, strict=True)) for spans, names in by_spans.items())
    rows = (SpanRow(tuple(names), parents, both, selectors) for names, (parents, selectors, both) in by_kind)
    parents, selectors, both = zip(*((s.parents.count, s.selectors.count, s.both.count) for s in counted), strict=True)
    return StructureTable(tuple(lengths), parents, selectors, both, tuple(rows))


def structure_note(task: Task, scheme: PositionScheme) -> str:
    """What k and span don't say of a task; empty where they say all."""
    shown = example(task, SCHEMES.build("sequential"), shown_length(task), 0)
    if any(token.allowed for token in shown.tokens):
        return "what may come next depends on all that was read: no token has parents, so k and span say nothing"
    if scheme.uses_places and not task.states_places:
        return f"task {task.name!r} states no places, so all its ids are 0 and no span is meant; {NO_PLACES}"
    return lacks_place(task) if scheme.uses_places else ""


def _spans(task: Task, scheme: PositionScheme, length: int, seed: int) -> _Spans:
    """The span of the parents, of the selectors, and of both; None where the task states no places for the scheme."""
    if scheme.uses_places and not task.states_places:
        return None, None, None
    try:
        found = structure_at(task, scheme, length, seed)
    except LengthwiseError:
        return None, None, None
    return found.parents.span, found.selectors.span, found.both.span


PACKAGE = "lengthwise"


@dataclass(frozen=True)
class StoredTask:
    """A task's title and summary, an example, its structure by length, and its guess; plain values, no code."""

    title: str
    summary: str
    example: TokenSequence | None
    structure: StructureTable
    guess: float = 0.0
    """`Task.guess`; 0 in files that are older than this field."""

    @property
    def has_trace(self) -> bool:
        """Whether tokens are scored before the answer."""
        scored = () if self.example is None else self.example.scored
        return bool(scored) and not scored[0].answer

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; `stored_task` reads them back."""
        return json.loads(json.dumps(asdict(self)))


def is_built_in(task: Task) -> bool:
    """Whether the task's class is part of this package."""
    return type(task).__module__.partition(".")[0] == PACKAGE


def title_of(name: str) -> str:
    """How a task is called on a page: the class of ``path/to/file.py:Class``, or else its name."""
    return name.rpartition(":")[2]


def to_store(task: Task, lengths: Sequence[int]) -> StoredTask:
    """What to keep of a task that is tested at these lengths."""
    shown, title = short_example(task), title_of(task.name)
    example = None if shown is None else TokenSequence(title, shown.length, shown.tokens)
    return StoredTask(title, task.summary, example, tested_structure(task, lengths), float(task.guess))


def stored_task(values: Mapping[str, Any], where: str) -> StoredTask:
    """The stored task of a result file; raises `LengthwiseError` if it is damaged."""
    try:
        found = TypeAdapter(StoredTask).validate_json(json.dumps(values), strict=True)
    except (ValidationError, TypeError, ValueError) as error:
        raise LengthwiseError(f"{where}: the stored task is damaged; delete the file and run again") from error
    require(_sound(found), f"{where}: the stored task is damaged; delete the file and run again")
    return found


def _sound(stored: StoredTask) -> bool:
    """Whether tokens stand in order with parents before them, and every row of the structure has all lengths."""
    tokens = () if stored.example is None else stored.example.tokens
    in_order = all(
        token.position == index and token.places and all(0 <= parent < index for parent in token.parents)
        for index, token in enumerate(tokens)
    )
    count = len(stored.structure.lengths)
    rows = all(len(row.spans) == count for row in stored.structure.rows) and len(stored.structure.sparsity) == count
    drawn = stored.example is None or (len(tokens) <= MOST_TOKENS and any(token.scored for token in tokens))
    return in_order and rows and drawn and 0 <= stored.guess <= 1
