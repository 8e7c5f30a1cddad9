import pytest

from lengthwise.core.errors import LengthwiseError
from lengthwise.crasp.interpreter import generate
from lengthwise.crasp.syntax import parse


def test_mistakes_are_named() -> None:
    with pytest.raises(LengthwiseError, match="only a program with NEXT lines can generate"):
        generate(parse("alphabet: a\naccept := true"), ["a"])
    with pytest.raises(LengthwiseError, match="after <bos> a, a and b may come next"):
        generate(parse("alphabet: a b\nNEXT a := true\nNEXT b := Q_a"), ["a"])
    with pytest.raises(LengthwiseError, match="after <bos> a b, no symbol may come next"):
        generate(parse("alphabet: a b\nNEXT b := Q_a"), ["a"])
    with pytest.raises(LengthwiseError, match="not stopped after 5 symbols"):
        generate(parse("alphabet: a\nNEXT a := true"), [], limit=5)
    with pytest.raises(LengthwiseError, match="'c' is not in the program's alphabet"):
        generate(parse("alphabet: a\nNEXT a := true"), ["c"])
    with pytest.raises(LengthwiseError, match="prompt of length >= 1"):
        generate(parse("alphabet: a\nbos: false\nNEXT a := true"), [])


def test_without_bos_the_prompt_comes_first() -> None:
    program = parse("alphabet: a b\nbos: false\nNEXT b := #b < #a\nNEXT EOS := #b >= #a")
    assert generate(program, ["a", "a", "a"]) == ["b", "b", "b"]
