"""Small things that many tests use: a task with a trace and three place levels, and every scheme in every variant."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.config import config
from lengthwise.core.levels import LevelKind
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import EOS, Vocab
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import (
    SCHEMES,
    Coupled,
    PoSE,
    PositionScheme,
    PredictiveCoupling,
    Sequential,
    scheme_with_ids,
)
from lengthwise.tasks import Task


@config
class Echo(Task):
    """``<bos> c a b <sep> c a b a b <eos>``: the symbols again as a trace, then the last two as the answer.

    Two coupled levels that run against each other and a fixed one, so that levels can't be mixed up unseen.
    """

    name = "echo"
    min_length = 2

    @property
    def levels(self) -> tuple[LevelKind, ...]:
        return ("position", "position", "label")

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of("abcd")

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        n = layout.length
        x = rng.integers(4, size=(n, seq.size)) + self.vocab["a"]
        places = [(i + 1, n - i, 1 + i % 3) for i in range(n)]
        seq.bos()
        given = [seq.given(x[i], place=places[i]) for i in range(n)]
        seq.sep()
        for i in [*range(n), n - 2, n - 1]:
            seq.predicted(x[i], place=places[i], parents=[given[i]], answer=len(seq) >= 2 * n + 2)
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        symbols = list(prompt[1:-1])
        return [*symbols, *symbols[-2:], EOS]


SCHEME_VARIANTS: dict[str, PositionScheme] = {
    **{name: scheme_with_ids(name, 64) for name in SCHEMES},
    "sequential, random start": Sequential(max_position=64, random_start=True),
    "pose, three chunks": PoSE(max_position=64, chunks=3),
    "pose, cut anywhere": PoSE(max_position=64, cut="anywhere"),
    **{f"coupled, {draw}": Coupled(max_position=64, draw=draw) for draw in ("contiguous", "pose", "permuted")},
    **{
        f"predictive-coupling, {draw}": PredictiveCoupling(max_position=64, draw=draw)
        for draw in ("contiguous", "pose", "permuted")
    },
}
"""Every registered scheme, and every way that it draws ids."""

TASKS_OF_LEVELS = {"addition": "addition", "echo": Echo()}
"""One task of each place rule: ids that go on to new places, and ids of earlier tokens on several levels."""


def fitting_scheme(scheme: PositionScheme, task: Task) -> PositionScheme:
    """The scheme, drawing consecutive ids where the task goes on to new places."""
    if scheme.predicted and task.place_rule == "next":
        return PredictiveCoupling(max_position=scheme.max_position, draw="contiguous")
    return scheme


PATTERNS = ("rope(window=3)+nope", "kerple(window=4)+cope(window=3)")
"""Encodings by layer, with attention windows: rotation, bias and scores each in a layer of its own."""
EXTENSIONS = [name for name in ENCODINGS if ENCODINGS.get(name).extends_rope]
"""Encodings that are RoPE for longer contexts; what does not depend on their formulas is tested with fewer of them."""
ENCODING_NAMES = [*ENCODINGS, *PATTERNS]
