"""The configuration of a transformer. No torch: recipes and the command line read it."""

from __future__ import annotations

from typing import Literal, NamedTuple

from lengthwise.core.config import AtLeast1, AtLeast2, NotNegative, ShareBelow1, config
from lengthwise.core.errors import LengthwiseError, reject
from lengthwise.models.mixers import AttentionSpec, MixerSpec, layer_mixers


class Loops(NamedTuple):
    """How often the layers run: first loops without a gradient, then loops with one."""

    free: int
    taught: int


@config
class ModelConfig:
    """A pre-norm decoder; the defaults suit tasks that need one hop of attention per step.

    ``log_length`` is the length c at which log-length attention scaling is 1: scores are multiplied by ln(i) / ln(c)
    for a query that sees i keys (a choice of ours; None switches it off). ``norm`` ``peri`` is RMSNorm before *and
    after* attention and MLP (Kim et al. 2025, Peri-LN): what is added keeps its direction and loses its size.

    ``loops`` runs the layers that many times in a row with the same weights; before every loop but the first the
    embedded input is added again (input injection, Bansal et al. 2022). ``tokens`` runs them once for each token of the
    sequence (Fan et al. 2024: the number of loops grows with the length).

    ``init`` ``small`` draws matrices from N(0, 0.02²), and the token table and the heads from N(0, ``table_std``²).
    ``fan_in`` draws the token table from N(0, 1) and matrices from N(0, 1/fan_in); those that write to the residual
    stream (``attention.out`` and ``down``) are then also scaled by 1/√(2·layers), which ``small`` does not do. Mixers
    other than attention draw their own weights.
    """

    layers: AtLeast1 = 1
    heads: AtLeast1 = 4
    width: AtLeast1 = 128
    mlp_ratio: AtLeast1 = 4
    norm: Literal["rms", "layer", "peri"] = "rms"
    bias: bool = False
    qk_norm: bool = True
    log_length: AtLeast2 | None = None
    tied: bool = False
    dropout: ShareBelow1 = 0.0
    init: Literal["small", "fan_in"] = "small"
    table_std: NotNegative = 0.05
    id_head: Literal["classification", "pointer"] = "classification"
    """How position ids are predicted under predictive position coupling."""
    loops: AtLeast1 | Literal["tokens"] = 1
    mixer: str = "attention"
    """What mixes the tokens: a name, or a pattern by layer such as ``mamba*3+attention``, or ``FILE.py:Class``."""

    def __post_init__(self) -> None:
        period = len(layer_mixers(self.mixer))
        if period > self.layers:
            raise ValueError(
                f"the pattern of mixers names {period} layers, but the model has {self.layers}; "
                "raise model.layers or shorten the pattern"
            )
        reject(self.width % self.heads > 0, f"width must be a multiple of heads, got {self.width} and {self.heads}")

    def loops_for(self, tokens: int) -> int:
        """How often the layers run on a sequence of so many tokens."""
        return tokens if self.loops == "tokens" else self.loops

    @property
    def head_width(self) -> int:
        return self.width // self.heads

    @property
    def mixers(self) -> tuple[MixerSpec, ...]:
        """The mixer of every layer."""
        pattern = layer_mixers(self.mixer)
        return tuple(pattern[layer % len(pattern)] for layer in range(self.layers))

    def need_attention(self, what: str) -> None:
        """Raise `LengthwiseError` unless every layer has attention, which ``what`` can't do without."""
        if not all(isinstance(mixer, AttentionSpec) for mixer in self.mixers):
            raise LengthwiseError(f"{what} needs attention in every layer, but model.mixer is {self.mixer}")
