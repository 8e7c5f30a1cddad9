"""Each mixer, forward and backward, against the same recurrence token by token and against a public implementation.

    python benchmarks/mixers.py [--width 64] [--heads 4] [--batch 16] [--lengths 32 128] [--turns 7]

One thread, CPU time, all sides in turns; medians in milliseconds. Public: torch's LSTM, and the Mamba-2 and the gated
delta rule of transformers (its Qwen3-Next) on their paths without special kernels, with as many heads and channels.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import statistics
import time
from collections.abc import Iterator
from unittest import mock

import torch

import lengthwise as lw

MODULES = ("lengthwise.nn.delta", "lengthwise.nn.mamba", "lengthwise.nn.rwkv")
"""Where `recurrence` is called, in chunks."""


def public(name: str, width: int, heads: int) -> torch.nn.Module | None:
    """A public module of the same kind; None where no package here has one."""
    if name == "lstm":
        return torch.nn.LSTM(width, width, batch_first=True)
    if name == "mamba":
        from transformers import Mamba2Config
        from transformers.models.mamba2.modeling_mamba2 import Mamba2Mixer

        config = Mamba2Config(
            hidden_size=width, num_heads=heads, head_dim=2 * width // heads, state_size=64, expand=2, n_groups=1,
            chunk_size=32,
        )  # fmt: skip
        return Mamba2Mixer(config, 0)
    if name == "gated-deltanet":
        from transformers import Qwen3NextConfig
        from transformers.models.qwen3_next.modeling_qwen3_next import Qwen3NextGatedDeltaNet

        config = Qwen3NextConfig(
            hidden_size=width, linear_num_value_heads=heads, linear_num_key_heads=heads,
            linear_key_head_dim=width // heads, linear_value_head_dim=width // heads, linear_conv_kernel_dim=4,
        )  # fmt: skip
        return Qwen3NextGatedDeltaNet(config, 0)
    return None


@contextlib.contextmanager
def recurrences(by_token: bool) -> Iterator[None]:
    """Recurrences token by token, as their formula is written, or in chunks."""
    chosen = lw.nn.recurrence.scan if by_token else lw.nn.recurrence.recurrence
    with contextlib.ExitStack() as stack:
        for module in MODULES:
            stack.enter_context(mock.patch.object(importlib.import_module(module), "recurrence", chosen))
        yield


def milliseconds(module: torch.nn.Module, x: torch.Tensor, *, by_token: bool = False) -> float:
    """CPU time of one pass forward and back."""
    with recurrences(by_token):
        began = time.process_time()
        found = module(x)
        (found[0] if isinstance(found, tuple) else found).square().mean().backward()
        return 1000 * (time.process_time() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--lengths", type=int, nargs="+", default=[32, 128])
    parser.add_argument("--turns", type=int, default=7)
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print(f"{'mixer':26} {'tokens':>6} {'ours':>8} {'by token':>9} {'public':>8}   ms, forward and backward")
    for name in [name for name in lw.mixers.MIXERS if name != "attention"]:
        ours, theirs = (
            lw.mixers.MIXERS.build(name).build(given.width, given.heads),
            public(name, given.width, given.heads),
        )
        for length in given.lengths:
            x = torch.randn(given.batch, length, given.width)
            sides = {"ours": (ours, False)} | ({} if name == "lstm" else {"by token": (ours, True)})
            sides |= {} if theirs is None else {"public": (theirs, False)}
            times: dict[str, list[float]] = {side: [] for side in sides}
            for _ in range(given.turns + 1):
                for side, (module, by_token) in sides.items():
                    times[side].append(milliseconds(module, x, by_token=by_token))
            # The first turn warms up.
            medians = {side: f"{statistics.median(each[1:]):.1f}" for side, each in times.items()}
            row = [medians.get(side, "–") for side in ("ours", "by token", "public")]
            print(f"{name:26} {length:6} {row[0]:>8} {row[1]:>9} {row[2]:>8}", flush=True)


if __name__ == "__main__":
    main()
