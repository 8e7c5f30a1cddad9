"""The laws of a position encoding: what its module must keep inside of a transformer."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from lengthwise.core.rng import stream
from lengthwise.models.build import build_model
from lengthwise.models.cache import Cache
from lengthwise.models.config import ModelConfig
from lengthwise.models.inputs import Inputs
from lengthwise.models.stacked import TransformerStack
from lengthwise.models.transformer import Transformer
from lengthwise.positions.encodings import ENCODINGS, EncodingSpec
from lengthwise.positions.schemes.coupled import Coupled
from lengthwise.tasks import TASKS
from lengthwise.testing.law import need

SMALL = ModelConfig(layers=2, heads=2, width=32, mlp_ratio=2, init="fan_in")
ROWS, LENGTH, MAX_POSITION = 3, 3, 40
TOLERANCE = 1e-4


def _model(encoding: EncodingSpec, seed: int = 0) -> Transformer:
    """A small model on coupled ids, with parameters far from their start, so that nothing is hidden by zeros."""
    model = build_model(TASKS.build("addition"), Coupled(max_position=MAX_POSITION), encoding, SMALL, seed=seed)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator)
    return model.eval()


def _inputs() -> tuple[Tensor, Tensor]:
    """Token ids [B, T] and position ids [B, T, 1] of additions."""
    task, rng = TASKS.build("addition"), stream(0, "law", "encoding")
    inputs = Inputs.of(task.batch(LENGTH, ROWS, rng), Coupled(max_position=20), task.levels, rng)
    return inputs.input_ids, inputs.position_ids


@torch.no_grad()
def logits_are_finite(encoding: EncodingSpec) -> None:
    """Logits are finite at every position, and have the shape [B, T, V]."""
    tokens, ids = _inputs()
    logits = _model(encoding)(tokens, ids).logits
    need(logits.shape[:2] == tokens.shape, f"logits have shape {tuple(logits.shape)}")
    need(torch.isfinite(logits).all(), "a logit is NaN or infinite")


def every_parameter_gets_a_gradient(encoding: EncodingSpec) -> None:
    """Every parameter of the encoding takes part in the loss."""
    model = _model(encoding).train()
    tokens, ids = _inputs()
    model(tokens, ids).logits.square().mean().backward()
    for name, parameter in model.encoding.named_parameters():
        need(parameter.grad is not None and bool(parameter.grad.abs().sum() > 0), f"parameter {name} gets no gradient")


@torch.no_grad()
def later_tokens_change_nothing_earlier(encoding: EncodingSpec) -> None:
    """Attention is causal: later tokens and ids leave earlier logits alone."""
    model = _model(encoding)
    tokens, ids = _inputs()
    before = model(tokens, ids).logits
    for t in range(1, tokens.shape[1]):
        other, other_ids = tokens.clone(), ids.clone()
        other[:, t:] = 4 + (other[:, t:] - 3) % 4
        other_ids[:, t:] = 1 + (other_ids[:, t:] + 6) % 14
        after = model(other, other_ids).logits
        need(torch.allclose(before[:, :t], after[:, :t], atol=TOLERANCE), f"token {t} changes logits before it")


@torch.no_grad()
def cached_equals_uncached(encoding: EncodingSpec) -> None:
    """Token by token with a cache, the logits are those of one pass."""
    model = _model(encoding)
    tokens, ids = _inputs()
    whole = model(tokens, ids).logits
    cache = Cache(capacity=tokens.shape[1])
    for t in range(tokens.shape[1]):
        step = model(tokens[:, t : t + 1], ids[:, t : t + 1], cache=cache).logits
        need(torch.allclose(step[:, 0], whole[:, t], atol=TOLERANCE), f"cached logits differ at position {t}")


@torch.no_grad()
def two_runs_in_a_stack_equal_each_alone(encoding: EncodingSpec) -> None:
    """Two models that train together as a stack have the logits that each has alone."""
    (tokens, ids), models = _inputs(), [_model(encoding, seed) for seed in (0, 1)]
    together = TransformerStack(models).eval()(tokens.repeat(2, 1), ids.repeat(2, 1, 1)).logits
    apart = torch.cat([model(tokens, ids).logits for model in models])
    need(torch.allclose(together, apart, atol=TOLERANCE), "logits of a stack differ from those of its models")


@torch.no_grad()
def translation_invariance_is_as_claimed(encoding: EncodingSpec) -> None:
    """Where `translation_invariant` is true, adding one number to all ids changes nothing."""
    if not encoding.translation_invariant:
        return
    model = _model(encoding)
    tokens, ids = _inputs()
    before, after = model(tokens, ids).logits, model(tokens, ids + 7).logits
    need(torch.allclose(before, after, atol=1e-3), "logits change with a shift of all ids; set translation_invariant")


@torch.no_grad()
def weights_are_a_function_of_the_seed(encoding: EncodingSpec) -> None:
    """Building twice from one seed gives the same weights, bit for bit."""
    one, two = _model(encoding).state_dict(), _model(encoding).state_dict()
    for name, value in one.items():
        need(torch.equal(value, two[name]), f"{name} differs between two models of one seed; use torch's generator")


def json_round_trip(encoding: EncodingSpec) -> None:
    """An encoding is rebuilt from its name and its fields."""
    same = ENCODINGS.build(ENCODINGS.describe(encoding)) == encoding
    need(same, "the fields do not rebuild the encoding; is it a @config dataclass?")


LAWS: dict[str, Callable[[EncodingSpec], None]] = {
    law.__name__: law
    for law in (
        logits_are_finite,
        every_parameter_gets_a_gradient,
        later_tokens_change_nothing_earlier,
        cached_equals_uncached,
        two_runs_in_a_stack_equal_each_alone,
        translation_invariance_is_as_claimed,
        weights_are_a_function_of_the_seed,
        json_round_trip,
    )
}
"""Every law of a position encoding by name."""
