"""`extend` gives a stock RoPE model of `transformers` positions for longer contexts.

Most methods are written into the configuration, from which `transformers` makes its frequencies, so that a saved model
keeps them. Self-Extend is an attention function: queries and keys come rotated by their ids, and are rotated further to
those of their groups, so that caches hold what the stock model puts there.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

from lengthwise.core import config as arguments
from lengthwise.core.errors import LengthwiseError, UnknownNameError, require
from lengthwise.hf.attachment import STATE, stock
from lengthwise.hf.probe import CLOSE, Probe, quiet
from lengthwise.models.extension import extension_spec

METHODS = ("pi", "ntk", "yarn", "self-extend", "drope")
WITHOUT_POSITIONS = 1e30
"""Ids divided by this number turn nothing: the angles of all tokens are 0 in float32."""


def extend(model: Any, method: str, *, factor: float = 4, length: int | None = None, **fields: Any) -> Any:
    """A copy of ``model`` that reads contexts ``factor`` times as long, without training; it shares the parameters.

    Arguments:
        model: a causal model of `transformers` with plain RoPE.
        method: ``pi`` (ids divided by the factor), ``ntk`` (a larger base), ``yarn`` (slow pairs interpolated, sharper
            attention), ``self-extend`` (far distances in groups) or ``drope`` (no positions at all, to be trained
            shortly before use).
        factor: how many times longer the context becomes, at least 1.
        length: the trained context in tokens; by default ``max_position_embeddings`` of the configuration.
        fields: settings of ``yarn`` in the configuration of `transformers` (``beta_fast``, ``beta_slow``,
            ``attention_factor``, ``truncate`` and others), and of ``self-extend``: distances below ``near`` stay, by
            default half of the length; others become those of groups of ``group`` tokens, by default as few as the
            factor needs. No file can keep Self-Extend, so `save_pretrained` is refused; extend again after loading.

    Raises:
        LengthwiseError: for another method, and for a model whose positions are not plain RoPE.
    """
    inner = stock(model)
    if method not in METHODS:
        raise UnknownNameError("way to extend a stock model", method, METHODS)
    factor = arguments.number("factor", factor, 0)
    require(1 <= factor < math.inf, f"the factor of a longer context must be at least 1, got {factor}")
    # Those of YaRN are for `transformers` to check.
    foreign = set(fields) - {"yarn": set(fields), "self-extend": {"near", "group"}}.get(method, set())
    require(not foreign, f"{method} has no settings but factor and length, got {', '.join(sorted(foreign))}")
    require(inner is model and STATE not in inner.__dict__, "extend takes a stock model; extend first, then attach")
    require(NAME not in inner.__dict__, "the model is extended already; extend the one that it came from")
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
    config.max_position_embeddings = math.ceil(factor * trained)
    if method == "self-extend":
        spec: Any = extension_spec(method, factor=factor, length=trained, **fields)
        config.self_extend = {"near": spec.near, "group": spec.group}
        return _grouped(inner, made, _Grouping(spec.near, spec.group, first.inv_freq))
    rope = {**rope, **_parameters(method, factor, trained, rope, 2 * len(first.inv_freq))}
    config.rope_parameters = {**rope, **fields}
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
    old = model.get_submodule(name)
    new = type(old)(config=config).to(old.inv_freq.device)  # type: ignore[call-arg, union-attr, arg-type]
    parent, _, attribute = name.rpartition(".")
    setattr(model.get_submodule(parent), attribute, new.train(old.training))


NAME = "self_extend"
"""The attention function in `transformers`, and the attribute of modules that it reads."""


@dataclass(frozen=True)
class _Grouping:
    """Settings of Self-Extend (Jin et al. 2024), and how the model's heads are rotated."""

    near: int
    """Distances below this stay."""
    group: int
    frequencies: Tensor
    pairs: bool = False
    """Whether neighbouring coordinates rotate together (GPT-J, Cohere), or those half a width apart (Llama)."""

    def rotated(self, x: Tensor, ids: Tensor) -> Tensor:
        """Queries or keys [B, H, T, d], turned further by as much as ids [B, T] say."""
        angles = (ids[..., None] * self.frequencies.to(x.device, torch.float32))[:, None]
        width = 2 * angles.shape[-1]
        part, shape = x[..., :width].float(), (-1, 2) if self.pairs else (2, -1)
        a, b = part.unflatten(-1, shape).unbind(-1 if self.pairs else -2)
        cos, sin = angles.cos(), angles.sin()
        turned = torch.stack([a * cos - b * sin, b * cos + a * sin], dim=-1 if self.pairs else -2).flatten(-2)
        return torch.cat([turned.to(x.dtype), x[..., width:]], dim=-1)


