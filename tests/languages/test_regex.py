import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.languages.automaton import language
from lengthwise.languages.regex import MAX_NESTING, Empty, Epsilon, Literal, RegexError, literals, nodes, parse, render

from .oracles import python_pattern, words_of


@pytest.mark.parametrize(
    ("text", "position", "says"),
    [
        ("", 1, "expected an expression"),
        ("a|", 3, "expected an expression"),
        ("a)", 2, "closes nothing"),
        ("(ab", 1, "never closed"),
        ("*a", 1, "nothing before it"),
        ("a[bc", 2, "never closed"),
        ("{a b}", 4, "expected ','"),
        ("{a,}", 4, "expected a symbol"),
        ("[]", 1, "empty set"),
        ("a}", 2, "closes nothing"),
        ("ab\\", 4, "escapes nothing"),
        ("(" * (MAX_NESTING + 2) + "a", MAX_NESTING + 2, "nested"),
    ],
)
def test_errors_name_the_position(text, position, says):
    with pytest.raises(RegexError, match=re.escape(says)) as caught:
        parse(text)
    assert caught.value.position == position
    assert "\n" not in str(caught.value)


def test_sets_spaces_escapes_and_constants():
    assert parse("{0,1,2}") == Literal(("0", "1", "2")) == parse("[0 1 2]")
    assert parse(r"\*") == Literal(("*",))
    assert parse("()") == parse("ε") == Epsilon()
    assert parse("∅") == Empty()
    assert parse("a b | c") == parse("ab|c")
    assert literals(parse("{a,b}*d{b,c}*")) == ("a", "b", "c", "d")
    assert len(list(nodes(parse("(ab)*")))) == 4


def expression_or_error(text):
    try:
        return parse(text)
    except RegexError as error:
        return error


@given(st.text(alphabet="ab|*+?()[]{},\\ε∅ ", max_size=20))
def test_any_text_is_an_expression_or_an_error_with_a_position(text):
    outcome = expression_or_error(text)
    if isinstance(outcome, RegexError):
        assert 1 <= outcome.position <= len(text) + 1
    else:
        assert language(render(outcome), "ab,|*+?()[]{}\\ε∅") == language(outcome, "ab,|*+?()[]{}\\ε∅")


expressions = st.recursive(
    st.sampled_from(["a", "b", "[ab]", "ε", "∅"]),
    lambda inner: st.one_of(
        st.builds("({}|{})".format, inner, inner),
        st.builds("{}{}".format, inner, inner),
        st.builds("({}){}".format, inner, st.sampled_from("*+?")),
    ),
    max_leaves=8,
)


@given(expressions)
def test_rendering_keeps_the_language(text):
    expression = parse(text)
    assert language(render(expression), "ab") == language(expression, "ab")


@given(expressions)
def test_the_language_is_that_of_pythons_regular_expressions(text):
    expression = parse(text)
    dfa = language(expression, "ab")
    pattern = re.compile(python_pattern(expression))
    for word in words_of("ab", 6):
        assert dfa.accepts(word) == bool(pattern.fullmatch(word))
