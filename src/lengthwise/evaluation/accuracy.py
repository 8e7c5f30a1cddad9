"""Accuracy against length, as counts: bins, free-running scores, prompts, and accuracy by id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from numpy import ndarray
from torch import Tensor

from lengthwise.core.batch import Batch, Layout
from lengthwise.core.errors import LengthwiseError, warn
from lengthwise.core.once import once
from lengthwise.core.result_file import Score, total
from lengthwise.core.rng import Rng, stream
from lengthwise.core.vocab import BOS, EOS, SEP, SPECIALS
from lengthwise.models.generate import END, generate
from lengthwise.models.inputs import Inputs
from lengthwise.models.kernels import FlatTransformer
from lengthwise.models.transformer import Transformer
from lengthwise.positions.schemes import PositionScheme
from lengthwise.tasks import Task
from lengthwise.tasks.language import Language

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
    not_finite: np.ndarray
    """By string: whether a logit of a scored token is NaN or infinite; nothing of the string is right then."""


@dataclass(frozen=True)
class EvaluatedModel:
    """A trained model with the task that it solves and the scheme that assigns its ids."""

    model: Transformer
    task: Task
    scheme: PositionScheme

    def for_evaluation(self) -> EvaluatedModel:
        return EvaluatedModel(self.model, self.task, self.scheme.for_evaluation())


def score_layout(
    evaluated: EvaluatedModel, length: int, layout: Layout | None, samples: int, rng: Rng, *, answers: bool = True
) -> Score:
    """Measure ``samples`` strings of one layout (None: each chunk draws its own).

    With ``answers=False`` the answers after a wrong trace are neither generated nor counted, which saves time where
    only exact matches count.
    """
    scores, done, task = [], 0, evaluated.task
    while done < samples:
        layout_now = layout or task.layout(length, rng)
        probe = task.batch(length, 1, rng, layout_now).tokens
        # At least eight chunks where layouts are random, so that they are sampled too.
        rows = min(samples - done, chunk_rows(evaluated.model, probe), samples if layout else -(-samples // 8))
        batch = task.batch(length, rows, rng, layout_now)
        scores.append(score_batch(evaluated.for_evaluation(), batch, rng, answers=answers))
        done += rows
    result = total(scores)
    result.axes = layout.axes if layout else {}
    warn_not_finite(f"length {length}", result.not_finite, result.n)
    return result


def warn_not_finite(where: str, count: int, of: int) -> None:
    """Warn if ``count`` strings ``of`` so many had logits that are NaN or infinite."""
    if count:
        warn(
            f"{where}: {count} of {of} strings have logits that are NaN or infinite; they count as wrong, and say "
            "nothing about what the model has learned"
        )


def chunk_rows(model: Transformer, tokens: int) -> int:
    """How many strings of ``tokens`` tokens go through one forward pass."""
    pairs = model.encoding.has_bias or model.encoding.has_scores
    return max(1, min(CHUNK_TOKENS // tokens, CHUNK_PAIRS // tokens**2 if pairs else CHUNK_TOKENS))


def score_batch(evaluated: EvaluatedModel, batch: Batch, rng: Rng, *, answers: bool = True) -> Score:
    """Measure the strings of one batch with the scheme's ids of training; see `score_layout` for ``answers``."""
    model, scheme = evaluated.model, evaluated.scheme
    device = model.table.weight.device
    inputs = Inputs.of(batch, scheme, evaluated.task.levels, rng).to(device)
    judged = judge(model, inputs)
    token, ids = judged.token, judged.ids
    # Annotated, since numpy's own types say that `all` may return one number.
    oracle: np.ndarray = np.asarray(token.all(axis=1))
    exact_ids: np.ndarray = np.asarray((token & ids).all(axis=1))
    broken = judged.not_finite
    exact, answer = np.array(exact_ids), np.array(exact_ids)
    scored = np.flatnonzero(batch.scored)
    is_answer = batch.answer[scored]
    is_eos = batch.input_ids[0, scored] == batch.vocab[EOS]
    scratchpad = batch.has_trace
    contiguous = isinstance(inputs.at, slice)
    if not scheme.predicted:
        exact = np.array(oracle)
    if not scratchpad:
        answer = np.array(token[:, is_answer].all(axis=1))
    # Only these can still turn out right: tokens all right but an id wrong, or an answer after a wrong trace.
    unsure = (~exact_ids if scheme.predicted else ~exact & scratchpad) & ~broken
    answer &= ~broken
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
    correct = {"exact_match": int(exact.sum()), "oracle_ids": int(oracle.sum())}
    if answers or not scratchpad:
        correct["answer"] = int(answer.sum())
    if scheme.predicted:
        correct["exact_match_ids"] = int(exact_ids.sum())
    wrong = np.flatnonzero(~exact_ids)
    first, kinds = right_so_far[wrong].sum(axis=1), Counter[str]()
    for row, at in zip(wrong, first, strict=True):
        stopping = is_eos[at] or judged.says_end[row, at]
        kinds["id" if token[row, at] else "eos" if stopping else "token" if ids[row, at] else "both"] += 1
    about: dict[str, Any] = {"not_finite": int(broken.sum())} if broken.any() else {}
    return Score(
        length=batch.layout.length,
        axes={},
        n=batch.size,
        exact_match=correct["exact_match"] / batch.size,
        correct=correct,
        tokens=int(token.sum()),
        tokens_total=token.size,
        first_error=dict(kinds),
        first_error_at=sorted(first.tolist()),
        **about,
    )


