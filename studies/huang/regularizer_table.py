"""The regularizer R(T) of Huang et al. 2025, term by term, of a compiled program or a trained model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce

import torch
from jaxtyping import Float
from torch import Tensor

import lengthwise as lw

_FRACTIONAL_BITS = 52


@dataclass(frozen=True)
class Term:
    """One term: ``value`` is None if it is not defined; ``where`` says where it is largest, or why it is undefined."""

    number: int
    name: str
    value: float | None
    where: str = ""


@dataclass(frozen=True)
class RegularizerTable:
    """All terms of one model."""

    terms: tuple[Term, ...]

    @property
    def total(self) -> float:
        """R: the sum of all terms that are defined."""
        return math.fsum(term.value for term in self.terms if term.value is not None)

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Number, name, value and location of each term as text, with the total as the last row."""
        rows = [
            (str(term.number), term.name, "not defined" if term.value is None else f"{term.value:.6g}", term.where)
            for term in self.terms
        ]
        undefined = sum(term.value is None for term in self.terms)
        return [*rows, ("", "R", f"{self.total:.6g}", f"without {undefined} undefined terms" if undefined else "")]


def regularizer_table(model: lw.models.limit.TheoryTransformer | lw.models.transformer.Transformer) -> RegularizerTable:
    """R(T) of a Limit or finite transformer, or of a trained model."""
    terms = _trained_terms(model) if isinstance(model, lw.models.transformer.Transformer) else _theory_terms(model)
    return RegularizerTable(tuple(terms))


def _theory_terms(model: lw.models.limit.TheoryTransformer) -> Iterator[Term]:
    layers = [(f"layer {number}", layer) for number, layer in enumerate(model.layers, start=1)]
    heads = [(f"{name}, {head.name}", head) for name, layer in layers for head in layer.heads]
    mlps = [(name, layer.mlp) for name, layer in layers]
    widest = max((len(layer.heads) for _, layer in layers), default=0)
    yield Term(
        1, "layers + heads per layer", float(len(layers) + widest), f"{len(layers)} layers, at most {widest} heads"
    )
    yield Term(2, "bits per parameter", *_bits(model))
    yield _largest(3, "rank of V", ((where, _rank(head.value_out, head.value_in)) for where, head in heads))
    yield _largest(4, "‖KᵀQ‖", ((where, _norm(head.key.T, head.query)) for where, head in heads))
    yield _largest(4, "‖V‖", ((where, _norm(head.value_out, head.value_in)) for where, head in heads))
    yield _largest(4, "‖A‖", ((where, _norm(mlp.weight_in)) for where, mlp in mlps))
    yield _largest(4, "‖B‖", ((where, _norm(mlp.weight_out)) for where, mlp in mlps))
    yield Term(4, "‖U‖", _norm(model.readout))
    yield _largest(5, "‖p_i‖", ((f"i = {i}", float(p.norm())) for i, p in enumerate(model.positions, start=1)))
    yield _largest(5, "‖E_σ‖", zip(model.symbols, model.embeddings.norm(dim=1).tolist(), strict=True))
    yield _largest(5, "‖b‖", ((where, float(mlp.bias.norm())) for where, mlp in mlps))
    name = "Σ |p_1ᵀKᵀQ p_j|²"
    sums = [(where, _position_sum(model, head)) for where, head in heads]
    top = max(sums, key=lambda pair: pair[1], default=("", 0.0))
    yield Term(6, name, math.fsum(value for _, value in sums), f"{top[1]:g} of it in {top[0]}" if top[1] else "")


def _position_sum(model: lw.models.limit.TheoryTransformer, head: lw.models.limit.LimitHead) -> float:
    """Σ_j |p_1ᵀKᵀQ p_j + φ(j − 1)|² over all positions j; infinite for a product of periodic vectors."""
    products = (head.query @ model.positions.T).T @ (head.key @ model.positions[0])
    if isinstance(model, lw.models.limit.FiniteTransformer):
        return float(products.square().sum())
    if products.any():
        return math.inf
    return float(head.phi.square().sum())


