"""studies/huang/README.md says what the result files say: its tables and the numbers in its sentences."""

from __future__ import annotations

import re
import statistics
from functools import cache
from pathlib import Path

import pytest
from huang_review import ReviewTable, review, superseded_commits

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.result_file import SUPERSEDED, result_files
from lengthwise.languages.automaton import language
from lengthwise.languages.named import LANGUAGES
from lengthwise.languages.sampling import count_words, lengths_with_words

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "studies" / "huang" / "results" / "huang"
PAGE = (ROOT / "studies" / "huang" / "README.md").read_text(encoding="utf-8")


@cache
def tables() -> dict[str, ReviewTable]:
    """The tables of the review by their titles."""
    return {table.title: table for table in review(RESULTS)}


def test_every_table_is_on_the_page() -> None:
    assert tables()
    for title, table in tables().items():
        assert table.rows, title
        assert table.markdown() in PAGE, (
            f"{title}: copy it from `python studies/huang/agreement.py studies/huang/results/huang --review`"
        )


def _numbers(pattern: str) -> list[int]:
    found = re.search(pattern, " ".join(PAGE.split()))
    assert found, pattern
    return [int(group) for group in found.groups()]


def test_counts_in_the_sentences() -> None:
    yes, no = tables()["Cells by what theory says"].rows
    decided, high = int(yes[2]) + int(no[2]), int(yes[3]) + int(no[3])
    assert _numbers(r"(\d+) of 50 cells are decided\.") == [decided]
    assert _numbers(r"(\d+) of the 40 are compatible") == [int(yes[3]) + int(no[4])]
    assert _numbers(r"All (\d+) undecided cells are cells for which theory says no") == [int(no[5])]
    assert int(yes[5]) == 0
    assert _numbers(r"always says \*yes\* is right on (\d+) of the 40") == [high]
    unstable = tables()["Cells whose outcome depends on the configuration"].rows
    assert {row[2] for row in unstable} == {"yes"}
    assert _numbers(r"outcome of (\d+) of the (\d+) \*yes\* cells depends") == [len(unstable), int(yes[1])]


def test_counts_of_replaced_files() -> None:
    current = {path.parent.name for path in result_files(RESULTS)}
    replaced = [path for commit in superseded_commits(RESULTS) for path in result_files(commit)]
    assert len(replaced) == len(list((RESULTS / SUPERSEDED).rglob("result.json")))
    folders = current | {path.parent.name for path in replaced}
    overwritten = sum(path.parent.name in current for path in replaced)
    pattern = (
        r"(\d+) versions of .* in (\d+) run folders\. "
        r"(\d+) folders were removed and (\d+) files were overwritten; (\d+)"
    )
    expected = [len(replaced) + len(current), len(folders), len(folders - current), overwritten, len(current)]
    assert _numbers(pattern) == expected


def test_how_many_words_of_d12_reach_its_bound() -> None:
    """A word of D-12 that never reaches depth 12 is a word of D-11, and those are counted exactly."""
    bounded = "ε"
    for _ in range(11):
        bounded = f"(a{bounded}b)*"
    d12, d11 = LANGUAGES["D-12"].dfa(), language(bounded, "ab")
    for low, high in ((1, 50), (51, 100), (101, 150)):
        lengths = lengths_with_words(d12, low, high)
        share = statistics.mean(1 - count_words(d11, n) / count_words(d12, n) for n in lengths)
        assert f"| {low}–{high} | {100 * share:.1f} % |" in PAGE
        if low > 50:
            assert f"{1 - share:.2f}" in PAGE


def test_how_often_a_short_window_decides() -> None:
    """Words of {0,1,2}*02* without a run of nine 2s, among all of length 101 to 150."""
    runs = "(" + "|".join(["ε", *("2" * i for i in range(1, 9))]) + ")"
    short, whole = language(f"({runs}(0|1))*{runs}0{runs}", "012"), LANGUAGES["{0,1,2}*02*"].dfa()
    share = statistics.mean(count_words(short, n) / count_words(whole, n) for n in range(101, 151))
    assert f"{100 * share:.1f} % of those of length 101–150 have no run of nine 2s" in " ".join(PAGE.split())


def test_a_folder_without_results_is_one_clear_line() -> None:
    with pytest.raises(LengthwiseError, match="no results of recipe huang"):
        review(ROOT / "studies" / "arithmetic" / "results" / "addition")
    with pytest.raises(LengthwiseError, match="no folder"):
        review(ROOT / "studies" / "nothing")