@torch.inference_mode()
def judge(model: Transformer | FlatTransformer, inputs: Inputs) -> Judged:
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
    finite = torch.isfinite(output.logits).all(dim=-1)
    token, says_end = token & finite, says_end & finite
    return Judged(token.cpu().numpy(), ids.cpu().numpy(), says_end.cpu().numpy(), (~finite.all(dim=1)).cpu().numpy())


def _answers(tokens: Tensor, expected: Tensor, width: int, end: int) -> np.ndarray:
    """Is the answer right, read as the last ``width`` tokens before the first end token?"""

    def last(values: Tensor) -> Tensor:
        ended = values == end
        stop = torch.where(ended.any(1), ended.int().argmax(1), values.shape[1])
        index = stop[:, None] - width + torch.arange(width, device=values.device)
        # A string that ended before it had `width` tokens holds no answer: -1 equals no token.
        return values.gather(1, index.clamp(min=0)).masked_fill(index < 0, -1)

    return (last(tokens) == last(expected)).all(dim=1).cpu().numpy()


def fit_lengths(task: Task, low: int, high: int) -> list[int]:
    """Up to eight training lengths, spread evenly and with the longest among them."""
    lengths = task.lengths(low, high)
    picks = np.unique(np.linspace(0, len(lengths) - 1, min(8, len(lengths))).round().astype(int))
    return [lengths[index] for index in picks]


def evaluation_layouts(task: Task, lengths: tuple[int, ...]) -> Iterator[tuple[int, Layout | None]]:
    """The (length, layout) pairs that a list of lengths stands for."""
    for length in lengths:
        layouts = task.test_layouts(length)
        yield from ((length, layout) for layout in layouts) if layouts else ((length, None),)


def score_bin(
    evaluated: EvaluatedModel,
    lengths: tuple[int, int],
    samples: int,
    rng: Rng,
    *,
    adversarial: bool = False,
    as_trained: bool = False,
) -> Score:
    """Measure ``samples`` strings of lengths low to high under the scheme's ids of evaluation (or of training).

    The score's axes are ``low`` and ``high`` (and ``adversarial``), and its ``test_set`` names the kind of strings.
    Raises `LengthwiseError` if these lengths have no instances, or the task has no adversarial strings.
    """
    low, high = lengths
    strings = evaluated.task.test_strings(low, high, samples, rng, adversarial=adversarial)
    used = evaluated if as_trained else evaluated.for_evaluation()
    score = total(score_batch(used, batch, rng, answers=False) for batch in strings.batches)
    score.length, score.test_set = high, strings.name
    score.axes = {"low": low, "high": high, **({"adversarial": 1} if adversarial else {})}
    return score


def score_pairs(evaluated: EvaluatedModel, length: int, samples: int, rng: Rng) -> Score | None:
    """Measure ``samples`` words of a language that are hard to tell apart (`half_pairs`); None where there are none."""
    task, used = evaluated.task, evaluated.for_evaluation()
    batches = task.hard_pairs(length, samples, rng) if isinstance(task, Language) else None
    if batches is None:
        return None
    score = total(score_batch(used, batch, rng, answers=False) for batch in batches)
    score.test_set = "adversarial"
    return score


