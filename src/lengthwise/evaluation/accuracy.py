"""Accuracy at one length, from one teacher-forced pass and free-running generation where the two can differ.

Greedy decoding feeds back the argmax. A string is therefore right free-running if and only if every token and
predicted id is right teacher-forced. Only strings with right tokens and a wrong id, and answers after a wrong trace,
need generation. A test checks this equality.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lengthwise.core.batch import Batch, Layout
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import EOS
from lengthwise.evaluation.score import LengthScore
from lengthwise.models.generate import END, generate
from lengthwise.models.inputs import Inputs
from lengthwise.models.transformer import Transformer
from lengthwise.positions.schemes import PositionScheme
from lengthwise.tasks import Task

CHUNK_TOKENS = 1 << 15
"""Most tokens of one forward pass, which bounds the memory."""
CHUNK_PAIRS = 1 << 25
"""Most pairs of tokens of one forward pass, for encodings with a bias for every pair."""


@dataclass(frozen=True)
class Judged:
    """Teacher-forced verdicts, by string and scored token."""

    token: np.ndarray
    ids: np.ndarray
    says_end: np.ndarray


@dataclass(frozen=True)
class EvaluatedModel:
    """A trained model with the task that it solves and the scheme that assigns its ids."""

    model: Transformer
    task: Task
    scheme: PositionScheme

    def for_evaluation(self) -> EvaluatedModel:
        """The same with the scheme's ids of evaluation."""
        return EvaluatedModel(self.model, self.task, self.scheme.for_evaluation())


