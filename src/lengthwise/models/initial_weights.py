"""The weights with which training starts, as `ModelConfig` describes them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import nn

from lengthwise.models.config import ModelConfig


@torch.no_grad()
def draw_initial_weights(model: nn.Module, config: ModelConfig, heads: Sequence[nn.Linear]) -> None:
    """Draw all weights of a transformer but those of its encoding and its mixers, which have drawn their own."""
    for name, module in model.named_modules():
        if name.startswith("encoding") or ".mixer." in name:
            continue
        if isinstance(module, nn.Linear):
            std = 0.02 if config.init == "small" else 1 / math.sqrt(module.in_features)
            if config.init == "fan_in" and name.endswith(("attention.out", "down")):
                std *= 1 / math.sqrt(2 * config.layers)
            nn.init.normal_(module.weight, std=std)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=config.table_std if config.init == "small" else 1.0)
    if config.init == "small":
        for head in heads:
            nn.init.normal_(head.weight, std=config.table_std)
