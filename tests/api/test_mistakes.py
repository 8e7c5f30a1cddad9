"""What a newcomer gets wrong in a notebook is one clear line, and the names mean what they mean on the command line."""

from __future__ import annotations

from typing import Any

import pytest

import lengthwise as lw
from lengthwise.core.config import config, one_line_errors
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.table import Table


@config
class Small:
    steps: int = 1


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: lw.decide("parity"), "'parity' is a task, but `lengthwise decide` takes regular languages"),
        (lambda: lw.decide("abc"), "a word is written regex:abc"),
        (lambda: lw.decide("(ab"), "(ab"),
        (lambda: lw.predict("aditon"), "Did you mean 'addition'?"),
        (lambda: lw.structure("additon"), "Did you mean 'addition'?"),
        (lambda: lw.Experiment("addition", scheme="copled"), "Did you mean 'coupled'?"),
        (lambda: lw.Experiment("addition", encoding="rotary"), "Did you mean 'rope'?"),
        (lambda: lw.Experiment("addition", steps=0), "steps must be at least 1, got 0"),
        (lambda: lw.Experiment("addition", max_length=0), "max_length must be at least 1, got 0"),
        (lambda: lw.Experiment("addition", model={"widht": 8}), "Did you mean 'width'?"),
        (lambda: lw.Experiment("addition", lenght=3), "Experiment has no setting 'lenght'"),
        (lambda: lw.Experiment("addition").run(seeds="3"), "seeds must be a number from 1 or a list of whole numbers"),
        (lambda: lw.Experiment("addition").run(seeds=0), "seeds must be a number from 1 or a list of whole numbers"),
        (
            lambda: lw.Experiment("addition").run(seeds=[-1]),
            "seeds must be whole numbers from 0, below 2**53, got [-1]",
        ),
        (lambda: lw.compare("addition", budget="soon"), "must be a time such as 90s, 10m or 1h, got 'soon'"),
        (lambda: lw.results("nowhere"), "no results at nowhere; check the path"),
        (lambda: lw.load("nowhere"), "nowhere"),
    ],
)
def test_a_mistake_is_one_line(call: Any, says: str) -> None:
    with pytest.raises(LengthwiseError) as raised:
        call()
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_value_of_the_wrong_type_is_one_line() -> None:
    says = "Experiment: steps: input should be a valid integer, got 'many'"
    with pytest.raises(LengthwiseError, match=says), one_line_errors("Experiment"):
        Small(steps="many")  # type: ignore[arg-type]


def test_published_languages_and_prefixes_are_read_as_by_the_command() -> None:
    assert lw.decide("regex:abc").decision.regex == "abc"
    assert lw.decide("Tomita-2").answer("nope") == lw.decide("(10)*", "01").answer("nope")


def test_a_table_without_rows_is_latex_that_compiles() -> None:
    text = Table(("system", "length"), ()).to_latex()
    assert text.startswith("\\begin{tabular}{ll}")
    assert Table(("a",), (("1",),)).to_latex().startswith("\\begin{tabular}{l}")
