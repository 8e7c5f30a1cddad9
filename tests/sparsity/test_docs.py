import doctest
from pathlib import Path

from coupled_ids import pose_coverage
from heads import counterexamples

from lengthwise.core.rng import stream

PAGE = Path(__file__).parents[2] / "docs" / "sparsity.md"


def test_what_the_page_shows_is_run():
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert result.attempted > 5
    assert result.failed == 0


def test_the_printed_counterexamples_are_the_found_ones():
    text = PAGE.read_text(encoding="utf-8")
    for example in counterexamples():
        assert example.render() in text


def test_the_table_of_pose_is_computed():
    """Exact for k = 2 and 3, on 20,000 random patterns for more; the page rounds to two digits or three."""
    text = PAGE.read_text(encoding="utf-8")
    for k in (2, 3, 4, 6):
        rng = None if k <= 3 else stream(0, "pose", k)
        shares = [100 * pose_coverage(k, 50, 500, chunks, rng).share for chunks in (1, 2, 3, 4, 6)]
        cells = [f"{share:.3g} %" if share >= 0.01 else "< 0.01 %" for share in shares]
        assert f"| {k} | {' | '.join(cells)} |" in text, cells
