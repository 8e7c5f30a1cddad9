"""Slow second implementations: the transformer one token and one head at a time, and generation without a cache."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from lengthwise.core.rng import stream
from lengthwise.core.vocab import EOS, SPECIALS
from lengthwise.models.build import build_model
from lengthwise.models.config import ModelConfig
from lengthwise.models.inputs import Inputs
from lengthwise.models.transformer import Transformer
from lengthwise.nn import ScoreContext
from lengthwise.positions.encodings import ENCODINGS, EncodingSpec
from lengthwise.positions.schemes import SCHEMES, PositionScheme
from lengthwise.tasks import TASKS, Task

END = SPECIALS.index(EOS)
SMALL = ModelConfig(layers=2, heads=2, width=16, mlp_ratio=2, log_length=7)


def rough_model(
    task: Task | str,
    scheme: PositionScheme | str,
    encoding: EncodingSpec | str,
    config: ModelConfig = SMALL,
    seed: int = 0,
) -> Transformer:
    """A model with large random weights everywhere, so that no part of it is too quiet to be noticed."""
    task, scheme = TASKS.build(task), SCHEMES.build(scheme)
    model = build_model(task, scheme, ENCODINGS.build(encoding), config, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim >= 2:
                parameter.copy_(0.4 * torch.randn(parameter.shape, generator=generator))
            else:
                parameter.mul_(0.7 + torch.rand(parameter.shape, generator=generator))
    return model.eval()


def some_inputs(task: Task | str, scheme: PositionScheme, length: int = 3, size: int = 3, seed: int = 0) -> Inputs:
    """A batch with its ids as tensors."""
    task = TASKS.build(task)
    rng = stream(seed, "inputs")
    return Inputs.of(task.batch(length, size, rng), scheme, task.levels, rng)


def norm(x: Tensor, weight: Tensor | None, kind: str = "rms", bias: Tensor | None = None) -> Tensor:
    """RMSNorm, or LayerNorm, of one vector."""
    if kind != "layer":
        result = x / torch.sqrt((x * x).mean() + torch.finfo(x.dtype).eps)
    else:
        result = (x - x.mean()) / torch.sqrt(x.var(unbiased=False) + 1e-5)
    result = result if weight is None else result * weight
    return result if bias is None else result + bias


def gelu(x: Tensor) -> Tensor:
    return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))


@torch.no_grad()
def slow_hidden(model: Transformer, input_ids: Tensor, position_ids: Tensor) -> Tensor:
    """The last norm's outputs, one token and one head at a time; only the encoding's hooks are shared."""
    return torch.stack([_row(model, *row) for row in zip(input_ids, position_ids, strict=True)])


def _row(model: Transformer, tokens: Tensor, ids: Tensor) -> Tensor:
    state, config = model.state_dict(), model.config
    d = config.head_width

    def one(t: int) -> Tensor:
        return ids[None, t : t + 1]

    def dense(name: str, x: Tensor) -> Tensor:
        result = state[f"{name}.weight"] @ x
        return result + state[f"{name}.bias"] if f"{name}.bias" in state else result

    def normed(name: str, x: Tensor) -> Tensor:
        return norm(x, state[f"{name}.weight"], config.norm, state.get(f"{name}.bias"))

    def post(name: str, x: Tensor) -> Tensor:
        return normed(name, x) if config.norm == "peri" else x

    stream_ = []
    for t, token in enumerate(tokens.tolist()):
        x = state["table.weight"][token].clone()
        added = model.encoding.embed(one(t))
        stream_.append(x if added is None else x + added[0, 0])
    start = [x.clone() for x in stream_]
    for step in range(config.loops_for(len(tokens)) * config.layers):
        layer = step % config.layers
        if step > 0 and layer == 0:
            stream_ = [x + again for x, again in zip(stream_, start, strict=True)]
        name, encoding = f"blocks.{layer}", model.encoding.layer(layer)
        window = encoding.window or len(tokens)
        gains = next((state[key].flatten() for key in state if key.startswith(f"{name}.attention.gain")), None)
        heads: list[list[tuple[Tensor, Tensor, Tensor]]] = []
        for t, x in enumerate(stream_):
            projected = dense(f"{name}.attention.qkv", normed(f"{name}.norm1", x)).view(3, config.heads, d)
            row = []
            for h in range(config.heads):
                q, k, v = projected[0, h], projected[1, h], projected[2, h]
                if gains is not None:
                    q, k = norm(q, None) * gains[h], norm(k, None)
                q = encoding.rotate(q.view(1, 1, 1, d), one(t)).flatten()
                k = encoding.rotate_keys(k.view(1, 1, 1, d), one(t)).flatten()
                row.append((q, k, v))
            heads.append(row)
        after = []
        changed = None
        if encoding.has_scores:
            rows = [[torch.stack([row[h][n] for row in heads]) for h in range(config.heads)] for n in (0, 1)]
            q, k = (torch.stack(row) for row in rows)
            if config.log_length is not None:
                factors = torch.arange(1, len(heads) + 1).clamp(max=window).log() / math.log(config.log_length)
                q = q * factors[:, None]
            inputs = torch.stack([normed(f"{name}.norm1", x) for x in stream_])
            ages = torch.arange(len(heads))[:, None] - torch.arange(len(heads))
            mask = torch.where((ages >= 0) & (ages < window), 0.0, -math.inf)
            context = ScoreContext.of_last(len(heads), q[None], k[None], inputs[None], ids[None], mask)
            changed = encoding.scores(q[None] @ k.mT[None] / math.sqrt(d), context)[0]
        for i, x in enumerate(stream_):
            mixed = []
            for h in range(config.heads):
                logits = []
                first = max(0, i + 1 - window)
                for j in range(first, i + 1):
                    logit = float(heads[i][h][0] @ heads[j][h][1]) / math.sqrt(d)
                    if config.log_length is not None:
                        logit *= math.log(i + 1 - first) / math.log(config.log_length)
                    if changed is not None:
                        logit = float(changed[h, i, j])
                    bias = encoding.bias(one(i), one(j))
                    logits.append(logit + (0.0 if bias is None else float(bias[0, h, 0, 0])))
                top = max(logits)
                weights = [math.exp(logit - top) for logit in logits]
                mixed.append(sum(w / sum(weights) * heads[j][h][2] for j, w in enumerate(weights, first)))
            x = x + post(f"{name}.added1", dense(f"{name}.attention.out", torch.cat(mixed)))  # type: ignore[arg-type]
            x = x + post(f"{name}.added2", dense(f"{name}.down", gelu(dense(f"{name}.up", normed(f"{name}.norm2", x)))))
            after.append(x)
        stream_ = after
    return torch.stack([normed("norm", x) for x in stream_])


@torch.no_grad()
def slow_logits(model: Transformer, input_ids: Tensor, position_ids: Tensor) -> Tensor:
    """Next-token logits of the slow model."""
    state = model.state_dict()
    matrix = state["head.weight"] if "head.weight" in state else state["table.weight"]
    return slow_hidden(model, input_ids, position_ids) @ matrix.T


@torch.no_grad()
def slow_generate(
    model: Transformer, prompt: list[int], ids: list[list[int]], steps: int, next_ids: list[list[int]] | None
) -> tuple[list[int], list[list[int]]]:
    """Greedy generation of one row by running the whole prefix again for every token; ends after ``<eos>``."""
    tokens, ids = list(prompt), [list(row) for row in ids]
    for step in range(steps):
        output = model(torch.tensor([tokens]), torch.tensor([ids]))
        best = int(output.logits[0, -1].argmax())
        predicted = [int(level.best()[0, -1]) for level in output.position]
        new = predicted if next_ids is None else next_ids[step]
        tokens.append(best)
        ids.append(new)
        if best == END:
            break
    return tokens[len(prompt) :], ids[len(prompt) :]


def attention_reference(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> Tensor:
    """The formula written out: softmax(q·k/√d + bias)·v over the keys up to the query; [B, H, Q, d]."""
    queries, keys = q.shape[2], k.shape[2]
    scores = q @ k.mT / math.sqrt(q.shape[3])
    if bias is not None:
        scores = scores + bias
    visible = torch.arange(keys)[None, :] <= torch.arange(queries)[:, None] + keys - queries
    return torch.softmax(scores.masked_fill(~visible, -math.inf), dim=-1) @ v
