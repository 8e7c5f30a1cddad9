"""Tasks as data sets of Hugging Face, and the collator that pads them and keeps their position ids.

The column with position ids is called ``place_ids``: collators of other packages that rewrite ``position_ids``, and
drop the loss wherever such an id is 0, leave it alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from datasets import IterableDataset
from numpy.typing import NDArray
from torch import Tensor

from lengthwise.audit.questions import PromptForm, check_digits, form_named, instruction, text_of
from lengthwise.audit.questions import filler as filler_of
from lengthwise.core import config as arguments
from lengthwise.core.batch import NOT_SCORED, Batch
from lengthwise.core.errors import require
from lengthwise.core.rng import stream
from lengthwise.hf.rules import checked_token_ids
from lengthwise.positions.schemes import SCHEMES, PositionScheme
from lengthwise.tasks import TASKS, Task
from lengthwise.tasks.kinds import check_more, with_more

PADDING: dict[str, int] = {"labels": NOT_SCORED, "place_ids": 0, "attention_mask": 0, "allowed": 0}
"""What pads each column; ``input_ids`` are padded by the collator's ``pad``."""


def dataset(
    task: str | Task | dict[str, Any],
    lengths: Sequence[int],
    *,
    scheme: str | PositionScheme | dict[str, Any] | None = None,
    size: int | None = None,
    rows: int = 16,
    seed: int = 0,
    token_ids: Mapping[str, int] | None = None,
    more: Mapping[str, float] | None = None,
) -> IterableDataset:
    """Sequences of a task as rows with ``input_ids`` and ``labels`` (unshifted, -100 where nothing is scored).

    With a ``scheme`` there are ``place_ids`` [T, L], too, drawn as in training; tasks with several right next tokens
    have ``allowed`` [T, V]. Runs of ``rows`` rows have one length, drawn from ``lengths``. Without a ``size`` the data
    never ends. ``token_ids`` are a model's ids of the task's tokens as in `CoupledPlaces`, by default the task's own.
    ``more`` gives the share of rows that are made of a kind which the task names (`Task.kinds`) or `lengthwise explain`
    names in *next*, as in ``{"both numbers have leading zeros": 0.1}`` or
    ``{"the digits are sorted": 0.1}``; the other rows are as without it.
    Rows of a kind that nothing makes are drawn until it holds.
    Raises `LengthwiseError` for a length without instances, for ``token_ids`` that lack a token, and for a kind that
    the task has not or can't make.
    """
    built = TASKS.build(task)
    numbers = checked_token_ids(built, token_ids)
    table = np.array([numbers.get(name, NOT_SCORED) for name in built.vocab.tokens])
    ids = None if scheme is None else SCHEMES.build(scheme)
    lengths, more = _check(built, lengths, size, rows, seed), dict(more or {})
    check_more(built, lengths, more)
    return IterableDataset.from_generator(_Rows(built, token_ids, table, ids, lengths, size, rows, seed, more))


def text_dataset(
    task: str | Task | dict[str, Any],
    lengths: Sequence[int],
    tokenizer: Any,
    *,
    form: str | PromptForm = "lines",
    digits: str = "blanks",
    filler: int = 0,
    size: int | None = None,
    rows: int = 16,
    seed: int = 0,
) -> IterableDataset:
    """Sequences of a task as text in the tokens of any ``tokenizer``, as an audit without examples asks them.

    Prompt and answer are tokenized as one string, as the model will see them, and the tokenizer's end token is last.

    Arguments:
        task: the task, or what `lengthwise.task` takes.
        lengths: task lengths; one is drawn for each run of ``rows`` rows.
        tokenizer: a fast tokenizer of transformers; `task_tokenizer` makes one that knows the words of a task alone.
        form: of the prompts, as in `lengthwise.AuditPlan`.
        digits: ``blanks`` or ``natural``, likewise.
        filler: most words of filler; their number is drawn, and how many of them stand behind the problem.
        size: rows in all; without it the data never ends.
        rows: rows of one length.
        seed: of everything that is drawn.

    Returns:
        Rows with ``input_ids``, ``labels`` on the answer only, and ``prompt`` and ``answer`` as text.

    Raises:
        LengthwiseError: for a task that scores tokens before its prompt has ended, a tokenizer without offsets, and one
            that joins the end of the prompt and the answer in one token.
    """
    built, shape = TASKS.build(task), form_named(form) if isinstance(form, str) else form
    lengths = _check(built, lengths, size, rows, seed)
    check_digits(built, digits)
    arguments.whole("filler", filler, 0)
    return IterableDataset.from_generator(_TextRows(built, lengths, tokenizer, shape, digits, filler, size, rows, seed))


