from itertools import product
from pathlib import Path

import numpy as np
import pytest
from heads import Exactness, LocalHead, Setting, admissible, check_theorem_a, random_heads
from planted import FixedOffsets, Planted

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.tasks.planted import Lookup, MajorityLabel, ParityLabel, SumMod

PAGE = (Path(__file__).parents[2] / "docs" / "sparsity.md").read_text(encoding="utf-8")
AND, FIRST = Lookup(m=2, table=(0, 0, 0, 1)), Lookup(m=2, table=(0, 0, 1, 1))


def marked(k, span, label, values=2, shapes=None):
    placement = FixedOffsets(shapes) if shapes else None
    return Setting.of(Planted.marked(k, span=span, values=values, label=label, placement=placement), span)


def one_background(k, span, label, shapes):
    """Background 0 only; tokens 1 and 2 carry the values 0 and 1."""
    words = tuple(product((1, 2), repeat=k))
    labels = tuple(int(y) for y in label(np.array(words) - 1))
    return Setting(3, (0,), words, labels, shapes, span)


SETTINGS = {
    "k=1 λ=0 |V|=4 parity": (marked(1, 0, ParityLabel()), 5_000),
    "k=2 λ=1 |V|=4 parity": (marked(2, 1, ParityLabel()), 10_000),
    "k=2 λ=1 |V|=6 sum mod 3": (marked(2, 1, SumMod(3), values=3), 10_000),
    "k=2 λ=2 |V|=4 parity": (marked(2, 2, ParityLabel()), 20_000),
    "k=2 λ=2 |V|=4 and": (marked(2, 2, AND), 40_000),
    "k=2 λ=3 |V|=3 first": (one_background(2, 3, FIRST, ((0, 1), (0, 3))), 15_000),
    "k=3 λ=2 |V|=4 majority": (marked(3, 2, MajorityLabel()), 30_000),
    "k=3 λ=3 |V|=3 majority": (one_background(3, 3, MajorityLabel(), ((0, 1, 3),)), 25_000),
}


def test_admissible_strings_by_a_second_way():
    setting = marked(2, 2, AND)
    found = admissible(setting, 5)
    expected = set()
    for row in product(range(4), repeat=5):
        places = [i for i, token in enumerate(row) if token >= 2]
        if len(places) == 2 and places[1] - places[0] <= 2:
            expected.add((*row, int(all(row[i] == 3 for i in places))))
    assert {(*r, y) for r, y in zip(found.tokens.tolist(), found.labels.tolist(), strict=True)} == expected


def test_exactness_equals_evaluating_every_string():
    setting = marked(2, 2, AND)
    strings = admissible(setting, 6)
    check = Exactness(strings, setting.types, setting.classes)
    weights, votes = random_heads(setting, 60, stream(0, "heads"), check)
    fast = check(weights, votes)
    for h in range(60):
        output = LocalHead(setting.types, weights[h], votes[h])(strings.tokens)
        target = np.eye(2)[strings.labels]
        slow = output.defined.all() and (output.numerator == output.denominator[:, None] * target).all()
        assert fast[h] == slow
    assert 0 < fast.sum() < 60


def test_no_violation_in_a_hundred_thousand_exact_heads():
    reports = {name: check_theorem_a(setting, heads, stream(1, name)) for name, (setting, heads) in SETTINGS.items()}
    for name, report in reports.items():
        print(name, report)
        assert report.violations == 0, name
        assert report.exact < report.heads, name
        row = f"| {report.heads:,} | {report.exact:,} | {report.exact_with_unplanted:,} | {report.violations} |"
        assert row in PAGE, row
    assert sum(r.exact for r in reports.values()) >= 100_000
    assert sum(r.exact_with_unplanted for r in reports.values()) >= 10_000


def test_shorter_lengths_do_not_suffice():
    """The check can fail: exact at a length below 2(λ + 1) is broken by many heads at longer ones."""
    report = check_theorem_a(marked(2, 2, AND), 2000, stream(2), length=3, beyond=(5,))
    assert report.violations > 100


def test_limits_are_named():
    with pytest.raises(LengthwiseError, match="too many"):
        admissible(marked(2, 2, AND), 24)
    setting = marked(2, 1, ParityLabel())
    check = Exactness(admissible(setting, 4), setting.types, 2)
    with pytest.raises(LengthwiseError, match="multiples of 1/8"):
        check(np.full((1, 16), 0.3), np.zeros((1, 16, 2)))
