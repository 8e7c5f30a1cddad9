"""Converts a measurement to JSON values: one entry per target, and a summary over all targets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from lengthwise.core.rng import stream
from lengthwise.influence.measure.config import MeasureConfig
from lengthwise.influence.measure.summary import NEEDS_CONTEXT, Resamples, by_k, extrapolation, overlap, spans

if TYPE_CHECKING:
    from lengthwise.influence.text.windows import Windows

EntryValues = dict[str, ndarray]
"""Measured arrays with targets along the first axis: ``long``, ``short``, ``order/RULE``, ``losses/RULE`` and more."""
Pieces = Callable[[Sequence[int]], list[str]]
"""Maps token ids to the text of each token."""


def target_entries(
    values: EntryValues, windows: Windows, config: MeasureConfig, pieces: Pieces | None
) -> Iterator[dict[str, Any]]:
    """Yield one entry per target."""
    ids = [int(token) for token in windows.tokens[:, -1]]
    # Each token separately, since decoding may depend on neighbours.
    shown = [pieces([token])[0] for token in ids] if pieces is not None else [str(token) for token in ids]

    def chosen(name: str, i: int) -> dict[str, Any]:
        return {"order": [int(at) for at in values[f"order/{name}"][i]], "losses": rounded(values[f"losses/{name}"][i])}

    for i, token in enumerate(shown):
        entry: dict[str, Any] = {
            "document": windows.names[int(windows.documents[i])],
            "at": int(windows.offsets[i]),
            "token": token,
            "long": rounded(values["long"][i]),
            "short": rounded(values["short"][i]),
            "chosen": {name: chosen(name, i) for name in config.rules},
        }
        if "order/cross" in values:
            entry["cross"] = chosen("cross", i)
        if "order/null" in values:
            entry["null"] = {"long": rounded(values["null long"][i]), **chosen("null", i)}
        if "extrapolated long" in values:
            entry["extrapolation"] = {
                "long": rounded(values["extrapolated long"][i]),
                "short": rounded(values["extrapolated short"][i]),
            }
        yield entry


def rounded(losses: Any) -> Any:
    """Losses in nats, rounded to seven decimals, which is finer than float32."""
    return np.round(losses, 7).tolist()


def summary(values: EntryValues, windows: Windows, config: MeasureConfig) -> dict[str, Any]:
    """R_k and regression lines with intervals by rule and k; spans, overlap of rules, and extrapolation."""
    short: Float[ndarray, " N"] = values["short"]
    y = short - values["long"]
    resamples = Resamples(windows.documents, config.bootstrap, stream(config.seed, "bootstrap"))
    needing = y > NEEDS_CONTEXT

    def rows(name: str, among: Any = None) -> dict[str, Any] | None:
        losses = values.get(f"losses/{name}")
        return None if losses is None else by_k(losses, short, y, config.ks, resamples, among)

    def beyond_null(among: Any = None) -> dict[str, Any] | None:
        """R_k with x = L_null(k) − L_sparse(k): the gain minus that of a block of another document."""
        if "losses/null" not in values:
            return None
        x = values["losses/null"] - values["losses/greedy"]
        return by_k(short[:, None] - x, short, y, config.ks, resamples, among)

    orders = {name: values[f"order/{name}"] for name in config.rules}
    block = np.arange(config.start, config.context - config.recent)
    sparse = {k: short - values["losses/greedy"][:, k - 1] for k in config.ks}
    return {
        "targets": len(short),
        "documents": resamples.documents,
        "mean": {"long": float(values["long"].mean()), "short": float(short.mean())},
        "rules": {name: rows(name) for name in config.rules},
        "cross": rows("cross"),
        "null": rows("null"),
        "beyond_null": beyond_null(),
        "needs_context": {
            "threshold": NEEDS_CONTEXT,
            "targets": int(needing.sum()),
            "share_of_gain": float(y[needing].sum()) / float(y.sum()) if y.sum() > 0 else None,
            "rules": {name: rows(name, needing) for name in config.rules},
            "cross": rows("cross", needing),
            "beyond_null": beyond_null(needing),
            "others": {name: rows(name, ~needing) for name in config.rules},
        },
        "spans": spans(orders["greedy"], config.context, block, config.ks),
        "overlap": overlap(orders, config.block, config.ks),
        "extrapolation": _extrapolation(values, sparse, y, resamples),
    }


def _extrapolation(
    values: EntryValues, sparse: dict[int, ndarray], y: Float[ndarray, " N"], resamples: Resamples
) -> dict[str, Any] | None:
    if "extrapolated long" not in values:
        return None
    gap = values["extrapolated long"] - values["long"]
    return {
        "mean": {name: float(values[f"extrapolated {name}"].mean()) for name in ("long", "short")},
        **extrapolation(sparse, y, gap, resamples),
    }
