"""Settings of position encodings: how attention uses the ids of tokens. Importing them imports no torch."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import pydantic

from lengthwise.core.config import AboveZero, AtLeast0, AtLeast1, AtLeast2, Extension, NotNegative, PositiveShare, Share
from lengthwise.core.errors import reject, require
from lengthwise.core.levels import LABEL_IDS, LevelKind
from lengthwise.core.registry import NameOfClass, Registry

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding, Slots


@dataclass(frozen=True)
class EncodingShape:
    """Width of the model, number and width of its heads, kinds of the id levels, and the largest id."""

    width: int
    heads: int
    head_width: int
    kinds: tuple[LevelKind, ...]
    max_position: int

    def __post_init__(self) -> None:
        known = get_args(LevelKind)
        require(set(self.kinds) <= set(known), f"a level of places or ids is one of {known}, got {self.kinds}")

    @property
    def position_levels(self) -> tuple[int, ...]:
        return tuple(level for level, kind in enumerate(self.kinds) if kind == "position")

    @property
    def label_levels(self) -> tuple[int, ...]:
        """The levels whose ids are labels (slots): the places themselves."""
        return tuple(level for level, kind in enumerate(self.kinds) if kind == "label")


class EncodingSpec(ABC):
    """The settings of an encoding: what ``--encoding`` and result files name."""

    name: ClassVar[str] = NameOfClass()  # type: ignore[assignment]
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
    check: ClassVar[tuple[Callable[[Any], bool], str] | None] = None
    """What the fields have to fulfil together, and what to say otherwise, with the settings as ``{0}``."""

    def __post_init__(self) -> None:
        if self.check is not None and not self.check[0](self):
            raise ValueError(self.check[1].format(self))

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

    def declare(self, name: str, module: str, summary: str, fields: dict[str, tuple[Any, Any]], **about: Any) -> None:
        """Register the settings of a class of `lengthwise.nn`: type and default by field, and what else `about` them.

        The class has the docstring that explains the fields and cites the paper.
        """
        types = {field: kind for field, (kind, _) in fields.items()}
        defaults = {field: default for field, (_, default) in fields.items()}
        about |= {"module": module, "summary": summary, "__doc__": summary, "__module__": __name__}
        made = type(f"{module}Spec", (ModuleSpec,), {**about, **defaults, "__annotations__": types})
        globals()[made.__name__] = self.register(name)(made)  # where pickle looks for it


ENCODINGS = EncodingRegistry("encoding", EncodingSpec)
declare = ENCODINGS.declare


@ENCODINGS.register("nope")
class NoPESpec(EncodingSpec):
    """No position encoding; only the causal mask distinguishes positions (Haviv et al. 2022).

    Labels on ``label`` levels are ignored as well.
    """

    summary = "nothing is added; only the causal mask distinguishes positions"
    uses_ids = False

    def build(self, shape: EncodingShape) -> PositionEncoding:
        from lengthwise import nn

        return nn.NoPE()


@ENCODINGS.register("learned")
class LearnedSpec(ModuleSpec):
    """A learned vector per id, added to the token embedding; one table per level, summed (APE)."""

    module = "LearnedEmbedding"
    summary = "a learned vector for each id, added to the token embedding"
    has_table = True
    translation_invariant = False

    init_std: NotNegative = 0.05


# Adam's steps have the size of the learning rate even where the loss hardly depends on a number; in a slow table, rows
# that are not needed stay small. This choice is ours, from no paper.
# fmt: off
declare("learned-slow", "LearnedEmbedding",
        "a learned table at a share of the learning rate, added to the token embedding",
        {"init_std": (NotNegative, 0.002), "scale": (PositiveShare, 0.1)}, has_table=True, translation_invariant=False)
BASE = (AboveZero, 10_000.0)
declare("sinusoidal", "Sinusoidal", "fixed sines and cosines, added to the token embedding",
        {"base": BASE, "scale": (float, 0.05)}, translation_invariant=False)
# fmt: on


@ENCODINGS.register("rope")
class RoPESpec(ModuleSpec):
    """Queries and keys are rotated by their ids, in the half layout (Su et al. 2021).

    Several position levels share the frequencies in contiguous blocks.
    """

    module = "Rotary"
    summary = "queries and keys rotated by their ids; attention depends on differences of ids only"

    base: AboveZero = 10_000.0


# fmt: off
declare("pope", "PoPE", "content in magnitudes, ids in angles with a learned phase: matches what and where apart",
        {"base": BASE})
declare("repo", "RePo", "RoPE at positions that each head makes of the tokens' content; ids are not used",
        {"rank": (AtLeast1, 8), "base": BASE}, uses_ids=False)
# fmt: on


FACTOR, LENGTH, NEAR = (Extension, 4.0), (AtLeast1, 16), (AtLeast1, 8)
# fmt: off
declare("rope-partial", "PartialRotary", "RoPE on a share of the coordinates",
        {"share": (PositiveShare, 0.5), "base": BASE})
declare("xpos", "XPos", "RoPE whose rotated pairs also shrink with the distance",
        {"base": BASE, "scale": (AboveZero, 512.0)})
declare("pi", "PositionInterpolation", "RoPE with ids divided by a factor: extends the context of a trained model",
        {"factor": FACTOR, "base": BASE}, extends_rope=True)
declare("ntk", "NTKAware", "RoPE with a larger base: extends the context of a trained model",
        {"factor": FACTOR, "base": BASE}, extends_rope=True)
declare("dynamic-ntk", "DynamicNTK", "RoPE whose base grows with the number of tokens beyond the trained length",
        {"factor": (Extension, 1.0), "length": LENGTH, "base": BASE}, extends_rope=True, translation_invariant=False)
declare("yarn", "YaRN",
        "RoPE with slow pairs interpolated and sharper attention: extends the context of a trained model",
        {"factor": FACTOR, "length": LENGTH, "alpha": (float, 1.0), "beta": (float, 32.0), "by_index": (bool, False),
         "attention_factor": (float | None, None), "base": BASE},
        check=(lambda s: 0 < s.alpha < s.beta, "yarn needs 0 < alpha < beta, got {0.alpha} and {0.beta}"),
        extends_rope=True)
declare("llama3", "Llama3Rotary", "RoPE with slow pairs interpolated, as in Llama 3.1",
        {"factor": FACTOR, "length": LENGTH, "low": (float, 1.0), "high": (float, 4.0), "base": BASE},
        check=(lambda s: 0 < s.low < s.high, "llama3 needs 0 < low < high, got {0.low} and {0.high}"),
        extends_rope=True)
declare("longrope", "LongRoPE", "RoPE with a factor for each pair of coordinates",
        {"factors": (tuple[float, ...] | None, None), "factor": FACTOR, "length": (AtLeast2, 16), "unscaled": (int, 0),
         "base": BASE},
        extends_rope=True)
declare("self-extend", "SelfExtend", "RoPE with exact near distances and grouped far ones",
        {"near": NEAR, "group": (AtLeast1, 4), "base": BASE}, extends_rope=True, translation_invariant=False)
declare("rerope", "ReRoPE", "RoPE with distances clipped beyond a limit",
        {"near": NEAR, "leak": (Share, 0.0), "base": BASE}, extends_rope=True)
# fmt: on


@ENCODINGS.register("alibi")
class ALiBiSpec(ModuleSpec):
    """A penalty linear in the distance of the ids, with a fixed slope per head (Press et al. 2022)."""

    module = "ALiBi"
    summary = "a fixed linear penalty on distance, one slope per head"


# fmt: off
declare("alibi-learned", "LearnedALiBi", "a linear penalty on distance with a learned slope per head", {})
declare("hard-alibi", "HardALiBi", "heads that see the last 1, 2, … tokens only, and heads that see everything",
        {"local_heads": (AtLeast1 | None, None)})
declare("t5", "T5Bias", "a learned bias per logarithmic bucket of distances",
        {"buckets": (int, 32), "max_distance": (int, 128)},
        check=(lambda s: s.buckets >= 2 and s.max_distance > s.buckets // 2,
               "t5 needs buckets >= 2 and max_distance > buckets / 2, got {0.buckets} and {0.max_distance}"))
# fmt: on


@ENCODINGS.register("kerple")
class KerpleSpec(ModuleSpec):
    """A learned penalty on distance, r·ln(1 + s·distance) or r·distance^s, per head (Chi et al. 2022)."""

    module = "Kerple"
    summary = "a learned penalty per head, logarithmic in the distance (or a power of it)"

    form: Literal["log", "power"] = "log"

    @property
    def label(self) -> str:
        return self.name if self.form == "log" else f"{self.name}-{self.form}"


ENCODINGS.alias("kerple-power", {"name": "kerple", "form": "power"})
# fmt: off
declare("fire", "FIRE", "a learned function of relative distance, normalized by the query's position",
        {"threshold": (AboveZero, 32.0), "width": (AtLeast1, 32), "scale": (AboveZero, 0.1)},
        translation_invariant=False)
declare("shaw", "Shaw", "a learned vector per clipped distance, added to keys", {"clip": (AtLeast1, 16)})
declare("transformer-xl", "TransformerXL", "products of queries with projected sinusoids of the distance", {})
# fmt: on


@ENCODINGS.register("local-bias")
class LocalBiasSpec(ModuleSpec):
    """A learned bias per signed distance of near ids; far ids get no attention. Shared by the layers."""

    module = "LocalBias"
    summary = "attention to near ids alone, with a learned bias per signed distance"
    local = True

    window: AtLeast0 = 4
    """The largest distance of ids that attention bridges; at least the task's span (``lengthwise show``)."""
    scale: AboveZero = 12.0
    """How many times faster than its own entries a bias of the table moves under Adam."""
    sink: bool = False
    """Whether tokens without a place (``<bos>``) are seen from everywhere, so that heads can count near tokens."""

    @property
    def label(self) -> str:
        return "local-bias-sink" if self.sink else self.name

    def __post_init__(self) -> None:
        # A token without a place keeps its id when those of all others move.
        object.__setattr__(self, "translation_invariant", not self.sink)


