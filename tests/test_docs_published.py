"""The published tasks under the frozen ladder: sentences on three pages, computed from files."""

from __future__ import annotations

from collections import Counter
from typing import Any

import blind_tables

from lengthwise.core.files import read_json
from lengthwise.experiments.blind.comparison.table import table
from page_text import ROOT, assert_on

COUNTING = {"D-2", "D-3", "D-4", "D-12"}
EASY = {"Tomita 1", "Tomita-2", "Tomita-7", "aa*bb*cc*dd*ee*", "{a,b}*d{b,c}*"}
ONE_LETTER = {"(aa)*", "(aaaa)*"}
ORDERLESS = {"bin_majority", "majority", "sort"}
COPIES = {"unique_copy", "repeat_copy"}
REST = {"Tomita-4", "{0,1,2}*02*", "(abab)*"}
BOTH = ("nope", "ape")
UNFITTED_YES = {"bin_majority_interleave", "unique_copy"}
AT_RUNG_3 = {*((name, "nope") for name in COPIES), *((name, each) for name in ("majority", "sort") for each in BOTH)}


def _cells() -> list[dict[str, Any]]:
    values = table(blind_tables.study("blind"), "published")
    assert values == read_json(ROOT / "results" / "blind" / "published-table.json")
    return list(values["cells"])


def test_how_far_it_is() -> None:
    cells = _cells()
    count = Counter(cell["status"] for cell in cells)
    right = sum(cell["right"] is True for cell in cells)
    done, decided = len(cells) - count["not run"], count["decided"]
    so_far = f"{done} of {len(cells)} cells have run"
    assert_on(
        "blind",
        f"{so_far}, {decided} are decided, and {right} of these are as the verdict on membership says. "
        f"{count['not fitted']} are not fitted.",
        f"{count['not fitted'] - len(UNFITTED_YES)} of the {count['not fitted']} cells that are not fitted are a *no* "
        "of theory; the other two are bin_majority_interleave and unique_copy with learned positions.",
        f"* {len(AT_RUNG_3)} cells are decided at rung 3",
    )
    open_yes = [cell for cell in cells if cell["status"] == "not fitted" and cell["predicted"] == "yes"]
    unfitted = {(cell["language"], cell["encoding"]) for cell in open_yes}
    assert unfitted == {(name, "ape") for name in UNFITTED_YES}
    later = {(cell["language"], cell["encoding"]): cell["rung"] for cell in cells if cell["status"] == "decided"}
    assert {name: rung for name, rung in later.items() if rung > 1} == dict.fromkeys(AT_RUNG_3, 3)
    assert_on("huang", f"of which {so_far}, has other outcomes: {right} of its {decided} decided cells are compatible")
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"Under one frozen ladder {right} of the {decided} decided cells are compatible" in readme
    changes = " ".join((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split())
    assert f"{so_far}, {decided} are decided, and {right} of these are as the verdict says" in changes


def test_rivals_stand_beside_ours() -> None:
    values = read_json(ROOT / "results" / "blind" / "published-table.json")
    better = {name: score for name, score in values["rivals"].items() if score > values["balanced_accuracy"]}
    assert set(better) == {"monoid", "R-trivial", "fitted early"}
    details = {name: values["rival_details"][name] for name in better}
    ((cells, ours),) = {
        (each["cells"], each["right"] + each["mcnemar"]["only_ours"] - each["mcnemar"]["only_rival"])
        for name, each in details.items()
        if name != "fitted early"
    }
    lowest = min(each["mcnemar"]["p"] for each in details.values())
    assert_on(
        "blind",
        f"balanced accuracy is {values['balanced_accuracy']:.3f} for ours, {better['monoid']:.3f} for the size of the "
        f"monoid and {better['R-trivial']:.3f} for R-trivial (each applies to {cells} of the decided cells, of which "
        f'ours is right on {ours}), and {better["fitted early"]:.3f} for "fitted early" on all '
        f"{details['fitted early']['cells']}.",
        f"(p is {lowest:.2g} or more)",
    )
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"balanced accuracy {values['balanced_accuracy']:.3f}, and three rivals have a higher score" in readme


def test_what_holds_and_what_fails() -> None:
    decided = {(cell["language"], cell["encoding"]): cell for cell in _cells() if cell["status"] == "decided"}
    score = {name: cell["score"] for name, cell in decided.items()}
    wrong = {name for name, cell in decided.items() if not cell["right"]}
    both = {(name, encoding) for name in COUNTING for encoding in BOTH}
    assert wrong == both | {("Tomita-4", "ape"), ("(abab)*", "ape")}
    assert {decided[name]["predicted"] for name in wrong} == {"yes"}
    counting = [score[name] for name in both]
    right_no = {name for name, cell in decided.items() if cell["predicted"] == "no"}
    few = {("Tomita-4", "nope"), ("{0,1,2}*02*", "nope"), ("{0,1,2}*02*", "ape")}
    assert right_no == few | {(name, "nope") for name in COPIES}
    assert {name for name, _ in decided} == COUNTING | REST | EASY | ONE_LETTER | ORDERLESS | COPIES
    assert {score[name, encoding] for name in EASY for encoding in BOTH} == {1.0}
    seeds = [
        seed["sets"]["101-150"]["uniform"]["rate"] for name in ONE_LETTER for seed in decided[name, "ape"]["seeds"]
    ]
    assert (min(seeds), max(seeds)) == (0, 1)
    pairs = [f"{name} ({score[name, 'nope']:.2f}, {score[name, 'ape']:.2f})" for name in sorted(ORDERLESS)]
    assert_on(
        "blind",
        f"* {pairs[0]}, {pairs[1]} and {pairs[2]} generalize without positions and with learned ones.",
        f"On 101–150 symbols their medians are {min(counting):.2f} to {max(counting):.2f}.",
        f"Tomita-4 ({score['Tomita-4', 'ape']:.2f}) and (abab)\\* ({score['(abab)*', 'ape']:.2f}).",
        f"All {len(right_no)} decided *no* fail as theory says: Tomita-4 without positions "
        f"({score['Tomita-4', 'nope']:.2f}), {{0,1,2}}\\*02\\* with both "
        f"({score['{0,1,2}*02*', 'nope']:.2f}, {score['{0,1,2}*02*', 'ape']:.2f}), and unique_copy and repeat_copy "
        f"without positions ({score['unique_copy', 'nope']:.2f}, {score['repeat_copy', 'nope']:.2f}).",
        f"generalize with learned positions ({score['(aa)*', 'ape']:.2f}, {score['(aaaa)*', 'ape']:.2f})",
    )


def test_parity_and_addition_fit_on_no_rung() -> None:
    highest = {}
    for name in ("parity", "addition"):
        files = sorted((ROOT / "results" / "blind" / "published").glob(f"{name}-*.json"))
        assert len(files) == 6, "three rungs, with and without positions"
        seeds = [seed for file in files for seed in read_json(file)["seeds"]]
        assert not any(seed["fitted"] for seed in seeds)
        highest[name] = max(seed["fit"] for seed in seeds)
    assert_on(
        "blind",
        "* Parity and addition fit on no rung, with either position: no seed has more than "
        f"{highest['parity']:.2f} and {highest['addition']:.2f} in distribution.",
    )