def _trained_terms(model: lw.models.transformer.Transformer) -> Iterator[Term]:
    config = model.config
    yield Term(1, "layers + heads per layer", float(config.layers + config.heads))
    yield Term(2, "bits per parameter", None, "trained weights are not of a fixed precision")
    parts = [
        (f"layer {layer}, head {head}", *_head_matrices(model, layer, head)) for layer, head in _layer_heads(model)
    ]
    yield _largest(3, "rank of V", ((where, _rank(out, value)) for where, _, _, value, out in parts))
    if config.qk_norm:
        yield Term(4, "‖KᵀQ‖", None, "QK-norm takes the sizes of K and Q out of the logits")
    else:
        root = math.sqrt(config.head_width)
        yield _largest(4, "‖KᵀQ‖", ((where, _norm(key.T, query) / root) for where, query, key, _, _ in parts))
    yield _largest(4, "‖V‖", ((where, _norm(out, value)) for where, _, _, value, out in parts))
    blocks = [(f"layer {number}", block) for number, block in enumerate(model.blocks, start=1)]
    yield _largest(4, "‖A‖", ((where, _norm(block.up.weight)) for where, block in blocks))
    yield _largest(4, "‖B‖", ((where, _norm(block.down.weight)) for where, block in blocks))
    yield Term(4, "‖U‖", _norm(model.table.weight if model.head is None else model.head.weight))
    table = position_table(model)
    reason = "the encoding has no learned position table"
    if table is None:
        yield Term(5, "‖p_i‖", None, reason)
    else:
        yield _largest(5, "‖p_i‖", ((f"id {i}", float(p.norm())) for i, p in enumerate(table)))
    yield _largest(5, "‖E_σ‖", ((f"token {i}", float(e.norm())) for i, e in enumerate(model.table.weight.detach())))
    biases = [(where, float(block.up.bias.detach().norm())) for where, block in blocks if block.up.bias is not None]
    yield _largest(5, "‖b‖", biases) if biases else Term(5, "‖b‖", 0.0, "no biases")
    if table is None:
        yield Term(6, "Σ |p_1ᵀKᵀQ p_j|²", None, reason)
        return
    products = lw.models.regularizer.positional_products(model).detach()
    first = products[..., 0].square().sum(-1)  # ids start at 0: that is the paper's position 1
    layer, head = divmod(int(first.argmax()), config.heads)
    where = f"{float(first.max()):.4g} of it in layer {layer + 1}, head {head + 1}"
    yield Term(6, "Σ |p_1ᵀKᵀQ p_j|²", float(first.sum()), where)


def position_table(model: lw.models.transformer.Transformer) -> Float[Tensor, "N D"] | None:
    """The learned position vectors (levels summed), or None for encodings without a table."""
    encoding = model.encoding
    if not isinstance(encoding, lw.nn.LearnedEmbedding) or not len(encoding.tables):
        return None
    return encoding.table().detach()


def _layer_heads(model: lw.models.transformer.Transformer) -> list[tuple[int, int]]:
    return [(layer + 1, head + 1) for layer in range(model.config.layers) for head in range(model.config.heads)]


def _head_matrices(
    model: lw.models.transformer.Transformer, layer: int, head: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Q, K, V (input side, ``[d_h, D]``) and V's output side ``[D, d_h]``; layer and head count from 1."""
    config = model.config
    attention = model.blocks[layer - 1].attention
    qkv = attention.qkv.weight.detach().view(3, config.heads, config.head_width, config.width)
    out = attention.out.weight.detach().view(config.width, config.heads, config.head_width)
    query, key, value = (matrix[head - 1] for matrix in qkv)
    return query, key, value, out[:, head - 1]


def _largest(number: int, name: str, values: Iterable[tuple[str, float]]) -> Term:
    where, value = max(values, key=lambda pair: pair[1], default=("", 0.0))
    return Term(number, name, float(value), where)


def _bits(model: lw.models.limit.TheoryTransformer) -> tuple[float, str]:
    """The least p such that every parameter is an integer multiple of 2^−f below 2^(p − f)."""
    worst, where = 0, ""
    for name, tensor in model.state_dict().items():
        if not tensor.numel():
            continue
        values, bits = tensor.double(), 0
        while bits < _FRACTIONAL_BITS and bool((values != values.round()).any()):
            values, bits = 2 * values, bits + 1
        bits += int(tensor.abs().max() if tensor.is_floating_point() else 1).bit_length()
        if bits > worst:
            worst, where = bits, name
    if model.precision is not None and model.precision > worst:
        worst, where = model.precision, "rounding of logits"
    return float(worst), where


def _product(factors: tuple[Tensor, ...]) -> Tensor:
    """The product without rows and columns of zeros, which change neither rank nor norm."""
    matrix = reduce(torch.matmul, factors).detach()
    return matrix[matrix.any(1)][:, matrix.any(0)]


def _rank(*factors: Tensor) -> float:
    matrix = _product(factors)
    return float(torch.linalg.matrix_rank(matrix)) if matrix.numel() else 0.0


def _norm(*factors: Tensor) -> float:
    """The operator norm of a product."""
    matrix = _product(factors)
    return float(torch.linalg.matrix_norm(matrix, ord=2)) if matrix.numel() else 0.0
