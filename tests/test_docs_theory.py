"""Numbers in the sentences of four results pages (25 tasks, exact learners, planted text, overview) are the files'."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from math import comb
from pathlib import Path
from statistics import mean, median
from typing import Any

import pytest
import tables

from lengthwise.core.config import canonical_json
from lengthwise.core.files import read_json
from lengthwise.core.result_file import result_files
from lengthwise.experiments.agreement import CUT, FULL_STEPS, SEARCHED, cell, speaking
from lengthwise.experiments.recipes.huang_cells import ALGORITHMIC, FORMAL, PUBLISHED_ENCODINGS, search
from lengthwise.experiments.recipes.huang_published import PUBLISHED
from lengthwise.experiments.recipes.huang_review import superseded_commits
from lengthwise.experiments.recipes.huang_table import predicted, task_of
from page_text import ROOT, assert_on

HUANG = tables.RESULTS / "huang"
CELLS = [(task, encoding) for task in (*ALGORITHMIC, *FORMAL) for encoding in PUBLISHED_ENCODINGS]
LANGUAGES = {f"{task}, {encoding}" for task in FORMAL for encoding in PUBLISHED_ENCODINGS}


def _digits(values: Iterable[float]) -> list[str]:
    return [f"{value:.2f}" for value in values]


def _read(folders: Iterable[Path]) -> list[dict[str, Any]]:
    return [read_json(path) for folder in folders for path in result_files(folder)]


@pytest.fixture(scope="module")
def current() -> list[dict[str, Any]]:
    return sorted(_read([HUANG]), key=lambda result: result["seed"])


@pytest.fixture(scope="module")
def replaced() -> dict[str, list[dict[str, Any]]]:
    """By the commit that had added them, oldest first."""
    return {folder.name: _read([folder]) for folder in superseded_commits(HUANG)}


def _cells(results: Sequence[dict[str, Any]]) -> dict[str, tuple[dict[str, Any], str]]:
    """Every cell by its system's name, with what theory says; the last result of a configuration and seed counts."""
    runs = {(each["system"], canonical_json(each["experiment"]), each["seed"]): each for each in results}
    found = {}
    for task, encoding in CELLS:
        name, said = f"{task}, {encoding}", predicted(task_of(task), encoding)
        row = cell(task, encoding, said, [run for run in runs.values() if run["system"] == name])
        found[name] = (dict(row), said)
    return found


def _rates(results: Iterable[dict[str, Any]], system: str, low: int, **wanted: int) -> list[float]:
    """Whole answers of the seeds of a system's configuration in a bin."""
    own = speaking([each for each in results if each["system"] == system])
    return [
        score["correct"]["exact_match"] / score["n"]
        for each in own
        for score in each["scores"]
        if score["axes"]["low"] == low and all(score["axes"].get(key) == value for key, value in wanted.items())
    ]


def test_which_cells_are_decided(current: list[dict[str, Any]], replaced: dict[str, list[dict[str, Any]]]) -> None:
    found = _cells(current)
    undecided = {name for name, (row, _) in found.items() if row["right"] is None}
    both = {name for name in found if name.rpartition(", ")[0] in ("parity", "addition", "Tomita-5", "Tomita-6")}
    assert undecided == both | {"(aa)*, nope", "bin_majority_interleave, nope"}
    decided = {said: [row["right"] for row, answer in found.values() if answer == said] for said in ("yes", "no")}
    yes, no = ([right for right in decided[said] if right is not None] for said in ("yes", "no"))
    ever = _cells([each for results in replaced.values() for each in results] + current)
    other = [name for name in found if ever[name][0]["right"] != found[name][0]["right"]]
    assert other == ["Tomita-4, ape"]
    right = [row["right"] for row, _ in ever.values() if row["right"] is not None]
    table = read_json(HUANG / "superseded" / next(iter(replaced)) / "table.json")
    old = [row["right"] for row in table if row["right"] is not None]
    assert_on(
        "huang",
        f"Of the *yes* cells {len(yes)} of {len(decided['yes'])} are decided, of the *no* cells {len(no)} of "
        f"{len(decided['no'])}.",
        f"takes an earlier one for Tomita-4 with APE ({ever[other[0]][0]['median']['101-150']:.2f}). "
        f"Then {sum(right)} of {len(right)} cells are compatible.",
        f"had results of {sum(row['seeds'] > 0 for row in table)} cells; {sum(old)} of its {len(old)} decided ones",
        f"Unique copy with APE ({found['unique_copy, ape'][0]['median']['101-150']:.2f}; published "
        f"{PUBLISHED['unique_copy']['ape'][1]:.1f} with this shape) and D-12 with NoPE "
        f"({found['D-12, nope'][0]['median']['101-150']:.2f}) are against theory",
    )


