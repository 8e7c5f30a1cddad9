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
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.files import replacing
from lengthwise.crasp.program import Program, ProgramBuilder
from lengthwise.models.build import digest_of
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
    `local_function` computes it from a table φ(j, i).
    """

    key: Tensor
    query: Tensor
    value_in: Tensor
    value_out: Tensor
    phi: Tensor

    def __init__(
        self, name: str, *, key: Tensor, query: Tensor, value_in: Tensor, value_out: Tensor, phi: Tensor | None = None
    ) -> None:
        super().__init__()
        self.name = name
        phi = key.new_zeros(0) if phi is None else phi
        for field, tensor in (
            ("key", key), ("query", query), ("value_in", value_in), ("value_out", value_out), ("phi", phi),
        ):  # fmt: skip
            self.register_buffer(field, tensor)

    def forward(self, y: Float[Tensor, "B T d"], precision: int | None) -> Float[Tensor, "B T d"]:
        """The head's contribution to the residual stream."""
        keys, queries, values = (_product(y, matrix) for matrix in (self.key, self.query, self.value_in))
        return attend(keys, queries, self.phi, values, precision) @ self.value_out.T

    def check(self, width: int, where: str) -> None:
        """Raise `LengthwiseError` for NaN or infinite weights and for shapes that do not fit."""
        where = f"{where}, head {self.name!r}"
        check_finite(where, key=self.key, query=self.query, V=self.value_in, V_out=self.value_out, phi=self.phi)
        check_shape(where, "K", self.key, (len(self.key), width))
        check_shape(where, "Q", self.query, (len(self.key), width))
        check_shape(where, "V (input side)", self.value_in, (len(self.value_in), width))
        check_shape(where, "V (output side)", self.value_out, (width, len(self.value_in)))
        require(self.phi.ndim == 1, f"{where}: φ has to be a list of values by distance, got shape {_shape(self.phi)}")


class LimitMlp(nn.Module):
    """B ψ(A y + b): ψ is a Heaviside step (x > 0) for the units where ``step`` holds, else ReLU.

    A is ``weight_in [m, d]``, b is ``bias [m]``, B is ``weight_out [d, m]``.
    """

    weight_in: Tensor
    bias: Tensor
    step: Tensor
    weight_out: Tensor

    def __init__(self, weight_in: Tensor, bias: Tensor, step: Tensor, weight_out: Tensor) -> None:
        super().__init__()
        for field, tensor in (("weight_in", weight_in), ("bias", bias), ("step", step), ("weight_out", weight_out)):
            self.register_buffer(field, tensor)

    def forward(self, y: Float[Tensor, "B T d"]) -> Float[Tensor, "B T d"]:
        """The MLP's contribution to the residual stream."""
        before = _product(y, self.weight_in) + self.bias
        after = torch.where(self.step, (before > 0).to(y.dtype), before.relu())
        return after @ self.weight_out.T

    def check(self, width: int, where: str) -> None:
        """Raise `LengthwiseError` for NaN or infinite weights and for shapes that do not fit."""
        where, units = f"{where}, MLP", len(self.bias)
        check_finite(where, A=self.weight_in, b=self.bias, B=self.weight_out)
        require(self.bias.ndim == 1, f"{where}: b has to be a vector, got shape {_shape(self.bias)}")
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
        """The residual stream after the layer."""
        total = y
        for head in self.heads:
            total = total + head(y, precision)
        return total + self.mlp(total)

    def check(self, width: int, where: str) -> None:
        """As `LimitHead.check`, for every head and the MLP."""
        for head in self.heads:
            head.check(width, where)
        self.mlp.check(width, where)


def local_function(table: Float[Tensor, "N N"], window: int, *, name: str = "φ") -> Float[Tensor, " window"]:
    """φ(0..window) of a table ``table[i - 1, j - 1]`` = φ(j, i), j <= i.

    Raises `LengthwiseError` with the positions at which it is not translation invariant or not LOCAL.
    """
    size = len(table)
    require(table.ndim == 2 and table.shape == (size, size), f"{name} has to be a square table, got {_shape(table)}")
    check_finite(name, values=table)
    values = table.new_zeros(window + 1)
    for distance in range(size):
        diagonal = table.diagonal(-distance)
        differs = (diagonal != diagonal[0]).nonzero()
        if len(differs):
            first = int(differs[0]) + 1
            raise LengthwiseError(
                f"{name} is not translation invariant: φ(1, {1 + distance}) = {diagonal[0]:g}, "
                f"but φ({first}, {first + distance}) = {diagonal[first - 1]:g}"
            )
        if distance <= window:
            values[distance] = diagonal[0]
        elif diagonal[0] != 0:
            raise LengthwiseError(
                f"{name} is not local: φ(1, {1 + distance}) = {diagonal[0]:g}, but it has to be 0 beyond "
                f"the window τ = {window}; raise the window or cut φ off"
            )
    return values


def periodic_vectors(table: Float[Tensor, "N d"], period: int, *, name: str = "position vectors") -> Tensor:
    """p_1 … p_Δ of a longer table; raises `LengthwiseError` with the positions at which it is not PERIODIC."""
    require(1 <= period <= len(table), f"{name}: period {period} needs a table of at least that many rows")
    check_finite(name, values=table)
    differs = (table[period:] != table[:-period]).nonzero() if period < len(table) else table.new_zeros(0, 2)
    if len(differs):
        row, column = (int(index) for index in differs[0])
        raise LengthwiseError(
            f"{name} are not periodic with Δ = {period}: coordinate {column} is {table[row, column]:g} at position "
            f"{row + 1} and {table[row + period, column]:g} at position {row + 1 + period}"
        )
    return table[:period].clone()


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
    require(tuple(tensor.shape) == shape, f"{where}: {name} has shape {_shape(tensor)}, expected {list(shape)}")


