"""Settings in plain words: what captions, notes and names of systems say in place of the names in a configuration."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import ceil
from statistics import median_low
from typing import Any

WORDS = {
    "betas": "betas of Adam", "clip": "largest gradient norm", "encoding.clip": "largest distance",
    "encoding.name": "encoding", "final_lr": "final/first learning rate",
    "groups": "lengths in a batch", "id_head": "head for ids", "id_loss": "weight of the loss of ids",
    "init": "initial weights", "init_std": "initial spread", "k_max": "most bits k", "k_test": "k in tests",
    "log_length": "log-length scaling of attention", "lr": "learning rate", "m": "modulus",
    "max_distance": "largest distance", "max_length": "longest training length", "max_position": "largest id",
    "min_length": "shortest training length", "mlp_ratio": "MLP width/width", "probe_every": "steps per probe",
    "qk_norm": "normed queries and keys", "random_loops": "random change of loops", "scheme.name": "scheme",
    "regularizer_normed": "regularizer behind the norm", "stacked": "seeds share a schedule",
    "stop_when_fitted": "stops once fitted", "table_std": "initial spread of tables", "task.name": "task",
    "tied": "input and output tables tied", "warmup": "steps of warm-up", "task.t": "every t-th symbol, t",
}  # fmt: skip
"""Of settings, by their name or by their section and name, whose names are not words."""
VALUES = {
    "fan_in": "by fan-in", "first_half": "in the first half", "lsd_first": "least significant digit first",
    "msd_first": "most significant digit first",
}  # fmt: skip
PHRASES = {"model.log_length": "1 at length {}"}
"""Of settings, by section and name, whose values are no words by themselves."""
DRAWN = "draw of ids in training"
DRAWS = {
    "sorted": "a random subset", "permuted": "a random subset in random order", "contiguous": "a block in a row",
    "pose": "a block with one jump",
}  # fmt: skip
"""How coupled ids are drawn, in words."""
WEIGHTY = ("steps", "batch size", "layers", "width", "heads", "learning rate")
TRIFLES = ("initial", "log-length scaling", "steps per probe", "steps of warm-up", "seeds share", "stops once fitted")
"""Names of settings, or their beginnings, that are told before and after all others."""


def weight(name: str) -> int:
    """Where a setting in words is told: first those that change training or the size of a model, trifles last."""
    return WEIGHTY.index(name) if name in WEIGHTY else len(WEIGHTY) + name.startswith(TRIFLES)


def setting_text(key: str) -> str:
    """A setting by its section and name, such as ``training.lr``, in words."""
    name = key.partition(".")[2]
    found = WORDS.get(key) or WORDS.get(name.rpartition(".")[2], name)
    return found.replace(".", " ").replace("_", " ")


def value_text(value: Any, key: str = "") -> str:
    """The value of a setting in words: ``none``, ``true``, ``[0.9, 0.98]``; of a list of parts how many they are."""
    if value is not None and (phrase := PHRASES.get(key)):
        return phrase.format(value)
    if isinstance(value, list | tuple):
        parts = any(isinstance(one, list | tuple | dict) for one in value)
        return f"{len(value)} parts" if parts else f"[{', '.join(map(value_text, value))}]"
    if value is None or isinstance(value, bool):
        return str(value).lower()
    text = VALUES.get(str(value), str(value))
    return text.replace("_", " ") if re.fullmatch("[a-z0-9]+(_[a-z0-9]+)+", text) else text


def p_text(p: float) -> str:
    """A p in three digits, up."""
    return f"{ceil(1000 * p) / 1000:g}"


def percent_down(share: float) -> str:
    """A share in whole percent, down: 97.5 % is not the 98 % that a model needs to fit."""
    return f"{int(100 * share + 1e-9)} %"


NOT_THERE = "below 95 % at a trained length already"
"""How far systems go that are wrong at one."""
MEDIAN = re.compile(r"median of (\d+) seeds, ")
"""What stands before a range of seeds."""


def reaches_text(far: Sequence[int], seeds: int, longest: int = 0) -> str:
    """Up to which length the median seed is right, and the range of all; one that did not fit has 0.

    Such as ``16 (median of 3 seeds, 8–32)``. ``far`` is of those that fitted; the ``longest`` test is called so.
    """
    every = sorted([*far, *[0] * (seeds - len(far))])
    least, middle, most = every[0], median_low(every), every[-1]
    end = ", the longest" * (most == longest)
    if least == most:
        how = "(one seed)" if seeds == 1 else f"in {'both' if seeds == 2 else f'all {seeds}'} seeds"
        return f"{most}{end}{',' * bool(end and seeds > 1)} {how}"
    lost = f", {seeds - len(far)} not fitted" * (len(far) < seeds)
    if not middle:
        return f"{most}{end}{',' * bool(end)} in {every.count(most)} of {seeds} seeds{lost}"
    return f"{middle}{end * (middle == most)} (median of {seeds} seeds, {least}–{most}{lost})"


def once(text: str) -> str:
    """A text that says only before the first of several ranges of as many seeds what these are."""
    said = set[str]()

    def again(found: re.Match[str]) -> str:
        known = found[1] in said
        said.add(found[1])
        return "" if known else found[0]

    return MEDIAN.sub(again, text)
