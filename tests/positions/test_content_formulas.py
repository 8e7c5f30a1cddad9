"""The encodings that depend on content against their formulas, pair by pair: hidden tokens, and some queries only."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from test_encoding_formulas import ONE_LEVEL, THREE_LEVELS, build, some_ids

from lengthwise.nn import ScoreContext
from lengthwise.nn.content import ContentEncoding, _Entmax15
from lengthwise.positions.encodings import ENCODINGS, EncodingShape

TOKENS = 7
shapes = pytest.mark.parametrize("shape", [ONE_LEVEL, THREE_LEVELS], ids=["one", "three"])
queries = pytest.mark.parametrize("index", [range(TOKENS), [2, 5], [6]], ids=str)


def make_context(shape: EncodingShape, index, hidden: tuple[int, ...] = ()) -> ScoreContext:
    """Random queries, keys and inputs; ``hidden`` tokens are seen by themselves only."""
    generator = torch.Generator().manual_seed(4)
    q, k = torch.randn(2, 2, shape.heads, TOKENS, shape.head_width, generator=generator)
    x = torch.randn(2, TOKENS, shape.width, generator=generator)
    at = torch.tensor(list(index))
    keys = torch.arange(TOKENS)
    shown = torch.ones(TOKENS, dtype=torch.bool)
    shown[list(hidden)] = False
    visible = (at[:, None] > keys) & shown | (at[:, None] == keys)
    return ScoreContext(q, k, x, some_ids(shape, tokens=TOKENS), at, visible.expand(2, 1, -1, -1))


def changed(module: ContentEncoding, context: ScoreContext) -> torch.Tensor:
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(5)))
        plain = context.queries @ context.k.mT / math.sqrt(context.q.shape[-1])
        return module.scores(plain, context)


def assert_scores(module: ContentEncoding, context: ScoreContext, expected) -> None:
    """``expected(b, h, i, j)`` for every visible pair, i and j counted over all tokens."""
    found = changed(module, context)
    for b, h, row, j in np.ndindex(*found.shape):
        if context.visible[b, 0, row, j]:
            i = int(context.index[row])
            assert found[b, h, row, j].item() == pytest.approx(expected(b, h, i, j), rel=1e-4, abs=1e-5)


def product(context: ScoreContext, b: int, h: int, i: int, j: int) -> float:
    q, k = context.q[b, h, i].tolist(), context.k[b, h, j].tolist()
    return sum(x * y for x, y in zip(q, k, strict=True)) / math.sqrt(len(q))


def seen(i: int, hidden: tuple[int, ...]) -> list[int]:
    return [j for j in range(i + 1) if j not in hidden or j == i]


@shapes
@queries
def test_shaw_equals_the_formula(shape: EncodingShape, index):
    module, context = build("shaw", shape, clip=30), make_context(shape, index)

    def expected(b: int, h: int, i: int, j: int) -> float:
        total = product(context, b, h, i, j)
        for level, table in zip(shape.position_levels, module.tables, strict=True):
            distance = int(context.ids[b, i, level] - context.ids[b, j, level])
            row = table.weight[max(-30, min(30, distance)) + 30]
            total += (context.q[b, h, i].double() @ row.double()).item() / math.sqrt(shape.head_width)
        return total

    assert_scores(module, context, expected)


@shapes
@queries
def test_transformer_xl_equals_the_formula(shape: EncodingShape, index):
    module, context = build("transformer-xl", shape), make_context(shape, index)
    d, width = shape.head_width, shape.width

    def expected(b: int, h: int, i: int, j: int) -> float:
        own = slice(h * d, (h + 1) * d)
        u, v = (table.weight[0, own].double() for table in (module.content, module.position))
        total = ((context.q[b, h, i].double() + u) @ context.k[b, h, j].double()).item()
        for number, level in enumerate(shape.position_levels):
            distance = int(context.ids[b, i, level] - context.ids[b, j, level])
            angles = [distance * 10_000 ** (-2 * c / width) for c in range(width // 2)]
            waves = [math.sin(a) for a in angles] + [math.cos(a) for a in angles]
            matrix = module.project[number * shape.heads + h].weight.double().T
            total += ((context.q[b, h, i].double() + v) @ matrix @ torch.tensor(waves, dtype=torch.float64)).item()
        return total / math.sqrt(d)

    found = changed(module, context)
    for b, h, row, j in np.ndindex(*found.shape):
        if context.visible[b, 0, row, j]:
            # Angles of up to 400 radians in single precision.
            assert found[b, h, row, j].item() == pytest.approx(expected(b, h, int(context.index[row]), j), abs=1e-3)


@queries
@pytest.mark.parametrize("hidden", [(), (1, 4)], ids=str)
@pytest.mark.parametrize("positions", [3, 64])
def test_cope_equals_the_formula(index, hidden: tuple[int, ...], positions: int):
    module = build("cope", ONE_LEVEL, positions=positions)
    context = make_context(ONE_LEVEL, index, hidden)

    def expected(b: int, h: int, i: int, j: int) -> float:
        gates = {keys: 1 / (1 + math.exp(-product(context, b, h, i, keys))) for keys in seen(i, hidden)}
        position = min(sum(gate for key, gate in gates.items() if key >= j), positions - 1)
        q, table = context.q[b, h, i].double(), module.table.weight.double()
        share = position - math.floor(position)
        below, above = ((q @ table[at]).item() for at in (math.floor(position), math.ceil(position)))
        return product(context, b, h, i, j) + (1 - share) * below + share * above

    assert_scores(module, context, expected)


@queries
@pytest.mark.parametrize("hidden", [(), (1, 4)], ids=str)
def test_forgetting_equals_the_formula(index, hidden: tuple[int, ...]):
    module, context = build("forgetting", ONE_LEVEL, bias=1.0), make_context(ONE_LEVEL, index, hidden)

    def expected(b: int, h: int, i: int, j: int) -> float:
        weight, bias = module.gate.weight[h].double(), module.gate.bias[h].item()
        gates = {key: (context.x[b, key].double() @ weight).item() + bias for key in seen(i, hidden) if key > j}
        return product(context, b, h, i, j) - sum(math.log1p(math.exp(-gate)) for gate in gates.values())

    assert_scores(module, context, expected)


@queries
@pytest.mark.parametrize("hidden", [(), (1, 4), (0, 3)], ids=str)
def test_selective_attention_equals_the_formula(index, hidden: tuple[int, ...]):
    context = make_context(ONE_LEVEL, index, hidden)

    def expected(b: int, h: int, i: int, j: int) -> float:
        earlier = [key for key in seen(i, hidden) if j < key < i and j > seen(i, hidden)[0]]
        masked = sum(max(0.0, product(context, b, 0, key, j)) for key in earlier)
        return product(context, b, h, i, j) - masked

    assert_scores(build("selective", ONE_LEVEL), context, expected)


@queries
@pytest.mark.parametrize("hidden", [(), (1, 4)], ids=str)
def test_scalable_softmax_equals_the_formula(index, hidden: tuple[int, ...]):
    module, context = build("scalable-softmax", ONE_LEVEL), make_context(ONE_LEVEL, index, hidden)

    def expected(b: int, h: int, i: int, j: int) -> float:
        return product(context, b, h, i, j) * module.factor.weight[h].item() * math.log(len(seen(i, hidden)))

    assert_scores(module, context, expected)


def test_scalable_softmax_starts_with_logits_of_their_size():
    module = build("scalable-softmax", ONE_LEVEL, length=1024)
    assert module.factor.weight[0].item() == pytest.approx(0.1685, abs=1e-3), "as published for 1,024 tokens"


def entmax15(logits: list[float]) -> list[float]:
    """max(0, z/2 − τ)², τ by halving an interval until the weights sum to 1."""
    low, high = max(logits) / 2 - 1, max(logits) / 2
    for _ in range(200):
        middle = (low + high) / 2
        total = sum(max(0.0, z / 2 - middle) ** 2 for z in logits)
        low, high = (middle, high) if total > 1 else (low, middle)
    return [max(0.0, z / 2 - low) ** 2 for z in logits]


@queries
@pytest.mark.parametrize("hidden", [(), (1, 4)], ids=str)
def test_asentmax_equals_the_formula(index, hidden: tuple[int, ...]):
    module, context = build("asentmax", ONE_LEVEL), make_context(ONE_LEVEL, index, hidden)
    weights = changed(module, context).masked_fill(~context.visible, -math.inf).softmax(-1)
    zeros = 0
    for b, h, (n, i) in itertools.product(range(2), range(ONE_LEVEL.heads), enumerate(context.index.tolist())):
        keys, x = seen(i, hidden), context.x[b, i].double()
        beta = math.log1p(math.exp((x @ module.beta.weight[h].double() + module.beta.bias[h]).item()))
        gamma = module.reach * math.tanh((x @ module.gamma.weight[h].double() + module.gamma.bias[h]).item())
        factor = 1 + beta * math.log(1 + len(keys)) ** gamma
        expected = entmax15([factor * product(context, b, h, i, j) for j in keys])
        assert weights[b, h, n, keys].tolist() == pytest.approx(expected, abs=1e-4)
        zeros += sum(weight == 0 for weight in weights[b, h, n, keys].tolist())
    assert zeros or len(context.index) == 1, "some weights of visible keys are 0"


def test_gradients_of_entmax_are_those_of_small_changes():
    z = torch.randn(3, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    assert torch.autograd.gradcheck(_Entmax15.apply, (z,))


@shapes
@queries
def test_pope_equals_the_formula(shape: EncodingShape, index):
    module, context = build("pope", shape), make_context(shape, index)
    levels, d = shape.position_levels, shape.head_width

    def expected(b: int, h: int, i: int, j: int) -> float:
        total = 0.0
        for c in range(d):
            level = levels[c * len(levels) // d]
            distance = int(context.ids[b, i, level] - context.ids[b, j, level])
            sizes = [math.log1p(math.exp(part[b, h, at, c].item())) for part, at in ((context.q, i), (context.k, j))]
            angle = distance * 10_000 ** (-c / d) + module.phases.weight[h, c].item()
            total += sizes[0] * sizes[1] * math.cos(angle)
        return total / math.sqrt(d)

    assert_scores(module, context, expected)


@queries
def test_repo_equals_the_formula(index):
    module, context = build("repo", ONE_LEVEL), make_context(ONE_LEVEL, index)
    half = ONE_LEVEL.head_width // 2

    def place(b: int, h: int, t: int) -> float:
        x = context.x[b, t].double()
        gate, content = (part.weight.double() @ x for part in (module.gate, module.content))
        return (module.place.weight[h].double() @ (gate / (1 + (-gate).exp()) * content)).item()

    def expected(b: int, h: int, i: int, j: int) -> float:
        total = 0.0
        for c in range(half):
            angle = (place(b, h, i) - place(b, h, j)) * 10_000 ** (-c / half)
            q, k = (complex(*part[b, h, at, [c, c + half]].tolist()) for part, at in ((context.q, i), (context.k, j)))
            total += (q * k.conjugate() * complex(math.cos(angle), math.sin(angle))).real
        return total / math.sqrt(ONE_LEVEL.head_width)

    assert_scores(module, context, expected)


@pytest.mark.parametrize("name", [name for name in ENCODINGS if build(name, ONE_LEVEL).has_scores])
def test_called_alone_it_gives_causal_logits(name: str):
    module, context = build(name, ONE_LEVEL), make_context(ONE_LEVEL, range(TOKENS))
    logits = module(context.q, context.k, context.ids, context.x)
    assert torch.equal(logits == -math.inf, ~context.visible.expand_as(logits))
    plain = context.q @ context.k.mT / math.sqrt(ONE_LEVEL.head_width)
    visible = context.visible.expand_as(logits)
    assert torch.equal(logits[visible], module.scores(plain, context)[visible])
