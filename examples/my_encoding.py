"""A position encoding of your own: one file. Try `lengthwise check examples/my_encoding.py:SqrtBias`."""

import torch

import lengthwise as lw
from lengthwise.nn.base import Scalars
from lengthwise.nn.bias import RelativeBias, distances
from lengthwise.positions.encodings import EncodingSpec


class SqrtPenalty(RelativeBias):
    """logit(i, j) − slope · √|p_i − p_j| with a learned slope."""

    def __init__(self, slope, levels, slots):
        super().__init__(levels, slots)
        # Learned numbers are `Scalars`, tables `EmbeddingTable`, matrices `torch.nn.Linear`: they train as a stack.
        self.slope = Scalars(torch.tensor(slope))

    def pair_bias(self, queries, keys, index):
        # Ids [B, Q] and [B, T] of one level; what comes back is added to the attention logits [B, heads, Q, T].
        root = distances(queries, keys).abs().sqrt()[:, None]
        return -self.slope(root) * root


@lw.config
class SqrtBias(EncodingSpec):
    """The settings: what `--encoding` and result files name, and how the module is built for a model."""

    summary = "a penalty that grows with the square root of the distance"

    slope: float = 1.0
    # What verdicts and laws take into account: `translation_invariant` (True by default), `has_table`, `uses_ids`.

    def build(self, shape):
        # A token may have several ids. On `position_levels` they are positions; on label levels they are labels, whose
        # learned vectors are `self.slots(shape)`. `shape` has width, heads, head_width and max_position, too.
        return SqrtPenalty(self.slope, shape.position_levels, self.slots(shape))
