"""The long short-term memory (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lengthwise.nn.recurrence import Mixer, State


class LSTM(Mixer):
    """c_t = f ⊙ c_{t−1} + i ⊙ tanh(g) and y_t = h_t = o ⊙ tanh(c_t), gates from x_t and h_{t−1}, as `torch.nn.LSTM`.

    The bias of the forget gate starts at 1 (Jozefowicz et al. 2015).

    >>> y, (h, c) = LSTM(64)(torch.randn(2, 10, 64))
    >>> y.shape, c.shape
    (torch.Size([2, 10, 64]), torch.Size([2, 64]))
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.input = nn.Linear(width, 4 * width)
        self.recurrent = nn.Linear(width, 4 * width, bias=False)
        with torch.no_grad():
            self.input.bias.zero_()
            self.input.bias[width : 2 * width] = 1.0

    def forward(self, x: Float[Tensor, "B T D"], state: State | None = None) -> tuple[Float[Tensor, "B T D"], State]:
        """The hidden vectors, and the last of them with the last cell."""
        hidden, cell = (x.new_zeros(x[:, 0].shape),) * 2 if state is None else state
        found = []
        for given in self.input(x).unbind(1):
            i, f, g, o = (given + self.recurrent(hidden)).chunk(4, dim=-1)
            cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
            hidden = o.sigmoid() * cell.tanh()
            found.append(hidden)
        return torch.stack(found, dim=1), (hidden, cell)
