"""A result of ``influence`` for the tests of the report: made-up losses with a consistent summary, never shown."""

from __future__ import annotations

from typing import Any

import numpy as np

RULES = ("greedy", "one-shot", "random")


def recovered(short: np.ndarray, sparse: np.ndarray, long: np.ndarray) -> float:
    return float((short - sparse).sum() / (short - long).sum())


def influence_result(
    targets: int = 24, context: int = 16, recent: int = 6, ks: tuple[int, ...] = (1, 2, 4), *, controls: bool = True
) -> dict[str, Any]:
    """``targets`` targets of four documents; ``controls`` adds the other model's choice and the null."""
    rng = np.random.default_rng(0)
    block, most = context - recent, max(ks)
    long = rng.uniform(0.5, 3.0, targets)
    short = long + rng.exponential(1.0, targets)
    reach = {"greedy": 0.95, "one-shot": 0.7, "random": 0.2, "cross": 0.6, "null": 0.05}
    names = [*RULES, *(("cross", "null") if controls else ())]
    share = 1 - 0.6 ** np.arange(1, most + 1)
    losses = {name: short[:, None] - reach[name] * share * (short - long)[:, None] for name in names}
    orders = {name: np.array([rng.permutation(block)[:most] for _ in range(targets)]) for name in names}

    def chosen(name: str, index: int) -> dict[str, Any]:
        return {"order": orders[name][index].tolist(), "losses": losses[name][index].tolist()}

    def cells(name: str) -> dict[str, Any]:
        values = {k: recovered(short, losses[name][:, k - 1], long) for k in ks}
        return {
            str(k): {"recovered": r, "interval": [r - 0.1, r + 0.1], "slope": 1 / r, "intercept": 0.0}
            for k, r in values.items()
        }

    rows = []
    for index in range(targets):
        row: dict[str, Any] = {
            "document": f"file_{index % 4}.py",
            "at": 100 + index,
            "token": "x",
            "long": float(long[index]),
            "short": float(short[index]),
            "chosen": {name: chosen(name, index) for name in RULES},
        }
        if controls:
            row["cross"] = chosen("cross", index)
            row["null"] = {"long": float(long[index]) + 1.0, **chosen("null", index)}
        rows.append(row)
    tokens = [
        "def",
        " ",
        "f",
        "(",
        "<b>",
        ")",
        ":",
        "\n",
        "  ",
        "</script>",
        " =",
        " é",
        "",
        "&",
        "a",
        "b",
        "c",
        "d",
        "e",
    ]
    passage = {
        "document": "<i>file</i>.py",
        "tokens": tokens,
        "targets": [
            {"at": 16, "long": 0.5, "short": 2.5, "influence": [[i, 0.2 * i - 0.3] for i in range(10)]},
            {"at": 18, "long": 1.5, "short": 1.0, "influence": [[i, -0.1] for i in range(2, 12)]},
        ],
    }
    return {
        "format": 1,
        "kind": "influence",
        "model": {"name": "made-up <model>", "parameters": 1000},
        "chooser": {"name": "another"} if controls else None,
        "corpus": {"name": "made-up text", "documents": 4},
        "config": {
            "context": context, "recent": recent, "ks": list(ks), "targets": targets, "keep_first": False, "seed": 0,
        },
        "targets": rows,
        "summary": {
            "rules": {name: cells(name) for name in RULES},
            **({name: cells(name) for name in ("cross", "null")} if controls else {}),
            "beyond_null": {str(k): {"recovered": 0.3 + 0.2 * k, "interval": [0.1, 2.0], "slope": 1.0} for k in ks}
            if controls
            else None,
        },
        "passages": [passage],
        "speed": {"forwards_per_second": 1000.0},
        "seconds": 1.5,
        "commit": "0123456789ab",
        "version": "0",
        "machine": {"processor": "a processor", "cores": 2, "threads": 1, "device": "cpu"},
        "time": "2026-01-02T03:04:05+00:00",
    }  # fmt: skip
