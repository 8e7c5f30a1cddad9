"""PaTH against its formula: the product of all matrices between key and query, one after another."""

from __future__ import annotations

import math

import pytest
import torch
from test_content_formulas import assert_scores, make_context, queries
from test_encoding_formulas import ONE_LEVEL, build

from lengthwise.core.errors import LengthwiseError
from lengthwise.positions.encodings import ENCODINGS


@queries
@pytest.mark.parametrize("hidden", [(), (1, 4)], ids=str)
def test_path_equals_the_product_of_matrices(index, hidden: tuple[int, ...]):
    module, context = build("path", ONE_LEVEL, rank=5), make_context(ONE_LEVEL, index, hidden)
    d = ONE_LEVEL.head_width
    # A token that no query of this call is asked to pass over counts as visible.
    passed_over = {hid for hid in hidden if any(i > hid for i in context.index.tolist())}

    def matrix(b: int, h: int, at: int) -> torch.Tensor:
        x = context.x[b, at].double()
        rows = slice(h * d, (h + 1) * d)
        w = module.up.weight[rows].double() @ (module.down.weight.double() @ x)
        w = w / w.norm()
        beta = 2 / (1 + math.exp(-(module.gate.weight[h].double() @ x + module.gate.bias[h].double()).item()))
        return torch.eye(d, dtype=torch.double) - beta * torch.outer(w, w)

    def expected(b: int, h: int, i: int, j: int) -> float:
        k = context.k[b, h, j].double()
        for at in range(j + 1, i + 1):
            if at not in passed_over:
                k = matrix(b, h, at) @ k
        return (context.q[b, h, i].double() @ k).item() / math.sqrt(d)

    assert_scores(module, context, expected)


def test_path_needs_a_rank():
    with pytest.raises(LengthwiseError, match="rank must be at least 1, got 0"):
        ENCODINGS.build("path", rank=0)
