"""Laws of configuration: JSON there and back, unknown fields refused, every field in the hash."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.core.config import fields_of, from_fields
from lengthwise.core.errors import LengthwiseError
from lengthwise.evaluation.config import EvaluationConfig
from lengthwise.experiments.run_config import RunConfig
from lengthwise.experiments.run_directory import run_name
from lengthwise.models.config import ModelConfig
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import SCHEMES, scheme_with_ids
from lengthwise.tasks import TASKS
from lengthwise.training.config import TrainingConfig

COMPONENTS = [
    *(
        pytest.param(registry, name, id=f"{registry.kind}-{name}")
        for registry in (TASKS, SCHEMES, ENCODINGS)
        for name in registry
    )
]
CONFIGS = [ModelConfig, TrainingConfig, EvaluationConfig]
BASE = RunConfig.from_json(
    {"task": "addition", "scheme": "predictive-coupling", "encoding": "fire", "training": {"priming_length": 20}}
)

models = st.builds(
    ModelConfig,
    layers=st.integers(1, 4),
    heads=st.just(4),
    width=st.sampled_from([16, 64]),
    qk_norm=st.booleans(),
    log_length=st.none() | st.integers(2, 99),
    norm=st.sampled_from(["rms", "layer"]),
    dropout=st.floats(0, 0.9),
)
trainings = st.builds(
    TrainingConfig,
    max_length=st.integers(1, 50),
    steps=st.integers(1, 10**6),
    lr=st.floats(1e-9, 1),
    betas=st.tuples(st.floats(0, 0.99), st.floats(0, 0.999)),
    decay=st.sampled_from(["cosine", "linear", "constant"]),
)
evaluations = st.builds(
    EvaluationConfig,
    lengths=st.lists(st.integers(1, 999), max_size=5, unique=True).map(tuple),
    samples=st.integers(1, 500),
)
components = {
    "task": st.sampled_from([TASKS.build(name) for name in TASKS]),
    "scheme": st.sampled_from([scheme_with_ids(name, p) for name in SCHEMES for p in (7, 99)]),
    "encoding": st.sampled_from([ENCODINGS.build(name) for name in ENCODINGS]),
}
experiments = st.builds(RunConfig, **components, model=models, training=trainings, evaluation=evaluations)


@given(experiments)
def test_experiments_come_back_from_json(experiment: RunConfig):
    text = json.dumps(experiment.to_json(), allow_nan=False)
    again = RunConfig.from_json(json.loads(text))
    assert again == experiment
    assert run_name(again, 3) == run_name(experiment, 3)
    assert again.to_json() == json.loads(text)


@given(experiments, experiments, st.integers(0, 3), st.integers(0, 3))
def test_keys_are_equal_exactly_for_equal_runs(first: RunConfig, second: RunConfig, one: int, two: int):
    assert (run_name(first, one) == run_name(second, two)) == ((first, one) == (second, two))


@pytest.mark.parametrize(("registry", "name"), COMPONENTS)
def test_components_come_back_and_refuse_unknown_fields(registry, name: str):
    component = registry.build(name)
    description = json.loads(json.dumps(registry.describe(component)))
    assert registry.build(description) == component
    with pytest.raises(LengthwiseError, match=f"unknown field of {registry.kind} .*'no_such_field'") as error:
        registry.build({**description, "no_such_field": 1})
    assert "\n" not in str(error.value)
    with pytest.raises(dataclasses.FrozenInstanceError):
        component.no_such_field = 1


@pytest.mark.parametrize("cls", CONFIGS)
def test_unknown_fields_and_wrong_types_are_refused(cls: type):
    values = fields_of(cls())
    with pytest.raises(LengthwiseError, match="unknown field of x"):
        from_fields(cls, {**values, "no_such_field": 1}, where="x")
    for name in values:
        for wrong in ({"a": 1}, "no such word"):
            with pytest.raises(LengthwiseError) as error:
                from_fields(cls, {**values, name: wrong}, where="x")
            assert name in str(error.value)
            assert "\n" not in str(error.value)


def leaves(value: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict):
        return [leaf for key, child in value.items() for leaf in leaves(child, (*path, key))]
    return [(path, value)]


CHANGES: dict[str, Any] = {
    "name": None,
    "operands": "msd_first",
    "draw": "pose",
    "norm": "layer",
    "init": "fan_in",
    "id_head": "pointer",
    "decay": "linear",
    "precision": "bf16",
    "betas": [0.5, 0.6],
    "lengths": [3],
    "log_length": 9,
    "width": 256,
    "mixer": "lstm",
    "heads": 8,
    "batch_size": 128,
    "groups": 8,
    "fit_threshold": 0.5,
    "dropout": 0.25,
    "progressive": 0.5,
    "curriculum": 0.5,
    "priming": 0.25,
}


@pytest.mark.parametrize(
    ("path", "value"), leaves(BASE.to_json()), ids=lambda leaf: ".".join(leaf) if isinstance(leaf, tuple) else None
)
def test_every_field_is_in_the_hash(path: tuple[str, ...], value: Any):
    if path[-1] == "name":
        change: Any = {"task": "copy", "scheme": "coupled", "encoding": "rope"}[path[0]]
        changed = RunConfig.from_json({**BASE.to_json(), path[0]: change})
    else:
        change = CHANGES.get(path[-1])
        if change is None or change == value:
            change = (not value) if isinstance(value, bool) else value + 1
        changed = BASE.edited([f"{'.'.join(path)}={json.dumps(change)}"])
    assert changed != BASE
    assert run_name(changed, 0) != run_name(BASE, 0)
    assert run_name(BASE, 1) != run_name(BASE, 0)
