"""`EncodingSpec`: the settings of a position encoding, as a frozen dataclass; `build` makes the torch module."""

from __future__ import annotations

import dataclasses
import inspect
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from lengthwise.core.errors import require
from lengthwise.core.levels import LABEL_IDS
from lengthwise.core.registry import Registry
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding, Slots


class EncodingSpec(ABC):
    """The settings of an encoding: what ``--encoding`` and result files name."""

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    has_table: ClassVar[bool] = False
    """Whether the encoding has a learned row per id, so that ids above ``max_position`` have no meaning."""
    smooth: ClassVar[bool] = True
    """Whether gradients are continuous; where they jump, rounding can change them."""
    uses_ids: ClassVar[bool] = True
    """Whether attention depends on the ids of ``position`` levels."""
    translation_invariant: ClassVar[bool] = True
    """Whether attention stays the same when one number is added to all ids."""

    local: ClassVar[bool] = False
    """Whether attention reaches near ids alone, so that log-length scaling has nothing to make up for."""
    extends_rope: ClassVar[bool] = False
    """Whether a model trained with RoPE can take the encoding over without training, to read longer contexts."""

    @property
    def label(self) -> str:
        """What tables and figures call the encoding."""
        return self.name

    @abstractmethod
    def build(self, shape: EncodingShape) -> PositionEncoding:
        """The torch module, for ids ``[B, T, L]`` of the kinds in ``shape``; imports torch."""

    def slots(self, shape: EncodingShape) -> Slots:
        """The learned vectors of the ``label`` levels, which every encoding but `NoPESpec` adds."""
        from lengthwise import nn

        return nn.Slots(shape.label_levels, shape.width, LABEL_IDS)


class ModuleSpec(EncodingSpec):
    """The settings of a class of `lengthwise.nn`, whose parameters are these fields and sizes of the model by name."""

    module: ClassVar[str]
    """The name of the class."""

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """The module with the fields of the same names; what else it needs is in ``shape``."""
        from lengthwise import nn

        require(hasattr(nn, self.module), f"lengthwise.nn has no {self.module}; an encoding of your own needs `build`")
        made = getattr(nn, self.module)
        parameters = inspect.signature(made).parameters
        values = {name: getattr(shape, name) for name, p in parameters.items() if p.default is p.empty}
        if "levels" in parameters:
            values["levels"] = shape.position_levels
        values |= {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]
        return made(**values, slots=self.slots(shape))


class EncodingRegistry(Registry[EncodingSpec]):
    """Encodings by name; a pattern such as ``rope(window=128)*3+nope`` is the encoding ``layers`` with that pattern."""

    def build(self, spec: Any, **fields: Any) -> EncodingSpec:
        """An encoding from itself, its name, a pattern of names by layer, or ``{"name": ..., **fields}``."""
        if isinstance(spec, str) and ":" not in spec and not spec.endswith(".py") and set(spec) & set("+*("):
            return super().build("layers", pattern=spec, **fields)
        return super().build(spec, **fields)


ENCODINGS: Registry[EncodingSpec] = EncodingRegistry("encoding", EncodingSpec)