def test_how_often_the_settings_changed() -> None:
    """Counted in the history, where there is one."""
    command = "git log --oneline 8a2bd7a..6933b26 -- src/lengthwise/experiments/recipes/huang_cells.py"
    try:
        done = subprocess.run(command.split(), cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no history")
    assert_on("huang", f"{len(done.stdout.splitlines())} commits changed the file of the settings (`{command}`)")


def test_single_cells_of_the_25_tasks(current: list[dict[str, Any]], replaced: dict[str, list[dict[str, Any]]]) -> None:
    near, last = (" ".join(_digits(_rates(current, "D-12, ape", low))) for low in (51, 101))
    found = _cells(current)
    for encoding in PUBLISHED_ENCODINGS:
        row = found[f"{{0,1,2}}*02*, {encoding}"][0]
        assert all(row["median"][name] > row["standard"][name] for name in ("51-100", "101-150"))
    controls = _read([HUANG / "controls"])
    switched = median(_rates(controls, "{0,1,2}*02*, nope", 101, adversarial=1))
    assert switched >= CUT
    assert set(_digits(_rates(controls, "Tomita-4, nope", 101))) == {"0.00"}
    before, after = (
        [each for each in results if each["system"] == "Tomita-4, ape" and each["experiment"]["model"]["width"] == 32]
        for results in (replaced["bb0b2ba"], current)
    )
    assert [sum(each["fitted"] for each in runs) for runs in (before, after)] == [1, 2]
    (seed,) = {each["seed"] for each in after if each["fitted"]} - {each["seed"] for each in before if each["fitted"]}
    then, now = (
        next(each["in_distribution"]["correct"]["exact_match"] / 2000 for each in runs if each["seed"] == seed)
        for runs in (before, after)
    )
    assert_on(
        "huang",
        f"The three seeds have {near} and {last}.",
        f"{{0,1,2}}\\*02\\* with NoPE has a median of {switched:.2f}.",
        "(abab)\\* with APE has {}, {} and {}.".format(*_digits(_rates(current, "(abab)*, ape", 101))),
        f"a second fitted seed in its first configuration ({now:.3f} instead of {then:.3f}).",
        f"the cell was below the cut ({median(_rates(after, 'Tomita-4, ape', 101)):.2f})",
    )


def test_protocol_of_the_25_tasks(current: list[dict[str, Any]]) -> None:
    sizes = {name: search(name[0], full=False, encoding=name[1]) for name in CELLS}
    layers, widths = ([getattr(size, key) for own in sizes.values() for size in own] for key in ("layers", "width"))
    assert max(map(len, sizes.values())) == 3
    grid = search("parity", full=True, encoding="ape")
    early = {each["system"] for each in current if each["experiment"]["training"]["stop_when_fitted"]}
    assert early & LANGUAGES == {f"{task}, nope" for task in ("(aa)*", "(aaaa)*", "(abab)*", "Tomita-3")}
    assert {each["system"] for each in current} - LANGUAGES - early == {"unique_copy, ape"}
    assert {each["system"].rpartition(", ")[2] for each in current} == set(PUBLISHED_ENCODINGS)
    words = {each["system"]: [score["n"] for score in each["scores"]] for each in current if each["fitted"]}
    assert words["(aa)*, ape"] == [25, 25]
    assert words["(aaaa)*, ape"] == words["(abab)*, ape"] == [13, 12]
    assert words["D-2, ape"] == [2000, 2000]
    apes = [PUBLISHED[task]["ape"][1] for task in ("Tomita-3", "Tomita-4", "Tomita-7", "D-12", "{a,b}*d{b,c}*")]
    assert_on(
        "huang",
        f"until all three seeds fit ({min(layers)}–{max(layers)} layers, width {min(widths)}–{max(widths)})",
        f"`full` is the published grid of {len(grid)} at {grid[0].steps:,} steps; it has not been run.",
        "(aa)\\*, (aaaa)\\*, Tomita-3 and the larger configuration of (abab)\\* with NoPE stop at the fit. So do the "
        "algorithmic tasks (published: at 100 %), except unique copy with APE.",
        f"no fit in at least {SEARCHED} configurations at {FULL_STEPS:,} steps",
        "the bin once, 25 for (aa)\\*, 13 and 12 for (aaaa)\\* and (abab)\\*; for D-2 2,000 uniform words",
        f"APE {', '.join(f'{value:g}' for value in apes)} |",
        f"APE {PUBLISHED['{0,1,2}*02*']['ape'][1]} |",
    )


def test_times_of_the_25_tasks(current: list[dict[str, Any]], replaced: dict[str, list[dict[str, Any]]]) -> None:
    """A seed's seconds are its share of its stack of three."""
    sweep = [each for each in current if each["commit"].startswith("1785f5c") and each["system"] in LANGUAGES]
    ends = [(datetime.fromisoformat(each["time"]), timedelta(seconds=3 * each["seconds"])) for each in sweep]
    took = max(end for end, _ in ends) - min(end - stack for end, stack in ends)
    hours, minutes = divmod(round(took.total_seconds() / 60), 60)
    earlier, later = ([each["seconds"] for each in results if each["system"] == "Tomita-3, ape"] for results in
                      (replaced["ccee1b7"], sweep))  # fmt: skip
    assert_on(
        "huang",
        f"took {hours} h {minutes} min as one command on two cores",
        f"Tomita-3 with APE had taken {mean(earlier) / mean(later):.1f} times as long",
    )


def test_sentences_on_exact_learners() -> None:
    study = read_json(tables.RESULTS / "planted-theory" / "quick" / "study.json")
    by_length, by_k, growth = (
        [row for row in study["rows"] if row["figure"] == name] for name in ("length", "k", "growth")
    )
    for row in by_length:
        assert row["as_expected"]
        errors = dict(zip(row["error"], row["spread"], strict=True))
        exact = row["learner"] in ("local", "non-local with PoSE", "far with coupling")
        assert errors["16"] == [0, 0]
        assert all((low > 0.4, high == 0) == (not exact, exact) for n, (low, high) in errors.items() if n != "16")
        assert (row["settled"][-1] == 1) == exact
    unseen = {row["learner"]: row["unseen"] for row in by_length}
    (strings,) = {row["trained_on"] for row in by_length}
    apart = max(abs(row["error"]["16"] - row["error"]["64"]) for row in by_k)
    assert 0.005 < apart < 0.01
    assert not any(error for row in by_k if not row["unseen"] for error in row["error"].values())
    enough = [min(row["trained_on"] for row in by_k if row["k"] == k and not row["unseen"]) for k in (1, 2, 3, 4)]
    assert enough == [100, 300, 1000, 3000]
    assert all(0.85 < row["slope"] < 1 for row in growth)
    high = sorted(row["heuristic"][-1] / row["error"]["128"] - 1 for row in growth)
    above = sorted(row["bound"][-1] / row["error"]["128"] for row in growth)
    assert_on(
        "planted-theory",
        f"{strings:,} training strings of lengths {study['trained'][0]} to {study['trained'][1]}.",
        f"range of {study['repeats']} repeats in brackets",
        f"(up to {unseen['non-local with PoSE']} with PoSE, {unseen['far with coupling']} with coupling)",
        f"from {comb(5, 0) * 4} (k = 1) to {comb(5, 3) * 4**4:,} (k = 4)",
        f"by {100 * high[0]:.0f} to {100 * high[-1]:.0f} % at 128. "
        f"The bound is {above[0]:.0f} to {above[-1]:.0f} times what is measured there.",
        f"{study['seconds']:.0f} s on one core",
    )


def test_sentences_on_planted_text() -> None:
    folder = tables.RESULTS / "influence-planted"
    studies = [
        {(row["label"], row["reader"]): row for row in read_json(folder / name / "quick" / "study.json")["rows"]}
        for name in ("superseded/d27c3e7", "superseded/fd8ba03", ".")
    ]
    first, second, third = studies
    same = [row[key] == second[name][key] for name, row in third.items() for key in ("found", "R") if "exact" in name]
    assert same == [True] * 6
    moved = {
        (label, rule): 100 * abs(value - second[label, reader]["found"][rule])
        for (label, reader), row in third.items()
        for rule, value in row["found"].items()
    }
    assert max(value for (_, rule), value in moved.items() if rule != "gradient-input") == moved["parity", "greedy"]
    majority, parity = third["majority", "trained"], third["parity", "trained"]
    gain = (majority["R"]["3"] - majority["R"]["2"]) * (majority["short"] - majority["long"])
    steps = read_json(folder / "superseded/d27c3e7/quick/study.json")["steps"]
    exact, trained = (100 * first["parity", reader]["found"]["greedy"] for reader in ("exact", "trained"))
    assert_on(
        "influence-planted",
        f"Attention names all three in {100 * majority['found']['attention']:g} % of the targets.",
        f"names the third token in {100 * majority['found']['greedy']:g} % of the targets",
        f"rests on a gain of {gain:.3f} nat on average",
        f"had a block of {first['parity', 'exact']['block']} tokens and {steps:,} steps.",
        f"a loss of {first['parity', 'trained']['long']:.2f} nats on parity "
        f"({parity['long']:.2f} now; without the block {parity['short']:.2f})",
        f"in {exact:g} % of the targets of parity for the exact model, in {trained:g} % for the trained one",
        f"up to {max(moved.values()):.0f} points for gradient × input and {moved['parity', 'greedy']:.1f} for greedy",
    )


def test_outcomes_on_the_overview() -> None:
    def rates(results: Sequence[Any], n: int, **axes: int) -> list[float]:
        return [score.rate() or 0.0 for each in results if (score := tables.score(each, n, **axes))]

    ppc = tables.runs("variable-assignment", "scratchpad + PPC", width=256)
    worst = min(rates(ppc, 400, chains=4, depth=100) + rates(ppc, 400, chains=1, depth=400))
    parity = tables.runs("parity-scratchpad", "scratchpad + PPC")
    assert {score.rate() for each in parity for score in each.scores} == {1.0}
    posed = tables.runs("parity-scratchpad", "scratchpad + RoPE + PoSE")
    assert not any(rate for n in (30, 40, 60, 80) for rate in rates(posed, n))
    sums = tables.runs("coupled-arithmetic", "running sums, local bias with a sink")
    ten, twelve = (rates(sums, n, digits=n, operands=n) for n in (10, 12))
    far = rates(tables.runs("addition", "local bias, up to 30"), 500)
    blind = read_json(tables.RESULTS / "blind" / "table.json")["ours"]
    assert len(far) == 8
    assert_on(
        "index",
        f"400 lines after training on 8, 5 of {len(ppc)} seeds at {worst:.2f} or above",
        "200 bits after training on 20, no error; RoPE + PoSE at 0.00 from 30 bits on",
        f"30 digits to 500 under a local bias of coupled ids, all seeds at {min(far):.3f} or above; sums of 5 × 5",
        f"with a sink, all seeds at {min(twelve):.3f} or above, but 10 × 10 at {min(ten):.2f} to {max(ten):.2f}",
        f"{blind['right']} of {blind['cells']} decided cells; three rivals have a higher score",
    )
