"""The figure draws what was tested on balanced numbers of ones, and says what did not fit."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest
from made_up import experiment, result, score
from sparse_parity_figure import sparse_parity_figure
from text_boxes import problems

from lengthwise.core.errors import LengthwiseError
from lengthwise.report.summary import SeedResult, SystemSummary, summarize
from lengthwise.tasks import TASKS
from lengthwise.tasks.parity import SparseParity


def made_up(k_max: int, span: int | None, fitted: bool, balanced: bool = True, **parts: str) -> list[SeedResult]:
    config: dict[str, Any] = experiment("sequential", parts.get("encoding", "nope"), "sparse-parity")
    config["task"] = TASKS.describe(SparseParity(k_max=k_max, k_test=(2, 8), span=span, balanced=balanced))
    scores = [score(n, 190, axes={"k": k, "min_ones": 0}) for n in (50, 100) for k in (2, 8)]
    return [
        SeedResult.of(
            result(f"{k_max} {span}", seed, fitted=fitted, scores=scores, config=config, recipe="sparse-parity")
        )
        for seed in range(2)
    ]


def drawn(*groups: list[SeedResult]) -> list[SystemSummary]:
    return summarize([one for group in groups for one in group])


def test_columns_rows_and_what_did_not_fit() -> None:
    figure = sparse_parity_figure(
        drawn(made_up(4, None, True), made_up(8, 16, True, encoding="rope"), made_up(8, None, False))
    )
    assert ElementTree.fromstring(figure).tag.endswith("svg")
    assert problems(figure, 7) == []
    for text in ("K_train = 4", "K_train = 8", "K_train = 8, RoPE", "marks anywhere", "marks within 16", "k = 8"):
        assert text in figure
    assert figure.count("not fitted") == figure.count(">not fitted<") > 0
    assert "not fitted" not in sparse_parity_figure(drawn(made_up(4, None, True)))


def test_without_balanced_tests_there_is_nothing_to_draw() -> None:
    with pytest.raises(LengthwiseError, match="no sparse parity with balanced tests"):
        sparse_parity_figure(drawn(made_up(4, None, True, balanced=False)))
