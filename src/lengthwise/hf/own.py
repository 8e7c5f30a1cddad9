"""Our models as models of Hugging Face: configuration, modeling, conversion and model card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional
from transformers import AutoConfig, AutoModelForCausalLM, GenerationMixin, PreTrainedConfig, PreTrainedModel
from transformers.utils.generic import ModelOutput

from lengthwise.core.batch import NOT_SCORED
from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.files import read_json
from lengthwise.core.result_file import RunResult
from lengthwise.core.rng import stream
from lengthwise.core.vocab import BOS, EOS, PAD, SPECIALS
from lengthwise.evaluation.accuracy import read_prompt
from lengthwise.experiments.run_config import RunConfig
from lengthwise.experiments.run_directory import claim_run_dir
from lengthwise.experiments.trained import load_trained
from lengthwise.hf.attachment import padding_mask, refuse_generation, rule_ids
from lengthwise.hf.rules import CoupledPlaces, IdRule, SchemeIds, is_fixed
from lengthwise.models.attention_state import Cache
from lengthwise.models.build import build_model
from lengthwise.models.transformer import Transformer, TransformerOutput
from lengthwise.positions.schemes import PositionScheme
from lengthwise.positions.structure import structure
from lengthwise.positions.system import position_systems
from lengthwise.prediction.predict import predict_task
from lengthwise.prediction.verdict import SHOWN
from lengthwise.training import checkpoint
from lengthwise.training.runs import Progress, Run, StackProgress
from lengthwise.training.trainer import FIRST_SCORED_ID


class GrowingCache(Cache):
    """A `Cache` as `transformers` asks for it."""

    is_compileable = False

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """The number of tokens in the cache."""
        return self.length


DEFAULT_NEW = 20
"""New tokens where neither ``max_new_tokens`` nor ``max_length`` is set, as in `transformers`."""


class RowIds(SchemeIds):
    """Ids of ``scheme`` for rows of which each has ``more`` tokens still to come, drawn anew for each row in training.

    At test, ids that depend on the number of tokens (``randomized``, ``randomized-float``) are those of a row of that
    many tokens in all, as far as ``max_position`` has room. All rows of that many tokens share one drawing from
    ``seed``, so that a row's ids don't depend on the rows beside it.
    """

    def __init__(self, scheme: PositionScheme, *, more: int = 0, fixed: bool = False, seed: int = 0) -> None:
        """``fixed`` says that ids at test depend on neither chance nor the number of tokens (`is_fixed`)."""
        self.scheme, self.more, self.fixed, self.seed = scheme, more, fixed, seed

    def in_all(self, length: int) -> int:
        most = min(length + self.more, self.scheme.for_evaluation().max_position + 1)
        return max(length, most) if self.more and not self.fixed else length


def most_tokens(config: Any, default: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """How many columns the batch of a `generate` can have at its end; without a prompt it begins with one.

    What ``config`` leaves open is as in ``default``, the generation configuration of the model.
    """
    tokens = args[0] if args else kwargs.get("input_ids", kwargs.get("inputs"))
    width = 1 if tokens is None else int(tokens.shape[1])

    def setting(name: str) -> int | None:
        found = (kwargs.get(name), getattr(config, name, None), getattr(default, name, None))
        return next((value for value in found if value is not None), None)

    new, most = setting("max_new_tokens"), setting("max_length")
    if new is None and most is not None:
        return int(most)
    return width + (DEFAULT_NEW if new is None else int(new))


class LengthwiseConfig(PreTrainedConfig):
    """A task, a scheme, an encoding and a model, as `RunConfig` describes them, with the vocabulary as words.

    ``experiment`` is ``RunConfig.to_json()``. Use `of` to make one.
    """

    model_type = "lengthwise"

    def __init__(
        self,
        experiment: dict[str, Any] | None = None,
        vocabulary: list[str] | None = None,
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        self.experiment = experiment or {}
        self.vocabulary = vocabulary or []
        self.seed = seed
        special = {name: SPECIALS.index(token) for name, token in (("pad", PAD), ("bos", BOS), ("eos", EOS))}
        for name, index in special.items():
            kwargs.setdefault(f"{name}_token_id", index)
        kwargs.setdefault("tie_word_embeddings", False)
        super().__init__(**kwargs)
        self.vocab_size = len(self.vocabulary)
        model = self.experiment.get("model", {})
        self.hidden_size, self.num_hidden_layers = model.get("width", 0), model.get("layers", 0)
        self.num_attention_heads = model.get("heads", 0)

    @classmethod
    def of(cls, experiment: RunConfig, seed: int = 0, **kwargs: Any) -> LengthwiseConfig:
        """The configuration of an experiment's model, with weights drawn from ``seed`` until others are loaded."""
        return cls(experiment.to_json(), list(experiment.task.vocab.tokens), seed, **kwargs)

    def read(self) -> RunConfig:
        """The experiment; raises `LengthwiseError` if this version has another vocabulary for its task."""
        require(bool(self.experiment), "the configuration holds no experiment; make one with LengthwiseConfig.of")
        experiment = RunConfig.from_json(self.experiment)
        require(
            list(experiment.task.vocab.tokens) == self.vocabulary,
            f"the vocabulary of task {experiment.task.name!r} is not the one that this model was trained with; install "
            "the version of lengthwise that trained it",
        )
        return experiment

    def build(self) -> Transformer:
        """The transformer of the experiment."""
        found = self.read()
        return build_model(found.task, found.scheme, found.encoding, found.model, seed=self.seed)


