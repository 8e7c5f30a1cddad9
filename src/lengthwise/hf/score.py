"""`right_answers`: how many problems of each length a model answers without a mistake, by greedy `generate`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy import ndarray
from torch import Tensor
from torch.nn import functional
from transformers import GenerationConfig

from lengthwise.core import config as arguments
from lengthwise.core.batch import Batch
from lengthwise.core.errors import require
from lengthwise.core.rng import stream
from lengthwise.evaluation.accuracy import warn_not_finite
from lengthwise.hf.attachment import stock
from lengthwise.hf.own import LengthwiseForCausalLM
from lengthwise.hf.rules import CoupledPlaces, checked_token_ids
from lengthwise.positions.saved import attached
from lengthwise.tasks import TASKS, Task
from lengthwise.tasks.kinds import drawn_of

NO_TOKEN = -1
"""Stands for tokens that a model did not generate."""


@torch.no_grad()
def right_answers(
    model: Any, task: str | Task | dict[str, Any], lengths: Iterable[int], *, size: int = 100, seed: int = 0,
    token_ids: Mapping[str, int] | None = None, kind: str | None = None,
) -> dict[int, int]:  # fmt: skip
    """Right answers of ``size`` problems of ``task`` by length: attached, stock and own models, in evaluation mode.

    An answer is right if every scored token of it is. ``token_ids`` are the model's ids of the task's tokens, by
    default those of the attached `CoupledPlaces`, or the task's own. With a ``kind`` all problems are of it: one that
    the task names (`Task.kinds`), or a way of editing that `lengthwise explain` names. Problems of a length have one
    layout. What the model's generation_config.json says of generation (penalties, forbidden tokens, ends) is left out:
    an answer is the raw argmax, token by token. Raises `LengthwiseError` for a length without instances, for a
    task with several right answers, for a kind that the task has not or can't make, and for a model that was saved with
    a rule which is not attached.
    """
    built, inner = TASKS.build(task), stock(model)
    lengths, size = arguments.whole_numbers("lengths", lengths), arguments.whole("size", size, 1)
    rule = getattr(attached(inner), "rule", None)
    if token_ids is None and isinstance(rule, CoupledPlaces):
        token_ids = {name: number for name, number in rule.token_ids.items() if name in built.vocab.ids}
    numbers, known = checked_token_ids(built, token_ids), int(inner.config.get_text_config().vocab_size)
    most = max(numbers.values())
    require(
        known > most,
        f"the model knows {known} tokens, and those of task {built.name!r} have ids up to {most}; give the model "
        f"vocab_size={most + 1} or more, or right_answers the model's token_ids",
    )
    table = np.array([numbers.get(name, NO_TOKEN) for name in built.vocab.tokens])
    was_training, found = inner.training, {}
    inner.eval()
    try:
        for length in lengths:
            rng = stream(seed, "test", length)
            batch = drawn_of(built, length, size, kind, rng) if kind else built.batch(length, size, rng)
            require(batch.allowed is None, f"task {built.name!r} has several right answers; choose another task")
            tokens, finite = _generated(model, inner, built, batch, table)
            warn_not_finite(f"length {length}", int((~finite).sum()), size)
            at = batch.prompt_length
            right = tokens == torch.from_numpy(table[batch.input_ids[:, at:]])
            right = (right | ~torch.from_numpy(batch.scored[at:])).all(dim=1)
            found[length] = int((right & finite).sum())
    finally:
        inner.train(was_training)
    return found


def _generated(model: Any, inner: Any, task: Task, batch: Batch, table: ndarray) -> tuple[Tensor, Tensor]:
    """The tokens [B, A] that the model generates in place of the answers, and by row whether its logits are finite."""
    at, steps = batch.prompt_length, batch.tokens - batch.prompt_length
    prompt = torch.from_numpy(table[batch.input_ids[:, :at]]).to(inner.device)
    given = {"attention_mask": torch.ones_like(prompt)}
    if isinstance(inner, LengthwiseForCausalLM) and inner.experiment.scheme.predicted:
        scheme = inner.experiment.scheme.for_evaluation()
        ids = scheme.assign(batch.places, task.levels, stream(0, "prompt", "ids"))
        given["place_ids"] = torch.from_numpy(ids[:, :at]).to(inner.device)
    finite = torch.ones(batch.size, dtype=torch.bool, device=inner.device)

    def look(_: Tensor, logits: Tensor) -> Tensor:
        finite.logical_and_(logits.isfinite().all(dim=-1))
        return logits

    with raw_greedy(inner):
        tokens = model.generate(
            input_ids=prompt, **given, max_new_tokens=steps, do_sample=False, num_beams=1, logits_processor=[look]
        )[:, at:]
    return functional.pad(tokens, (0, steps - tokens.shape[1]), value=NO_TOKEN).cpu(), finite.cpu()


@contextmanager
def raw_greedy(model: Any) -> Iterator[None]:
    """Inside, `generate` gives the argmax of the logits and stops at no token.

    `generate` fills every setting that its caller leaves open from the model's file: repetition penalties, forbidden
    and forced tokens, least lengths, limits of time, strings that stop it.
    """
    before = model.generation_config
    # Rows that have ended are filled up with some token.
    pad = before.pad_token_id if before.pad_token_id is not None else 0
    model.generation_config = GenerationConfig(pad_token_id=pad, bos_token_id=before.bos_token_id)
    try:
        yield
    finally:
        model.generation_config = before
