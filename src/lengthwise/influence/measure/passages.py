"""Measures a passage: for consecutive targets, the gain of every single token of the block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lengthwise.core.errors import require
from lengthwise.influence.measure.config import MeasureConfig
from lengthwise.influence.measure.entries import Pieces, rounded
from lengthwise.influence.measure.measure import check_fits
from lengthwise.influence.measure.scorer import Scorer

if TYPE_CHECKING:
    from lengthwise.influence.models.language_model import LanguageModel
    from lengthwise.influence.text.windows import Windows


def passage(model: LanguageModel, windows: Windows, config: MeasureConfig, pieces: Pieces) -> dict[str, Any]:
    """The passage of ``windows`` with consecutive targets of one document, as JSON values.

    ``tokens`` are the texts of the passage. Each target has its index ``at``, its losses ``long`` and ``short``, and
    under ``influence`` the index and the gain in nats of each token of its block, made visible alone. Raises
    `LengthwiseError` if the targets are not consecutive.
    """
    check_fits(model, windows, config)
    count = len(windows.tokens)
    first = int(windows.offsets[0])
    require(
        len(np.unique(windows.documents)) == 1 and windows.offsets.tolist() == list(range(first, first + count)),
        "a passage needs consecutive targets of one document; cut its windows one token apart",
    )
    tokens = np.concatenate([windows.tokens[0], windows.tokens[1:, -1]])
    scorer = Scorer(model, windows.tokens[:, :-1], windows.tokens[:, -1], config.recent, keep_first=config.keep_first)
    gained = rounded(scorer.short[:, None] - scorer.singles)
    return {
        "document": windows.names[int(windows.documents[0])],
        "tokens": pieces(tokens.tolist()),
        "targets": [
            {
                "at": config.context + i,
                "long": rounded(scorer.long[i]),
                "short": rounded(scorer.short[i]),
                "influence": [[int(at) + i, nats] for at, nats in zip(scorer.block, gained[i], strict=True)],
            }
            for i in range(count)
        ],
    }
