"""A wrong call of any public method of a result is one line that names the rule, never an error of Python."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_up import experiment, result
from made_up_pages import comparison_values

import lengthwise as lw
from lengthwise.api.compare import Comparison
from lengthwise.core.errors import LengthwiseError
from lengthwise.report.summary import SeedResult


def _result() -> lw.Result:
    """Two systems of made-up runs."""
    of = {"a": experiment(), "b": experiment("sequential")}
    made = [result(name, seed, config=config) for name, config in of.items() for seed in (0, 1)]
    return lw.Result([(Path(f"run-{at}"), SeedResult.of(values)) for at, values in enumerate(made)])


RESULTS: list[Callable[[], Any]] = [
    _result, lambda: _result().accuracy(), lambda: _result().wide(), lambda: _result().plot(), lw.available,
    lambda: Comparison(comparison_values(), Path()), lambda: lw.structure("copy"), lambda: lw.show("copy"),
    lambda: lw.decide("(ab)*"), lambda: lw.predict("copy"), lambda: lw.Experiment("copy"), lambda: lw.check("copy"),
]  # fmt: skip
"""Results of every kind that is quick to make."""
BAD = (3, -1.5, math.nan, "", "no such", (3.25,), (0, 2), {3: 4}, {"a": ""}, [None], object())


def test_an_argument_that_an_experiment_lacks_is_one_line() -> None:
    with pytest.raises(LengthwiseError, match=r"argument of Experiment 'step'. Did you mean 'steps'"):
        lw.Experiment("copy", step=10)  # type: ignore[call-arg]
    with pytest.raises(LengthwiseError, match=r"seeds is an argument of run"):
        lw.Experiment("copy", seeds=3)  # type: ignore[call-arg]


def test_a_scheme_that_several_systems_have_chooses_none() -> None:
    """It is short for one of them, and the others would be left out unsaid."""
    made = [
        result(f"{scheme}+{encoding}", config=experiment(scheme, encoding))
        for scheme, encoding in (("coupled", "learned"), ("coupled", "local-bias"), ("sequential", "rope"))
    ]
    found = lw.Result([(Path(f"run-{at}"), SeedResult.of(values)) for at, values in enumerate(made)])
    for call in (lambda: found.only(systems=["coupled"]), lambda: found.wide(labels={"coupled": "ours"}),
                 lambda: found.differences(against="coupled")):  # fmt: skip
        with pytest.raises(
            LengthwiseError, match=r"'coupled' may be coupled\+learned or coupled\+local-bias; give one"
        ):
            call()
    assert found.only(systems=["coupled+learned", "rope"]).only(systems=["coupled"]).systems.names == (
        "coupled+learned",
    )


@pytest.mark.parametrize("make", RESULTS)
def test_no_method_of_a_result_fails_with_an_error_of_python(
    make: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any value in place of any argument: an answer, or one line; too many, and one that it has not: one line."""
    monkeypatch.chdir(tmp_path)
    found = make()
    of = {base for base in type(found).__mro__ if base.__module__.startswith("lengthwise")}
    named = {
        name
        for base in of
        for name, value in vars(base).items()
        if inspect.isfunction(value) and value.__module__.startswith("lengthwise")
    }
    methods = {
        name: getattr(found, name) for name in named if not name.startswith("_") and name not in ("run", "tip_id")
    }
    assert {"to_latex", "table"} & methods.keys() or "savefig" in methods
    for name, method in methods.items():
        parameters = [
            each for each in inspect.signature(method).parameters.values()
            if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
        ]  # fmt: skip
        needed = {each.name: "x" for each in parameters if each.default is each.empty}
        calls = [needed | {each.name: value} for each in parameters for value in BAD]
        said = list[str]()
        for options in calls:
            try:
                method(**options)
            except LengthwiseError as error:
                said.append(str(error))
        assert not any("\n" in line for line in said)
        with pytest.raises(LengthwiseError):
            method(*range(20))
        if not any(each.kind == each.VAR_KEYWORD for each in inspect.signature(method).parameters.values()):
            with pytest.raises(LengthwiseError, match=f"unknown argument of {name} 'no_such'"):
                method(**needed, no_such=1)