@dataclass
class LengthwiseOutput(ModelOutput):
    """Loss, logits [B, Q, V], the cache, and under predictive coupling the ids of the next token [B, L]."""

    loss: Tensor | None = None
    logits: Tensor | None = None
    past_key_values: GrowingCache | None = None
    next_place_ids: Tensor | None = None


class LengthwiseForCausalLM(PreTrainedModel, GenerationMixin):
    """A decoder-only transformer with any of our encodings and schemes; see `LengthwiseConfig`.

    Save, load, train with `Trainer` and adapt with PEFT as any other model; every layer must have attention. Without
    ``place_ids`` they follow from the tokens where the scheme allows it; models that predict ids need those of the
    prompt (`encode_prompt`).
    """

    config_class = LengthwiseConfig
    base_model_prefix = "transformer"
    main_input_name = "input_ids"

    def __init__(self, config: LengthwiseConfig) -> None:
        super().__init__(config)
        self.experiment = config.read()
        self.experiment.model.need_attention("a model of Hugging Face")
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

    def resize_token_embeddings(self, *args: Any, **kwargs: Any) -> Any:
        """Raises `LengthwiseError`, before anything is changed."""
        raise LengthwiseError(
            f"the vocabulary of this model is that of task {self.experiment.task.name!r}, {self.config.vocab_size} "
            "tokens, and can't be resized; pad rows with its own token 0"
        )

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
        visible = None if mask is None or bool(mask.all()) else mask
        output = self.transformer(input_ids, place_ids, cache=past_key_values, visible=visible)
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
        rule = self._rule(more)
        return rule_ids(rule, input_ids, mask, training=self.training, ends=rule.ends)[..., None]

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
        scheme = self.experiment.scheme
        by_places = scheme.uses_places and not scheme.predicted
        refuse_generation(self, args, kwargs, self._rule(0).ends if by_places else None)
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


def from_run(folder: str | Path) -> LengthwiseForCausalLM:
    """The trained model of a run directory; raises `LengthwiseError` if it holds none."""
    experiment, trained = load_trained(Path(folder))
    seed = int(read_json(Path(folder) / "config.json", what="run configuration")["seed"])
    model = LengthwiseForCausalLM(LengthwiseConfig.of(experiment, seed))
    model.transformer.load_state_dict(trained.state_dict())
    return model.eval()


def to_run(model: LengthwiseForCausalLM, folder: str | Path) -> Path:
    """Write a run directory that `lengthwise` loads; it holds no result and no state of an optimizer.

    Raises `LengthwiseError` if the folder belongs to another run, or holds a checkpoint.
    """
    folder, seed = Path(folder), model.config.seed
    require(not (folder / checkpoint.FILE).exists(), f"{folder} holds a checkpoint already; choose another folder")
    claim_run_dir(folder, model.experiment, seed)
    steps = model.experiment.training.steps
    weights = {f"{checkpoint.WEIGHTS}{name}": value[None] for name, value in model.transformer.state_dict().items()}
    progress = StackProgress(steps, 0.0, [Run(seed)], [0], [Progress(step=steps, done=True)], [None])
    checkpoint.write(folder, weights, progress)
    return folder