PROMPT_ROWS, VARIED = 256, 16
"""Strings of a layout that tell which tokens a column may hold; any, where the ids of these are so far apart."""
LAYOUTS = 64
"""Layouts drawn of each length."""


@dataclass(frozen=True)
class Prompt:
    """Token ids of a prompt with the position ids of all its tokens and, where the layout fixes them, of the answer."""

    input_ids: Int[ndarray, "1 P"]
    position_ids: Int[ndarray, "1 P L"]
    next_ids: Int[ndarray, "1 S L"] | None
    """None where the places of the answer depend on the content: then the model has to predict them."""
    steps: int
    """The most tokens that an answer can have, ``<eos>`` included."""


def prompt_tokens(task: Task, text: str) -> list[str]:
    """The tokens of a text, separated by spaces, from ``<bos>`` on; raises `LengthwiseError` for an unknown one."""
    tokens = text.split()
    if not tokens or tokens[0] != BOS:
        tokens = [BOS, *tokens]
    known = task.vocab.tokens[SPECIALS.index(SEP) :]
    for token in tokens[1:]:
        if token not in known:
            words = " ".join(known)
            raise LengthwiseError(
                f"task {task.name!r} has no token {token!r}; separate tokens by spaces, from: {words}"
            )
    return tokens


def read_prompt(task: Task, scheme: PositionScheme, text: str) -> Prompt:
    """Read ``text`` (tokens separated by spaces, ``<bos>`` may be left out) as a prompt of ``task``.

    The layout is found by comparing the prompt with sampled strings of each length, column by column. Raises
    `LengthwiseError` for an unknown token, or a text that fits no layout of the task.
    """
    tokens = prompt_tokens(task, text)
    ids = np.array([[task.vocab[token] for token in tokens]])
    batch = _matching(task, ids)
    if batch is None:
        length = task.lengths(1, 50)[:3][-1]
        example = " ".join(task.batch(length, 1, stream(0, "prompt", "example")).text(0))
        why = task.why_no_prompt(tokens)
        raise LengthwiseError(
            f"{text!r} is no prompt of task {task.name!r}; a whole example reads: {example}{f' ({why})' * bool(why)}"
        )
    places = batch.places[:1].copy()
    assigned = scheme.for_evaluation().assign(places, task.levels, stream(0, "prompt", "ids"))
    prompt = len(tokens)
    after = batch.places[:, prompt:]
    fixed = not scheme.uses_places or bool((after == after[:1]).all())
    return Prompt(ids, assigned[:, :prompt], assigned[:, prompt:] if fixed else None, batch.tokens - prompt)


def _matching(task: Task, ids: Int[ndarray, "1 P"]) -> Batch | None:
    """Strings of the layout with the longest answer whose prompt columns can all hold these tokens."""
    fits = (batch for batch in _with_prompts(task, ids.shape[1]) if _fits(batch, ids))
    return max(fits, key=lambda batch: batch.tokens, default=None)


@once(1)  # Prompts are read one after the other, and drawing takes all the time.
def _with_prompts(task: Task, size: int) -> list[Batch]:
    """Strings of every layout whose prompts have so many tokens."""
    found = list[Batch]()
    for length in task.lengths(1, size):
        seen: set[Layout] = set()
        for draw in range(LAYOUTS):
            rng = stream(0, "prompt", length, draw)
            layout = task.layout(length, rng)
            if layout in seen:
                continue
            seen.add(layout)
            batch = task.batch(length, PROMPT_ROWS, rng, layout)
            if batch.prompt_length == size:
                found.append(batch)
    return found


def _fits(batch: Batch, ids: Int[ndarray, "1 P"]) -> bool:
    """Whether every column of the prompt holds a token that some string of the layout has there."""
    prompt = ids.shape[1]
    places = batch.places[:, :prompt]
    seen = (batch.input_ids[:, :prompt] == ids).any(axis=0)
    varied = np.ptp(batch.input_ids[:, :prompt], axis=0) > VARIED
    return bool((seen | varied).all() and (places == places[:1]).all())
