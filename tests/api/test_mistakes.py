"""What a newcomer gets wrong in a notebook is one clear line, and the names mean what they mean on the command line."""

from __future__ import annotations

import inspect
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lengthwise as lw
from lengthwise.core.config import config, one_line_errors
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.table import Table
from lengthwise.models.extension import extension_spec
from lengthwise.tasks.copying import Copy


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
        (
            lambda: lw.Experiment(lw.task("copy", letters=16), max_length=4, test_lengths=[4, 24]),
            "task 'copy' has no instances of length 24; use 16 or less",
        ),
        (
            lambda: lw.Experiment("copy", evaluation={"lengths": [900]}),
            "task 'copy' has no instances of length 900; use ",
        ),
        (
            lambda: lw.run("(aa)*", encodings=["nope"], max_length=4, test_lengths=[9], out="never"),
            "has no instances of length 9; use 8 or 10",
        ),
        (lambda: lw.Experiment("addition").run(seeds="3"), "seeds must be a list of whole numbers"),
        (lambda: lw.Experiment("addition").run(seeds=0), "seeds must be at least 1, got 0"),
        (
            lambda: lw.Experiment("addition").run(seeds=[-1]),
            "seeds must be whole numbers from 0, below 2**53, got [-1]",
        ),
        (lambda: lw.compare("addition", budget="soon"), "must be a time such as 90s, 10m or 1h, got 'soon'"),
        (lambda: lw.results("nowhere"), "no results at nowhere"),
        (lambda: lw.load("nowhere"), "nowhere"),
        (lambda: lw.task(3), "a task is a name, a Task or {'name': …}, got 3"),
        (lambda: lw.task(None), "a task is a name, a Task or {'name': …}, got None"),
        (lambda: lw.task(Copy), "Copy is a class; give an object, such as Copy()"),
        (lambda: lw.structure("copy", 7), "a scheme is a name, a PositionScheme or {'name': …}, got 7"),
        (lambda: lw.structure("copy", lengths=[]), "lengths is empty; give at least one number"),
        (lambda: lw.structure("copy", lengths=5), "lengths must be a list of whole numbers, such as [5, 10], got 5"),
        (lambda: lw.structure("copy", lengths=[2.5]), "lengths must be a whole number, got 2.5"),
        (lambda: lw.structure("copy", seed="x"), "seed must be a whole number, got 'x'"),
        (lambda: lw.show("copy", length="5"), "length must be a whole number, got '5'"),
        (lambda: lw.predict("copy", encoding=7), "encoding must be a list of names, such as ['nope', 'rope']"),
        (lambda: lw.predict("copy", encoding=[1]), "each of encoding must be a string, got 1"),
        (lambda: lw.predict("copy", scheme=7), "scheme must be a string, got 7"),
        (lambda: lw.predict("copy", "forty"), "train must be a whole number, got 'forty'"),
        (lambda: lw.predict("copy", 40, 20), "test must be longer than `train`, got 20 after 40"),
        (lambda: lw.predict("copy", encoding=["nope", "rope"], probe="2m"), "probe is of one system, got nope, rope"),
        (lambda: lw.predict("copy", encoding="nope", out=3), "out must be a path, got 3"),
        (lambda: lw.recipe("demo", scheme="modulo"), "scheme is for a task or an expression; recipe 'demo' has its"),
        (lambda: lw.recipe("(aa)*", scheme="modlo"), "unknown scheme 'modlo'. Did you mean 'modulo'?"),
        (lambda: lw.recipe("(aa)*", encodings=["ropee"]), "Did you mean 'rope'?"),
        (lambda: lw.recipe("(aa)*", max_length=0), "max_length must be at least 1, got 0"),
        (lambda: lw.recipe("(aa)*", changes=["scheme.m=2"], scheme="coupled"), "m"),
        (lambda: lw.predict(5), "a task is a name, a Task or {'name': …}, got 5"),
        (lambda: lw.decide(None), "target must be a string, got None"),
        (lambda: lw.decide("(ab)*", 5), "alphabet must be a string, got 5"),
        (lambda: lw.available().names("task"), "unknown kind 'task'. Did you mean 'tasks'?"),
        (lambda: lw.Experiment("copy", max_length="6"), "max_length must be a whole number, got '6'"),
        (lambda: lw.Experiment("copy", test_lengths=[]), "test_lengths is empty; give at least one number"),
        (lambda: lw.Experiment("copy", steps=True), "steps must be a whole number, got True"),
        (lambda: lw.Experiment("copy").run(jobs=0), "jobs must be at least 1, got 0"),
        (lambda: lw.Experiment("copy").run(out=3), "out must be a path, got 3"),
        (lambda: lw.compare("copy", budget="9" * 400 + "h"), "budget must be at most 1,000h, got 999"),
        (lambda: lw.compare("copy", budget=math.inf), "budget must be a number above 0, got inf"),
        (lambda: lw.compare("copy", budget=None), "budget must be a number above 0, got None"),
        (lambda: lw.compare("copy", seeds=1.5), "seeds must be a whole number, got 1.5"),
        (lambda: lw.compare("copy", systems="rope"), "systems must be a list of names"),
        (lambda: lw.load(None), "source must be a path, got None"),
        (lambda: lw.results(None), "folder must be a path, got None"),
        (lambda: lw.load_code("nowhere.py"), "no file nowhere.py; write the path of a Python file"),
        (lambda: extension_spec("yarn", factor=math.nan, length=8), "factor must be a number above 0, got nan"),
        (lambda: extension_spec("self-extend", factor=math.inf, length=8), "factor must be a number above 0, got inf"),
        (lambda: extension_spec("yarn", length="8"), "length must be a whole number, got '8'"),
    ],
)
def test_a_mistake_is_one_line(call: Any, says: str) -> None:
    with pytest.raises(LengthwiseError) as raised:
        call()
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


