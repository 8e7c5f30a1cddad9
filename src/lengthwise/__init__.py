"""Predict, explain and extend how far a transformer generalizes beyond the lengths it was trained on.

>>> import lengthwise as lw
>>> lw.structure("addition", "coupled", lengths=[5, 20, 100])   # doctest: +SKIP

The names below are loaded at first use, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lengthwise import core as core
    from lengthwise import crasp as crasp
    from lengthwise import evaluation as evaluation
    from lengthwise import experiments as experiments
    from lengthwise import hf as hf
    from lengthwise import influence as influence
    from lengthwise import languages as languages
    from lengthwise import models as models
    from lengthwise import nn as nn
    from lengthwise import positions as positions
    from lengthwise import prediction as prediction
    from lengthwise import report as report
    from lengthwise import sparsity as sparsity
    from lengthwise import tasks as tasks
    from lengthwise import testing as testing
    from lengthwise import training as training
    from lengthwise.api.compare import compare as compare
    from lengthwise.api.components import available as available
    from lengthwise.api.components import encoding as encoding
    from lengthwise.api.components import register as register
    from lengthwise.api.components import scheme as scheme
    from lengthwise.api.components import task as task
    from lengthwise.api.experiment import Experiment as Experiment
    from lengthwise.api.explain import decide as decide
    from lengthwise.api.explain import predict as predict
    from lengthwise.api.explain import show as show
    from lengthwise.api.explain import structure as structure
    from lengthwise.api.model import load as load
    from lengthwise.api.result import Result as Result
    from lengthwise.api.result import results as results
    from lengthwise.core.config import config as config
    from lengthwise.core.errors import LengthwiseError as LengthwiseError
    from lengthwise.core.rng import stream as stream
    from lengthwise.core.user_code import load_code as load_code
    from lengthwise.evaluation.config import EvaluationConfig as EvaluationConfig
    from lengthwise.experiments.recipe import RECIPES as RECIPES
    from lengthwise.experiments.recipe import Candidates as Candidates
    from lengthwise.experiments.recipe import Job as Job
    from lengthwise.experiments.recipe import Preset as Preset
    from lengthwise.experiments.recipe import Recipe as Recipe
    from lengthwise.experiments.recipe import Study as Study
    from lengthwise.experiments.recipe import study as study
    from lengthwise.experiments.run_config import RunConfig as RunConfig
    from lengthwise.models.config import ModelConfig as ModelConfig
    from lengthwise.models.extension import extend as extend
    from lengthwise.positions import encodings as encodings
    from lengthwise.positions import schemes as schemes
    from lengthwise.tasks.base import Task as Task
    from lengthwise.training.config import TrainingConfig as TrainingConfig

__version__ = "0.1.0.dev0"

_HOMES = {
    "Candidates": "lengthwise.experiments.recipe",
    "EvaluationConfig": "lengthwise.evaluation.config",
    "Experiment": "lengthwise.api.experiment",
    "Job": "lengthwise.experiments.recipe",
    "LengthwiseError": "lengthwise.core.errors",
    "ModelConfig": "lengthwise.models.config",
    "Preset": "lengthwise.experiments.recipe",
    "RECIPES": "lengthwise.experiments.recipe",
    "Recipe": "lengthwise.experiments.recipe",
    "Result": "lengthwise.api.result",
    "RunConfig": "lengthwise.experiments.run_config",
    "Study": "lengthwise.experiments.recipe",
    "Task": "lengthwise.tasks.base",
    "TrainingConfig": "lengthwise.training.config",
    "available": "lengthwise.api.components",
    "compare": "lengthwise.api.compare",
    "config": "lengthwise.core.config",
    "decide": "lengthwise.api.explain",
    "encoding": "lengthwise.api.components",
    "extend": "lengthwise.models.extension",
    "load": "lengthwise.api.model",
    "load_code": "lengthwise.core.user_code",
    "predict": "lengthwise.api.explain",
    "register": "lengthwise.api.components",
    "results": "lengthwise.api.result",
    "scheme": "lengthwise.api.components",
    "show": "lengthwise.api.explain",
    "stream": "lengthwise.core.rng",
    "structure": "lengthwise.api.explain",
    "study": "lengthwise.experiments.recipe",
    "task": "lengthwise.api.components",
}
"""The module of each public name."""
_MODULES = {
    **{name: name for name in (
        "core", "crasp", "evaluation", "experiments", "hf", "influence", "languages", "models", "nn", "positions",
        "prediction", "report", "sparsity", "tasks", "testing", "training",
    )},
    "encodings": "positions.encodings",
    "schemes": "positions.schemes",
}  # fmt: skip
"""The module of each public module, below this package."""

__all__ = ["__version__", *_HOMES, *_MODULES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"lengthwise.{_MODULES[name]}")
    if name not in _HOMES:
        raise AttributeError(f"module 'lengthwise' has no attribute {name!r}; it has {', '.join(__all__)}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
