"""Rotary positions: RoPE (Su et al. 2021), partial RoPE (GPT-NeoX, GPT-J) and xPos (Sun et al. 2022).

PoPE (Gopalakrishnan et al. 2025) keeps content out of the angles, RePo (Li et al. 2025) makes the positions of content.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int, Num
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.core.errors import require
from lengthwise.nn.base import PositionEncoding, ScoreContext, Slots, all_levels, level_indices
from lengthwise.nn.content import ContentEncoding
from lengthwise.nn.recurrence import Learned


class Rotary(PositionEncoding):
    """Coordinates (c, c + d/2) of queries and keys are rotated by the angle p · base^(−2c/d), c = 0 … d/2 − 1.

    Input: queries or keys ``[B, H, T, head_width]`` and their tokens' ids, ``[B, T]`` or ``[B, T, L]``. Output: the
    same shape. The product of a query and a key then depends on the difference of their ids only. This is the "half"
    layout (GPT-NeoX, Llama), not the one that rotates neighbouring coordinates. Several levels share the coordinates:
    each has a contiguous block of them. Has no parameters.

    Raises `LengthwiseError` unless ``head_width`` is even and has a pair of coordinates for each level, and ``base``
    is positive and finite.

    >>> rotary, ids = Rotary(64), torch.arange(10).expand(2, 10)
    >>> q, k = torch.randn(2, 2, 4, 10, 64)
    >>> (rotary(q, ids) @ rotary(k, ids).mT).shape
    torch.Size([2, 4, 10, 10])
    """

    def __init__(
        self, head_width: int, levels: int | Sequence[int] = 1, *, base: float = 10_000.0, slots: Slots | None = None
    ) -> None:
        used, half = level_indices(levels), head_width // 2
        require(0 < base < math.inf, f"base must be finite and above 0, got {base}")
        require(
            head_width % 2 == 0 and half >= len(used),
            f"rope needs an even head width of at least {2 * len(used)}, got {head_width}; "
            "change the width or the number of heads",
        )
        super().__init__(slots)
        self.base, self.levels = base, used
        frequencies = base ** (-torch.arange(half, dtype=torch.float32) / half)
        level_of = torch.tensor(used, dtype=torch.long)[torch.arange(half) * len(used) // half]
        self.frequencies = nn.Buffer(frequencies, persistent=False)
        self.level_of = nn.Buffer(level_of, persistent=False)

    def forward(self, x: Float[Tensor, "B H T d"], ids: Int[Tensor, "B T *L"]) -> Float[Tensor, "B H T d"]:
        return self.rotate(x, ids)

    def rotate(self, x: Float[Tensor, "B H T d"], ids: Int[Tensor, "B T *L"]) -> Float[Tensor, "B H T d"]:
        return rotated(x, self.angles(all_levels(ids)))

    def angles(self, ids: Num[Tensor, "B T L"]) -> Float[Tensor, "B T f"]:
        """The angle of each pair of coordinates; ids may be fractions."""
        return ids[..., self.level_of] * self.frequencies


def rotated(x: Float[Tensor, "B H T d"], angles: Float[Tensor, "B T f"]) -> Float[Tensor, "B H T d"]:
    """Coordinates (c, c + d/2) rotated by the angles of their tokens."""
    cos, sin = angles.cos()[:, None].to(x.dtype), angles.sin()[:, None].to(x.dtype)
    left, right = x.chunk(2, dim=-1)
    return torch.cat([left * cos - right * sin, right * cos + left * sin], dim=-1)


class RotaryScores(ContentEncoding):
    """Keys are cached as they are, and rotated when the logits are made: `rotary` has the frequencies.

    Subclasses say, for the ids of one level, which logits a pair of query and key has.
    """

    def __init__(self, head_width: int, levels: int | Sequence[int], base: float, slots: Slots | None) -> None:
        super().__init__(slots)
        self.rotary = Rotary(head_width, levels, base=base)

    @abstractmethod
    def level_logits(
        self, q: Float[Tensor, "B H Q d"], k: Float[Tensor, "B H T d"], tokens: ScoreContext, level: int
    ) -> Float[Tensor, "B H Q T"]:
        """The logits of one level, times √d; coordinates of other levels are 0 in ``q``."""

    def scores(self, scores: Float[Tensor, "B H Q T"], tokens: ScoreContext) -> Float[Tensor, "B H Q T"]:
        """The logits of the rotated queries and keys; those of the unrotated ones, ``scores``, are not used."""
        total, q = None, tokens.queries
        for level in self.rotary.levels:
            own = (self.rotary.level_of == level).repeat(2).to(q.dtype)
            part = self.level_logits(q if len(self.rotary.levels) == 1 else q * own, tokens.k, tokens, level)
            total = part if total is None else total + part
        return scores if total is None else total / math.sqrt(q.shape[3])

    def product(
        self,
        q: Float[Tensor, "B H Q d"],
        k: Float[Tensor, "B H T d"],
        q_ids: Num[Tensor, "B Q"],
        k_ids: Num[Tensor, "B T"],
    ) -> Float[Tensor, "B H Q T"]:
        """The product of queries and keys that are rotated by these ids, on all pairs of coordinates."""
        theta = self.rotary.frequencies
        return rotated(q, q_ids[..., None] * theta) @ rotated(k, k_ids[..., None] * theta).mT


def ids_of_level(tokens: ScoreContext, level: int) -> tuple[Tensor, Tensor]:
    """The ids of queries [B, Q] and keys [B, T] on one level."""
    ids = all_levels(tokens.ids)[..., level]
    return ids[:, tokens.index], ids


class PartialRotary(PositionEncoding):
    """The first 2 · round(share · d / 2) coordinates of queries and keys are rotated as by `Rotary`, the rest is kept.

    Input: as of `Rotary`. Output: the same shape. GPT-NeoX and GPT-J rotate a quarter. Raises `LengthwiseError` unless
    ``share`` is above 0 and at most 1, and what it rotates has a pair of coordinates for each level.

    >>> rotary, ids = PartialRotary(64, share=0.25), torch.arange(10).expand(2, 10)
    >>> q = torch.randn(2, 4, 10, 64)
    >>> rotated = rotary(q, ids)
    >>> rotated.shape, bool((rotated[..., 16:] == q[..., 16:]).all())
    (torch.Size([2, 4, 10, 64]), True)
    """

    def __init__(
        self, head_width: int, levels: int | Sequence[int] = 1, *,
        share: float = 0.5, base: float = 10_000.0, slots: Slots | None = None,
    ) -> None:  # fmt: skip
        require(0 < share <= 1, f"share must be above 0 and at most 1, got {share}")
        rotated = 2 * round(share * head_width / 2)
        pairs = len(level_indices(levels))
        require(
            2 * pairs <= rotated <= head_width,
            f"a share of {share} of head width {head_width} rotates {rotated} coordinates, and {2 * pairs} are "
            "needed; raise the share or the width, or use fewer heads",
        )
        super().__init__(slots)
        self.rotated = rotated
        self.rotary = Rotary(rotated, levels, base=base)

    def forward(self, x: Float[Tensor, "B H T d"], ids: Int[Tensor, "B T *L"]) -> Float[Tensor, "B H T d"]:
        return self.rotate(x, ids)

    def rotate(self, x: Float[Tensor, "B H T d"], ids: Int[Tensor, "B T *L"]) -> Float[Tensor, "B H T d"]:
        return torch.cat([self.rotary.rotate(x[..., : self.rotated], ids), x[..., self.rotated :]], dim=-1)


ROOM = 7.0
"""Logarithm of the largest coordinate of a key that still fits."""


class XPos(Rotary):
    """As `Rotary`; then pair c of a query is multiplied by ζ_c^(p / scale), that of a key by ζ_c^(−p / scale).

    ζ_c = (2c/d + γ) / (1 + γ), γ = 0.4. The product of query and key depends on the difference of their ids only, and
    pairs that rotate fast shrink with it. Keys with larger ids than the query's (coupled ids fall) are magnified.

    Input: queries ``[B, H, T, head_width]`` and their tokens' ids, ``[B, T]`` or ``[B, T, L]``; for keys, call
    `rotate_keys`. Output: the same shape. Has no parameters. Raises `LengthwiseError` as `Rotary` does, unless
    ``scale`` is positive and finite, and for ids whose factors leave the range of the numbers (33,000 in float32 and
    bfloat16 and 1,600 in float16 at the default scale).

    >>> xpos, ids = XPos(64), torch.arange(10).expand(2, 10)
    >>> q, k = torch.randn(2, 2, 4, 10, 64)
    >>> (xpos(q, ids) @ xpos.rotate_keys(k, ids).mT).shape
    torch.Size([2, 4, 10, 10])
    """

    def __init__(
        self, head_width: int, levels: int | Sequence[int] = 1, *,
        base: float = 10_000.0, scale: float = 512.0, slots: Slots | None = None,
    ) -> None:  # fmt: skip
        require(0 < scale < math.inf, f"scale must be finite and above 0, got {scale}")
        super().__init__(head_width, levels, base=base, slots=slots)
        half = head_width // 2
        self.scale, self.reach = scale, scale / -math.log(0.4 / 1.4)
        decay = (torch.arange(half, dtype=torch.float32) / half + 0.4) / 1.4
        self.log_decay = nn.Buffer(decay.log() / scale, persistent=False)

    def rotate(self, x: Float[Tensor, "B H T d"], ids: Int[Tensor, "B T *L"]) -> Float[Tensor, "B H T d"]:
        return super().rotate(x, ids) * self._factors(ids, x.dtype)

    def rotate_keys(self, x: Float[Tensor, "B H T d"], ids: Int[Tensor, "B T *L"]) -> Float[Tensor, "B H T d"]:
        return super().rotate(x, ids) * self._factors(-ids, x.dtype)

    def _factors(self, ids: Tensor, dtype: torch.dtype) -> Float[Tensor, "B 1 T d"]:
        # On another device the number would have to be waited for; there what is not finite is counted as such.
        most = int(ids.abs().max()) if ids.numel() and ids.device.type == "cpu" else 0
        limit = (math.log(torch.finfo(dtype).max) - ROOM) * self.reach
        require(
            most <= limit,
            f"xpos with scale {self.scale:g} multiplies keys by numbers beyond {dtype} at id {most}; ids may be at "
            f"most {int(limit)}: raise scale, or use another encoding",
        )
        return torch.exp(all_levels(ids)[..., self.level_of] * self.log_decay).repeat(1, 1, 2)[:, None].to(dtype)


class PoPE(ContentEncoding):
    """logit(i, j) = Σ_c softplus(q_ic) softplus(k_jc) cos((p_i − p_j) θ_c + δ_hc) / √d, θ_c = base^(−c/d).

    Content is in the magnitudes alone and position in the angles alone, one for each of the d coordinates
    (Gopalakrishnan et al. 2025, 2509.10534). The phases δ are learned for each head, and start at 0. Several levels of
    ids share the coordinates as in `Rotary`. All layers share δ.

    Raises `LengthwiseError` unless ``base`` is positive and finite and there is a coordinate for each level.

    >>> q, k = torch.randn(2, 2, 4, 10, 16)
    >>> PoPE(heads=4, head_width=16)(q, k).shape
    torch.Size([2, 4, 10, 10])
    """

    def __init__(
        self, heads: int, head_width: int, levels: int | Sequence[int] = 1, *,
        base: float = 10_000.0, slots: Slots | None = None,
    ) -> None:  # fmt: skip
        used = level_indices(levels)
        require(0 < base < math.inf, f"base must be finite and above 0, got {base}")
        require(head_width >= len(used), f"pope needs a head width of at least {len(used)}, got {head_width}")
        super().__init__(slots)
        self.uses = bool(used)
        self.phases = Learned(torch.zeros(heads, head_width))
        coordinate = torch.arange(head_width)
        self.frequencies = nn.Buffer(base ** (-coordinate.float() / head_width), persistent=False)
        level_of = torch.tensor(used or (0,), dtype=torch.long)[coordinate * max(1, len(used)) // head_width]
        self.level_of = nn.Buffer(level_of, persistent=False)

    def scores(self, scores: Float[Tensor, "B H Q T"], tokens: ScoreContext) -> Float[Tensor, "B H Q T"]:
        """The logits of magnitudes and angles; those of queries and keys themselves, ``scores``, are not used."""
        ids = all_levels(tokens.ids)[..., self.level_of] * (self.frequencies if self.uses else 0)
        angles = ids[:, None]
        q, k = functional.softplus(tokens.queries.float()), functional.softplus(tokens.k.float())
        turned = angles[:, :, tokens.index] + self.phases(q)[:, :, None]
        total = (q * turned.cos()) @ (k * angles.cos()).mT + (q * turned.sin()) @ (k * angles.sin()).mT
        return total / math.sqrt(q.shape[3])


class RePo(ContentEncoding):
    """RoPE at positions that the model makes itself: z_h = w_h · (SiLU(G x) ⊙ C x) for every head, ids are not used.

    x is the input of the attention layer, and G and C map it to ``rank`` dimensions (Li et al. 2025, 2512.14391). A
    token's position says nothing of its place in the sequence unless x does: the authors keep RoPE in the first layers,
    as ``rope+repo`` does. All layers share the parameters; theirs have some each.

    Needs ``x``. Raises `LengthwiseError` as `Rotary` does.

    >>> q, k = torch.randn(2, 2, 4, 10, 16)
    >>> RePo(width=64, heads=4, head_width=16)(q, k, x=torch.randn(2, 10, 64)).shape
    torch.Size([2, 4, 10, 10])
    """

    def __init__(
        self, width: int, heads: int, head_width: int, *,
        rank: int = 8, base: float = 10_000.0, slots: Slots | None = None,
    ) -> None:  # fmt: skip
        require(min(width, heads, rank) >= 1, f"width, heads and rank must be at least 1, got {(width, heads, rank)}")
        super().__init__(slots)
        self.rotary = Rotary(head_width, base=base)
        self.gate, self.content = nn.Linear(width, rank, bias=False), nn.Linear(width, rank, bias=False)
        self.place = nn.Linear(rank, heads, bias=False)

    def scores(self, scores: Float[Tensor, "B H Q T"], tokens: ScoreContext) -> Float[Tensor, "B H Q T"]:
        """The logits of the rotated queries and keys; those of the unrotated ones, ``scores``, are not used."""
        places = self.place(functional.silu(self.gate(tokens.x)) * self.content(tokens.x)).float().mT
        angles = (places[..., None] * self.rotary.frequencies).flatten(0, 1)
        q, k = (part.float().flatten(0, 1)[:, None] for part in (tokens.queries, tokens.k))
        product = rotated(q, angles[:, tokens.index]) @ rotated(k, angles).mT
        return product.view(*places.shape[:2], *product.shape[2:]) / math.sqrt(q.shape[3])
