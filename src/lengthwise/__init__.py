"""Predict, explain and extend how far a transformer generalizes beyond the lengths it was trained on.

>>> import lengthwise as lw
>>> lw.structure("addition", "coupled", lengths=[5, 20, 100])   # doctest: +SKIP

The names below are loaded at first use, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lengthwise import nn as nn
    from lengthwise import testing as testing
    from lengthwise.api.compare import compare as compare
    from lengthwise.api.components import available as available
    from lengthwise.api.components import register as register
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
    from lengthwise.core.user_code import load_code as load_code
    from lengthwise.models.extension import extend as extend
    from lengthwise.tasks.base import Task as Task

__version__ = "0.1.0.dev0"

_HOMES = {
    "Experiment": "lengthwise.api.experiment",
    "Result": "lengthwise.api.result",
    "Task": "lengthwise.tasks.base",
    "available": "lengthwise.api.components",
    "compare": "lengthwise.api.compare",
    "config": "lengthwise.core.config",
    "decide": "lengthwise.api.explain",
    "extend": "lengthwise.models.extension",
    "load": "lengthwise.api.model",
    "load_code": "lengthwise.core.user_code",
    "predict": "lengthwise.api.explain",
    "register": "lengthwise.api.components",
    "results": "lengthwise.api.result",
    "show": "lengthwise.api.explain",
    "structure": "lengthwise.api.explain",
    "task": "lengthwise.api.components",
}
"""The module of each public name."""
_MODULES = ("nn", "testing")
"""Public modules."""

__all__ = [
    "Experiment",
    "Result",
    "Task",
    "__version__",
    "available",
    "compare",
    "config",
    "decide",
    "extend",
    "load",
    "load_code",
    "nn",
    "predict",
    "register",
    "results",
    "show",
    "structure",
    "task",
    "testing",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"lengthwise.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'lengthwise' has no attribute {name!r}; it has {', '.join(__all__)}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
