"""The baseline of training and generation: GPT-2 of Hugging Face transformers.

It trains as its Trainer does with a padding collator: one batch of mixed lengths, padded to the longest, attention
mask, logits and labels at every position, clipping, fused AdamW.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import torch

from lengthwise.core.rng import stream
from lengthwise.core.vocab import PAD
from lengthwise.models.config import ModelConfig
from lengthwise.tasks import Task
from lengthwise.training.config import TrainingConfig
from lengthwise.training.data import training_lengths

NEEDS = "needs transformers; pip install 'lengthwise[lm]'"


def gpt2(config: ModelConfig, vocab_size: int, positions: int, *, same_gelu: bool = False) -> Any:
    """A GPT-2 of the same depth, heads and widths; raises `ImportError` without transformers.

    GPT-2 approximates GELU; ``same_gelu`` takes the exact function, as our model does.
    """
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=vocab_size, n_positions=positions, n_embd=config.width, n_layer=config.layers,
            n_head=config.heads, n_inner=config.mlp_ratio * config.width, resid_pdrop=0.0, embd_pdrop=0.0,
            attn_pdrop=0.0, bos_token_id=1, eos_token_id=3, pad_token_id=0, tie_word_embeddings=config.tied,
            activation_function="gelu" if same_gelu else "gelu_new",
        )
    )  # fmt: skip


class PaddedTraining:
    """GPT-2 on padded batches; the batches are drawn and padded beforehand, so they cost the baseline nothing."""

    def __init__(
        self, task: Task, model: ModelConfig, config: TrainingConfig, positions: int, *,
        every_token: bool = False, precision: str = "float32", batches: int = 8, device: str = "cpu",
    ) -> None:  # fmt: skip
        self.model = gpt2(model, len(task.vocab), positions).to(device).train()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=config.lr, fused=True)
        self.config, self.precision, self.device = config, precision, device
        self.batches = [padded_batch(task, config, index, every_token, device) for index in range(batches)]

    def step(self, step: int) -> int:
        """One optimizer step; returns the number of real tokens."""
        batch, tokens = self.batches[step % len(self.batches)]
        self.optimizer.zero_grad(set_to_none=True)
        autocast = torch.autocast(self.device.split(":")[0], torch.bfloat16)
        with autocast if self.precision == "bf16" else nullcontext():
            loss = self.model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        self.optimizer.step()
        float(loss.detach())
        return tokens


def padded_batch(
    task: Task, config: TrainingConfig, index: int, every_token: bool, device: str
) -> tuple[dict[str, torch.Tensor], int]:
    """A batch of rows of mixed lengths, padded to the longest, and the number of its real tokens."""
    rng = stream(0, "padded", index)
    lengths = training_lengths(task, config)
    rows = [task.batch(lengths[int(rng.integers(len(lengths)))], 1, rng) for _ in range(config.batch_size)]
    longest = max(row.tokens for row in rows)
    shape = (config.batch_size, longest)
    ids, labels, mask = np.full(shape, task.vocab[PAD]), np.full(shape, -100), np.zeros(shape, dtype=np.int64)
    for index, row in enumerate(rows):
        ids[index, : row.tokens] = row.input_ids[0]
        labels[index, : row.tokens] = row.input_ids[0] if every_token else row.labels[0]
        mask[index, : row.tokens] = 1
    tensors = {"input_ids": ids, "attention_mask": mask, "labels": labels}
    batch = {name: torch.from_numpy(value).to(device) for name, value in tensors.items()}
    return batch, sum(row.tokens for row in rows)
