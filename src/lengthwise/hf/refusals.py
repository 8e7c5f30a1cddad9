"""What a model with a rule refuses, each in one line: position ids of the caller, and ways of generating."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.hf.padding import plain_ids


def refuse_positions(given: Tensor | None, mask: Bool[Tensor, "B T"]) -> None:
    """Raises `LengthwiseError` for position ids of the caller, unless they are those that the model makes itself."""
    if given is None:
        return
    index = torch.arange(mask.shape[1], device=given.device).expand(given.shape[0], -1)
    plain = plain_ids(mask).to(given.device)
    same = given.ndim == 2 and given.shape[1] == mask.shape[1]
    same = same and (bool(((given == plain) | ~mask.to(given.device)).all()) or torch.equal(given, index))
    require(
        same,
        "the rule computes the position ids of this model, and other position_ids were given (packed sequences give "
        "some, too); leave them out, or detach(model)",
    )


def refuse_generation(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raises `LengthwiseError` for a way of generating in which the rule would not see all tokens so far."""
    config = kwargs.get("generation_config") or (args[1] if len(args) > 1 else None) or model.generation_config

    def setting(name: str) -> Any:
        return kwargs[name] if name in kwargs else getattr(config, name, None)

    for name, what in (
        ("assistant_model", "assisted decoding"),
        ("prompt_lookup_num_tokens", "prompt lookup decoding"),
        ("assistant_early_exit", "assisted decoding"),
        ("prefill_chunk_size", "chunked prefill"),
        ("custom_generate", "a custom generation loop"),
        ("inputs_embeds", "generation from embeddings"),
    ):
        if setting(name) is not None:
            raise LengthwiseError(f"{what} can't follow a rule of position ids; leave out {name}, or detach(model)")
    cache = kwargs.get("past_key_values")
    tokens = args[0] if args else kwargs.get("input_ids", kwargs.get("inputs"))
    if cache is not None and tokens is not None:
        before = int(cache.get_seq_length())
        require(
            before == 0 or before < tokens.shape[1],
            f"the cache holds {before} tokens and {tokens.shape[1]} were given; pass all tokens to generate, those in "
            "the cache included",
        )
