"""Numbers in the sentences of *which positional method where* are those of the files."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from statistics import median

import matrix_tables
import pytest

from lengthwise.core.rng import stream
from lengthwise.experiments.comparison.plan import GRID, ModelSetting, Plan
from lengthwise.experiments.comparison.ranking import rates_by_length
from lengthwise.experiments.recipes.method_matrix import TASKS_COMPARED, label
from lengthwise.positions.schemes import SCHEMES
from lengthwise.positions.structure import structure
from lengthwise.report.summary import SeedResult
from lengthwise.tasks import TASKS
from page_text import assert_on

Cells = dict[tuple[str, str], list[SeedResult]]
COPIES = ("copy of distinct", "copy of repeats")
SINK, LOCAL, TABLE = "coupled+local-bias-sink", "coupled+local-bias", "coupled+learned"


@pytest.fixture(scope="module")
def cells() -> Cells:
    return matrix_tables.cells()


@pytest.fixture(scope="module")
def far(cells: Cells) -> matrix_tables.Far:
    return matrix_tables.reached(cells)


def _kinds(results: Iterable[SeedResult]) -> set[str]:
    """Kinds of first errors at all tested lengths."""
    return {kind for result in results for score in result.scores for kind in score.first_error}


def _reaching(far: matrix_tables.Far, task: str) -> dict[str, str]:
    """What the matrix shows for a task, by method."""
    return {method: matrix_tables.entry(seen) for (name, method), seen in far.items() if name == task}


def _plain(found: dict[str, str]) -> dict[str, str]:
    """The methods without coupled ids."""
    return {method: shown for method, shown in found.items() if "coupl" not in method}


def test_size_and_setting(cells: Cells) -> None:
    tasks, methods = ({cell[part] for cell in cells} for part in (0, 1))
    of_a_task = sorted({sum(cell[0] == task for cell in cells) for task in tasks})
    assert (len(tasks), of_a_task) == (12, [14, 16])
    runs = [run for results in cells.values() for run in results]
    assert {tuple(run.seed for run in results) for results in cells.values()} == {(300, 301, 302)}
    assert_on(
        "which-method-where",
        f"Twelve tasks, {len(methods)} methods, one setting, three seeds. A task has 16 of the methods or 14. ",
        f"All {len(cells)} pairs have run.",
        "| seeds | 300, 301, 302, trained as one stack |",
    )
    (model,) = {tuple(run.experiment["model"][key] for key in ("layers", "width", "heads")) for run in runs}
    assert {(run.experiment["model"]["qk_norm"], run.experiment["model"]["norm"]) for run in runs} == {(True, "rms")}
    wanted = ("steps", "batch_size", "max_length", "lr", "decay", "final_lr", "weight_decay", "stacked")
    (training,) = {tuple(run.experiment["training"][key] for key in wanted) for run in runs}
    assert training[4:6] == ("cosine", 0)
    assert training[-1]
    (tests,) = {tuple(run.experiment["evaluation"]["lengths"]) for run in runs}
    (samples,) = {run.experiment["evaluation"]["samples"] for run in runs}
    (threshold,) = {run.experiment["evaluation"]["fit_threshold"] for run in runs}
    *most, last = map(str, tests)
    scaled = {
        run.experiment["model"]["log_length"] for run in runs if "local" not in run.experiment["encoding"]["name"]
    }
    assert not any(run.experiment["model"]["log_length"] for cell, [run, *_] in cells.items() if "local" in cell[1])
    assert_on(
        "which-method-where",
        "{} layers of width {}, {} heads, QK-norm, RMSNorm".format(*model),
        f"{training[0]:,} steps of {training[1]} strings of up to {training[2]}, learning rate {training[3]} with "
        f"cosine decay to 0, weight decay {training[6]}",
        f"{samples} strings at {', '.join(most)} and {last}; ids for {last}",
        f"fewer than two of three seeds reach {threshold} in distribution",
        f"tokens of the longest training string, {min(scaled)} to {max(scaled)} by task",
        f"the second of the two settings that `compare` tries, with {training[0]:,} steps",
    )
    assert len(GRID) == 2
    assert GRID[1] == ModelSetting(layers=model[0], lr=training[3], weight_decay=training[6])
    assert (Plan.width, Plan.heads, Plan.batch_size) == (model[1], model[2], training[1])


def test_time(cells: Cells) -> None:
    stacks = [sum(run.seconds for run in results) / 60 for results in cells.values()]
    assert_on(
        "which-method-where",
        f"{len(stacks)} stacks of three seeds, {min(stacks):.0f} to {max(stacks):.0f} minutes each on one core "
        f"(median {median(stacks):.1f}), {sum(stacks) / 60:.1f} hours in all",
    )


def test_when_the_sink_came(cells: Cells) -> None:
    """Before its first result there were results of the two copying tasks only, of most methods."""
    first = min(run.time for (_, method), results in cells.items() for run in results if method == SINK)
    before = [cell for cell, results in cells.items() if max(run.time for run in results) < first]
    assert {task for task, _ in before} == set(COPIES)
    assert (COPIES[0], LOCAL) in before
    assert (COPIES[1], LOCAL) in before
    assert len(before) > 0.8 * sum(cell[0] in COPIES for cell in cells)
    assert_on("which-method-where", "One method was added after most results of the two copying tasks had been seen")


def test_the_sink(cells: Cells, far: matrix_tables.Far) -> None:
    carried = [task for task, method in cells if method == SINK and set(far[task, SINK]) == {64}]
    assert carried == [*COPIES, "reverse", "addition", "bitwise-or", "majority"]
    others = {task: _reaching(far, task)[SINK] for task, method in cells if method == SINK and task not in carried}
    assert others == {"odds-first": "8", "parity-scratchpad": "16", "flip-flop": "8"}
    parity = cells["parity-scratchpad", SINK]
    rates = [[rates_by_length(run)[n] for n in (8, 12, 16, 24, 32, 48, 64)] for run in parity]
    assert _kinds(parity) == {"token"}
    assert all(later <= sooner for own in rates for sooner, later in pairwise(own))
    assert_on(
        "which-method-where",
        "carries copying, reversing, addition, bitwise or and majority from 8 to 64, every seed.** "
        "All of them have span 1",
        "it stays at 8**: *odds first*, which goes back from the last place to the second, and flip-flop, where ALiBi "
        f"reaches {_reaching(far, 'flip-flop')['sequential+alibi']}.",
        "Parity with scratchpad is local, too (span 0), and its seeds reach {}, {} and {}".format(
            *far["parity-scratchpad", SINK]
        ),
    )
    for task in COPIES:
        assert set(far[task, LOCAL]) == {8}
        assert _kinds(cells[task, LOCAL]) == {"eos"}
    reverse = cells["reverse", LOCAL]
    assert far["reverse", LOCAL] == [64, 8, 64]
    assert _kinds(reverse) == {"eos"}
    assert not any(rates_by_length(reverse[1])[n] for n in (12, 16, 24, 32, 48, 64))
    assert_on(
        "which-method-where",
        "**Without the sink copying stops at 8, by its end alone.** All first errors are at the end mark",
        "two of three seeds carry it without a sink. The third is wrong in every longer string, at the end mark, too.",
    )


def test_spans_under_coupled_ids() -> None:
    lengths = (8, 16, 32, 64)
    spans = {
        label(name, fields): [
            structure(TASKS.build({"name": name, **fields}), SCHEMES.build("coupled"), n, stream(0, "methods")).span
            for n in lengths
        ]
        for name, fields in TASKS_COMPARED
    }
    for task in (*COPIES, "reverse", "addition", "bitwise-or", "majority"):
        assert set(spans[task]) == {1}, task
    assert set(spans["parity-scratchpad"]) == {0}
    for task in ("odds-first", "flip-flop"):
        assert spans[task][0] < spans[task][1] < spans[task][-1], task


def test_tables_and_plain_positions(far: matrix_tables.Far) -> None:
    copies = [_reaching(far, task) for task in COPIES]
    assert_on(
        "which-method-where",
        f"gets part of the way** in copying, {copies[0][TABLE]} and {copies[1][TABLE]} symbols, and carries reversing "
        f"to {_reaching(far, 'reverse')[TABLE]}.",
        "carry copying and reversing to 16 at most**, in the median: FIRE, Kerple, forgetting attention and learned "
        "positions with a random start with distinct symbols, the others to 8.",
    )
    assert {method for method, shown in _plain(copies[0]).items() if shown == "16"} == {
        "sequential+fire", "sequential+kerple", "sequential+forgetting", "random-start+learned"
    }  # fmt: skip
    assert set(_plain(copies[0]).values()) == {"16", "8"}
    assert set(_plain(copies[1]).values()) | set(_plain(_reaching(far, "reverse")).values()) == {"8", "unfitted"}
    addition = {method: shown for method, shown in _reaching(far, "addition").items() if shown != "unfitted"}
    assert addition == {SINK: "64", LOCAL: "8"}
    parity = _reaching(far, "parity-scratchpad")
    assert far["parity-scratchpad", TABLE] == [64, 64, 64]
    assert max(int(shown) for shown in _plain(parity).values() if shown != "unfitted") == 8
    assert_on(
        "which-method-where",
        "**Addition is fitted under a local bias only**, and carried with the sink only.",
        "**Parity with scratchpad is carried by a table of coupled ids**, every seed to 64, and by no plain positions.",
    )


def test_counting(far: matrix_tables.Far) -> None:
    majority, sorting = _reaching(far, "majority"), _reaching(far, "sort")
    less = {method: shown for method, shown in majority.items() if shown != "64"}
    assert set(less) == {"sequential+rope", "sequential+alibi"}
    assert_on(
        "which-method-where",
        f"Majority reaches 64 in the median of {len(majority) - len(less)} of {len(majority)} methods; RoPE and ALiBi "
        f"stop at {less['sequential+rope']} and {less['sequential+alibi']}. "
        "Sorting reaches 24 with NoPE, FIRE, T5, forgetting and random positions, and 8 with RoPE, xPos and sinusoids.",
    )
    assert {method for method, shown in sorting.items() if shown == "24"} == {
        "nope", "sequential+fire", "sequential+t5", "sequential+forgetting", "random-start+learned",
        "randomized+learned",
    }  # fmt: skip
    assert {method for method, shown in sorting.items() if shown == "8"} == {
        "sequential+rope", "sequential+xpos", "sequential+sinusoidal"
    }  # fmt: skip
    assert "unfitted" not in sorting.values()