ENCODINGS.alias("local-bias-sink", {"name": "local-bias", "sink": True})
# fmt: off
declare("dynamic-bias", "DynamicBias", "a small MLP on the signed logarithm of the distance",
        {"width": (AtLeast1, 32), "depth": (AtLeast1, 2), "log": (bool, True)})
declare("coupled-bias", "CoupledBias", "a learned bias per signed distance and level of the ids",
        {"buckets": (int, 64)},
        check=(lambda s: s.buckets >= 2 and s.buckets % 2 == 0,
               "coupled-bias needs an even number of buckets >= 2, got {0.buckets}"))
declare("cope", "CoPE", "positions that count the keys that pass a gate; ids are not used",
        {"positions": (AtLeast2, 64)}, uses_ids=False, smooth=False)
declare("path", "PaTH",
        "products of queries and keys pass a learned matrix for each token between them; ids are not used",
        {"rank": (AtLeast1, 32)}, uses_ids=False)
declare("forgetting", "ForgettingBias", "attention that decays by forget gates of the tokens (FoX); ids are not used",
        {"bias": (pydantic.FiniteFloat, 5.0)}, uses_ids=False)
declare("selective", "SelectiveAttention", "tokens mask earlier tokens for all later ones; ids are not used", {},
        uses_ids=False)
