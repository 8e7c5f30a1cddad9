"""A position system looks the same in every figure, whatever is beside it, and no two look alike."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up import experiment, result
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import lengthwise as lw
from lengthwise.report.looks import BLUES, COLOURS, LOOKS, Look, distinct
from lengthwise.report.summary import MOST_DRAWN, SeedResult, panels

NAMES = [name for name in LOOKS if "+" in name and "@" not in name and not name.startswith("random-start")]


def found(names: list[str]) -> lw.Result:
    """Results of these systems; ``own`` and the like have the positions of coupled+learned."""
    made = []
    for name in names:
        scheme, encoding = name.split("+") if name in LOOKS else ("coupled", "learned")
        made.append(result(name, config=experiment(scheme, encoding)))
    return lw.Result([(Path(str(at)), SeedResult.of(one)) for at, one in enumerate(made)])


def drawn(result: lw.Result, **options: Any) -> dict[str, tuple[str, Any]]:
    axes: Any = result.plot(Figure().subplots(), **options)
    lines = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]
    return {str(line.get_label()): (line.get_color(), line.get_marker()) for line in lines}


@settings(max_examples=10)
@given(st.lists(st.sampled_from([*NAMES, "own", "mine"]), unique=True, min_size=2, max_size=6), st.data())
def test_a_system_looks_the_same_beside_any_other_and_in_any_subset(names: list[str], data: st.DataObject) -> None:
    whole, some = found(names), data.draw(st.lists(st.sampled_from(names), unique=True, min_size=1))
    looks = drawn(whole)
    assert len(set(looks.values())) == len(names)
    assert len({colour for colour, _ in looks.values()}) == len(names)
    shared = {name: min(BLUES) if LOOKS[name].family in BLUES else LOOKS[name].family for name in {*names} & {*LOOKS}}
    families = Counter(shared.values())
    assert len({colour for colour, _ in looks.values()} & {COLOURS[at] for at in BLUES}) < 2, "much alike"
    for name, family in shared.items():
        if families[family] == 1:
            assert looks[name] == (LOOKS[name].colour, LOOKS[name].marker)
    part = whole.only(systems=some)
    assert drawn(part).items() <= looks.items()
    assert drawn(part, labels={some[0]: "ours"})["ours"] == looks[some[0]], "another label is no other system"


@given(st.lists(st.sampled_from([*LOOKS.values(), None]), max_size=30))
def test_looks_differ_and_colours_repeat_only_when_all_are_taken(wanted: list[Look | None]) -> None:
    given_looks = distinct({str(at): look for at, look in enumerate(wanted)})
    assert len(set(given_looks.values())) == len(wanted)
    assert len({look.family for look in given_looks.values()}) == min(len(wanted), len(COLOURS))
    for at, look in enumerate(wanted):
        before = {other.family for other in wanted[:at] if other is not None}
        before |= {*BLUES} if len(wanted) < len(COLOURS) and before & {*BLUES} else set()
        assert look is None or look.family in before or given_looks[str(at)] == look


@given(st.lists(st.sampled_from([*LOOKS.values(), None]), max_size=MOST_DRAWN))
def test_systems_of_a_figure_differ_without_their_colour(wanted: list[Look | None]) -> None:
    looks = distinct({str(at): look for at, look in enumerate(wanted)}).values()
    assert len({(look.marker, str(look.dashes)) for look in looks}) == len(wanted)


def test_looks_of_the_table_differ_in_two_ways_or_in_their_colour() -> None:
    assert len({(look.colour, look.marker, str(look.dashes)) for look in LOOKS.values()}) == len(LOOKS)
    for one, other in combinations(LOOKS.values(), 2):
        if one.colour == other.colour:
            assert one.marker != other.marker
            assert one.dashes != other.dashes


BLIND = {
    "none": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
"""What is seen of a colour in linear RGB (Machado et al. 2009)."""


@pytest.mark.parametrize("kind", BLIND)
def test_colours_are_told_apart_under_colour_blindness(kind: str) -> None:
    """In CIELAB, where a difference of 2.3 is just seen."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    rgb = np.array([to_rgb(colour) for colour in COLOURS])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.array(BLIND[kind]).T, 0, 1)
    x, y, z = (np.cbrt(np.maximum(seen @ to_xyz.T / [0.9505, 1, 1.089], 0.008856))).T
    lab = np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)
    assert min(np.linalg.norm(one - other) for one, other in combinations(lab, 2)) > 8


def test_a_system_is_known_by_the_short_name_that_compare_takes() -> None:
    whole = found(["sequential+rope", "sequential+fire", "coupled+learned"])
    assert {*whole.only(systems=["rope", "coupled"]).systems.names} == {"coupled+learned", "sequential+rope"}
    assert [row[0] for row in whole.wide(labels={"rope": "RoPE"}).rows].count("RoPE") == 1
    assert "alibi" not in whole.systems


RESULTS = sorted({path.parent.parent for path in Path("studies").glob("*/results/*/*/result.json")})


@pytest.mark.parametrize("folder", RESULTS, ids=lambda folder: f"{folder.parts[-3]}-{folder.name}")
def test_no_two_systems_of_a_figure_share_a_colour_while_others_are_free(folder: Path) -> None:
    """Of every committed result, also of every pair of its systems; one system on several tasks is one."""
    whole = lw.results(folder).systems
    pairs = combinations(whole, 2) if len(whole) <= 2 * MOST_DRAWN else ()
    for systems in (whole, *pairs):
        for panel in panels(systems):
            colours = {(systems[at].short, systems[at].settings): panel.looks[at].colour for at in panel.systems}
            assert len({*colours.values()}) == min(len(colours), len(COLOURS))
            fitted = {(systems[at].short, systems[at].settings) for at in panel.systems if systems[at].fitted}
            lines = {colours[name] for name in fitted}
            assert len(lines) == min(len(fitted), len(COLOURS)), "what did not fit takes no colour from a line"
            assert len({*panel.looks.values()}) == len(panel.systems)
