"""The layers that hold a transformer's matrices: what `stacked` replaces to train many runs at once."""

from __future__ import annotations

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional


class Linear(nn.Linear):
    """A linear layer whose first outputs may be asked of other positions than the rest."""

    def parted(
        self, first: Float[Tensor, "B S D"], rest: Float[Tensor, "B T D"], size: int
    ) -> tuple[Float[Tensor, "B S E"], Float[Tensor, "B T F"]]:
        """The first ``size`` outputs for ``first`` and the others for ``rest``."""
        sizes = (size, self.out_features - size)
        top, bottom = self.weight.split(sizes)
        top_bias, bottom_bias = (None, None) if self.bias is None else self.bias.split(sizes)
        return functional.linear(first, top, top_bias), functional.linear(rest, bottom, bottom_bias)


class TokenTable(nn.Embedding):
    """Token embeddings that can also serve as the output head (tied)."""

    def scores(self, hidden: Float[Tensor, "B T D"]) -> Float[Tensor, "B T V"]:
        """The product of ``hidden`` with every token's vector."""
        return functional.linear(hidden, self.weight)


def take(x: Float[Tensor, "B T D"], at: Int[Tensor, " S"] | slice) -> Float[Tensor, "B S D"]:
    """The tokens ``at``; for indices, by the operation with the cheaper backward pass."""
    return x[:, at] if isinstance(at, slice) else x.index_select(1, at)
