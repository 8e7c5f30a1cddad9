"""Dynamic NTK: RoPE whose base grows with the tokens so far, once they pass the trained length (emozilla 2023)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from lengthwise.core.errors import require
from lengthwise.nn.rope_scores import RotaryScores, check_length, ids_of_level
from lengthwise.nn.score_context import ScoreContext
from lengthwise.nn.slots import Slots

CHUNK = 1 << 22
"""Numbers of rotated keys that are in memory at a time."""


class DynamicNTK(RotaryScores):
    """A query whose largest visible id is n − 1 ≥ length uses base · (factor · n / length − factor + 1)^(d / (d − 2)).

    Its keys, too: they are rotated anew for each such query, so that the logits are the same with a cache as without.
    (Public code rotates keys once, by the base at the time, and so caches what a full pass would not compute.)

    Input: queries and keys ``[B, H, T, head_width]`` and ids, ``[B, T]`` or ``[B, T, L]``. Output: causal attention
    logits ``[B, H, T, T]``. Has no parameters. Raises `LengthwiseError` as `Rotary` does, and for a factor or length
    below 1 or a head width below 4.

    >>> import torch
    >>> from lengthwise.nn import DynamicNTK
    >>> q, k = torch.randn(2, 2, 4, 10, 16)
    >>> DynamicNTK(16, length=8)(q, k).shape
    torch.Size([2, 4, 10, 10])
    """

    def __init__(
        self,
        head_width: int,
        levels: int | Sequence[int] = 1,
        *,
        factor: float = 1.0,
        length: int = 2048,
        base: float = 10_000.0,
        slots: Slots | None = None,
    ) -> None:
        require(1 <= factor < math.inf, f"the factor of a longer context must be at least 1, got {factor}")
        require(head_width >= 4, f"dynamic NTK scaling needs a head width of at least 4, got {head_width}")
        check_length(length)
        super().__init__(head_width, levels, base, slots)
        self.factor, self.length = factor, length

    def level_logits(
        self, q: Float[Tensor, "B H Q d"], k: Float[Tensor, "B H T d"], tokens: ScoreContext, level: int
    ) -> Float[Tensor, "B H Q T"]:
        """Plain RoPE for the queries within the trained length; frequencies of their own for the others."""
        q_ids, k_ids = ids_of_level(tokens, level)
        visible = tokens.visible if tokens.visible.ndim == 4 else tokens.visible[None, None]
        largest = torch.where(visible, k_ids[:, None, None], 0).amax(-1)[:, 0]
        far = (largest >= self.length).any(0)
        logits = self.product(q, k, q_ids, k_ids)
        if not bool(far.any()):
            return logits
        columns = far.nonzero()[:, 0]
        size = max(1, CHUNK // k.numel())
        found = [
            self._own_frequencies(q[:, :, part], k, q_ids[:, part], k_ids, largest[:, part])
            for part in columns.split(size)
        ]
        return logits.index_copy(2, columns, torch.cat(found, dim=2))

    def _own_frequencies(
        self, q: Tensor, k: Tensor, q_ids: Tensor, k_ids: Tensor, largest: Tensor
    ) -> Float[Tensor, "B H Q T"]:
        width = q.shape[3]
        growth = (self.factor * (largest + 1) / self.length - self.factor + 1).clamp(min=1.0)
        exponents = torch.arange(width // 2, device=q.device) / (width // 2)
        base = self.rotary.base * growth ** (width / (width - 2))
        theta = base[..., None] ** -exponents  # [B, Q, f]
        angles = (q_ids[:, :, None] - k_ids[:, None, :])[..., None] * theta[:, :, None]  # [B, Q, T, f]
        cos, sin = angles.cos().to(q.dtype), angles.sin().to(q.dtype)
        (q1, q2), (k1, k2) = q.chunk(2, dim=-1), k.chunk(2, dim=-1)
        # q rotated by the difference of ids, times k.
        first = q1[:, :, :, None] * cos[:, None] - q2[:, :, :, None] * sin[:, None]
        second = q2[:, :, :, None] * cos[:, None] + q1[:, :, :, None] * sin[:, None]
        return torch.einsum("bhqtf,bhtf->bhqt", first, k1) + torch.einsum("bhqtf,bhtf->bhqt", second, k2)
