"""Compares cached generation with `transformers.generate` on the same weights, and kinds of ids with each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import torch

from baselines import gpt2
from baselines.measure import BenchRow, Effort
from lengthwise.core.rng import stream
from lengthwise.models.build import build_model
from lengthwise.models.config import ModelConfig
from lengthwise.models.generate import END, generate
from lengthwise.models.inputs import Inputs
from lengthwise.models.transformer import Block, Transformer
from lengthwise.nn.absolute import LearnedEmbedding
from lengthwise.positions.encodings import LearnedSpec
from lengthwise.positions.schemes import Coupled, PositionScheme, PredictiveCoupling, Sequential
from lengthwise.tasks.addition import Addition

MODEL = ModelConfig(4, 4, 256, norm="layer", bias=True, qk_norm=False, init="fan_in")
SMALL = ModelConfig(1, 2, 32, norm="layer", bias=True, qk_norm=False, init="fan_in")
DIGITS, ROOM = 10, 511


def rows(effort: Effort) -> Iterator[BenchRow]:
    """256 prompts, 200 new tokens."""
    size, steps = (4, 10) if effort.quick else (256, 200)
    config = SMALL if effort.quick else MODEL
    plain = endless(Sequential(max_position=ROOM), config)
    ids, positions = prompts(Sequential(max_position=ROOM), size)
    start = ids.shape[1]
    given = torch.arange(start, start + steps).expand(size, steps)[..., None]

    def ours(repeat: int) -> torch.Tensor:
        return generate(plain, ids, positions, steps, next_ids=given).tokens

    name = f"generate {steps} tokens × {size}"
    tokens = size * steps
    try:
        theirs = as_gpt2(plain)
    except ImportError:
        yield BenchRow(name, "tokens/s", against="transformers generate", skipped=gpt2.NEEDS)
    else:

        def baseline(repeat: int) -> torch.Tensor:
            with torch.inference_mode():
                mask = torch.ones_like(ids)
                return theirs.generate(ids, attention_mask=mask, max_new_tokens=steps, do_sample=False, use_cache=True)[
                    :, start:
                ]

        same = float((ours(0) == baseline(0)).all(dim=1).float().mean())
        mine, other = effort.seconds([ours, baseline])
        yield BenchRow.of(
            name, "tokens/s", tokens / mine, tokens / other, "transformers generate, same weights",
            f"{same:.1%} of rows have the same tokens",
        )  # fmt: skip
    coupled_ids, coupled_positions = prompts(Coupled(max_position=ROOM, draw="contiguous"), size)
    others = {
        "coupled": endless(Coupled(max_position=ROOM, draw="contiguous"), config),
        "predicted": endless(PredictiveCoupling(max_position=ROOM, draw="contiguous"), config),
    }

    def coupled(repeat: int) -> None:
        generate(others["coupled"], coupled_ids, coupled_positions, steps, next_ids=given)

    def predicted(repeat: int) -> None:
        generate(others["predicted"], coupled_ids, coupled_positions, steps)

    base, *times = effort.seconds([ours, coupled, predicted])
    for kind, time in zip(others, times, strict=True):
        yield BenchRow.of(f"{name}, {kind} ids", "tokens/s", tokens / time, tokens / base, "ours, plain ids")


def prompts(scheme: PositionScheme, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens and ids of addition prompts."""
    task, rng = Addition(), stream(0, "bench", "prompts")
    batch = task.batch(DIGITS, size, rng)
    inputs = Inputs.of(batch, scheme, task.levels, rng)
    return inputs.input_ids[:, : batch.prompt_length], inputs.position_ids[:, : batch.prompt_length]


def endless(scheme: PositionScheme, config: ModelConfig) -> Transformer:
    """A model with random weights that never ends early: its end token has the logit 0, below the largest."""
    model = build_model(Addition(), scheme, LearnedSpec(init_std=1.0), config, seed=0).eval()
    assert model.head is not None
    with torch.no_grad():
        model.head.weight[END] = 0.0
    return model


def as_gpt2(model: Transformer) -> Any:
    """The same function as a GPT-2 of transformers; needs LayerNorm, biases and one learned table.

    Raises `ImportError` without transformers.
    """
    config, encoding = model.config, model.encoding
    assert config.norm == "layer"
    assert config.bias
    assert not config.qk_norm
    assert config.log_length is None
    assert isinstance(encoding, LearnedEmbedding)
    other = gpt2.gpt2(config, model.table.num_embeddings, model.shape.max_position + 1, same_gelu=True)
    state = {
        "transformer.wte.weight": model.table.weight,
        "transformer.wpe.weight": cast("torch.nn.Embedding", encoding.tables[0]).weight,
        "lm_head.weight": model.table.weight if model.head is None else model.head.weight,
        "transformer.ln_f.weight": model.norm.weight,
        "transformer.ln_f.bias": model.norm.bias,
    }
    for layer, block in enumerate(cast("list[Block]", list(model.blocks))):
        # GPT-2 stores matrices as inputs × outputs.
        for name, module in (
            ("attn.c_attn", block.attention.qkv), ("attn.c_proj", block.attention.out),
            ("mlp.c_fc", block.up), ("mlp.c_proj", block.down),
        ):  # fmt: skip
            state[f"transformer.h.{layer}.{name}.weight"] = module.weight.T
            state[f"transformer.h.{layer}.{name}.bias"] = module.bias
        for name, module in (("ln_1", block.norm1), ("ln_2", block.norm2)):
            state[f"transformer.h.{layer}.{name}.weight"] = module.weight
            state[f"transformer.h.{layer}.{name}.bias"] = module.bias
    other.load_state_dict({name: cast(torch.Tensor, value).detach().clone() for name, value in state.items()})
    other.generation_config.eos_token_id = None
    return other.eval()
