"""`extend` gives a trained RoPE model an encoding for longer contexts, `drop_positions` one without positions."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math
from typing import Any, TypeVar

from lengthwise.core import config as arguments
from lengthwise.core.errors import LengthwiseError, UnknownNameError, require
from lengthwise.models.transformer import Transformer
from lengthwise.nn import LayerEncodings, NoPE, Rotary
from lengthwise.nn.base import PositionEncoding
from lengthwise.positions.encodings import ENCODINGS, EncodingSpec

LONGEST = 10**7
"""The longest context, in tokens, for which a group of Self-Extend is chosen."""
Model = TypeVar("Model", bound=Transformer)


def extension_methods() -> list[str]:
    """The names of the encodings that extend RoPE."""
    return [name for name in ENCODINGS if ENCODINGS.get(name).extends_rope]


def extend(
    model: Model, method: str | EncodingSpec, *, factor: float | int = 4, length: int | None = None, **fields: Any
) -> Model:
    """A copy of a model trained with RoPE that reads contexts ``factor`` times as long, without training.

    ``method`` is one of `extension_methods`: ``pi``, ``ntk``, ``dynamic-ntk``, ``yarn``, ``llama3``, ``longrope``,
    ``self-extend`` or ``rerope``; ``fields`` are its settings. ``length`` is the trained context in tokens, which all
    but ``pi`` and ``ntk`` need. Self-Extend keeps distances below length / 2 and groups others, as little as factor ·
    length needs; ReRoPE clips distances at length / 2. In a model with encodings by layer, those of RoPE are extended.

    A specification as ``method`` is used as it is, with the base of the model. Raises `LengthwiseError` for another
    method or setting, for a missing length, and for a model without RoPE.
    """
    made = copy.deepcopy(model)
    found = [part for part in _parts(made.encoding) if type(part) is Rotary]
    require(
        bool(found),
        f"extend needs a model trained with encoding 'rope', and this one has {type(model.encoding).__name__}; "
        "`lengthwise.Experiment(TASK, encoding='rope')` trains one",
    )
    for rotary in found:
        if isinstance(method, EncodingSpec):
            spec = dataclasses.replace(method, base=rotary.base)  # type: ignore[call-arg]
        else:
            spec = extension_spec(method, factor=factor, length=length, base=rotary.base, **fields)
        _replace(made, rotary, spec.build(made.shape))
    return made


def extension_spec(
    method: str, *, factor: float | int = 4, length: int | None = None, base: float = 10_000.0, **fields: Any
) -> EncodingSpec:
    """The settings of a method for a model with this trained length; raises `LengthwiseError` as `extend` does."""
    if method not in extension_methods():
        raise UnknownNameError("way to extend a context", method, extension_methods())
    known: dict[str, Any] = {"base": base, "factor": arguments.number("factor", factor, 0)}
    length = None if length is None else arguments.whole("length", length, 1)
    if length is not None:
        known |= {"length": length, "near": max(1, length // 2)}
    names = {field.name for field in dataclasses.fields(ENCODINGS.get(method))}  # type: ignore[arg-type]
    needed = names & {"length", "near"} - set(known) - set(fields)
    if needed:
        raise LengthwiseError(
            f"{method} needs the trained context; give length=…, the number of tokens of the longest training sequence"
        )
    if "group" in names - set(fields):
        near = arguments.whole("near", fields.get("near", known.get("near")), 1)
        known["group"] = smallest_group(factor, 2 * near if length is None else length, near)
    return ENCODINGS.build(method, **{**{name: value for name, value in known.items() if name in names}, **fields})


def smallest_group(factor: float, length: int, near: int) -> int:
    """The smallest group of Self-Extend by which ``factor`` · ``length`` tokens have no distance beyond length − 1.

    Raises `LengthwiseError` if ``near`` is not below ``length``, so that no group is large enough.
    """
    require(1 <= near < length, f"near must be from 1 to the trained length − 1 = {length - 1}, got {near}")
    require(factor * length <= LONGEST, f"factor · length must be at most {LONGEST:,} tokens, got {factor * length:g}")
    last = math.ceil(factor * length) - 1
    return next(group for group in itertools.count(1) if last // group + near - near // group < length)


def drop_positions(model: Model) -> Model:
    """A copy without position encoding, as DroPE starts (Gelberg et al. 2025): to be trained shortly before use.

    Attention windows stay. Raises `LengthwiseError` for a model whose encoding has parameters, which would be lost.
    """
    made = copy.deepcopy(model)
    require(
        not list(made.encoding.parameters()),
        "positions can be dropped only where the encoding has no parameters; train with encoding rope",
    )
    for part in _parts(made.encoding):
        _replace(made, part, NoPE())
    return made


def _parts(encoding: PositionEncoding) -> list[PositionEncoding]:
    return list(encoding.parts) if isinstance(encoding, LayerEncodings) else [encoding]


def _replace(model: Transformer, old: PositionEncoding, new: PositionEncoding) -> None:
    """Put ``new`` where ``old`` is, with its attention window and the vectors of its labels."""
    new.window, new.slots = old.window, old.slots
    new.to(next(model.parameters()).device).train(model.training)
    if model.encoding is old:
        model.encoding = new
        return
    assert isinstance(model.encoding, LayerEncodings)
    index = next(i for i, part in enumerate(model.encoding.parts) if part is old)
    setattr(model.encoding.parts, str(index), new)
