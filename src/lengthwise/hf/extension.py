"""`extend` gives a stock RoPE model of `transformers` frequencies for longer contexts.

The method is written into the configuration, from which `transformers` makes its frequencies, so that a saved model
keeps it.
"""

from __future__ import annotations

import copy
import math
from typing import Any

from torch import nn

from lengthwise.core import config as arguments
from lengthwise.core.errors import UnknownNameError, require
from lengthwise.hf.attachment import STATE, stock

METHODS = ("pi", "ntk", "yarn", "drope")
WITHOUT_POSITIONS = 1e30
"""Ids divided by this number turn nothing: the angles of all tokens are 0 in float32."""


def extend(model: Any, method: str, *, factor: float = 4, length: int | None = None, **fields: Any) -> Any:
    """A copy of ``model`` that reads contexts ``factor`` times as long, without training; it shares the parameters.

    Arguments:
        model: a causal model of `transformers` with plain RoPE.
        method: ``pi`` (ids divided by the factor), ``ntk`` (a larger base), ``yarn`` (slow pairs interpolated, sharper
            attention) or ``drope`` (no positions at all, to be trained shortly before use).
        factor: how many times longer the context becomes, at least 1.
        length: the trained context in tokens; by default ``max_position_embeddings`` of the configuration.
        fields: settings of ``yarn`` in the configuration of `transformers`: ``beta_fast``, ``beta_slow``,
            ``attention_factor``, ``truncate`` and others.

    Raises:
        LengthwiseError: for another method, and for a model whose positions are not plain RoPE.
    """
    inner = stock(model)
    if method not in METHODS:
        raise UnknownNameError("way to extend a stock model", method, METHODS)
    factor = arguments.number("factor", factor, 0)
    require(1 <= factor < math.inf, f"the factor of a longer context must be at least 1, got {factor}")
    require(not fields or method == "yarn", f"{method} has no settings but factor and length, got {', '.join(fields)}")
    require(inner is model and STATE not in inner.__dict__, "extend takes a stock model; extend first, then attach")
    made = copy.deepcopy(inner, {id(parameter): parameter for parameter in inner.parameters()})
    config = made.config.get_text_config()
    rope = getattr(config, "rope_parameters", None) or {}
    rotaries = [name for name, module in made.named_modules() if hasattr(module, "inv_freq")]
    scaling = rope.get("rope_type")
    require(
        bool(rotaries) and scaling == "default",
        f"extend needs a model with plain RoPE, and {type(inner).__name__} has "
        f"{f'rotary scaling {scaling!r}' if scaling else 'other positions'}",
    )
    trained = arguments.whole("length", config.max_position_embeddings if length is None else length, 1)
    first: Any = made.get_submodule(rotaries[0])
    rope = {**rope, **_parameters(method, factor, trained, rope, 2 * len(first.inv_freq))}
    config.rope_parameters = {**rope, **fields}
    config.max_position_embeddings = math.ceil(factor * trained)
    for name in rotaries:
        _replace(made, name, config)
    return made


def _parameters(method: str, factor: float, length: int, rope: dict[str, Any], width: int) -> dict[str, Any]:
    """What a method changes in the parameters of RoPE; ``width`` coordinates of a head are rotated."""
    if method == "ntk":
        require(width >= 4, f"NTK-aware scaling needs a head width of at least 4, got {width}")
        return {"rope_theta": rope["rope_theta"] * factor ** (width / (width - 2))}
    if method == "yarn":
        return {"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": length}
    return {"rope_type": "linear", "factor": factor if method == "pi" else WITHOUT_POSITIONS}


def _replace(model: nn.Module, name: str, config: Any) -> None:
    """Make a rotary module anew from the configuration."""
    old = model.get_submodule(name)
    new = type(old)(config=config).to(old.inv_freq.device)  # type: ignore[call-arg, union-attr, arg-type]
    parent, _, attribute = name.rpartition(".")
    setattr(model.get_submodule(parent), attribute, new.train(old.training))
