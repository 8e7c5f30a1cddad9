"""`right_answers`: how many problems of each length a model answers without a mistake, by greedy `generate`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
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
from lengthwise.positions.saved import attached
from lengthwise.tasks import TASKS, Task

NO_TOKEN = -1
"""Stands for tokens that a model did not generate."""


@torch.no_grad()
def right_answers(
    model: Any, task: str | Task | dict[str, Any], lengths: Iterable[int], *, size: int = 100, seed: int = 0
) -> dict[int, int]:
    """Right answers of ``size`` problems of ``task`` by length: attached, stock and own models, in evaluation mode.

    An answer is right if every scored token of it is. The model has the task's vocabulary. Problems of a length have
    one layout. What the model's generation_config.json says of generation (penalties, forbidden tokens, ends) is left
    out: an answer is the raw argmax, token by token. Raises `LengthwiseError` for a length without instances, for a
    task with several right answers, and for a model that was saved with a rule which is not attached.
    """
    built, inner = TASKS.build(task), stock(model)
    lengths, size = arguments.whole_numbers("lengths", lengths), arguments.whole("size", size, 1)
    attached(inner)
    known = int(inner.config.vocab_size)
    require(
        known >= len(built.vocab),
        f"the model knows {known} tokens, and task {built.name!r} has {len(built.vocab)}; give the model vocab_size="
        f"{len(built.vocab)} or more",
    )
    was_training, found = inner.training, {}
    inner.eval()
    try:
        for length in lengths:
            batch = built.batch(length, size, stream(seed, "test", length))
            require(batch.allowed is None, f"task {built.name!r} has several right answers; choose another task")
            tokens, finite = _generated(model, inner, built, batch)
            warn_not_finite(f"length {length}", int((~finite).sum()), size)
            found[length] = int((_is_right(batch, tokens) & finite).sum())
    finally:
        inner.train(was_training)
    return found


def _generated(model: Any, inner: Any, task: Task, batch: Batch) -> tuple[Tensor, Tensor]:
    """The tokens [B, A] that the model generates in place of the answers, and by row whether its logits are finite."""
    at, steps = batch.prompt_length, batch.tokens - batch.prompt_length
    prompt = torch.from_numpy(batch.input_ids[:, :at]).to(inner.device)
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
def raw_greedy(model: Any, ends: int | list[int] | None = None) -> Iterator[None]:
    """Inside, `generate` gives the argmax of the logits and stops at ``ends`` alone.

    `generate` fills every setting that its caller leaves open from the model's file: repetition penalties, forbidden
    and forced tokens, least lengths, limits of time, strings that stop it.
    """
    before = model.generation_config
    # Rows that have ended are filled up with some token.
    pad = before.pad_token_id if before.pad_token_id is not None else 0
    model.generation_config = GenerationConfig(pad_token_id=pad, bos_token_id=before.bos_token_id, eos_token_id=ends)
    try:
        yield
    finally:
        model.generation_config = before


def _is_right(batch: Batch, generated: Tensor) -> Tensor:
    """For each row, whether every scored token of the answer was generated."""
    at = batch.prompt_length
    right = generated == torch.from_numpy(batch.input_ids[:, at:])
    return (right | ~torch.from_numpy(batch.scored[at:])).all(dim=1)
