"""Influential tokens of attached and exported models: `language_model` and `task_windows` for `measure`.

`lengthwise.influence.measure` asks how the loss changes when tokens are masked. Position ids belong to the whole
window: the rule gets all of its tokens once, and every token keeps its id under every mask. A masked separator, say,
still restarts the ids behind it. Otherwise a mask would also move tokens, and the loss would mix two effects. Stock
models are measured likewise: a masked token leaves a gap in their positions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Int, Num
from numpy import ndarray
from torch import Tensor

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.rng import stream
from lengthwise.evaluation.accuracy import read_prompt
from lengthwise.hf.attachment import Attachment, rule_ids, stock
from lengthwise.hf.own import LengthwiseForCausalLM
from lengthwise.influence.corpus import Windows, problem_windows
from lengthwise.influence.huggingface import HuggingFaceModel
from lengthwise.influence.models import LanguageModel, OwnModel
from lengthwise.positions.saved import STATE, attached
from lengthwise.tasks import TASKS, Task

WindowIdsOf = Callable[[Tensor], Tensor]
"""Whole windows of token ids [N, T] to position ids [N, T, L]."""


def language_model(
    model: Any,
    *,
    name: str | None = None,
    max_length: int | None = None,
    ids: WindowIdsOf | None = None,
    bos: int | None = None,
) -> LanguageModel:
    """``model`` for ``lengthwise.influence.measure.measure``: attached, stock, or a `LengthwiseForCausalLM`.

    The model is put into float32 and evaluation mode. ``max_length`` is the longest window in tokens, by default what
    the configuration says. ``ids`` are the position ids of an own model's windows; by default they follow from tokens,
    and where the model predicts ids, the windows must be whole prompts of its task. ``bos`` is a token that stands
    before every window, always visible, for stock models that were trained with one. Raises `LengthwiseError` for a
    model that can't be masked, and later for windows that can't be numbered.
    """
    inner = stock(model)
    shown = name or type(inner).__name__
    if isinstance(inner, LengthwiseForCausalLM):
        require(bos is None, "windows of a LengthwiseForCausalLM hold their own <bos>; leave out bos")
        return _own(shown, inner, max_length, ids)
    require(ids is None, "ids are for a LengthwiseForCausalLM; give a stock model its ids with attach(model, rule)")
    state = attached(inner)
    if state is None:
        return HuggingFaceModel(shown, inner, max_length, bos=bos)
    require(state.near is None, "a model that sees near tokens alone hides the others itself; attach it without near")
    return _Attached(shown, inner, max_length, state, bos)


def task_windows(
    task: str | Task | dict[str, Any], length: int, *, size: int = 32, at: int = 0, seed: int = 0
) -> Windows:
    """``size`` problems of a task as windows: the problem, ``at`` tokens of its answer, and the next one as the target.

    All have one layout, so that they have one number of tokens. Raises `LengthwiseError` if the length has no
    instances, or the answer is shorter.
    """
    return problem_windows(TASKS.build(task), length, size, at, stream(seed, "hf", "windows", length))[0]


class _Attached(HuggingFaceModel):
    """A model with a rule; the ids of a window go to the module that encodes positions, as in `generate`."""

    def __init__(self, name: str, inner: Any, max_length: int | None, state: Attachment, bos: int | None) -> None:
        self._state = state
        super().__init__(name, inner, max_length, bos=bos)

    def window_ids(self, tokens: Int[ndarray, "N Lbar"]) -> Num[ndarray, "N Lbar"]:
        self._check_reach(tokens.shape[1])
        if self.bos is None:
            return self._ruled(tokens)
        return self._ruled(np.pad(tokens, ((0, 0), (1, 0)), constant_values=self.bos))[:, 1:]

    def _ruled(self, tokens: Int[ndarray, "N T"]) -> Num[ndarray, "N T"]:
        given = torch.from_numpy(np.array(tokens))
        every = torch.ones_like(given, dtype=torch.bool)
        return rule_ids(self._state.rule, given, every, training=False).detach().cpu().numpy()

    def _behind_bos(self, positions: Num[ndarray, "B T"]) -> Num[ndarray, "B T+1"]:
        """A rule gives a token its id by those before it, so that of the first stands alone."""
        first = self._ruled(np.array([[self.bos]]))
        return np.concatenate([np.repeat(first, len(positions), axis=0), positions], axis=1)

    def _call(self, ids: Tensor, position_ids: Tensor, **more: Any) -> Any:
        require(self.inner.__dict__.get(STATE) is self._state, "the rule was detached; call language_model again")
        self._state.running.prepared = (ids, position_ids, torch.ones_like(ids).bool())
        return self.inner(input_ids=ids, **more)


def _own(name: str, model: LengthwiseForCausalLM, max_length: int | None, ids: WindowIdsOf | None) -> LanguageModel:
    scheme = model.experiment.scheme
    if ids is None:
        ids = partial(_prompt_ids, model) if scheme.predicted else model.eval().place_ids
    if max_length is None and not scheme.uses_places:
        max_length = scheme.max_position + 1

    def numbered(tokens: Int[ndarray, "N Lbar"]) -> Int[ndarray, "N Lbar L"]:
        found = ids(torch.from_numpy(np.array(tokens)))
        levels = len(model.transformer.shape.kinds)
        require(
            tuple(found.shape) == (*tokens.shape, levels),
            f"ids have shape {list(found.shape)} for windows of shape {list(tokens.shape)}; give [N, T, {levels}]",
        )
        return found.cpu().numpy()

    return OwnModel(name, model.float().transformer, max_length, ids=numbered)


def _prompt_ids(model: LengthwiseForCausalLM, tokens: Int[Tensor, "N T"]) -> Int[Tensor, "N T L"]:
    found, ids = model.experiment, []
    words = found.task.vocab.tokens
    for row in tokens.tolist():
        try:
            read = read_prompt(found.task, found.scheme, " ".join(words[token] for token in row))
        except LengthwiseError as error:
            raise LengthwiseError(
                f"a model that predicts ids needs windows that are whole prompts, or language_model(model, ids=…): "
                f"{error}"
            ) from None
        ids.append(torch.from_numpy(read.position_ids[0]))
    return torch.stack(ids)
