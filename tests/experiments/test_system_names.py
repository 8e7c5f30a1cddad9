"""A position system has one name: in the default recipe, in a comparison and in `lw.Experiment`."""

from __future__ import annotations

from pathlib import Path

import pytest

import lengthwise as lw
from lengthwise.experiments.defaults import chosen_systems, default_experiment, default_recipe, sensible_systems
from lengthwise.positions.system import system_of
from lengthwise.tasks import TASKS

EXAMPLE = Path(__file__).parents[1] / "example_package" / "lengthwise_example" / "components.py"


@pytest.mark.parametrize("task", ["addition", "sort", "majority"])
def test_the_default_recipe_uses_the_names_of_comparisons(task: str) -> None:
    built = TASKS.build(task)
    for job in default_recipe(built).jobs:
        (system,) = chosen_systems(built, [job.name])
        assert system.name == job.name == lw.Experiment.of(job.experiment).name


@pytest.mark.parametrize("task", ["addition", "sort"])
def test_an_experiment_is_called_as_in_a_comparison(task: str) -> None:
    built = TASKS.build(task)
    for system in sensible_systems(built)[::7]:
        made = default_experiment(built, system.scheme, system.encoding, max_length=4)
        assert lw.Experiment.of(made).name == system.name


def test_components_of_a_file_go_by_the_name_of_their_class() -> None:
    made = lw.Experiment("copy", scheme=f"{EXAMPLE}:Even", encoding=f"{EXAMPLE}:HalfALiBi")
    found = system_of(made.configuration.scheme, made.configuration.encoding)
    assert found.name == made.name == "Even+HalfALiBi"