def encode_prompt(model: LengthwiseForCausalLM, text: str) -> dict[str, Tensor]:
    """A prompt such as ``"7 + 5 ="``: ``input_ids`` [1, T] and, for a model that predicts ids, ``place_ids`` [1, T, L].

    Raises `LengthwiseError` if ``text`` is no prompt of the model's task.
    """
    experiment = model.experiment
    read = read_prompt(experiment.task, experiment.scheme, text)
    found: dict[str, Tensor] = {"input_ids": torch.from_numpy(read.input_ids)}
    if experiment.scheme.predicted:
        found["place_ids"] = torch.from_numpy(read.position_ids)
    return {name: value.to(model.device) for name, value in found.items()}


def decode(model: LengthwiseForCausalLM, tokens: Any) -> str:
    """The words of a row of token ids; raises `LengthwiseError` for an id that the vocabulary does not have."""
    words = model.config.vocabulary
    numbers = [int(token) for token in tokens]
    if any(not 0 <= number < len(words) for number in numbers):
        raise LengthwiseError(f"token ids must be in 0..{len(words) - 1}, got {min(numbers)}..{max(numbers)}")
    return " ".join(words[number] for number in numbers)


def model_card(model: LengthwiseForCausalLM, result: RunResult | None = None) -> str:
    """Markdown: task, training lengths, sparsity and span by length, verdicts, and the measured lengths of ``result``.

    Where nothing was measured the card says so.
    """
    found, training = model.experiment, model.experiment.training
    return f"""---
library_name: transformers
tags: [lengthwise, length-generalization]
---

# {found.task.name}: {found.scheme.name} ids, {found.encoding.name} encoding

A decoder-only transformer with {model.num_parameters():,} parameters, trained with `lengthwise` on \
`{found.task.name}` at lengths {training.min_length} to {training.longest}.

## Use

```python
import lengthwise.hf as hf
{_code(found)}
model = hf.LengthwiseForCausalLM.from_pretrained("this folder")
```

## Structure

{_structure(found)}

## What theory says

{_verdicts(found)}

## Measured

{_measured(result)}
"""


def save_with_card(model: LengthwiseForCausalLM, folder: str | Path, result: RunResult | None = None) -> Path:
    """`save_pretrained` and a README.md beside it."""
    model.save_pretrained(folder)
    (Path(folder) / "README.md").write_text(model_card(model, result), encoding="utf-8")
    return Path(folder)


def _code(found: RunConfig) -> str:
    """The line that loads files of the author's own, without which the model has no task."""
    names = [part.name for part in (found.task, found.scheme, found.encoding) if ":" in part.name]
    files = sorted({name.rpartition(":")[0] for name in names})
    line = f"import lengthwise as lw\n\nlw.load_code({', '.join(map(repr, files))})  # comes with this model\n"
    return line * bool(files)


def _structure(found: RunConfig) -> str:
    top, rows = found.training.longest, list[tuple[Any, ...]]()
    for length in sorted({n for most in (top, 2 * top, 5 * top) for n in found.task.lengths(most, most + 5)[:1]}):
        try:
            row = structure(found.task, found.scheme, length, stream(0, "card"), size=16)
            rows.append((length, row.sparsity, row.span))
        except LengthwiseError:
            rows.append((length, "–", f"more ids than the {found.scheme.max_position} of this model"))
    return (
        "Sparsity k is the largest number of earlier tokens that a scored token is a function of; span is the largest\n"
        f"distance to one, in position ids.\n\n{_table('length', 'sparsity k', 'span', rows=rows)}"
    )


def _verdicts(found: RunConfig) -> str:
    known = predict_task(found.task, position_systems([])).verdicts
    rows = [(verdict.system, SHOWN[verdict.answer], verdict.basis) for verdict in known]
    return _table("system", "generalizes?", "basis", rows=rows)


def _measured(result: RunResult | None) -> str:
    if result is None:
        return "No length was measured."
    rows = [(score.length, f"{score.correct['exact_match']} of {score.n}") for score in result.scores]
    return f"Seed {result.seed}, exact matches.\n\n{_table('length', 'exact', rows=rows)}"


def _table(*heads: str, rows: Sequence[tuple[Any, ...]]) -> str:
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in (heads, ("---",) * len(heads), *rows))