declare("scalable-softmax", "ScalableSoftmax",
        "logits times a learned number times ln(number of keys); ids are not used", {"length": (AtLeast2, 32)},
        uses_ids=False)
declare("asentmax", "ASEntmax",
        "entmax instead of softmax, so that most weights are 0, with a learned power of ln(number of keys)",
        {"reach": (AboveZero, 2.0)}, uses_ids=False)
# fmt: on


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
        parts = pattern_parts(self.pattern, "encodings; write rope(window=128)*3+nope")
        return tuple(_part(*part) for part in parts)

    @property
    def label(self) -> str:
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


def pattern_parts(text: str, wanted: str) -> list[tuple[str, dict[str, Any], int]]:
    """Name, fields and number of layers of every part of a pattern; raises ValueError for what is none."""
    parts = []
    for part in re.split(r"\+(?![^(]*\))", text):
        if (found := PART.fullmatch(part)) is None:
            raise ValueError(f"{part!r} is no part of a pattern of {wanted}, for example")
        times = int(found["times"] or 1)
        reject(times < 1, f"a part of a pattern needs at least one layer, got {part!r}")
        fields = dict(_field(field, part) for field in (found["fields"] or "").split(",") if field.strip())
        parts.append((found["name"], fields, times))
    return parts


def _part(name: str, fields: dict[str, Any], times: int) -> LayerPart:
    reject(name == "layers", "a pattern can't contain the encoding 'layers'; write its parts instead")
    window = fields.pop("window", None)
    if window is not None and (not isinstance(window, int) or isinstance(window, bool) or window < 1):
        raise ValueError(f"a window must be a whole number of at least 1, got {window!r} for {name!r}")
    return LayerPart(ENCODINGS.build(name, **fields), window, times)


def _field(text: str, part: str) -> tuple[str, Any]:
    name, separator, value = (piece.strip() for piece in text.partition("="))
    reject(not separator, f"settings in {part!r} need the form name=value, got {text!r}")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value
