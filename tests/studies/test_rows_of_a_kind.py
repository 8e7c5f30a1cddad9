"""Studies of rows of a kind and of rows with values: their test is exact, and `explain` says what they have."""

from __future__ import annotations

import json
import re
from itertools import product

import pytest
from half_of_the_rows import FILE as HALF
from half_of_the_rows import SEEDS as LATER
from longer_strings import FILE as LONGER_FILE
from longer_strings import LONGER as MOST
from near import FILE as NEAR_FILE
from near import SUMS as NEAR_SUMS
from rows_of_a_kind import FILE, LENGTHS, SEEDS, TRAIN, beyond, exact, longest
from rows_with_values import FILE as VALUES
from second_round import FILE as TWICE_FILE
from second_round import SUMS

from lengthwise.explanation.advice import HALF_AS_LONG, LONGER, MENDED, NEAR


@pytest.mark.parametrize(("arm", "said"), [("continued with rows", (10, 8, 1)), ("continued without", (10, 5, 1))])
def test_the_how_to_counts_the_adders_of_the_study(arm: str, said: tuple[int, int, int]) -> None:
    rows = json.loads(FILE.read_text(encoding="utf-8"))["models"]
    far = {(row["seed"], row["arm"]): longest(row["random"]) for row in rows}
    changes = [far[seed, arm] - far[seed, "first"] for seed in SEEDS if (seed, arm) in far]
    assert said == (len(changes), sum(change > 0 for change in changes), sum(change < 0 for change in changes))


def test_sums_with_the_values_gain_and_random_ones_are_not_shown_to() -> None:
    rows = json.loads(VALUES.read_text(encoding="utf-8"))["models"]
    of = {(row["seed"], row["arm"]): row for row in rows}
    p = {}
    for sums in ("random", "with values"):
        pairs = [(of[seed, "continued with values"], of[seed, "continued without"]) for seed in SEEDS]
        p[sums] = exact([beyond(one[sums]) - beyond(other[sums]) for one, other in pairs])
    assert p["with values"] < 0.05 < p["random"]


def test_explain_says_what_half_of_the_rows_mended() -> None:
    rows = json.loads(HALF.read_text(encoding="utf-8"))["models"]
    of = {(row["seed"], row["arm"]): row for row in rows}
    failed = [seed for seed in LATER if longest(of[seed, "first"]["of the kind"]) < TRAIN]
    arms = "one row in two", "one row in ten", "steps alone"
    mended = [sum(longest(of[seed, arm]["of the kind"]) >= TRAIN for seed in failed) for arm in arms]
    far = {arm: [longest(of[seed, arm]["random"]) for seed in LATER] for arm in ("first", *arms)}
    less = [sum(now < then for now, then in zip(far[arm], far["first"], strict=True)) for arm in (arms[0], arms[-1])]
    said = len(LATER), len(failed), *mended, len(LATER), *less
    assert re.findall(r"\d+", MENDED) == [str(n) for n in said]
    assert all(longest(of[seed, "one row in two"]["of the kind"]) >= TRAIN for seed in LATER if seed not in failed)


def test_a_second_round_is_not_shown_to_help() -> None:
    rows = json.loads(TWICE_FILE.read_text(encoding="utf-8"))["models"]
    of = {(row["seed"], row["arm"]): row for row in rows}
    both = [seed for seed in LATER if (seed, "rows twice") in of]
    pairs = [(of[seed, "rows twice"], of[seed, "rows, then steps"]) for seed in both]
    for sums in SUMS:
        assert exact([beyond(one[sums]) - beyond(other[sums]) for one, other in pairs]) > 0.05, "not shown"


def test_explain_says_what_longer_strings_did() -> None:
    half, rows = (json.loads(file.read_text(encoding="utf-8"))["models"] for file in (HALF, LONGER_FILE))
    of = {(row["seed"], row["arm"]): row for row in [*rows, *half]}
    assert [of[seed, "first"] for seed in LATER] == [row for row in rows if row["arm"] == "first"], "the same models"
    counts = list[int]()
    for arm in ("longer strings", "steps alone"):
        pairs = [(longest(of[seed, arm]["random"]), longest(of[seed, "first"]["random"])) for seed in LATER]
        counts += [sum(now > then for now, then in pairs), sum(now < then for now, then in pairs)]
    said = [len(LATER), TRAIN, MOST, *counts[:2], TRAIN, *counts[2:]]
    assert re.findall(r"\d+", LONGER) == [str(n) for n in said]
    assert MOST == HALF_AS_LONG * TRAIN
    pairs = [(of[seed, "longer strings"], of[seed, "steps alone"]) for seed in LATER]
    for sums in ("random", "of the kind"):
        differences = [beyond(one[sums]) - beyond(other[sums]) for one, other in pairs]
        assert sum(differences) > 0
        assert exact(differences) < 0.05


def test_explain_says_what_attention_to_near_ids_did() -> None:
    half, rows = (json.loads(file.read_text(encoding="utf-8"))["models"] for file in (HALF, NEAR_FILE))
    of = {(row["seed"], row["arm"]): row for row in [*half, *rows]}
    far = {arm: [sum(longest(of[seed, arm][name]) == LENGTHS[-1] for seed in LATER) for name in NEAR_SUMS]
           for arm in ("near", "first")}  # fmt: skip
    said = [len(LATER), far["near"][0], LENGTHS[-1], far["near"][1], *far["first"]]
    assert re.findall(r"\d+", NEAR) == [str(n) for n in said]


def test_the_p_counts_all_signs() -> None:
    assert exact([1.0, 2.0, 3.0]) == 2 / 8
    assert exact([1.0, -1.0]) == 1
    found = [0.5, -0.2, 0.1, 0.4]
    sums = [abs(sum(s * d for s, d in zip(signs, found, strict=True))) for signs in product((1, -1), repeat=4)]
    assert exact(found) == sum(each >= 0.8 - 1e-9 for each in sums) / 16
