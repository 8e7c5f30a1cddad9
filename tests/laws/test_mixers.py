"""Laws of every mixer in the model, and each against a loop over tokens in float64, written from the paper."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

import numpy as np
import pytest
import torch
from test_kernels import draw_groups, gradients
from torch import Tensor

from lengthwise import nn
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.evaluation.accuracy import EvaluatedModel, score_layout
from lengthwise.models.attention_state import Cache
from lengthwise.models.config import ModelConfig
from lengthwise.models.generate import generate
from lengthwise.models.kernels import optimize
from lengthwise.models.mixers import MIXERS
from lengthwise.models.stacked import TransformerStack
from lengthwise.nn.recurrence import recurrence, scan
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import SCHEMES, Coupled
from lengthwise.tasks import TASKS
from lengthwise.testing.laws import MIXER_LAWS
from lengthwise.training.config import TrainingConfig
from lengthwise.training.data import TaskSetup
from lengthwise.training.trainer import Trainer
from oracle import rough_model, slow_generate, some_inputs
from small import Echo

RECURRENT = [name for name in MIXERS if name != "attention"]
PATTERNS = [*RECURRENT, "mamba(state=4)+attention", "attention+deltanet(negative=true)"]
CONFIG = ModelConfig(layers=2, heads=2, width=16, mlp_ratio=1)
patterns = pytest.mark.parametrize("pattern", PATTERNS)


def config_of(pattern: str) -> ModelConfig:
    return dataclasses.replace(CONFIG, mixer=pattern)


@pytest.mark.parametrize("law", MIXER_LAWS.values(), ids=MIXER_LAWS)
@pytest.mark.parametrize("name", MIXERS)
def test_every_mixer_obeys_every_law(name: str, law: Callable[..., None]) -> None:
    law(MIXERS.build(name))


@patterns
def test_optimized_equals_readable_gradients_too(pattern: str) -> None:
    """A stack of three on groups of lengths 3, 2 and 9, and one model on the last positions alone."""
    models = [rough_model(Echo(), Coupled(max_position=20), "rope", config_of(pattern), seed) for seed in range(3)]
    stack = TransformerStack(models).model
    groups = draw_groups(False, 6, (3, 2, 9))
    joined = type(groups[0]).join(groups, 3)
    found = stack(joined.input_ids, joined.position_ids, at=joined.at, groups=joined.groups).logits
    factors = torch.randn(found.shape, generator=torch.Generator().manual_seed(0))
    by_run = []
    for run, model in enumerate(models):
        rows = [slice(run * len(g.input_ids) // 3, (run + 1) * len(g.input_ids) // 3) for g in groups]
        parts = [
            model(g.input_ids[own], g.position_ids[own], at=g.at).logits.flatten(0, 1)
            for g, own in zip(groups, rows, strict=True)
        ]
        logits = torch.cat(parts)
        assert torch.allclose(logits, found[run], atol=2e-4, rtol=1e-3)
        by_run.append(gradients(model, [logits], [factors[run]]))
    fast = gradients(stack, [found], [factors])
    for one, slow in zip(fast, map(torch.stack, zip(*by_run, strict=True)), strict=True):
        assert torch.allclose(one, slow, atol=1e-3 * (1 + float(slow.abs().max())), rtol=1e-2)
    last = groups[2]
    at = slice(last.input_ids.shape[1] - 2, None)
    one = optimize(models[0])(last.input_ids, last.position_ids, at=at).logits
    assert torch.allclose(one, models[0](last.input_ids, last.position_ids, at=at).logits, atol=2e-4, rtol=1e-3)


@patterns
def test_chunks_of_tokens_go_through_a_cache(pattern: str) -> None:
    model = rough_model("addition", Coupled(max_position=20), "rope", config_of(pattern))
    inputs = some_inputs("addition", Coupled(max_position=20))
    tokens, ids = inputs.input_ids[:, :9], inputs.position_ids[:, :9]
    whole = model(tokens, ids).logits
    for chunks in ([4, 1, 1, 3], [1, 8], [9]):
        cache, at = Cache(capacity=9), 0
        for size in chunks:
            logits = model(tokens[:, at : at + size], ids[:, at : at + size], cache=cache).logits
            assert torch.allclose(logits, whole[:, at : at + size], atol=1e-4), chunks
            at += size


@patterns
def test_generation_equals_running_the_whole_prefix_again(pattern: str) -> None:
    """Rows leave the batch when they end, and the states of the others stay theirs."""
    model = rough_model("copy", "sequential", "nope", config_of(pattern), seed=1)
    inputs = some_inputs("copy", SCHEMES.build("sequential"), size=8)
    prompt, ids = inputs.input_ids[:, :5], inputs.position_ids[:, :5]
    following = torch.arange(5, 11)[None, :, None].expand(8, -1, -1)
    found = generate(model, prompt, ids, 6, next_ids=following)
    for row in range(8):
        tokens, _ = slow_generate(model, prompt[row].tolist(), ids[row].tolist(), 6, following[row].tolist())
        assert found.tokens[row, : len(tokens)].tolist() == tokens


@patterns
@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_every_mixer_trains(pattern: str, precision: str) -> None:
    training = TrainingConfig(max_length=4, steps=2, batch_size=8, warmup=1, stacked=True, precision=precision)  # type: ignore[arg-type]
    task, scheme = TASKS.build("copy"), SCHEMES.build("sequential", max_position=40)
    trainer = Trainer(TaskSetup(task, scheme, ENCODINGS.build("nope"), config_of(pattern)), training, [0, 1])
    before = {name: value.clone() for name, value in trainer.stack.state_dict().items()}
    assert torch.isfinite(trainer.step(0)).all()
    still = {name for name, value in trainer.stack.state_dict().items() if torch.equal(value, before[name])}
    assert not still, "one step moves every parameter"
    model = trainer.stack.unstack(1).eval()
    assert score_layout(EvaluatedModel(model, task, scheme), 3, None, 8, stream(0, "test")).n == 8


def test_bf16_stays_near() -> None:
    for name in RECURRENT:
        model = rough_model("addition", Coupled(max_position=20), "nope", config_of(name))
        inputs = some_inputs("addition", Coupled(max_position=20))
        exact = model(inputs.input_ids, inputs.position_ids).logits
        with torch.autocast("cpu", torch.bfloat16):
            found = model(inputs.input_ids, inputs.position_ids).logits
        assert 0 < float(((found - exact).norm() / exact.norm()).detach()) < 0.1, name


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("delta", [False, True])
def test_chunked_equals_scan(vector: bool, delta: bool) -> None:
    """On lengths within, at and beyond a chunk, from a state that is not 0."""
    generator = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> Tensor:
        return torch.randn(2, 3, *shape, generator=generator, dtype=torch.float64)

    for tokens in (1, 7, 8, 21):
        q, k, b, v, state = draw(tokens, 5), draw(tokens, 5), draw(tokens, 5), draw(tokens, 4), draw(4, 5)
        b = torch.nn.functional.normalize(b, dim=-1)
        pair = (-1.8 * b, b) if delta else (None, None)
        decay = -draw(tokens, 5 if vector else 1).abs()
        one, other = scan(q, k, v, decay, *pair, state), recurrence(q, k, v, decay, *pair, state, chunk=8)
        for slow, fast in zip(one, other, strict=True):
            assert torch.allclose(slow, fast, atol=1e-9)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def silu(x: np.ndarray) -> np.ndarray:
    return x * sigmoid(x)


def softplus(x: np.ndarray) -> np.ndarray:
    return np.log1p(np.exp(x))


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x)


def rms(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x * x).mean() + 1e-5) * weight


class Loop:
    """One sequence through a mixer, token by token; ``w`` has its weights by name."""

    def __init__(self, module: torch.nn.Module) -> None:
        self.w = {name.removesuffix(".weight"): p.detach().numpy() for name, p in module.named_parameters()}

    def convolved(self, rows: list[np.ndarray]) -> list[np.ndarray]:
        kernel = self.w["conv.kernel"]
        size, zero = kernel.shape[1], np.zeros(kernel.shape[0])
        padded = [zero] * (size - 1) + rows
        return [silu(sum(padded[t + i] * kernel[:, i] for i in range(size))) for t in range(len(rows))]


def lstm_loop(module: nn.LSTM, x: np.ndarray) -> np.ndarray:
    w = Loop(module).w
    h, c, found = np.zeros(x.shape[1]), np.zeros(x.shape[1]), []
    for token in x:
        i, f, g, o = np.split(w["input"] @ token + w["input.bias"] + w["recurrent"] @ h, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        found.append(h)
    return np.array(found)


def mamba_loop(module: nn.Mamba2, x: np.ndarray) -> np.ndarray:
    loop = Loop(module)
    w, heads, inner = loop.w, module.heads, module.sizes[0]
    size = inner // heads
    projected = [w["project"] @ token for token in x]
    mixed = loop.convolved([row[inner:-heads] for row in projected])
    n = (len(mixed[0]) - inner) // 2
    states, found = [np.zeros((size, n)) for _ in range(heads)], []
    for row, token in zip(projected, mixed, strict=True):
        given, b, c = token[:inner], token[inner : inner + n], token[inner + n :]
        y = np.zeros(inner)
        for h in range(heads):
            step = softplus(row[-heads + h] + w["step_bias"][h])
            own = given[h * size : (h + 1) * size]
            states[h] = np.exp(-np.exp(w["log_rate"][h]) * step) * states[h] + step * np.outer(own, b)
            y[h * size : (h + 1) * size] = states[h] @ c + w["skip"][h] * own
        found.append(w["out"] @ rms(y * silu(row[:inner]), w["norm"]))
    return np.array(found)


def delta_loop(module: nn.DeltaNet, x: np.ndarray) -> np.ndarray:
    loop = Loop(module)
    w, heads, width = loop.w, module.heads, x.shape[1]
    d = width // heads
    mixed = loop.convolved([w["qkv"] @ token for token in x])
    states, found = [np.zeros((d, d)) for _ in range(heads)], []
    for given, token in zip(x, mixed, strict=True):
        y = np.zeros(width)
        for h in range(heads):
            q, k, v = (token[part * width + h * d : part * width + (h + 1) * d] for part in range(3))
            q, k = unit(q), unit(k)
            beta = module.largest * sigmoid(w["beta"][h] @ given)
            alpha = 1.0
            if module.gate is not None:
                step = softplus(w["step"][h] @ given + w["step_bias"][h])
                alpha = np.exp(-np.exp(w["log_rate"][h]) * step)
            states[h] = alpha * states[h] @ (np.eye(d) - beta * np.outer(k, k)) + beta * np.outer(v, k)
            y[h * d : (h + 1) * d] = rms(states[h] @ q, w["norm"])
        found.append(w["out"] @ (y if module.gate is None else y * silu(w["gate"] @ given)))
    return np.array(found)


def rwkv_loop(module: nn.RWKV7, x: np.ndarray) -> np.ndarray:
    w, heads, width = Loop(module).w, module.heads, x.shape[1]
    d, before = width // heads, np.zeros(x.shape[1])
    states, found = [np.zeros((d, d)) for _ in range(heads)], []
    for token in x:
        xr, xw, xk, xv, xa, xg = (token + mu * (before - token) for mu in w["shift"])
        before = token
        r, k, v = w["r"] @ xr, w["k"] @ xk, w["v"] @ xv
        decay = np.exp(-np.exp(-0.5) * sigmoid(w["up_w"] @ np.tanh(w["down_w"] @ xw) + w["up_w.bias"]))
        a = sigmoid(w["up_a"] @ (w["down_a"] @ xa) + w["up_a.bias"])
        gate = w["up_g"] @ sigmoid(w["down_g"] @ xg)
        kappa, written = k * w["removed"], k * (1 + (a - 1) * w["written"])
        y = np.zeros(width)
        for h in range(heads):
            own = slice(h * d, (h + 1) * d)
            removed = unit(kappa[own])
            turn = np.diag(decay[own]) - np.outer(removed, a[own] * removed)
            states[h] = states[h] @ turn + np.outer(v[own], written[own])
            read = states[h] @ r[own]
            normed = (read - read.mean()) / np.sqrt(read.var() + 1e-5 * d) * w["norm"][own]
            y[own] = normed + (r[own] * w["bonus"][own] * written[own]).sum() * v[own]
        found.append(w["out"] @ (y * gate))
    return np.array(found)


LOOPS = {nn.LSTM: lstm_loop, nn.Mamba2: mamba_loop, nn.DeltaNet: delta_loop, nn.RWKV7: rwkv_loop}


@pytest.mark.parametrize("name", RECURRENT)
def test_equals_a_loop_over_tokens(name: str) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        module = MIXERS.build(name).build(12, 3).double()
        with torch.no_grad():
            for parameter in module.parameters():
                parameter += 0.3 * torch.randn_like(parameter)
        x = torch.randn(2, 40, 12, dtype=torch.float64)
    found = module(x)[0].detach().numpy()
    for row in range(2):
        assert np.allclose(found[row], LOOPS[type(module)](module, x[row].numpy()), atol=1e-8)


def test_lstm_equals_torch() -> None:
    ours, theirs, x = nn.LSTM(8), torch.nn.LSTM(8, 8, batch_first=True), torch.randn(2, 9, 8)
    with torch.no_grad():
        theirs.weight_ih_l0.copy_(ours.input.weight)
        theirs.weight_hh_l0.copy_(ours.recurrent.weight)
        theirs.bias_ih_l0.copy_(ours.input.bias)
        theirs.bias_hh_l0.zero_()
    assert torch.allclose(ours(x)[0], theirs(x)[0], atol=1e-6)


def test_mamba_equals_transformers() -> None:
    transformers = pytest.importorskip("transformers")
    from transformers.models.mamba2.modeling_mamba2 import Mamba2Mixer

    config = transformers.Mamba2Config(
        hidden_size=16, num_heads=4, head_dim=8, state_size=6, expand=2, n_groups=1, use_conv_bias=False, chunk_size=8,
        rms_norm=True, layer_norm_epsilon=1e-5,
    )  # fmt: skip
    ours, theirs, x = nn.Mamba2(16, 4, state=6), Mamba2Mixer(config, 0), torch.randn(2, 19, 16)
    with torch.no_grad():
        theirs.in_proj.weight.copy_(ours.project.weight)
        theirs.out_proj.weight.copy_(ours.out.weight)
        theirs.conv1d.weight.copy_(ours.conv.kernel.weight[:, None])
        theirs.A_log.copy_(ours.log_rate.weight)
        theirs.D.copy_(ours.skip.weight)
        theirs.dt_bias.copy_(ours.step_bias.weight)
        theirs.norm.weight.copy_(ours.norm.weight)
        assert torch.allclose(ours(x)[0], theirs(x), atol=1e-5)


@pytest.mark.parametrize("negative", [False, True])
def test_gated_delta_rule_equals_transformers(negative: bool) -> None:
    modeling = pytest.importorskip("transformers.models.qwen3_next.modeling_qwen3_next")
    q, k, v = torch.randn(3, 2, 21, 3, 5)
    beta, decay = (1 + negative) * torch.rand(2, 21, 3), -torch.rand(2, 21, 3)
    theirs, _ = modeling.torch_recurrent_gated_delta_rule(
        q, k, v, g=decay, beta=beta, initial_state=None, output_final_state=False, use_qk_l2norm_in_kernel=True
    )
    q, k, v = (part.transpose(1, 2) for part in (q, k, v))
    q, k = (torch.nn.functional.normalize(part, dim=-1) for part in (q, k))
    beta, decay = beta.mT[..., None], decay.mT[..., None]
    ours, _ = recurrence(q, k, beta * v, decay, -decay.exp() * beta * k, k)
    assert torch.allclose(ours.transpose(1, 2) / 5**0.5, theirs, atol=1e-4)


def test_the_state_does_not_grow_but_for_attention() -> None:
    for name in MIXERS:
        model = rough_model("copy", "sequential", "nope", config_of(name))
        sizes = []
        for tokens in (4, 40):
            cache = Cache(capacity=tokens)
            model(torch.ones(1, tokens, dtype=torch.long), torch.arange(tokens)[None, :, None], cache=cache)
            sizes.append(cache.numbers)
        assert (sizes[0] == sizes[1]) == (name != "attention"), name


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("lsmt", "lstm"),
        ("lstm*2+attention", "names 3 layers, but the model has 2"),
        ("lstm++mamba", "is no part of a pattern of mixers; write mamba*3+attention"),
        ("mamba(state=0)", "state"),
        ("mamba(sate=4)", "state"),
    ],
)
def test_wrong_patterns_are_one_clear_line(pattern: str, words: str) -> None:
    with pytest.raises((LengthwiseError, ValueError), match=re.escape(words)):
        config_of(pattern)


def test_what_needs_attention_says_so() -> None:
    model = rough_model("copy", "sequential", "nope", config_of("lstm"))
    tokens, ids = torch.ones(1, 4, dtype=torch.long), torch.arange(4)[None, :, None]
    for call in (
        lambda: model.attention(tokens, ids, slice(0, 4)),
        lambda: model(tokens, ids, visible=torch.ones(1, 4, dtype=torch.bool)),
    ):
        with pytest.raises(LengthwiseError, match=r"needs attention in every layer, but model\.mixer is lstm"):
            call()
