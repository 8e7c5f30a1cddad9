"""Predict, explain and extend how far a transformer generalizes beyond the lengths it was trained on.

>>> import lengthwise as lw
>>> lw.structure("addition", "coupled", lengths=[5, 20, 100])   # doctest: +SKIP

The names below are loaded at first use, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lengthwise import core as core
    from lengthwise import crasp as crasp
    from lengthwise import evaluation as evaluation
    from lengthwise import experiments as experiments
    from lengthwise import explanation as explanation
    from lengthwise import forecast as forecast
    from lengthwise import hf as hf
    from lengthwise import influence as influence
    from lengthwise import languages as languages
    from lengthwise import measured as measured
    from lengthwise import models as models
    from lengthwise import nn as nn
    from lengthwise import positions as positions
    from lengthwise import prediction as prediction
    from lengthwise import report as report
    from lengthwise import sparsity as sparsity
    from lengthwise import tasks as tasks
    from lengthwise import testing as testing
    from lengthwise import training as training
    from lengthwise.api.audit import audit_model as audit_model
    from lengthwise.api.audit import endpoint as endpoint
    from lengthwise.api.audit import export_task as export_task
    from lengthwise.api.cluster import Cluster as Cluster
    from lengthwise.api.compare import Comparison as Comparison
    from lengthwise.api.compare import Verification as Verification
    from lengthwise.api.compare import compare as compare
    from lengthwise.api.compare import verify as verify
    from lengthwise.api.components import available as available
    from lengthwise.api.components import check as check
    from lengthwise.api.components import encoding as encoding
    from lengthwise.api.components import register as register
    from lengthwise.api.components import scheme as scheme
    from lengthwise.api.components import task as task
    from lengthwise.api.experiment import Experiment as Experiment
    from lengthwise.api.experiment import plan as plan
    from lengthwise.api.experiment import read_recipe as read_recipe
    from lengthwise.api.experiment import recipe as recipe
    from lengthwise.api.experiment import run as run
    from lengthwise.api.explain import explain as explain
    from lengthwise.api.explore import explore as explore
    from lengthwise.api.influence import measure_influence as measure_influence
    from lengthwise.api.influence import measure_longer_contexts as measure_longer_contexts
    from lengthwise.api.influence import train_language_model as train_language_model
    from lengthwise.api.model import load as load
    from lengthwise.api.programs import compile_program as compile_program
    from lengthwise.api.programs import learn_program as learn_program
    from lengthwise.api.programs import read_program as read_program
    from lengthwise.api.programs import run_program as run_program
    from lengthwise.api.result import Accuracy as Accuracy
    from lengthwise.api.result import Result as Result
    from lengthwise.api.result import results as results
    from lengthwise.api.result import write_report as write_report
    from lengthwise.api.theory import Decision as Decision
    from lengthwise.api.theory import Example as Example
    from lengthwise.api.theory import Structure as Structure
    from lengthwise.api.theory import check_certificates as check_certificates
    from lengthwise.api.theory import couple as couple
    from lengthwise.api.theory import decide as decide
    from lengthwise.api.theory import predict as predict
    from lengthwise.api.theory import show as show
    from lengthwise.api.theory import structure as structure
    from lengthwise.audit.questions import AuditPlan as AuditPlan
    from lengthwise.audit.scoring import Scoring as Scoring
    from lengthwise.core.config import config as config
    from lengthwise.core.errors import LengthwiseError as LengthwiseError
    from lengthwise.core.rng import stream as stream
    from lengthwise.core.user_code import load_code as load_code
    from lengthwise.core.vocab import Vocab as Vocab
    from lengthwise.evaluation.config import EvaluationConfig as EvaluationConfig
    from lengthwise.experiments.recipe import RECIPES as RECIPES
    from lengthwise.experiments.recipe import Candidates as Candidates
    from lengthwise.experiments.recipe import Job as Job
    from lengthwise.experiments.recipe import Recipe as Recipe
    from lengthwise.experiments.recipe import Study as Study
    from lengthwise.experiments.recipe import study as study
    from lengthwise.experiments.run_config import RunConfig as RunConfig
    from lengthwise.forecast.answer import Instead as Instead
    from lengthwise.forecast.answer import SystemForecast as SystemForecast
    from lengthwise.forecast.forecasts import Forecasts as Forecasts
    from lengthwise.measured.cells import evidence as evidence
    from lengthwise.models.config import ModelConfig as ModelConfig
    from lengthwise.models.extension import extend as extend
    from lengthwise.positions import encodings as encodings
    from lengthwise.positions import schemes as schemes
    from lengthwise.positions.system import PositionSystem as PositionSystem
    from lengthwise.prediction.couple import Coupling as Coupling
    from lengthwise.prediction.verdict import Prediction as Prediction
    from lengthwise.tasks.base import Task as Task
    from lengthwise.training.config import TrainingConfig as TrainingConfig

__version__ = "0.1.0"

_NAMES = {
    "api.audit": ("audit_model", "endpoint", "export_task"),
    "api.cluster": ("Cluster",),
    "api.compare": ("Comparison", "Verification", "compare", "verify"),
    "api.components": ("available", "check", "encoding", "register", "scheme", "task"),
    "api.experiment": ("Experiment", "plan", "read_recipe", "recipe", "run"),
    "api.explain": ("explain",),
    "api.explore": ("explore",),
    "api.influence": ("measure_influence", "measure_longer_contexts", "train_language_model"),
    "api.model": ("load",),
    "api.programs": ("compile_program", "learn_program", "read_program", "run_program"),
    "api.result": ("Accuracy", "Result", "results", "write_report"),
    "api.theory": (
        "Decision", "Example", "Structure", "check_certificates", "couple", "decide", "predict", "show",
        "structure",
    ),
    "audit.questions": ("AuditPlan",),
    "audit.scoring": ("Scoring",),
    "core.config": ("config",),
    "core.errors": ("LengthwiseError",),
    "core.rng": ("stream",),
    "core.user_code": ("load_code",),
    "core.vocab": ("Vocab",),
    "evaluation.config": ("EvaluationConfig",),
    "experiments.recipe": ("RECIPES", "Candidates", "Job", "Recipe", "Study", "study"),
    "experiments.run_config": ("RunConfig",),
    "measured.cells": ("evidence",),
    "models.config": ("ModelConfig",),
    "models.extension": ("extend",),
    "positions.system": ("PositionSystem",),
    "forecast.answer": ("Instead", "SystemForecast"),
    "forecast.forecasts": ("Forecasts",),
    "prediction.couple": ("Coupling",),
    "prediction.verdict": ("Prediction",),
    "tasks.base": ("Task",),
    "training.config": ("TrainingConfig",),
}  # fmt: skip
"""Public names by the module that has them."""
_HOMES = {name: f"lengthwise.{home}" for home, names in _NAMES.items() for name in names}
_PACKAGES = (
    "core", "crasp", "evaluation", "experiments", "explanation", "forecast", "hf", "influence", "languages",
    "measured", "models",
    "nn", "positions", "prediction", "report", "sparsity", "tasks", "testing", "training",
)  # fmt: skip
_MODULES = {name: name for name in _PACKAGES} | {
    "encodings": "positions.encodings", "schemes": "positions.schemes", "mixers": "models.mixers",
}  # fmt: skip
"""Public modules by name, with where they are in this package."""

__all__ = ["__version__", *_HOMES, *_MODULES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"lengthwise.{_MODULES[name]}")
    if name not in _HOMES:
        raise AttributeError(f"module 'lengthwise' has no attribute {name!r}; it has {', '.join(__all__)}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    if isinstance(value, types.FunctionType | type):
        from lengthwise.core.config import named_call, named_class

        value = named_class(value) if isinstance(value, type) else named_call(value)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
