"""Encodings and attention windows by layer, from a pattern such as ``rope(window=128)*3+nope``."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lengthwise.positions.encodings.base import ENCODINGS, EncodingSpec
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding

PART = re.compile(r"\s*(?P<name>[^()*+\s]+)\s*(?:\((?P<fields>[^()]*)\))?\s*(?:\*\s*(?P<times>\d+))?\s*")


@dataclass(frozen=True)
class LayerPart:
    """An encoding for ``times`` layers in a row that share its parameters, with its attention window."""

    encoding: EncodingSpec
    window: int | None
    times: int


@ENCODINGS.register("layers")
class LayersSpec(EncodingSpec):
    """Each layer has the encoding, and maybe the attention window, that a pattern gives it.

    ``rope(window=128)*3+nope`` is three layers of RoPE in which a query sees 128 tokens, itself included, then one
    layer without positions and without a window; then again. A part may set fields of its encoding, as
    ``rope(base=500000,window=64)`` does. The layers of one part share its parameters, the repetitions of the pattern
    too.
    """

    summary = "an encoding and an attention window for each layer, by a pattern: rope(window=128)*3+nope"

    pattern: str = "rope+nope"

    def __post_init__(self) -> None:
        specs = [part.encoding for part in self.parts]
        for name, value in {
            "has_table": any(spec.has_table for spec in specs),
            "smooth": all(spec.smooth for spec in specs),
            "uses_ids": any(spec.uses_ids for spec in specs),
            "translation_invariant": all(spec.translation_invariant for spec in specs),
        }.items():
            object.__setattr__(self, name, value)

    @cached_property
    def parts(self) -> tuple[LayerPart, ...]:
        """The parts of the pattern."""
        return parse_pattern(self.pattern)

    @property
    def label(self) -> str:
        """The pattern."""
        return self.pattern

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """A module for each part; the first of them alone has the vectors of ``label`` levels."""
        from lengthwise import nn

        modules: list[PositionEncoding] = []
        for part in self.parts:
            module = part.encoding.build(shape)
            module.window = part.window
            if any(other.slots is not None for other in modules):
                module.slots = None
            modules.append(module)
        return nn.LayerEncodings(modules, [i for i, part in enumerate(self.parts) for _ in range(part.times)])


def parse_pattern(text: str) -> tuple[LayerPart, ...]:
    """The parts of a pattern; raises ValueError for what is none, and `LengthwiseError` for an unknown encoding."""
    return tuple(_part(piece) for piece in re.split(r"\+(?![^(]*\))", text))


def _part(text: str) -> LayerPart:
    found = PART.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no part of a pattern; write rope(window=128)*3+nope, for example")
    name, times = found["name"], int(found["times"] or 1)
    if name == "layers":
        raise ValueError("a pattern can't contain the encoding 'layers'; write its parts instead")
    if times < 1:
        raise ValueError(f"a part of a pattern needs at least one layer, got {text!r}")
    fields = dict(_field(field, text) for field in (found["fields"] or "").split(",") if field.strip())
    window = fields.pop("window", None)
    if window is not None and (not isinstance(window, int) or isinstance(window, bool) or window < 1):
        raise ValueError(f"a window must be a whole number of at least 1, got {text!r}")
    return LayerPart(ENCODINGS.build(name, **fields), window, times)


def _field(text: str, part: str) -> tuple[str, Any]:
    name, separator, value = (piece.strip() for piece in text.partition("="))
    if not separator:
        raise ValueError(f"settings in {part!r} need the form name=value, got {text!r}")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value
