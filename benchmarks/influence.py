"""Time greedy search for influential tokens against a loop with one mask per forward pass, saving by saving.

Run: python benchmarks/influence.py [--context 128] [--recent 64] [-k 8] [--models NAME ...] [--threads 2]
[--clock cpu]. Prints a Markdown table: targets per second of each step, the ratio to the plain loop, and whether the
tokens and losses are the same. Weights are random, which changes no time.

The steps add up: the plain loop (explicit 4-D mask over the whole window, all logits); logits at one position; masked
tokens left out; rows batched.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch

from lengthwise.core.rng import stream
from lengthwise.influence.huggingface import HuggingFaceModel
from lengthwise.influence.measure import SELECTION_RULES, Scorer
from lengthwise.influence.models import LanguageModel, OwnModel, nats, tensor
from lengthwise.models.config import ModelConfig
from lengthwise.models.transformer import Transformer
from lengthwise.positions.encodings import EncodingShape, RoPESpec

Loss = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Tokens [1, L̄], visible [1, L̄], target [1] to a loss [1]."""


def own(name: str, layers: int, width: int, vocab: int) -> OwnModel:
    """A model as `lengthwise lm train` makes it."""
    torch.manual_seed(0)
    config = ModelConfig(layers=layers, heads=4, width=width, tied=True, init="fan_in")
    shape = EncodingShape(width, 4, width // 4, ("position",), 1024)
    return OwnModel(name, Transformer(config, RoPESpec(), vocab, shape, predicts_ids=False), None)


def hub(name: str, architecture: str, layers: int, width: int, vocab: int) -> HuggingFaceModel:
    """A model of `transformers` of the given size."""
    import transformers

    torch.manual_seed(0)
    size = {"vocab_size": vocab, "num_hidden_layers": layers, "hidden_size": width, "num_attention_heads": 4}
    if architecture == "gpt2":
        inner = transformers.GPT2LMHeadModel(
            transformers.GPT2Config(vocab_size=vocab, n_layer=layers, n_embd=width, n_head=4, n_positions=1024)
        )
    elif architecture == "llama":
        inner = transformers.LlamaForCausalLM(
            transformers.LlamaConfig(**size, num_key_value_heads=4, intermediate_size=8 * width // 3)
        )
    else:
        inner = transformers.GPTNeoXForCausalLM(
            transformers.GPTNeoXConfig(**size, intermediate_size=4 * width, max_position_embeddings=2048)
        )
    return HuggingFaceModel(name, inner)


MODELS: dict[str, Callable[[], LanguageModel]] = {
    "ours-quick": lambda: own("ours-quick", 2, 128, 1024),
    "ours-standard": lambda: own("ours-standard", 4, 128, 2048),
    "pythia-14m": lambda: hub("pythia-14m", "gpt_neox", 6, 128, 50304),
    "gpt2-small-vocab": lambda: hub("gpt2-small-vocab", "gpt2", 4, 128, 4096),
    "llama-32k": lambda: hub("llama-32k", "llama", 4, 256, 32000),
}
"""Ours as the presets of `lengthwise lm train` make them; Pythia-14M's shape; small ones of the other architectures."""


@torch.inference_mode()
def masked(
    model: LanguageModel, tokens: np.ndarray, visible: np.ndarray, targets: np.ndarray, *, everywhere: bool = False
) -> np.ndarray:
    """The explicit mask, with the logits of the last position only or of all."""
    positions = np.arange(tokens.shape[1])[None]
    if isinstance(model, OwnModel):
        hidden_at = None if everywhere else slice(tokens.shape[1] - 1, tokens.shape[1])
        device = model.transformer.table.weight.device
        logits = model.transformer(
            tensor(tokens, device), tensor(positions, device)[:, :, None], at=hidden_at, visible=tensor(visible, device)
        ).logits
    else:
        assert isinstance(model, HuggingFaceModel)
        length = tokens.shape[1]
        seen = np.tril(visible[:, None, None] | np.eye(length, dtype=bool))
        mask = torch.zeros(seen.shape).masked_fill(~torch.from_numpy(seen), torch.finfo(torch.float32).min)
        logits = model._forward(tokens, positions, mask, logits_to_keep=int(not everywhere)).logits
    return nats(logits[:, -1], targets)


def compact(model: LanguageModel, tokens: np.ndarray, visible: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Visible tokens only, one row."""
    positions = np.flatnonzero(visible[0])[None]
    return model.target_losses(tokens[:, positions[0]], positions, targets)


def plain_greedy(loss: Loss, tokens: np.ndarray, target: int, recent: int, k: int) -> tuple[list[int], list[float]]:
    """Greedy search as one would write it down: a forward pass per candidate."""
    visible = np.zeros((1, len(tokens)), dtype=bool)
    visible[0, -recent:] = True
    order, losses = [], []
    for _ in range(k):
        tried = {}
        for j in np.flatnonzero(~visible[0]):
            visible[0, j] = True
            tried[int(j)] = float(loss(tokens[None], visible, np.array([target]))[0])
            visible[0, j] = False
        order.append(min(tried, key=lambda j: tried[j]))
        losses.append(tried[order[-1]])
        visible[0, order[-1]] = True
    return order, losses


def stream_of(row: int) -> np.random.Generator:
    return stream(0, "benchmark", row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--context", type=int, default=128)
    parser.add_argument("--recent", type=int, default=64)
    parser.add_argument("-k", type=int, default=8)
    parser.add_argument("--targets", type=int, default=8, help="of the batched search; the loops get one each")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="processor threads of both sides")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    clock = time.perf_counter if arguments.clock == "wall" else time.process_time
    print("| model | step | targets/s | times the loop | forwards/s | same tokens | largest difference, nats |")
    print("| --- | --- | ---: | ---: | ---: | --- | ---: |")
    for name in arguments.models:
        model = MODELS[name]()
        rng = stream(0, "benchmark")
        tokens = rng.integers(model.vocab_size, size=(arguments.targets, arguments.context))
        targets = rng.integers(model.vocab_size, size=arguments.targets)
        forwards = sum(arguments.context - arguments.recent - step for step in range(arguments.k))
        steps: list[tuple[str, Loss]] = [
            ("the loop", lambda *args, model=model: masked(model, *args, everywhere=True)),
            ("+ logits of one position", lambda *args, model=model: masked(model, *args)),
            ("+ masked tokens left out", lambda *args, model=model: compact(model, *args)),
        ]
        base, order, losses = 0.0, [], []
        for what, loss in steps:
            loss(tokens[:1], np.ones((1, arguments.context), dtype=bool), targets[:1])
            started = clock()
            found = plain_greedy(loss, tokens[0], int(targets[0]), arguments.recent, arguments.k)
            rate = 1 / (clock() - started)
            if not order:
                base, (order, losses) = rate, found
            show(name, what, rate, base, forwards, found, (order, losses))
        warm = Scorer(model, tokens[:1], targets[:1], arguments.recent)
        _ = warm.singles
        started = clock()
        scorer = Scorer(model, tokens, targets, arguments.recent)
        chosen = SELECTION_RULES.build("greedy").order(scorer, arguments.k, stream_of)
        path = scorer.path(chosen)
        rate = arguments.targets / (clock() - started)
        found = (chosen[0].tolist(), path[0].tolist())
        show(name, "+ batches: what `measure` does", rate, base, forwards, found, (order, losses))


def show(
    name: str, what: str, rate: float, base: float, forwards: int,
    found: tuple[list[int], list[float]], expected: tuple[list[int], list[float]],
) -> None:  # fmt: skip
    same = "yes" if found[0] == expected[0] else "no"
    apart = max(abs(a - b) for a, b in zip(found[1], expected[1], strict=True))
    cells = (name, what, f"{rate:.3g}", f"{rate / base:.1f}", f"{rate * forwards:,.0f}", same, f"{apart:.1e}")
    print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
