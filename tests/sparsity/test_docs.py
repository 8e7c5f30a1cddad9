import doctest
from pathlib import Path

from lengthwise.sparsity.heads.counterexamples import counterexamples

PAGE = Path(__file__).parents[2] / "docs" / "sparsity.md"


def test_what_the_page_shows_is_run():
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert result.attempted > 5
    assert result.failed == 0


def test_the_printed_counterexamples_are_the_found_ones():
    text = PAGE.read_text(encoding="utf-8")
    for example in counterexamples():
        assert example.render() in text
