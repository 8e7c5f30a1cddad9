"""What other notations of regular expressions have and this one has not is refused, never read as something else."""

from __future__ import annotations

import pytest

from lengthwise.core.errors import LengthwiseError
from lengthwise.languages.automaton import language
from lengthwise.languages.regex import parse, render


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a{2}", "character 2: \\{2\\} would be a count elsewhere"),
        ("(ab){12}", "would be a count elsewhere|expected ',' or '}'"),
        ("[a-c]*", "character 3: '-' between symbols would be a range"),
        ("^ab", "character 1: '\\^' would be the start"),
        ("ab$", "character 3: '\\$' would be the end"),
        ("a.b", "character 2: '\\.' would be any symbol"),
        ("[.]", "would be any symbol"),
        ("\\d*", "\\\\d is no escape here"),
        ("a\\n", "\\\\n is no escape here"),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(LengthwiseError, match=message):
        parse(text)


@pytest.mark.parametrize(
    ("text", "alphabet"),
    [
        ("{0,1,2}*02*", "012"),
        ("{2}a", "2a"),
        ("(a|{2})", "2a"),
        ("[a-]", "-a"),
        ("[-a]", "-a"),
        ("[a\\-c]", "-ac"),
        ("a-c", "-ac"),
        ("\\.\\$\\^", "$.^"),
        ("{a,-,b}", "-ab"),
        ("\\,", ","),
    ],
)
def test_still_read(text: str, alphabet: str) -> None:
    dfa = language(text)
    assert "".join(dfa.alphabet) == alphabet
    assert language(render(parse(text))) == dfa


@pytest.mark.parametrize(
    ("several", "one"), [("a**", "a*"), ("a+?", "a*"), ("a?+", "a*"), ("a++", "a+"), ("a??", "a?")]
)
def test_operators_in_a_row_are_one(several: str, one: str) -> None:
    assert parse(several) == parse(one)
    assert parse("a" + "*+" * 2000) == parse("a*")


def test_spaces_are_no_symbols() -> None:
    with pytest.raises(LengthwiseError, match="spaces mean nothing"):
        language("a*", "a b")