def test_numbers_of_numpy_are_numbers() -> None:
    found = lw.structure("copy", lengths=np.array([5, 10]), seed=np.int64(0))
    assert found.rows == lw.structure("copy", lengths=[5, 10]).rows
    assert (
        lw.Experiment("copy", max_length=np.int64(4)).configuration == lw.Experiment("copy", max_length=4).configuration
    )


def test_a_value_of_the_wrong_type_is_one_line() -> None:
    says = "Experiment: steps must be a whole number, got 'many'"
    with pytest.raises(LengthwiseError, match=says), one_line_errors("Experiment"):
        Small(steps="many")  # type: ignore[arg-type]


def test_published_languages_and_prefixes_are_read_as_by_the_command() -> None:
    assert lw.decide("regex:abc").decision.regex == "abc"
    assert lw.decide("Tomita-2").answer("nope") == lw.decide("(10)*", "01").answer("nope")


def test_a_training_length_beyond_which_a_task_has_no_strings() -> None:
    with pytest.raises(LengthwiseError, match=r"no strings longer than 150, so none to test beyond max_length=200"):
        lw.Experiment("copy", max_length=200)
    assert lw.Experiment("copy", max_length=100).configuration.evaluation.lengths == (100, 150)


def test_a_table_without_rows_is_latex_that_compiles() -> None:
    text = Table(("system", "length"), ()).to_latex()
    assert text.splitlines()[1] == "\\begin{tabular}{ll}"
    assert Table(("a",), (("1",),)).to_latex().splitlines()[1] == "\\begin{tabular}{l}"


@pytest.mark.parametrize("name", [n for n in lw.__all__ if inspect.isroutine(made := getattr(lw, n)) or
                                  (inspect.isclass(made) and made not in (LengthwiseError, lw.Task))])  # fmt: skip
def test_a_public_function_or_class_names_the_argument_that_was_meant(name: str) -> None:
    function = getattr(lw, name)
    parameters = inspect.signature(function).parameters.values()
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return
    given = [None for each in parameters if each.default is each.empty]
    with pytest.raises(LengthwiseError, match=f"argument of {name} 'x_known'"):
        function(*given, x_known=1)


def test_a_misspelt_argument_has_a_suggestion() -> None:
    with pytest.raises(LengthwiseError, match=r"unknown argument of predict 'tst'\. Did you mean 'test'\?"):
        lw.predict(tst=200)  # type: ignore[call-arg]


def test_an_error_shows_the_callers_line_and_none_of_the_package_but_the_edge() -> None:
    with pytest.raises(LengthwiseError) as caught:
        lw.structure("additon")
    assert [entry.name for entry in caught.traceback[1:]] == ["call"]


def test_an_error_in_code_of_the_user_shows_where() -> None:
    def progress(line: str) -> None:
        raise LengthwiseError("stop")

    with pytest.raises(LengthwiseError) as caught:
        lw.couple("addition", progress=progress)
    assert caught.traceback[-1].name == "progress"


def test_the_folder_of_an_interrupted_stack_says_what_it_is(tmp_path: Path) -> None:
    (folder := tmp_path / "stack-0123456789ab-1").mkdir()
    for read in (lw.load, lw.results):
        with pytest.raises(LengthwiseError, match="interrupted, so it has no results; the same command goes on"):
            read(folder)
