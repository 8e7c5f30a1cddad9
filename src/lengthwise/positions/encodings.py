"""Settings of position encodings: how attention uses the ids of tokens. Importing them imports no torch."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import pydantic

from lengthwise.core.config import AboveZero, AtLeast0, AtLeast1, AtLeast2, Extension, NotNegative, PositiveShare, Share
from lengthwise.core.errors import require
from lengthwise.core.levels import LABEL_IDS, LevelKind
from lengthwise.core.registry import Registry

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
        """The levels whose ids are positions."""
        return tuple(level for level, kind in enumerate(self.kinds) if kind == "position")

    @property
    def label_levels(self) -> tuple[int, ...]:
        """The levels whose ids are labels (slots): the places themselves."""
        return tuple(level for level, kind in enumerate(self.kinds) if kind == "label")


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


@ENCODINGS.register("nope")
class NoPESpec(EncodingSpec):
    """No position encoding; only the causal mask distinguishes positions (Haviv et al. 2022).

    Labels on ``label`` levels are ignored as well.
    """

    summary = "nothing is added; only the causal mask distinguishes positions"
    uses_ids = False

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """A module whose hooks have no effect."""
        from lengthwise import nn

        return nn.NoPE()


@ENCODINGS.register("learned")
class LearnedSpec(ModuleSpec):
    """A learned vector per id, added to the token embedding; one table per level, summed (APE)."""

    module = "LearnedEmbedding"
    summary = "one learned table per level, added to the token embedding"
    has_table = True
    translation_invariant = False

    init_std: NotNegative = 0.05


@ENCODINGS.register("learned-slow")
class SlowLearnedSpec(ModuleSpec):
    """A learned table that is multiplied by ``scale`` on use, so that Adam changes it ``scale`` times as fast.

    Adam's steps have the size of the learning rate even where the loss hardly depends on a number; in a slow table,
    rows that are not needed stay small. ``init_std`` is that of the product. This choice is ours, from no paper.
    """

    module = "LearnedEmbedding"
    summary = "a learned table at a share of the learning rate, added to the token embedding"
    has_table = True
    translation_invariant = False

    init_std: NotNegative = 0.002
    scale: PositiveShare = 0.1


@ENCODINGS.register("sinusoidal")
class SinusoidalSpec(ModuleSpec):
    """Fixed sines and cosines of the id, added to the token embedding (Vaswani et al. 2017)."""

    module = "Sinusoidal"
    summary = "fixed sines and cosines, added to the token embedding"
    translation_invariant = False

    base: AboveZero = 10_000.0
    scale: float = 0.05
    """Factor on the sines, to match the size of the token embeddings."""


@ENCODINGS.register("rope")
class RoPESpec(ModuleSpec):
    """Queries and keys are rotated by their ids, in the half layout (Su et al. 2021).

    Several position levels share the frequencies in contiguous blocks.
    """

    module = "Rotary"
    summary = "queries and keys rotated by their ids; attention depends on differences of ids only"

    base: AboveZero = 10_000.0


@ENCODINGS.register("rope-partial")
class PartialRoPESpec(ModuleSpec):
    """A share of the coordinates of queries and keys is rotated by the ids (GPT-NeoX, GPT-J)."""

    module = "PartialRotary"
    summary = "RoPE on a share of the coordinates"

    share: PositiveShare = 0.5
    base: AboveZero = 10_000.0


@ENCODINGS.register("xpos")
class XPosSpec(ModuleSpec):
    """RoPE with factors that decay with the distance, faster for pairs that rotate faster (Sun et al. 2022)."""

    module = "XPos"
    summary = "RoPE whose rotated pairs also shrink with the distance"

    base: AboveZero = 10_000.0
    scale: AboveZero = 512.0
    """Distance over which the fastest pair shrinks by 0.29."""


@ENCODINGS.register("pi")
class PISpec(ModuleSpec):
    """RoPE with ids divided by ``factor``: position interpolation (Chen et al. 2023)."""

    module = "PositionInterpolation"
    summary = "RoPE with ids divided by a factor: extends the context of a trained model"
    extends_rope = True

    factor: Extension = 4.0
    base: AboveZero = 10_000.0


@ENCODINGS.register("ntk")
class NTKSpec(ModuleSpec):
    """RoPE with a base that grows with ``factor``: NTK-aware scaling (bloc97 2023)."""

    module = "NTKAware"
    summary = "RoPE with a larger base: extends the context of a trained model"
    extends_rope = True

    factor: Extension = 4.0
    base: AboveZero = 10_000.0


@ENCODINGS.register("dynamic-ntk")
class DynamicNTKSpec(ModuleSpec):
    """RoPE whose base grows with the tokens so far beyond the trained ``length`` (emozilla 2023)."""

    module = "DynamicNTK"
    summary = "RoPE whose base grows with the number of tokens beyond the trained length"
    extends_rope = True
    translation_invariant = False

    factor: Extension = 1.0
    length: AtLeast1 = 16
    base: AboveZero = 10_000.0


@ENCODINGS.register("yarn")
class YaRNSpec(EncodingSpec):
    """RoPE with fast pairs kept and slow pairs interpolated, and sharper attention (Peng et al. 2023).

    ``length`` is the trained context in tokens. ``by_index`` is the variant of most public code.
    ``attention_factor`` multiplies queries and keys, None: 0.1 · ln(factor) + 1.
    """

    summary = "RoPE with slow pairs interpolated and sharper attention: extends the context of a trained model"
    extends_rope = True

    factor: Extension = 4.0
    length: AtLeast1 = 16
    alpha: float = 1.0
    beta: float = 32.0
    by_index: bool = False
    attention_factor: float | None = None
    base: AboveZero = 10_000.0

    def __post_init__(self) -> None:
        if not 0 < self.alpha < self.beta:
            raise ValueError(f"yarn needs 0 < alpha < beta, got {self.alpha} and {self.beta}")

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """A module without parameters, apart from those of ``label`` levels."""
        from lengthwise import nn

        return nn.YaRN(
            shape.head_width,
            shape.position_levels,
            factor=self.factor,
            length=self.length,
            bounds=(self.alpha, self.beta),
            by_index=self.by_index,
            attention_factor=self.attention_factor,
            base=self.base,
            slots=self.slots(shape),
        )


@ENCODINGS.register("llama3")
class Llama3Spec(ModuleSpec):
    """RoPE with slow pairs interpolated, as in Llama 3.1 (Dubey et al. 2024).

    ``length`` is the trained context in tokens.
    """

    module = "Llama3Rotary"
    summary = "RoPE with slow pairs interpolated, as in Llama 3.1"
    extends_rope = True

    factor: Extension = 4.0
    length: AtLeast1 = 16
    low: float = 1.0
    high: float = 4.0
    base: AboveZero = 10_000.0

    def __post_init__(self) -> None:
        if not 0 < self.low < self.high:
            raise ValueError(f"llama3 needs 0 < low < high, got {self.low} and {self.high}")


@ENCODINGS.register("longrope")
class LongRoPESpec(ModuleSpec):
    """RoPE with a factor for each pair, and the first ``unscaled`` ids as trained (Ding et al. 2024).

    Without ``factors`` the pairs are scaled as in NTK-aware scaling, where a search for factors starts.
    """

    module = "LongRoPE"
    summary = "RoPE with a factor for each pair of coordinates"
    extends_rope = True

    factors: tuple[float, ...] | None = None
    factor: Extension = 4.0
    length: AtLeast2 = 16
    unscaled: int = 0
    base: AboveZero = 10_000.0


@ENCODINGS.register("self-extend")
class SelfExtendSpec(ModuleSpec):
    """RoPE with exact distances below ``near`` and grouped ones beyond (Jin et al. 2024)."""

    module = "SelfExtend"
    summary = "RoPE with exact near distances and grouped far ones"
    extends_rope = True
    translation_invariant = False

    near: AtLeast1 = 8
    group: AtLeast1 = 4
    base: AboveZero = 10_000.0


@ENCODINGS.register("rerope")
class ReRoPESpec(ModuleSpec):
    """RoPE with distances clipped at ``near``, or growing by ``leak`` beyond it (Su 2023)."""

    module = "ReRoPE"
    summary = "RoPE with distances clipped beyond a limit"
    extends_rope = True

    near: AtLeast1 = 8
    leak: Share = 0.0
    base: AboveZero = 10_000.0


@ENCODINGS.register("alibi")
class ALiBiSpec(ModuleSpec):
    """A penalty linear in the distance of the ids, with a fixed slope per head (Press et al. 2022)."""

    module = "ALiBi"
    summary = "a fixed linear penalty on distance, one slope per head"


@ENCODINGS.register("alibi-learned")
class LearnedALiBiSpec(ModuleSpec):
    """ALiBi whose slopes are learned, from those of ALiBi on."""

    module = "LearnedALiBi"
    summary = "a linear penalty on distance with a learned slope per head"


@ENCODINGS.register("hard-alibi")
class HardALiBiSpec(ModuleSpec):
    """Head h of the local heads sees the last h tokens, the other heads see everything (Jelassi et al. 2024)."""

    module = "HardALiBi"
    summary = "heads that see the last 1, 2, … tokens only, and heads that see everything"

    local_heads: AtLeast1 | None = None
    """How many heads are local; None: half of them."""


@ENCODINGS.register("t5")
class T5Spec(ModuleSpec):
    """A learned bias per logarithmic bucket of distances, shared by all layers (Raffel et al. 2020).

    Keys with larger ids than the query's (coupled ids fall) have buckets of their own.
    """

    module = "T5Bias"
    summary = "a learned bias per logarithmic bucket of distances"

    buckets: int = 32
    max_distance: int = 128

    def __post_init__(self) -> None:
        if self.buckets < 2 or self.max_distance <= self.buckets // 2:
            raise ValueError(
                f"t5 needs buckets >= 2 and max_distance > buckets / 2, got {self.buckets} and {self.max_distance}"
            )


@ENCODINGS.register("kerple")
class KerpleSpec(ModuleSpec):
    """A learned penalty on distance, r·ln(1 + s·distance) or r·distance^s, per head (Chi et al. 2022)."""

    module = "Kerple"
    summary = "a learned penalty per head, logarithmic in the distance (or a power of it)"

    form: Literal["log", "power"] = "log"

    @property
    def label(self) -> str:
        """``kerple``, or ``kerple-power``."""
        return self.name if self.form == "log" else f"{self.name}-{self.form}"


ENCODINGS.alias("kerple-power", {"name": "kerple", "form": "power"})


@ENCODINGS.register("fire")
class FIRESpec(ModuleSpec):
    """A small MLP on the distance relative to the query's position, both on a log scale (Li et al. 2024).

    The normalizer is the maximum of the learned threshold and the ids of query and key. One bias serves all layers.
    """

    module = "FIRE"
    summary = "a learned function of relative distance, normalized by the query's position"
    translation_invariant = False

    threshold: AboveZero = 32.0
    """Initial value of the learned length threshold; about the training length."""
    width: AtLeast1 = 32
    scale: AboveZero = 0.1
    """Initial value of c in ln(c·x + 1)."""


@ENCODINGS.register("shaw")
class ShawSpec(ModuleSpec):
    """A learned vector per clipped distance, added to keys; shared by heads and layers (Shaw et al. 2018)."""

    module = "Shaw"
    summary = "a learned vector per clipped distance, added to keys"

    clip: AtLeast1 = 16


@ENCODINGS.register("transformer-xl")
class TransformerXLSpec(ModuleSpec):
    """Queries meet projected sinusoids of the distance; shared by the layers (Dai et al. 2019)."""

    module = "TransformerXL"
    summary = "products of queries with projected sinusoids of the distance"


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
        """With its sink."""
        return "local-bias-sink" if self.sink else self.name

    def __post_init__(self) -> None:
        # A token without a place keeps its id when those of all others move.
        object.__setattr__(self, "translation_invariant", not self.sink)


ENCODINGS.alias("local-bias-sink", {"name": "local-bias", "sink": True})


@ENCODINGS.register("dynamic-bias")
class DynamicBiasSpec(ModuleSpec):
    """A small MLP on the signed distance, on a log scale, shared by the layers (Wang et al. 2021)."""

    module = "DynamicBias"
    summary = "a small MLP on the signed logarithm of the distance"

    width: AtLeast1 = 32
    depth: AtLeast1 = 2
    """Hidden layers."""
    log: bool = True


@ENCODINGS.register("coupled-bias")
class CoupledBiasSpec(ModuleSpec):
    """A learned bias per signed, clipped distance, with a table for each level; shared by the layers."""

    module = "CoupledBias"
    summary = "a learned bias per signed distance and level of the ids"

    buckets: int = 64
    """Distances from −buckets/2 to buckets/2 − 1 have a row each."""

    def __post_init__(self) -> None:
        if self.buckets < 2 or self.buckets % 2:
            raise ValueError(f"coupled-bias needs an even number of buckets >= 2, got {self.buckets}")


@ENCODINGS.register("cope")
class CoPESpec(ModuleSpec):
    """Contextual positions: how many keys from a key up to the query pass a gate (Golovneva et al. 2024)."""

    module = "CoPE"
    summary = "positions that count the keys that pass a gate; ids are not used"
    uses_ids = False
    smooth = False

    positions: AtLeast2 = 64
    """Counted positions are clipped below this."""


@ENCODINGS.register("path")
class PaTHSpec(ModuleSpec):
    """Queries and keys pass a matrix I − β w wᵀ for each token between them (Yang et al. 2025)."""

    module = "PaTH"
    summary = "products of queries and keys pass a learned matrix for each token between them; ids are not used"
    uses_ids = False

    rank: AtLeast1 = 32
    """The rank of the projection that gives w."""


@ENCODINGS.register("forgetting")
class ForgettingSpec(ModuleSpec):
    """Forget gates of the tokens make attention decay, as in the forgetting transformer, FoX (Lin et al. 2025)."""

    module = "ForgettingBias"
    summary = "attention that decays by forget gates of the tokens (FoX); ids are not used"
    uses_ids = False

    bias: pydantic.FiniteFloat = 5.0
    """Initial bias of the gates; large: nearly nothing is forgotten."""


@ENCODINGS.register("selective")
class SelectiveSpec(ModuleSpec):
    """Selective attention: each layer's first head decides which earlier tokens to mask (Leviathan et al. 2024)."""

    module = "SelectiveAttention"
    summary = "tokens mask earlier tokens for all later ones; ids are not used"
    uses_ids = False


@ENCODINGS.register("scalable-softmax")
class ScalableSoftmaxSpec(ModuleSpec):
    """Logits are multiplied by a learned number per head and the logarithm of the number of keys (Nakanishi 2025)."""

    module = "ScalableSoftmax"
    summary = "logits times a learned number times ln(number of keys); ids are not used"
    uses_ids = False

    length: AtLeast2 = 32
    """About the training length: at it, logits keep their size at the start."""


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
