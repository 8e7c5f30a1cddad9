"""Limit Transformers: exact models of unbounded length, their finite versions and files."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.models.tensor_files import read_tensors, write_tensors
from lengthwise.models.transformer import TransformerOutput
from lengthwise.nn.base import Modules

_MOST_SCORES = 4
"""The largest number of distinct scores that are summed separately."""

_MATRIX_ELEMENTS = 1 << 24
"""The largest number of logits in memory on the quadratic path."""

_LARGEST_LOGIT = 700.0
"""exp of more than this is infinite in float64; only rounded attention exponentiates before it normalizes."""


def attend(
    keys: Float[Tensor, "B T r"],
    queries: Float[Tensor, "B T r"],
    phi: Float[Tensor, " window"],
    values: Float[Tensor, "B T v"],
    precision: int | None = None,
) -> Float[Tensor, "B T v"]:
    """The mean of the visible values under the attention weights.

    ``precision`` rounds logits and exponentials to that many fractional bits, but not the outputs, which contain 1/i.
    """
    length = values.shape[1]
    near = phi[:length]
    if precision is None:
        if not keys.any() or not queries.any():
            if not near.any():
                return values.cumsum(1) / _visible(values)[:, None]
            return _grouped(values.new_zeros(values.shape[:2]), near, values)
        if bool((queries == queries[:1, :1]).all()):
            scores = keys @ queries[0, 0]
            if len(scores.unique()) <= _MOST_SCORES:
                return _grouped(scores, near, values)
    rows = max(1, _MATRIX_ELEMENTS // (length * length))
    pieces = zip(keys.split(rows), queries.split(rows), values.split(rows), strict=True)
    return torch.cat([attend_reference(k, q, near, v, precision) for k, q, v in pieces])


def _grouped(
    scores: Float[Tensor, "B T"], phi: Float[Tensor, " window"], values: Float[Tensor, "B T v"]
) -> Float[Tensor, "B T v"]:
    """Running sums per distinct score; the weight of key j is i^(score + φ), divided by the largest possible weight."""
    extended = torch.cat([values, torch.ones_like(values[..., :1])], dim=-1)  # the last column is the denominator
    log = _visible(values).log()
    distinct = scores.unique()
    largest = float(distinct.max()) + max(0.0, float(phi.max()) if len(phi) else 0.0)
    total = torch.zeros_like(extended)
    for score in distinct:
        # The sum of small integers is exact; the weight is applied afterwards.
        sums = (extended * (scores == score)[..., None]).cumsum(1)
        total += ((score - largest) * log).exp()[:, None] * sums
    for distance in phi.nonzero().flatten().tolist():
        source = slice(0, values.shape[1] - distance)
        here = (scores[:, source] - largest) * log[distance:]
        correction = (here + phi[distance] * log[distance:]).exp() - here.exp()
        total[:, distance:] += correction[..., None] * extended[:, source]
    return total[..., :-1] / total[..., -1:]


def attend_reference(
    keys: Float[Tensor, "B T r"],
    queries: Float[Tensor, "B T r"],
    phi: Float[Tensor, " window"],
    values: Float[Tensor, "B T v"],
    precision: int | None = None,
) -> Float[Tensor, "B T v"]:
    """The formula on the full matrix of logits; raises `LengthwiseError` if rounded logits overflow."""
    length = values.shape[1]
    logits = queries @ keys.mT
    distance = torch.arange(length)[:, None] - torch.arange(length)[None, :]
    if len(phi):
        bias = torch.where((distance >= 0) & (distance < len(phi)), phi[distance.clamp(0, len(phi) - 1)], 0.0)
        logits = logits + bias
    logits = logits * _visible(values).log()[:, None]
    hidden = (distance < 0).to(logits.device)
    if precision is None:
        return torch.softmax(logits.masked_fill(hidden, -math.inf), dim=-1) @ values
    step = 2.0**precision
    logits = (logits * step).round() / step
    require(
        bool((logits.masked_fill(hidden, 0) <= _LARGEST_LOGIT).all()),
        f"a logit of {float(logits.masked_fill(hidden, 0).max()):g} cannot be exponentiated; run without precision",
    )
    weights = ((logits.exp() * step).round() / step).masked_fill(hidden, 0)
    return weights @ values / weights.sum(-1, keepdim=True).clamp_min(1 / step)


def _visible(values: Float[Tensor, "B T v"]) -> Float[Tensor, " T"]:
    """i = 1..T: the number of visible keys at each position."""
    return torch.arange(1, values.shape[1] + 1, dtype=values.dtype, device=values.device)


class LimitHead(nn.Module):
    """One head. K and Q are ``[r, d]`` (r may be 0: no content logits), V = ``value_out [d, v]`` @ ``value_in [v, d]``.

    ``phi`` holds φ(0), …, φ(τ) by distance i − j and is zero beyond, so it is LOCAL and translation invariant.
    """

    def __init__(
        self, name: str, *, key: Tensor, query: Tensor, value_in: Tensor, value_out: Tensor, phi: Tensor | None = None
    ) -> None:
        super().__init__()
        self.name = name
        self.key, self.query = nn.Buffer(key), nn.Buffer(query)
        self.value_in, self.value_out = nn.Buffer(value_in), nn.Buffer(value_out)
        self.phi = nn.Buffer(key.new_zeros(0) if phi is None else phi)

    def forward(self, y: Float[Tensor, "B T d"], precision: int | None) -> Float[Tensor, "B T d"]:
        keys, queries, values = (_product(y, matrix) for matrix in (self.key, self.query, self.value_in))
        return attend(keys, queries, self.phi, values, precision) @ self.value_out.T

    def check(self, width: int, where: str) -> None:
        where = f"{where}, head {self.name!r}"
        check_finite(where, key=self.key, query=self.query, V=self.value_in, V_out=self.value_out, phi=self.phi)
        check_shape(where, "K", self.key, (len(self.key), width))
        check_shape(where, "Q", self.query, (len(self.key), width))
        check_shape(where, "V (input side)", self.value_in, (len(self.value_in), width))
        check_shape(where, "V (output side)", self.value_out, (width, len(self.value_in)))
        require(
            self.phi.ndim == 1, f"{where}: φ has to be a list of values by distance, got shape {list(self.phi.shape)}"
        )


class LimitMlp(nn.Module):
    """B ψ(A y + b): ψ is a Heaviside step (x > 0) for the units where ``step`` holds, else ReLU.

    A is ``weight_in [m, d]``, b is ``bias [m]``, B is ``weight_out [d, m]``.
    """

    def __init__(self, weight_in: Tensor, bias: Tensor, step: Tensor, weight_out: Tensor) -> None:
        super().__init__()
        self.weight_in, self.bias = nn.Buffer(weight_in), nn.Buffer(bias)
        self.step, self.weight_out = nn.Buffer(step), nn.Buffer(weight_out)

    def forward(self, y: Float[Tensor, "B T d"]) -> Float[Tensor, "B T d"]:
        before = _product(y, self.weight_in) + self.bias
        after = torch.where(self.step, (before > 0).to(y.dtype), before.relu())
        return after @ self.weight_out.T

    def check(self, width: int, where: str) -> None:
        where, units = f"{where}, MLP", len(self.bias)
        check_finite(where, A=self.weight_in, b=self.bias, B=self.weight_out)
        require(self.bias.ndim == 1, f"{where}: b has to be a vector, got shape {list(self.bias.shape)}")
        check_shape(where, "A", self.weight_in, (units, width))
        check_shape(where, "B", self.weight_out, (width, units))
        check_shape(where, "step", self.step, (units,))


class LimitLayer(nn.Module):
    """Heads in parallel, then an MLP, each added to the residual stream; no layer norm."""

    def __init__(self, heads: Iterable[LimitHead], mlp: LimitMlp) -> None:
        super().__init__()
        self.heads = Modules[LimitHead](heads)
        self.mlp = mlp

    def forward(self, y: Float[Tensor, "B T d"], precision: int | None) -> Float[Tensor, "B T d"]:
        total = y
        for head in self.heads:
            total = total + head(y, precision)
        return total + self.mlp(total)


def _product(y: Float[Tensor, "B T d"], matrix: Float[Tensor, "r d"]) -> Float[Tensor, "B T r"]:
    """y @ matrixᵀ, restricted to the coordinates that the matrix reads if they are less than half."""
    used = matrix.any(0).nonzero().flatten()
    return y @ matrix.T if 2 * len(used) > len(matrix.T) else y[..., used] @ matrix[:, used].T


def check_finite(where: str, **tensors: Tensor) -> None:
    """Raise `LengthwiseError` that names the first tensor that is not float64 or not finite."""
    for name, tensor in tensors.items():
        if tensor.dtype != torch.float64:
            raise LengthwiseError(f"{where}: {name} is {tensor.dtype}, but exact counting needs float64 weights")
        bad = (~torch.isfinite(tensor)).nonzero()
        if len(bad):
            raise LengthwiseError(f"{where}: {name} holds {tensor[tuple(bad[0])].item()} at {tuple(bad[0].tolist())}")


def check_shape(where: str, name: str, tensor: Tensor, shape: tuple[int, ...]) -> None:
    """Raise `LengthwiseError` unless the tensor has the shape."""
    found = list(tensor.shape)
    require(found == list(shape), f"{where}: {name} has shape {found}, expected {list(shape)}")


_ELEMENTS = 1 << 21
"""The largest residual stream, in numbers; larger batches are processed in pieces."""


class TheoryTransformer(nn.Module, ABC):
    """Base of Limit and finite transformers: layers without norms between an embedding and a readout.

    ``embeddings`` is ``[symbols, d]``, ``positions`` ``[P, d]``, ``readout`` ``[outputs, d]``. An output holds if its
    logit is above 0. ``symbols`` names the input ids, ``outputs`` the logits, ``dimensions`` the coordinates of the
    residual stream; ``precision`` rounds logits and exponentials to that many fractional bits. Raises `LengthwiseError`
    for weights that are NaN, not float64 or of the wrong shape.
    """

    def __init__(
        self,
        symbols: Sequence[str],
        outputs: Sequence[str],
        *,
        embeddings: Tensor,
        positions: Tensor,
        layers: Iterable[LimitLayer],
        readout: Tensor,
        dimensions: Sequence[str] = (),
        precision: int | None = None,
    ) -> None:
        super().__init__()
        self.symbols, self.outputs, self.precision = tuple(symbols), tuple(outputs), precision
        self.embeddings, self.positions = nn.Buffer(embeddings), nn.Buffer(positions)
        self.layers = Modules[LimitLayer](layers)
        self.readout = nn.Buffer(readout)
        self.dimensions = tuple(dimensions) or tuple(f"x{index}" for index in range(self.width))
        self.check()

    @property
    def width(self) -> int:
        """d: the width of the residual stream."""
        return self.embeddings.shape[-1]

    def check(self) -> None:
        """Raise `LengthwiseError` that names the first weights that are not finite float64 or have a wrong shape."""
        check_finite("embedding", E=self.embeddings)
        check_finite("positions", p=self.positions)
        check_finite("readout", U=self.readout)
        check_shape("embedding", "E", self.embeddings, (len(self.symbols), self.width))
        check_shape("positions", "p", self.positions, (len(self.positions), self.width))
        require(len(self.positions) >= 1, "positions: the table needs at least one row (of zeros, without positions)")
        check_shape("readout", "U", self.readout, (len(self.outputs), self.width))
        require(
            len(self.dimensions) == self.width,
            f"{len(self.dimensions)} names of dimensions for a residual stream of width {self.width}",
        )
        if self.precision is not None:
            require(self.precision >= 1, f"precision needs at least 1 fractional bit, got {self.precision}")
        for index, layer in enumerate(self.layers, start=1):
            for part in (*layer.heads, layer.mlp):
                part.check(self.width, f"layer {index}")

    @abstractmethod
    def position_vectors(self, offsets: Int[Tensor, " B"], length: int) -> Float[Tensor, "B T d"]:
        """p_{i+o} for i = 1..length in each row."""

    @torch.no_grad()
    def forward(
        self,
        input_ids: Int[Tensor, "B T"],
        position_ids: Int[Tensor, "B T *L"] | None = None,
        *,
        at: Int[Tensor, " S"] | slice | None = None,
    ) -> TransformerOutput:
        """Logits after every token, or only after those ``at``; position ids are o + 1, …, o + T (o = 0 if absent).

        Raises `LengthwiseError` for unknown token ids and for position ids that are not consecutive.
        """
        offsets = self._offsets(input_ids, position_ids)
        if input_ids.numel() and not (input_ids.min() >= 0 and input_ids.max() < len(self.symbols)):
            raise LengthwiseError(
                f"token ids run from 0 to {len(self.symbols) - 1}, got {input_ids.min()} to {input_ids.max()}"
            )
        rows = max(1, _ELEMENTS // max(1, input_ids.shape[1] * self.width))
        kept = slice(None) if at is None else at
        pieces = zip(input_ids.split(rows), offsets.split(rows), strict=True)
        return TransformerOutput(torch.cat([self.hidden(ids, o)[:, kept] @ self.readout.T for ids, o in pieces]))

    def hidden(self, ids: Int[Tensor, "B T"], offsets: Int[Tensor, " B"]) -> Float[Tensor, "B T d"]:
        y = self.embeddings[ids] + self.position_vectors(offsets, ids.shape[1])
        for layer in self.layers:
            y = layer(y, self.precision)
        return y

    def _offsets(self, input_ids: Tensor, position_ids: Tensor | None) -> Tensor:
        if position_ids is None:
            return input_ids.new_zeros(len(input_ids))
        ids = position_ids.reshape(len(input_ids), input_ids.shape[1], -1)[..., 0]
        if bool((ids.diff(dim=1) != 1).any()) or bool((ids < 1).any()):
            raise LengthwiseError("this model needs consecutive position ids o + 1, o + 2, … with an offset o >= 0")
        return ids[:, 0] - 1


class LimitTransformer(TheoryTransformer):
    """A transformer without a bound on the length: ``positions`` holds p_1 … p_Δ, which repeat with period Δ."""

    @property
    def period(self) -> int:
        return len(self.positions)

    @property
    def window(self) -> int:
        """τ: the largest distance at which some φ is not zero; 0 if none is."""
        reach = [int(head.phi.nonzero().max()) for layer in self.layers for head in layer.heads if head.phi.any()]
        return max(reach, default=0)

    def position_vectors(self, offsets: Int[Tensor, " B"], length: int) -> Float[Tensor, "B T d"]:
        index = offsets[:, None] + torch.arange(length, device=offsets.device)
        return self.positions[index % self.period]


MOST_ENTRIES = 1 << 27
"""The most entries of a table of positions: 1 GiB."""


class FiniteTransformer(TheoryTransformer):
    """An ordinary causal transformer: ``positions`` is a table of N absolute position vectors, all φ are empty."""

    def check(self) -> None:
        """As `TheoryTransformer.check`; also raises `LengthwiseError` for a head with a positional function."""
        super().check()
        for index, layer in enumerate(self.layers, start=1):
            for head in layer.heads:
                if head.phi.any():
                    raise LengthwiseError(
                        f"layer {index}, head {head.name!r} has a positional function φ; a finite transformer has "
                        "position vectors only"
                    )

    @property
    def context(self) -> int:
        """N: the number of positions."""
        return len(self.positions)

    def position_vectors(self, offsets: Int[Tensor, " B"], length: int) -> Float[Tensor, "B T d"]:
        """p_{i+o}; raises `LengthwiseError` when an offset leaves no room."""
        index = offsets[:, None] + torch.arange(length, device=offsets.device)
        if len(offsets) and int(index.max()) >= self.context:
            raise LengthwiseError(
                f"needs {int(index.max()) + 1} positions (length {length} at offset {int(offsets.max())}), but the "
                f"context is {self.context}; compile with a larger `context`"
            )
        return self.positions[index]


def finite_version(model: LimitTransformer, context: int) -> FiniteTransformer:
    """The transformer of context N that equals ``model`` on every input of length n and offset o with n + o <= N.

    One-hot coordinates are added only if some head has a positional function. Raises `LengthwiseError` for N < 1.
    """
    require(context >= 1, f"the context has to be at least 1, got {context}")
    added = context if model.window or any(head.phi.any() for layer in model.layers for head in layer.heads) else 0
    if context * max(added, model.positions.shape[1]) > MOST_ENTRIES:
        raise LengthwiseError(f"a context of {context} needs too large a table of positions; choose a smaller context")
    phases = model.positions[torch.arange(context) % model.period]
    positions = torch.cat([phases, torch.eye(context, added, dtype=phases.dtype)], dim=1)
    layers = []
    for layer in model.layers:
        mlp = LimitMlp(
            _wider(layer.mlp.weight_in, added), layer.mlp.bias, layer.mlp.step, _taller(layer.mlp.weight_out, added)
        )
        layers.append(LimitLayer([_finite_head(head, added) for head in layer.heads], mlp))
    return FiniteTransformer(
        model.symbols,
        model.outputs,
        embeddings=_wider(model.embeddings, added),
        positions=positions,
        layers=layers,
        readout=_wider(model.readout, added),
        dimensions=(*model.dimensions, *(f"position {index + 1}" for index in range(added))),
        precision=model.precision,
    )


def _finite_head(head: LimitHead, added: int) -> LimitHead:
    key, query = _wider(head.key, added), _wider(head.query, added)
    near = head.phi[:added]
    if near.any():
        width = head.key.shape[1]
        # k_jᵀ q_i picks coordinate j of the query, which is φ(i − j): a Toeplitz band below the diagonal.
        key = torch.cat([key, torch.eye(added, width + added, dtype=key.dtype).roll(width, 1)])
        band = torch.zeros(added, width + added, dtype=key.dtype)
        for distance in near.nonzero().flatten().tolist():
            rows = torch.arange(added - distance)
            band[rows, width + rows + distance] = near[distance]
        query = torch.cat([query, band])
    value_in, value_out = _wider(head.value_in, added), _taller(head.value_out, added)
    return LimitHead(head.name, key=key, query=query, value_in=value_in, value_out=value_out)


def _wider(matrix: Float[Tensor, "r d"], added: int) -> Float[Tensor, "r wider"]:
    """The matrix with columns of zeros for the coordinates of positions."""
    return torch.cat([matrix, matrix.new_zeros(len(matrix), added)], dim=1)


def _taller(matrix: Float[Tensor, "d c"], added: int) -> Float[Tensor, "taller c"]:
    return torch.cat([matrix, matrix.new_zeros(added, matrix.shape[1])])


FORMAT = 1
_KINDS: dict[str, type[TheoryTransformer]] = {"limit": LimitTransformer, "finite": FiniteTransformer}


def save_theory(model: TheoryTransformer, path: Path, *, source: str = "") -> None:
    """Write a model atomically; ``source`` may hold the text of its program."""
    kind = next(name for name, cls in _KINDS.items() if isinstance(model, cls))
    description = {
        "format": FORMAT,
        "kind": kind,
        "symbols": model.symbols,
        "outputs": model.outputs,
        "dimensions": model.dimensions,
        "precision": model.precision,
        "heads": [[head.name for head in layer.heads] for layer in model.layers],
        "source": source,
    }
    tensors = {name: value.contiguous() for name, value in model.state_dict().items()}
    write_tensors(path, tensors, json.dumps(description))


def load_theory(path: Path) -> LimitTransformer | FiniteTransformer:
    """Read a model; raises `LengthwiseError` if the file is missing, damaged, of another format, or malformed."""
    damaged = LengthwiseError(f"model file {path} is damaged or of another format; compile the program again")
    require(path.exists(), f"no model file at {path}; check the path")
    try:
        tensors, text = read_tensors(path)
        description = json.loads(text)
        if description["format"] != FORMAT:
            raise damaged
        return _build(description, tensors)
    except (KeyError, TypeError, ValueError, IndexError):
        raise damaged from None


def _build(description: dict[str, Any], tensors: dict[str, Tensor]) -> Any:
    def part(name: str) -> dict[str, Any]:
        return {key.removeprefix(name): value for key, value in tensors.items() if key.startswith(name)}

    layers = []
    for number, names in enumerate(description["heads"]):
        where = f"layers.{number}."
        heads = [LimitHead(str(name), **part(f"{where}heads.{index}.")) for index, name in enumerate(names)]
        layers.append(LimitLayer(heads, LimitMlp(**part(f"{where}mlp."))))
    return _KINDS[description["kind"]](
        [str(symbol) for symbol in description["symbols"]],
        [str(output) for output in description["outputs"]],
        layers=layers,
        dimensions=[str(name) for name in description["dimensions"]],
        precision=description["precision"],
        **{name: tensors[name] for name in ("embeddings", "positions", "readout")},
    )
