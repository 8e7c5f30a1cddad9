"""The module of each known architecture that encodes position ids."""

from __future__ import annotations

from typing import Any

from torch import nn

from lengthwise.core.errors import LengthwiseError, require

ROTARY = (
    "cohere", "gemma", "gemma2", "glm", "gpt_neox", "granite", "helium", "llama", "mistral", "mixtral", "nemotron",
    "olmo", "olmo2", "phi", "phi3", "qwen2", "qwen3", "smollm3", "stablelm", "starcoder2",
)  # fmt: skip
"""Model types whose ``rotary_emb`` takes the position ids of all layers at once."""
TABLES = ("gpt2", "gpt_bigcode")
"""Model types with a learned table ``wpe``."""
READS_LENGTH = ("dynamic", "longrope")
"""Rotary scalings that read the length of the sequence from the largest position id."""


def backbone(model: Any) -> nn.Module:
    """The decoder below the language-model head, or the model itself if it has no head."""
    return getattr(model, model.base_model_prefix, model)


def position_module(model: Any, name: str | None) -> nn.Module:
    """The module that encodes positions, by its ``name`` below the model or by the model's type.

    Raises `LengthwiseError` for an unknown type, a name that does not exist, or a scaling that reads the sequence's
    length from its ids.
    """
    kind = model.config.model_type
    if name is None:
        attribute = "rotary_emb" if kind in ROTARY else "wpe" if kind in TABLES else None
        if attribute is None or not hasattr(backbone(model), attribute):
            raise LengthwiseError(
                f"model type {kind!r} is not known; name the module that gets position ids, as in "
                f"attach(model, rule, module='model.rotary_emb'); known: {', '.join(sorted(ROTARY + TABLES))}"
            )
        found = getattr(backbone(model), attribute)
    else:
        modules = dict(model.named_modules())
        require(name in modules, f"the model has no module {name!r}; look at model.named_modules()")
        found = modules[name]
    scaling = getattr(found, "rope_type", "default")
    require(
        not isinstance(scaling, dict) and scaling not in READS_LENGTH,
        f"rotary scaling {scaling!r} reads the length of the sequence from its position ids, so ids of one's own would "
        "change its frequencies; use a model with rope_type default, linear, llama3 or yarn",
    )
    return found
