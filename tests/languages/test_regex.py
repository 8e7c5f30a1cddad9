import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lengthwise.languages.automaton import language
from lengthwise.languages.regex import MAX_NESTING, Empty, Epsilon, Literal, RegexError, literals, nodes, parse, render

from .oracles import python_pattern, words_of


@pytest.mark.parametrize(
    ("text", "position", "says"),
    [
        ("", 1, "expected an expression"),
        ("( )|()()(?:)", 12, "expected an expression"),
        ("a|", 2, "'|' has nothing after it"),
        ("(a| )", 3, "'|' has nothing after it"),
        ("|a", 1, "'|' has nothing before it"),
        ("a||b", 2, "'|' has nothing after it"),
        ("a(|b)", 3, "'|' has nothing before it"),
        ("a)", 2, "closes nothing"),
        ("(ab", 1, "never closed"),
        ("*a", 1, "nothing before it"),
        ("a[bc", 2, "never closed"),
        ("{a b}", 4, "expected ','"),
        ("{a,}", 4, "expected a symbol"),
        ("[]", 1, "empty set"),
        ("a}", 2, "closes nothing"),
        ("ab\\", 4, "escapes nothing"),
        ("(" * (MAX_NESTING + 2) + "a" + ")" * (MAX_NESTING + 2), MAX_NESTING + 2, "nested"),
        # A forgotten bracket comes before what looks wrong behind it.
        ("[012*", 1, "'[' is never closed"),
        ("[ab(c)*", 1, "'[' is never closed"),
        ("[a[b]*", 1, "'[' is never closed"),
        ("[ab\\]", 1, "'[' is never closed"),
        ("(a|*", 1, "'(' is never closed"),
        ("((a)", 1, "'(' is never closed"),
        ("b{2,", 2, "'{' is never closed"),
        ("{0,1*", 1, "'{' is never closed"),
        ("(b{2)", 3, "'{' is never closed"),
        ("a*)*", 3, "')' closes nothing"),
        ("(ab]", 4, "']' closes nothing within the '(' of character 1"),
        ("a+?:b)", 6, "')' closes nothing"),
        (")", 1, "')' closes nothing"),
        ("b?*)", 4, "')' closes nothing"),
        ("b2,3}", 5, "'}' closes nothing"),
        ("b|*", 3, "'*' has nothing before it"),
        ("(+b)", 2, "'+' has nothing before it"),
        ("?", 1, "'?' has nothing before it"),
        ("[b∅]", 3, "'∅' has a meaning of its own"),
        ("{,b}", 2, "',' has no symbol before it"),
        ("{a,,b}", 4, "',' has no symbol before it"),
        ("b{,}", 3, "',' has no symbol before it"),
        ("{}", 1, "empty set"),
    ],
)
def test_errors_name_the_position(text, position, says):
    with pytest.raises(RegexError, match=re.escape(says)) as caught:
        parse(text)
    assert caught.value.position == position
    assert "\n" not in str(caught.value)


def test_sets_spaces_escapes_and_constants():
    assert parse("{0,1,2}") == Literal(("0", "1", "2")) == parse("[0 1 2]")
    assert parse(r"\*") == Literal(("*",)) == parse("[*]")
    assert parse("[+-]") == Literal(("+", "-"))
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


with_brackets = st.recursive(
    st.sampled_from(["a", "b", "[ab]", "{a,b}", r"\(", r"\]", r"\\", r"[a\]]", "ε", "(?:ab)"]),
    lambda inner: st.one_of(
        st.builds("({}|{})".format, inner, inner),
        st.builds("{} {}".format, inner, inner),
        st.builds("({}){}".format, inner, st.sampled_from(["*", "+", "?", "{2,3}", "{,1}"])),
    ),
    max_leaves=6,
)


@given(with_brackets, st.data())
def test_a_dropped_bracket_is_what_the_error_names(text: str, data: st.DataObject) -> None:
    assume(not isinstance(expression_or_error(text), RegexError))  # as a set behind a count
    brackets = [i for i, c in enumerate(text) if c in "()[]{}" and not re.search(r"\\$", text[:i].replace("\\\\", ""))]
    if brackets:
        dropped = data.draw(st.sampled_from(brackets))
        outcome = expression_or_error(text[:dropped] + text[dropped + 1 :])
        assert isinstance(outcome, RegexError)
        assert re.search(r"character \d+: '[][(){}]' (is never closed|closes nothing)", str(outcome)), (text, outcome)


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
