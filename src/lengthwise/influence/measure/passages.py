"""A stretch of text, token by token: for each of several consecutive targets, what every far token gives alone."""

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
    """``windows`` are those of consecutive targets of one document; plain JSON values.

    ``tokens`` are the texts of the whole stretch. Each target has its index ``at``, its ``long`` and ``short`` loss,
    and under ``influence`` a pair per token of its block: index and nats gained when it alone is shown (greedy's first
    round; negative where it misleads). Raises `LengthwiseError` if the targets are not consecutive.
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