def _shape(tensor: Tensor) -> list[int]:
    return list(tensor.shape)


_ELEMENTS = 1 << 21
"""The largest residual stream, in numbers; larger batches are processed in pieces."""


class TheoryTransformer(nn.Module, ABC):
    """Base of Limit and finite transformers: layers without norms between an embedding and a readout.

    ``embeddings`` is ``[symbols, d]``, ``positions`` ``[P, d]``, ``readout`` ``[outputs, d]``. An output holds if its
    logit is above 0. ``symbols`` names the input ids, ``outputs`` the logits, ``dimensions`` the coordinates of the
    residual stream; ``precision`` rounds logits and exponentials to that many fractional bits. Raises `LengthwiseError`
    for weights that are NaN, not float64 or of the wrong shape.
    """

    embeddings: Tensor
    positions: Tensor
    readout: Tensor

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
        self.register_buffer("embeddings", embeddings)
        self.register_buffer("positions", positions)
        self.layers = Modules[LimitLayer](layers)
        self.register_buffer("readout", readout)
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
            layer.check(self.width, f"layer {index}")

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
        """The residual stream after the last layer."""
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
        """Δ: the period of the position vectors."""
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
    if context < 1:
        raise LengthwiseError(f"the context has to be at least 1, got {context}")
    added = context if model.window or any(head.phi.any() for layer in model.layers for head in layer.heads) else 0
    if context * max(added, model.positions.shape[1]) > MOST_ENTRIES:
        raise LengthwiseError(f"a context of {context} needs too large a table of positions; choose a smaller context")
    phases = model.positions[torch.arange(context) % model.period]
    positions = torch.cat([phases, torch.eye(context, added, dtype=phases.dtype)], dim=1)
    layers = [
        LimitLayer([_finite_head(head, added) for head in layer.heads], _finite_mlp(layer.mlp, added))
        for layer in model.layers
    ]
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
    return LimitHead(
        head.name,
        key=key,
        query=query,
        value_in=_wider(head.value_in, added),
        value_out=_wider(head.value_out.T, added).T.contiguous(),
    )


def _finite_mlp(mlp: LimitMlp, added: int) -> LimitMlp:
    weight_out = _wider(mlp.weight_out.T, added).T.contiguous()
    return LimitMlp(_wider(mlp.weight_in, added), mlp.bias, mlp.step, weight_out)


def _wider(matrix: Float[Tensor, "r d"], added: int) -> Float[Tensor, "r wider"]:
    """The matrix with columns of zeros for the coordinates of positions."""
    return torch.cat([matrix, matrix.new_zeros(len(matrix), added)], dim=1)


def parity_by_counting(context: int) -> Program:
    """#1 is one of 0, 2, 4, … <= N: one uniform head, one comparison per even number, and weights as large as N."""
    build = ProgramBuilder("01")
    ones = build.count(build.symbol("1"))
    equal = [build.compare(ones, "=", build.constant(even)) for even in range(0, context, 2)]
    return build.accept(build.any_of(equal))


def parity_by_looking_back(context: int) -> Program:
    """The same with a window of N: N − 1 local heads, so that the sum over distances grows."""
    build = ProgramBuilder("01")
    ones = build.count(build.symbol("1"), range(context))
    equal = [build.compare(ones, "=", build.constant(even)) for even in range(0, context, 2)]
    return build.accept(build.any_of(equal))


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
    with replacing(path) as temporary:
        try:
            text = json.dumps(description)
            save_file(tensors, temporary, metadata={"lengthwise": text, "digest": digest_of(tensors, text)})
        except SafetensorError as error:
            # It wraps the system's error as text; `replacing` knows what to say about those.
            raise OSError(str(error)) from None


def load_theory(path: Path) -> LimitTransformer | FiniteTransformer:
    """Read a model; raises `LengthwiseError` if the file is missing, damaged, of another format, or malformed."""
    damaged = LengthwiseError(f"model file {path} is damaged or of another format; compile the program again")
    if not path.exists():
        raise LengthwiseError(f"no model file at {path}; check the path")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = dict(file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        text = metadata.pop("lengthwise")
        # Older files have no digest.
        sound = not metadata or metadata == {"digest": digest_of(tensors, text)}
        description = json.loads(text)
        if not sound or description["format"] != FORMAT:
            raise damaged
        return _build(description, tensors)
    except (SafetensorError, KeyError, TypeError, ValueError, IndexError, OSError):
        raise damaged from None


def _build(description: dict[str, Any], tensors: dict[str, Tensor]) -> Any:
    layers = []
    for number, names in enumerate(description["heads"]):
        heads = []
        for index, name in enumerate(names):
            prefix = f"layers.{number}.heads.{index}."
            fields = {field: tensors[prefix + field] for field in ("key", "query", "value_in", "value_out", "phi")}
            heads.append(LimitHead(str(name), **fields))
        mlp = (tensors[f"layers.{number}.mlp.{field}"] for field in ("weight_in", "bias", "step", "weight_out"))
        layers.append(LimitLayer(heads, LimitMlp(*mlp)))
    return _KINDS[description["kind"]](
        [str(symbol) for symbol in description["symbols"]],
        [str(output) for output in description["outputs"]],
        embeddings=tensors["embeddings"],
        positions=tensors["positions"],
        layers=layers,
        readout=tensors["readout"],
        dimensions=[str(name) for name in description["dimensions"]],
        precision=description["precision"],
    )