def score_layout(
    evaluated: EvaluatedModel, length: int, layout: Layout | None, samples: int, rng: Rng, *, answers: bool = True
) -> LengthScore:
    """Measure ``samples`` strings of one layout (None: each chunk draws its own).

    With ``answers=False`` the answers after a wrong trace are neither generated nor counted, which saves time where
    only exact matches count.
    """
    result, done, task = None, 0, evaluated.task
    while done < samples:
        layout_now = layout or task.layout(length, rng)
        probe = task.batch(length, 1, rng, layout_now).tokens
        # At least eight chunks where layouts are random, so that they are sampled too.
        rows = min(samples - done, chunk_rows(evaluated.model, probe), samples if layout else -(-samples // 8))
        batch = task.batch(length, rows, rng, layout_now)
        score = score_batch(evaluated.for_evaluation(), batch, rng, answers=answers)
        result = score if result is None else result + score
        done += rows
    assert result is not None
    result.axes = layout.axes if layout else {}
    return result


def chunk_rows(model: Transformer, tokens: int) -> int:
    """How many strings of ``tokens`` tokens go through one forward pass."""
    pairs = model.encoding.has_bias or model.encoding.has_scores
    return max(1, min(CHUNK_TOKENS // tokens, CHUNK_PAIRS // tokens**2 if pairs else CHUNK_TOKENS))


def score_batch(evaluated: EvaluatedModel, batch: Batch, rng: Rng, *, answers: bool = True) -> LengthScore:
    """Measure the strings of one batch with the scheme's ids of training; see `score_layout` for ``answers``."""
    model, scheme = evaluated.model, evaluated.scheme
    device = model.table.weight.device
    inputs = Inputs.of(batch, scheme, evaluated.task.levels, rng).to(device)
    judged = judge(model, inputs)
    token, ids = judged.token, judged.ids
    # Annotated, since numpy's own types say that `all` may return one number.
    oracle: np.ndarray = np.asarray(token.all(axis=1))
    exact_ids: np.ndarray = np.asarray((token & ids).all(axis=1))
    exact, answer = np.array(exact_ids), np.array(exact_ids)
    scored = np.flatnonzero(batch.scored)
    is_answer = batch.answer[scored]
    is_eos = batch.input_ids[0, scored] == batch.vocab[EOS]
    scratchpad = bool((~is_answer & ~is_eos).any())
    contiguous = isinstance(inputs.at, slice)
    if not scheme.predicted:
        exact = np.array(oracle)
    if not scratchpad:
        answer = np.array(token[:, is_answer].all(axis=1))
    # Only these can still turn out right: tokens all right but an id wrong, or an answer after a wrong trace.
    unsure = ~exact_ids if scheme.predicted else ~exact & scratchpad
    if batch.allowed is None and contiguous and unsure.any() and (answers or scheme.predicted):
        rows = torch.from_numpy(np.flatnonzero(unsure)).to(device)
        prompt = batch.prompt_length
        generated = generate(
            model,
            inputs.input_ids[rows, :prompt],
            inputs.position_ids[rows, :prompt],
            len(scored),
            next_ids=None if scheme.predicted else inputs.target_position_ids[rows],
            expected=None if answers else inputs.targets[rows],
        )
        expected = inputs.targets[rows]
        exact[unsure] = (generated.tokens == expected).all(dim=1).cpu().numpy()
        if scratchpad:
            answer[unsure] = _answers(generated.tokens, expected, int(is_answer.sum()), batch.vocab[EOS])
        else:
            answer[unsure] = (generated.tokens == expected)[:, is_answer].all(dim=1).cpu().numpy()
    right_so_far = np.cumprod(token & ids, axis=1).astype(bool)
    score = LengthScore(batch.layout.length, n=batch.size)
    score.correct.update(exact_match=int(exact.sum()), oracle_ids=int(oracle.sum()))
    if answers or not scratchpad:
        score.correct.update(answer=int(answer.sum()))
    if scheme.predicted:
        score.correct.update(exact_match_ids=int(exact_ids.sum()))
    score.tokens, score.tokens_total = int(token.sum()), token.size
    wrong = np.flatnonzero(~exact_ids)
    first = right_so_far[wrong].sum(axis=1)
    for row, at in zip(wrong, first, strict=True):
        stopping = bool(is_eos[at]) or bool(judged.says_end[row, at])
        score.first_error[_kind(bool(token[row, at]), bool(ids[row, at]), stopping)] += 1
    score.first_error_at = first.tolist()
    return score


def _kind(token_right: bool, ids_right: bool, at_eos: bool) -> str:
    if token_right:
        return "id"
    if at_eos:
        return "eos"
    return "token" if ids_right else "both"


@torch.inference_mode()
def judge(model: Transformer, inputs: Inputs) -> Judged:
    """Teacher-forced: is each scored token the argmax, and is each of its ids, given a right prefix?"""
    output = model(inputs.input_ids, inputs.position_ids, at=inputs.at)
    if inputs.allowed is not None:
        says = output.logits[..., END:] > 0
        token = (says == inputs.allowed[..., END:]).all(dim=-1)
        says_end = torch.zeros_like(token)
    else:
        chosen = output.logits.argmax(-1)
        token, says_end = chosen == inputs.targets, chosen == END
    ids = torch.ones_like(token)
    for level, prediction in enumerate(output.position):
        ids &= prediction.best() == inputs.target_position_ids[..., level]
    return Judged(token.cpu().numpy(), ids.cpu().numpy(), says_end.cpu().numpy())


def _answers(tokens: Tensor, expected: Tensor, width: int, end: int) -> np.ndarray:
    """Is the answer right, read as the last ``width`` tokens before the first end token?"""

    def last(values: Tensor) -> Tensor:
        ended = values == end
        stop = torch.where(ended.any(1), ended.int().argmax(1), values.shape[1])
        index = stop[:, None] - width + torch.arange(width, device=values.device)
        # A string that ended before it had `width` tokens holds no answer: -1 equals no token.
        return values.gather(1, index.clamp(min=0)).masked_fill(index < 0, -1)

    return (last(tokens) == last(expected)).all(dim=1).cpu().numpy()


def fit_lengths(task: Task, low: int, high: int, count: int = 8) -> list[int]:
    """Up to ``count`` training lengths, spread evenly and with the longest among them."""
    lengths = task.lengths(low, high)
    picks = np.unique(np.linspace(0, len(lengths) - 1, min(count, len(lengths))).round().astype(int))
    return [lengths[index] for index in picks]


def evaluation_layouts(task: Task, lengths: tuple[int, ...]) -> Iterator[tuple[int, Layout | None]]:
    """The (length, layout) pairs that a list of lengths stands for."""
    for length in lengths:
        layouts = task.test_layouts(length)
        yield from ((length, layout) for layout in layouts) if layouts else ((length, None),)
