"""`LengthwiseConfig`: the configuration of `LengthwiseForCausalLM`, which holds a whole experiment."""

from __future__ import annotations

from typing import Any

from transformers import PreTrainedConfig

from lengthwise.core.errors import require
from lengthwise.core.vocab import BOS, EOS, PAD, SPECIALS
from lengthwise.experiments.run_config import RunConfig
from lengthwise.models.build import build_model
from lengthwise.models.transformer import Transformer


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
