"""`optimize`: the same function as `Transformer`, faster in training, for one model or a stack of runs."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.core.errors import require
from lengthwise.models.config import Loops
from lengthwise.models.flat_groups import FlatGroup, flat_positions
from lengthwise.models.kernels.attention import FlatAttention
from lengthwise.models.kernels.context import FlatContext
from lengthwise.models.kernels.layers import Hold, RunEmbedding, RunLinear, product, replace_layers, take
from lengthwise.models.kernels.position_head import FlatPositionHead, by_sequence
from lengthwise.models.transformer import Block, Transformer, TransformerOutput
from lengthwise.nn.base import PositionEncoding
from lengthwise.nn.module_list import Modules


def optimize(model: Transformer) -> FlatTransformer:
    """A faster form of ``model`` that shares its parameters: gradients arrive in both, and training one trains both.

    It has no cache: generate and evaluate with ``model`` itself.
    """
    return FlatTransformer(model, hold=lambda parameter: parameter)  # type: ignore[return-value]


class FlatBlock(nn.Module):
    """`Block` for R runs, with the same parameters."""

    def __init__(self, plain: Block, hold: Hold) -> None:
        super().__init__()
        self.norm1, self.norm2 = replace_layers(plain.norm1, hold), replace_layers(plain.norm2, hold)
        self.added1, self.added2 = replace_layers(plain.added1, hold), replace_layers(plain.added2, hold)
        self.attention = FlatAttention(plain.attention, hold)
        self.up, self.down = RunLinear(plain.up, hold), RunLinear(plain.down, hold)
        self.dropout = plain.dropout

    def forward(self, x: Float[Tensor, "R N D"], context: FlatContext) -> Float[Tensor, "R A D"]:
        """One layer, at the context's queries."""
        queries = normed = self.norm1(x)
        if context.query_index is not None:
            queries, x = take(normed, context.query_index), take(x, context.query_index)
        x = x + self.dropout(self.added1(self.attention(queries, normed, context)))
        return x + self.dropout(self.added2(self.down(functional.gelu(self.up(self.norm2(x))))))


class FlatTransformer(nn.Module):
    """`Transformer` for R runs on flat batches. Its parameters have the same names and the same order.

    ``hold`` makes the parameters: those of ``model`` itself, or of a stack, with the run as their first axis.
    """

    def __init__(self, model: Transformer, hold: Hold) -> None:
        super().__init__()
        # Modules of its own, with the very parameters.
        plain = copy.deepcopy(model, memo={id(parameter): parameter for parameter in model.parameters()})
        self.config, self.shape = plain.config, plain.shape
        self.table = RunEmbedding(plain.table, hold)
        self.encoding: PositionEncoding = replace_layers(plain.encoding, hold)  # type: ignore[assignment]
        self.blocks = Modules[FlatBlock](FlatBlock(block, hold) for block in plain.blocks)
        self.norm = replace_layers(plain.norm, hold)
        self.head = None if plain.head is None else RunLinear(plain.head, hold)
        self.position_head = None if plain.position_head is None else FlatPositionHead(plain.position_head, hold)
        self.train(model.training)

    @property
    def runs(self) -> int:
        """R."""
        return len(self.table.weights()[0])

    def forward(
        self,
        input_ids: Int[Tensor, "B T"],
        position_ids: Int[Tensor, "B T L"],
        *,
        at: Int[Tensor, " S"] | slice | None = None,
        visible: Bool[Tensor, "B T"] | None = None,
        groups: Sequence[FlatGroup] | None = None,
        loops: Loops | None = None,
    ) -> TransformerOutput:
        """What each run's model gives for its own rows, as `Transformer.forward`; rows are ordered by run.

        With ``groups`` a row holds all sequences of one run, and ``at`` are the groups' scored positions on the
        flat axis.
        """
        if groups is not None:
            assert isinstance(at, Tensor)
            return self.flat(input_ids, position_ids, at, groups, None, loops)
        rows, tokens = len(input_ids) // self.runs, input_ids.shape[1]
        group = FlatGroup(rows, tokens, slice(None) if at is None else at)
        positions = None if at is None else flat_positions([group]).to(input_ids.device)
        flat, flat_ids = (x.reshape(self.runs, rows * tokens, *x.shape[2:]) for x in (input_ids, position_ids))
        output = self.flat(flat, flat_ids, positions, [group], visible, loops)
        logits = output.logits.reshape(len(input_ids), -1, output.logits.shape[-1])
        return TransformerOutput(logits, tuple(by_sequence(level, len(input_ids)) for level in output.position))

    def flat(
        self,
        input_ids: Int[Tensor, "R N"],
        position_ids: Int[Tensor, "R N L"],
        at: Int[Tensor, " A"] | None,
        groups: Sequence[FlatGroup],
        visible: Bool[Tensor, "RB T"] | None,
        loops: Loops | None,
    ) -> TransformerOutput:
        """One flat batch."""
        contexts = self.contexts(groups, position_ids, visible)
        x, positions = self.table(input_ids), self.encoding.embed(position_ids)
        x = start = x if positions is None else x + positions
        pointing = self.position_head is not None and self.position_head.points
        require(
            self.config.loops != "tokens" or len(groups) == 1,
            f"a number of loops that grows with the tokens needs one group of lengths in a step, got {len(groups)}; "
            "set training.groups=1",
        )
        free, taught = loops or Loops(0, self.config.loops_for(groups[0].tokens))
        last = (free + taught) * len(self.blocks) - 1
        for step, context in enumerate(contexts * (free + taught)):
            if step > 0 and step % len(self.blocks) == 0:
                x = start + (x.detach() if step == free * len(self.blocks) else x)
            if step == last and at is not None and not (pointing or context.encoding.has_scores):
                context, at = context.for_queries(at), None
            x = self.blocks[step % len(self.blocks)](x, context)
        hidden = self.norm(x)
        position = () if self.position_head is None else self.position_head(hidden, position_ids, at, groups)
        hidden = hidden if at is None else take(hidden, at)
        return TransformerOutput(product(hidden, *(self.head or self.table).weights()), position)

    def contexts(
        self, groups: Sequence[FlatGroup], ids: Int[Tensor, "R N L"], visible: Bool[Tensor, "RB T"] | None
    ) -> list[FlatContext]:
        """What every layer's attention needs; layers with the same encoding share it."""
        encodings = [self.encoding.layer(layer) for layer in range(len(self.blocks))]
        log_length = self.config.log_length
        made = {each: FlatContext.of(each, groups, ids, log_length, visible) for each in dict.fromkeys(encodings)}
        return [made[encoding] for encoding in encodings]