@dataclass(frozen=True)
class _Rows:
    """The rows of `dataset`. No closure: `datasets` pickles what yields rows, and all code that a closure reaches."""

    task: Task
    token_ids: Mapping[str, int] | None
    table: NDArray[np.int64]
    scheme: PositionScheme | None
    lengths: Sequence[int]
    size: int | None
    rows: int
    seed: int
    more: Mapping[str, float]

    def __call__(self) -> Iterator[dict[str, Any]]:
        for number, batch in enumerate(_batches(self.task, self.lengths, self.size, self.rows, self.seed)):
            if self.more:
                batch = with_more(self.task, batch, self.more, stream(self.seed, "hf", "more", number))
            assigned = None
            if self.scheme is not None:
                rng = stream(self.seed, "hf", "ids", number)
                assigned = self.scheme.assign(batch.places, self.task.levels, rng)
            for row in range(batch.size):
                labels = batch.labels[row]
                labels = np.where(labels == NOT_SCORED, NOT_SCORED, self.table[np.maximum(labels, 0)])
                found = {"input_ids": self.table[batch.input_ids[row]].tolist(), "labels": labels.tolist()}
                if assigned is not None:
                    found["place_ids"] = assigned[row].tolist()
                if batch.allowed is not None:
                    require(
                        self.token_ids is None, "tasks with several right next tokens take no token_ids; leave them out"
                    )
                    found["allowed"] = batch.allowed[row].tolist()
                yield found


@dataclass(frozen=True)
class _TextRows:
    task: Task
    lengths: Sequence[int]
    tokenizer: Any
    form: PromptForm
    digits: str
    filler: int
    size: int | None
    rows: int
    seed: int

    def __call__(self) -> Iterator[dict[str, Any]]:
        what, end = instruction(self.task, self.digits), self.tokenizer.eos_token_id
        for number, batch in enumerate(_batches(self.task, self.lengths, self.size, self.rows, self.seed)):
            rng = stream(self.seed, "hf", "filler", number)
            for row in range(batch.size):
                problem, answer = text_of(self.task, batch, row, self.digits)
                words = int(rng.integers(self.filler + 1))
                behind = int(rng.integers(words + 1))
                before, after = filler_of(words - behind, rng), filler_of(behind, rng)
                prompt = self.form.prompt(what, (), problem, before, after)
                tokens, border = split_tokens(self.tokenizer, prompt, self.form.completion(answer))
                if end not in (None, tokens[-1]):
                    tokens = [*tokens, end]
                yield {
                    "input_ids": tokens,
                    "labels": [NOT_SCORED] * border + tokens[border:],
                    "prompt": prompt,
                    "answer": self.form.written(answer),
                }


def split_tokens(tokenizer: Any, prompt: str, answer: str) -> tuple[list[int], int]:
    """The tokens of ``prompt + answer``, with the special ones that the tokenizer adds, and where the answer begins.

    Raises `LengthwiseError` if the tokenizer gives no offsets, or the border lies inside a token.
    """
    require(
        tokenizer.is_fast,
        f"{type(tokenizer).__name__} says of no token where it stands in the text; load the fast tokenizer "
        "(use_fast=True)",
    )
    found = tokenizer(prompt + answer, return_offsets_mapping=True)
    tokens, offsets = found["input_ids"], found["offset_mapping"]
    border = next((index for index, (_, end) in enumerate(offsets) if end > len(prompt)), len(tokens))
    require(border < len(tokens), f"the answer {answer!r} has no tokens of its own; choose another form")
    start, end = offsets[border]
    require(
        start >= len(prompt),
        f"one token, {(prompt + answer)[start:end]!r}, holds the end of the prompt and the beginning of the answer; "
        "choose another form",
    )
    return tokens, border


def collate(*, left: bool = False, pad: int = 0, multiple: int = 1) -> Callable[[Sequence[dict[str, Any]]], Any]:
    """A function that pads rows to one length, for `Trainer` and for loops; every other column is left out.

    Adds ``attention_mask``. ``left`` pads in front, as generation needs it; ``multiple`` rounds the length up.
    """

    def joined(rows: Sequence[dict[str, Any]]) -> dict[str, Tensor]:
        width = -(-max(len(row["input_ids"]) for row in rows) // multiple) * multiple
        filled = [{**row, "attention_mask": [1] * len(row["input_ids"])} for row in rows]
        padding = {"input_ids": pad, **PADDING}
        names = [name for name in padding if all(name in row for row in filled)]
        return {name: _column([row[name] for row in filled], width, padding[name], left) for name in names}

    return joined


def _column(rows: Sequence[Any], width: int, filler: int, left: bool) -> Tensor:
    """A column of all rows, padded to ``width``; filled in NumPy, where a short row costs little."""
    given = [np.asarray(row) for row in rows]
    dtype = np.result_type(*{row.dtype for row in given})
    result = np.full((len(given), width, *given[0].shape[1:]), filler, dtype=dtype)
    for own, row in zip(result, given, strict=True):
        own[width - len(row) if left else 0 : width if left else len(row)] = row
    found = torch.from_numpy(result)
    return found.to(torch.get_default_dtype()) if found.dtype == torch.float64 else found


def _batches(task: Task, lengths: Sequence[int], size: int | None, rows: int, seed: int) -> Iterator[Batch]:
    """Batches of one length each, the last one smaller."""
    number, done = 0, 0
    while size is None or done < size:
        rng = stream(seed, "hf", "data", number)
        count = rows if size is None else min(rows, size - done)
        yield task.batch(lengths[int(rng.integers(len(lengths)))], count, rng)
        number, done = number + 1, done + count


def _check(task: Task, lengths: Sequence[int], size: int | None, rows: int, seed: int) -> list[int]:
    found = arguments.whole_numbers("lengths", lengths)
    arguments.whole("rows", rows, 1)
    arguments.whole("seed", seed)
    if size is not None:
        arguments.whole("size", size, 1)
    for length in found:
        task.batch(length, 1, stream(0, "hf", "check"))
    return found
