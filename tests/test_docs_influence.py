"""Numbers in the sentences of the page on influence are those of the files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import tables

from lengthwise.core.files import read_json
from lengthwise.report.influence import InfluenceResult, RecoveredCell
from page_text import assert_on


@pytest.fixture(scope="module")
def influence() -> dict[str, InfluenceResult]:
    paths = {name: tables.RESULTS / "influence" / name / "result.json" for name in ("standard", "quick")}
    return {name: InfluenceResult.of(read_json(path), where=str(path)) for name, path in paths.items()}


def _recovered(cell: RecoveredCell, interval: bool = False) -> str:
    text = f"{cell.recovered:.2f}"
    return text + _brackets(cell.interval) if interval else text


def _brackets(interval: Sequence[float] | None) -> str:
    assert interval is not None
    return f" [{_signed(interval[0])}, {_signed(interval[1])}]"


def _signed(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def test_settings_of_influence(influence: dict[str, InfluenceResult]) -> None:
    standard, quick = influence["standard"].values, influence["quick"].values

    def trained(values: dict[str, Any]) -> tuple[int, float, float]:
        long, short = values["pair"]["long"], values["pair"]["short"]
        assert [long[key] for key in ("steps", "tokens_seen")] == [short[key] for key in ("steps", "tokens_seen")]
        assert (long["held_out"]["context"], short["held_out"]["context"]) == (128, 64)
        return long["steps"], long["tokens_seen"] / 1e6, long["parameters"] / 1e6

    (steps, seen, size), (few, less, small) = trained(standard), trained(quick)
    assert_on(
        "influence",
        f"RoPE, {size:.1f} million parameters | 2 layers, {small:.2f} million |",
        f"{steps:,} steps on {seen:.1f} million tokens of Python's standard library, context 128 | "
        f"{few} steps on {less:.2f} million |",
        f"| held-out files, {standard['config']['targets']} targets | {quick['config']['targets']} targets |",
        f"| recent tokens, block | {influence['standard'].recent}, {influence['standard'].block} | "
        f"{influence['quick'].recent}, {influence['quick'].block} |",
        f"bootstrap over documents ({standard['summary']['documents']} and {quick['summary']['documents']})",
        f"source code, {influence['standard'].context} tokens of context",
    )


def test_sentences_on_influence(influence: dict[str, InfluenceResult]) -> None:
    result, quick = influence["standard"], influence["quick"]
    cells, needing, link = result.cells, result.needing, result.link
    assert needing is not None
    assert link is not None
    assert_on(
        "influence",
        f"Greedy choice recovers {_recovered(cells['greedy'][1])} times the gain with one token. "
        f"A block of *another document* gives {_recovered(cells['null'][1])}",
        f"yes, from k ≈ 8** ({_recovered(cells['attention'][8], interval=True)})",
        f"the last 8 tokens of the block alone recover {_recovered(cells['last-k'][8])}.",
        f"by more than {needing.threshold} nat for {needing.targets} of them.",
        f"The smaller model gains {(quick.short - quick.long).mean():.2f} nat instead of "
        f"{(result.short - result.long).mean():.2f}",
    )
    below = {k: cell.interval[0] for k, cell in quick.cells["beyond_null"].items() if cell.interval}
    assert [k for k, low in below.items() if low > 0] == [16]


def test_answers_on_influence(influence: dict[str, InfluenceResult]) -> None:
    """The table of questions."""
    result = influence["standard"]
    cells, gain = result.cells, result.short - result.long

    def correlation(name: str, k: int) -> str:
        return f"{np.corrcoef(result.gained(name, k), gain)[0, 1]:.2f}"

    def over(name: str, ks: Sequence[int], separator: str = ", ") -> str:
        return separator.join(_recovered(cells[name][k]).replace("-", "") for k in ks)

    null, attention = cells["null"][1], cells["attention"]
    overlap = {pair[:2]: pair[2] for pair in result.overlap}
    nearest = (result.chosen["greedy"].orders[:, 0] >= result.block - 8).mean()
    common = [f"{100 * overlap['greedy', name][8]:.0f} %" for name in ("attention", "gradient-input")]
    chance = f"(chance {100 * 8 / result.block:.1f} %)"
    crossed = [k for k in result.ks if (cells["cross"][k].recovered or 0) > 1]
    assert_on(
        "influence",
        f"the slope at k = 1 is {null.slope:.2f}{_brackets(null.slope_interval)}, correlation {correlation('null', 1)} "
        f"({correlation('greedy', 1)} in the real block)",
        f"{_recovered(cells['beyond_null'][1])} of the gain with one token, "
        f"{_recovered(cells['beyond_null'][16])} with sixteen",
        f"exceeds 1 from k = {crossed[0]} ({_recovered(cells['cross'][crossed[0]], interval=True)})",
        f"recovers {over('attention', (1, 4, 8))} with 1, 4, 8 tokens of {result.block}. The slope of y on x is "
        f"{', '.join(f'{attention[k].slope:.2f}' for k in (1, 4, 8))}, "
        f"the correlation {', '.join(correlation('attention', k) for k in (1, 4, 8))}",
        f"| Random tokens | {over('random', (1, 4, 8))} |",
        f"the last 8 tokens of the block recover {_recovered(cells['last-k'][8])}, the last 16 "
        f"{_recovered(cells['last-k'][16])}. Of greedy's first tokens {100 * nearest:.0f} % are among the nearest 8 of "
        f"{result.block} {chance}",
        "Of greedy's first 8 tokens attention shares {}, gradient × input {}".format(*common) + f" {chance}",
    )
    linked = result.values["summary"]["extrapolation"]
    by_k = {k: _signed(linked["by_k"][k]["rank_correlation"]) + _brackets(linked["by_k"][k]["interval"]) for k in "124"}
    assert_on(
        "influence",
        f"No answer. Correlation {by_k['1']} (k = 2: {by_k['2']}; k = 4: {by_k['4']}).",
        f"{linked['mean']['long']:.3f} nats at {result.context} tokens against {result.long.mean():.3f} of the long",
    )