def _attention(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor, scaling: float,
    dropout: float = 0.0, **more: Any,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Distance i − j below ``near`` as it is, and ⌊i/group⌋ − ⌊j/group⌋ + near − ⌊near/group⌋ otherwise.

    The place of a token is its index among the tokens of its row, which the mask tells: all that come before are seen.
    """
    settings: _Grouping | None = module.__dict__.get(NAME)
    changed = [name for name in ("sliding_window", "softcap", "s_aux") if more.get(name) is not None]
    if settings is None or changed:
        raise LengthwiseError(f"attention with {', '.join(changed) or 'other settings'} can't be grouped")
    seen = attention_mask[..., : key.shape[2]] == 0
    j = seen.any(dim=2)[:, 0].cumsum(-1) - 1
    i = seen.sum(-1)[:, 0] - 1
    near, group = settings.near, settings.group
    repeat = query.shape[1] // key.shape[1]
    far_query = settings.rotated(query, i // group + near - near // group - i)
    far_key = settings.rotated(key, j // group - j)
    key, far_key, value = (each.repeat_interleave(repeat, dim=1) for each in (key, far_key, value))
    is_near = (i[:, None, :, None] - j[:, None, None, :]) < near
    scores = torch.where(is_near, query @ key.mT, far_query @ far_key.mT) * scaling
    scores = scores + attention_mask[..., : key.shape[2]]
    weights = nn.functional.softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype)
    weights = nn.functional.dropout(weights, p=dropout, training=module.training)
    return (weights @ value).transpose(1, 2).contiguous(), weights


AttentionInterface.register(NAME, _attention)
AttentionMaskInterface.register(NAME, eager_mask)


def _grouped(inner: Any, made: Any, wanted: _Grouping) -> Any:
    """``made`` with Self-Extend, after a probe: all near it is ``inner``, all far it is ``inner`` under halved ids."""
    kinds = set(getattr(made.config.get_text_config(), "layer_types", None) or ()) - {"full_attention"}
    require(not kinds, f"self-extend needs full attention, and {type(inner).__name__} has {', '.join(sorted(kinds))}")
    made.set_attn_implementation(NAME)
    with quiet(inner), quiet(made):
        stock_probe = Probe(inner)
        halved = stock_probe.plain // 2
        plain, right = stock_probe.by_model(stock_probe.plain), stock_probe.by_model(halved)
        for pairs in (False, True):
            everything = replace(wanted, near=1 << 30, group=1, pairs=pairs), plain
            # A window of 0 tokens adds nothing to a distance.
            nothing = replace(wanted, near=0, group=2, pairs=pairs), right
            if all(_gives(made, *each, CLOSE * (right - plain).abs().max().item()) for each in (everything, nothing)):
                _set(made, replace(wanted, pairs=pairs))
                made.__dict__["save_pretrained"] = _not_saved
                return made
    raise LengthwiseError(
        f"self-extend can't be used in {type(inner).__name__}: its attention is not that of rotated queries and keys "
        "alone; use yarn, or a model such as Llama, Qwen2 or GPT-NeoX"
    )


def _gives(made: Any, settings: _Grouping, right: Tensor, most: float) -> bool:
    _set(made, settings)
    try:
        return bool((Probe(made).logits(None) - right).abs().max() <= most)
    # Attention functions fail in many ways on arguments that they were not made for.
    except Exception:
        return False


def _set(made: Any, settings: _Grouping) -> None:
    for part in made.modules():
        part.__dict__[NAME] = settings


def _not_saved(*args: Any, **kwargs: Any) -> Any:
    raise LengthwiseError(
        "no file of a model can keep self-extend; save the model that it came from, and extend it again after loading"
    )
