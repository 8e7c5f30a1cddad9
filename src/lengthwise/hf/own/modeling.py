"""`LengthwiseForCausalLM`: our transformer in the interface of `transformers`, predicted position ids included.

Every token has one position id per level, the named argument ``place_ids`` [B, T, L]. Under predictive position
coupling, `generate` appends the ids that the model predicts together with each new token.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional
from transformers import AutoConfig, AutoModelForCausalLM, GenerationMixin, PreTrainedModel
from transformers.utils.generic import ModelOutput

from lengthwise.core.batch import NOT_SCORED
from lengthwise.core.errors import LengthwiseError, require
from lengthwise.hf.own.configuration import LengthwiseConfig
from lengthwise.hf.own.growing_cache import GrowingCache
from lengthwise.hf.own.padded import forward
from lengthwise.hf.own.row_ids import RowIds, most_tokens
from lengthwise.hf.padding import padding_mask, rule_ids
from lengthwise.hf.refusals import refuse_generation
from lengthwise.hf.rules.base import IdRule
from lengthwise.hf.rules.from_scheme import is_fixed
from lengthwise.hf.rules.places import CoupledPlaces
from lengthwise.models.transformer import TransformerOutput
from lengthwise.training.loss import FIRST_SCORED_ID


@dataclass
class LengthwiseOutput(ModelOutput):
    """Loss, logits [B, Q, V], the cache, and under predictive coupling the ids of the next token [B, L]."""

    loss: Tensor | None = None
    logits: Tensor | None = None
    past_key_values: GrowingCache | None = None
    next_place_ids: Tensor | None = None


class LengthwiseForCausalLM(PreTrainedModel, GenerationMixin):
    """A decoder-only transformer with any of our encodings and schemes; see `LengthwiseConfig`.

    Save, load, train with `Trainer` and adapt with PEFT as any other model. Without ``place_ids`` they follow from the
    tokens where the scheme allows it; models that predict ids need those of the prompt (`encode_prompt`).
    """

    config_class = LengthwiseConfig
    base_model_prefix = "transformer"
    main_input_name = "input_ids"

    def __init__(self, config: LengthwiseConfig) -> None:
        super().__init__(config)
        self.experiment = config.read()
        self.transformer = config.build()
        self.post_init()

    @classmethod
    def from_pretrained(cls, *args: Any, **kwargs: Any) -> Any:
        """As in `PreTrainedModel`; constants that are not saved are computed again."""
        found = super().from_pretrained(*args, **kwargs)
        model: LengthwiseForCausalLM = found[0] if isinstance(found, tuple) else found
        fresh = dict(model.config.build().named_buffers())
        for name, buffer in model.transformer.named_buffers():
            buffer.copy_(fresh[name])
        return found

    def _init_weights(self, module: Any) -> None:
        """`Transformer` has drawn its own weights."""

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        return False

    def get_input_embeddings(self) -> torch.nn.Module:
        """The token table."""
        return self.transformer.table

    def forward(
        self,
        input_ids: Int[Tensor, "B Q"],
        attention_mask: Tensor | None = None,
        place_ids: Int[Tensor, "B Q L"] | None = None,
        labels: Int[Tensor, "B Q"] | None = None,
        allowed: Bool[Tensor, "B Q V"] | None = None,
        past_key_values: GrowingCache | None = None,
        use_cache: bool | None = None,
        **kwargs: Any,
    ) -> LengthwiseOutput:
        """Logits after every token; with ``labels`` (unshifted, -100 = not scored) the mean loss per scored token.

        ``allowed`` are the right next tokens of tasks that have several. Ids are scored where tokens are. Raises
        `LengthwiseError` if ids are missing and don't follow from the tokens.
        """
        require("inputs_embeds" not in kwargs, "the model takes input_ids, not inputs_embeds; give input_ids")
        require(
            kwargs.get("position_ids") is None,
            "this model reads place_ids [B, T, L] and no position_ids, so rows that a collator without padding joined "
            "would run into each other; give place_ids, and pad with lengthwise.hf.collate()",
        )
        before = 0 if past_key_values is None else past_key_values.length
        mask = None if attention_mask is None else attention_mask.bool()
        if place_ids is None:
            require(before == 0, "a pass that continues a cache needs place_ids; use generate, or give them")
            place_ids = self.place_ids(input_ids, attention_mask)
        if use_cache and past_key_values is None and not torch.is_grad_enabled():
            past_key_values = GrowingCache()
        output = forward(self.transformer, input_ids, place_ids, mask, past_key_values)
        loss = None
        if labels is not None:
            loss = self._loss(output, labels, place_ids, allowed, kwargs.get("num_items_in_batch"))
        following = [level.best()[:, -1] for level in output.position]
        return LengthwiseOutput(
            loss=loss,
            logits=output.logits,
            past_key_values=past_key_values,
            next_place_ids=torch.stack(following, dim=-1) if following else None,
        )

    def place_ids(
        self, input_ids: Int[Tensor, "B T"], attention_mask: Tensor | None = None, *, more: int = 0
    ) -> Int[Tensor, "B T L"]:
        """The ids of tokens whose scheme lets them follow from the tokens; drawn anew for each row in training.

        ``more`` is the number of tokens that are still to come in every row: ids of ``randomized`` and
        ``randomized-float`` depend on it at test. Raises `LengthwiseError` for a model that predicts ids, and for a
        task whose places don't follow.
        """
        mask = padding_mask(attention_mask, input_ids)
        return rule_ids(self._rule(more), input_ids, mask, training=self.training)[..., None]

    def _rule(self, more: int) -> IdRule:
        task, scheme = self.experiment.task, self.experiment.scheme
        if scheme.predicted:
            raise LengthwiseError(
                "this model predicts the position ids of new tokens and needs those of the prompt as place_ids "
                "[B, T, L]; encode_prompt(model, text) gives them"
            )
        if scheme.uses_places:
            return CoupledPlaces(task, scheme)
        return RowIds(scheme, more=more, fixed=self._ids_are_fixed)

    @cached_property
    def _ids_are_fixed(self) -> bool:
        return is_fixed(self.experiment.scheme.for_evaluation())

    def _loss(
        self, output: TransformerOutput, labels: Tensor, ids: Tensor, allowed: Tensor | None, count: Any
    ) -> Float[Tensor, ""]:
        """Cross-entropy (binary per symbol where several tokens are right) and the loss of ids, per scored token."""
        right = functional.pad(labels[:, 1:], (0, 1), value=NOT_SCORED)
        scored, logits = right != NOT_SCORED, output.logits.float()
        if allowed is not None:
            wanted = allowed[..., FIRST_SCORED_ID:].to(logits.dtype)
            each = functional.binary_cross_entropy_with_logits(logits[..., FIRST_SCORED_ID:], wanted, reduction="none")
            total = (each.sum(-1) * scored).sum()
        else:
            total = functional.cross_entropy(logits.flatten(0, 1), right.flatten(), reduction="sum")
        following = functional.pad(ids[:, 1:], (0, 0, 0, 1))
        for level, prediction in enumerate(output.position):
            losses = prediction.loss(following[..., level]).masked_fill(~scored, 0.0)
            total = total + self.experiment.training.id_loss * losses.sum()
        return total / (scored.sum().clamp(min=1) if count is None else count)

    def generate(self, *args: Any, **kwargs: Any) -> Any:
        """As in `GenerationMixin`: greedy or sampled, one or several sequences, with or without a cache.

        Raises `LengthwiseError` for beams and for ways of generating that don't see all tokens so far.
        """
        given = kwargs.get("generation_config") or (args[1] if len(args) > 1 else None)
        config = given or self.generation_config
        beams = kwargs.get("num_beams") or getattr(config, "num_beams", None) or 1
        require(beams == 1, f"position ids are predicted for one sequence, not for {beams} beams; use num_beams=1")
        refuse_generation(self, args, kwargs)
        kwargs.setdefault("in_all", most_tokens(config, self.generation_config, args, kwargs))
        generate: Any = super().generate  # pyright: ignore[reportAttributeAccessIssue]
        return generate(*args, **kwargs)

    def prepare_inputs_for_generation(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        input_ids: Int[Tensor, "B T"],
        past_key_values: GrowingCache | None = None,
        attention_mask: Tensor | None = None,
        place_ids: Int[Tensor, "B T L"] | None = None,
        use_cache: bool | None = True,
        in_all: int = 0,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """The tokens that are not in the cache, with their ids; ``in_all`` is the width of the batch at its end."""
        if place_ids is None:
            mask, more = padding_mask(attention_mask, input_ids), max(0, in_all - input_ids.shape[1])
            place_ids = rule_ids(self._rule(more), input_ids, mask, training=False)[..., None]
        require(
            place_ids.shape[:2] == input_ids.shape,
            f"place_ids have shape {list(place_ids.shape)} for tokens of shape {list(input_ids.shape)}; give [B, T, L]",
        )
        before = 0 if past_key_values is None else past_key_values.length
        return {
            "input_ids": input_ids[:, before:],
            "attention_mask": attention_mask,
            "place_ids": place_ids[:, before:],
            "past_key_values": past_key_values,
            "use_cache": use_cache,
        }

    def _update_model_kwargs_for_generation(self, outputs: Any, model_kwargs: Any, *args: Any, **kwargs: Any) -> Any:
        """Append the predicted ids of the new token to those of the tokens so far."""
        found: Any = super()._update_model_kwargs_for_generation(outputs, model_kwargs, *args, **kwargs)
        ids = found.get("place_ids")
        if ids is not None:
            require(
                outputs.next_place_ids is not None,
                "this model does not predict position ids, so those of new tokens are unknown; leave out place_ids",
            )
            found["place_ids"] = torch.cat([ids, outputs.next_place_ids[:, None]], dim=1)
        return found


AutoConfig.register("lengthwise", LengthwiseConfig, exist_ok=True)
AutoModelForCausalLM.register(LengthwiseConfig, LengthwiseForCausalLM, exist_ok=True)
