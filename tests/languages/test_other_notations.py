"""What other notations of regular expressions have and this one has not is refused, never read as something else."""

from __future__ import annotations

import re

import pytest

from lengthwise.core.errors import LengthwiseError
from lengthwise.languages.automaton import language
from lengthwise.languages.regex import parse, render

from .oracles import words_of


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2{0,1}*", "character 2: \\{0,1\\} is a count elsewhere and a set of symbols in textbooks"),
        ("{a,b}*{0,1}", "a count behind another repetition"),
        ("a{0,1}*", "'\\*' behind the count \\{0,1\\}"),
        ("a{2}{3}", "'{' behind the count"),
        ("a{3}?", "'\\?' behind the count"),
        ("a{3,2}", "write the smaller number first"),
        ("a{2001}", "more than 2000 times"),
        ("((a{40}){40}){40}", "more than 2000 symbols"),
        ("ab*?", "'\\*\\?' would be a lazy repetition"),
        ("a+?", "lazy"),
        ("a??", "lazy"),
        ("a*+", "possessive"),
        ("a++", "possessive"),
        ("[^a]b", "character 2: '\\[\\^' would be every symbol but these"),
        ("[[:alpha:]]", "named class"),
        ("[a&&b]", "operation on sets"),
        ("(?=a)b", "character 2: '\\(\\?=' would be lookahead"),
        ("(?!a)b", "negative lookahead"),
        ("(?<=a)b", "would be lookbehind"),
        ("(?<!a)b", "negative lookbehind"),
        ("(?P<x>a)", "a named group"),
        ("(?<x>a)", "a named group"),
        ("(?P=x)", "a back reference"),
        ("(?>a)", "an atomic group"),
        ("(?#a)", "a comment"),
        ("(?i)a", "a flag"),
        ("(*ACCEPT)a", "an instruction"),
        (r"(a)\1", "a back reference"),
        (r"\bab", "a place without a symbol"),
        (r"\p{L}", "a class of symbols"),
        (r"\x41", "a symbol by its number"),
        ("a∪b", "a union elsewhere"),
        ("a·b", "side by side"),
        ("a³", "a power"),
        ("a^3", "a power"),
        ("λ", "empty word"),
        ("Σ*a", "any symbol"),
        ("/ab*/", "another notation"),
        ("'(ab)*'", "another notation"),
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


@pytest.mark.parametrize(("several", "one"), [("a**", "a*"), ("a?*", "a*"), ("a+*", "a*")])
def test_stars_in_a_row_are_one(several: str, one: str) -> None:
    assert parse(several) == parse(one)
    assert parse("a" + "*" * 2000) == parse("a*")


@pytest.mark.parametrize(
    "text", ["(a{2,2})*", "a{2,3}b", "a{2}", "(ab){12}", "a{0}b", "a{0,1}", "a{2,}b", "a{,2}b", "(a|b{2}){1,3}",
             "[ab]{3}", "(?:ab){2}", "(a{2}){3}", "a{1}", "({a,b}){2}"]
)  # fmt: skip
def test_counts_mean_what_they_mean_in_python(text: str) -> None:
    """By Python's own regular expressions, on all words of up to 8 symbols."""
    dfa = language(text, "ab")
    pattern = re.compile(text.replace("{a,b}", "[ab]"))
    for word in words_of("ab", 8):
        assert dfa.accepts(word) == bool(pattern.fullmatch("".join(word))), word
    assert language(render(parse(text)), "ab") == dfa


def test_spaces_are_no_symbols() -> None:
    with pytest.raises(LengthwiseError, match="spaces mean nothing"):
        language("a*", "a b")
