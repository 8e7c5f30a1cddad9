"""Hugging Face: position ids of one's own in stock models, and our transformer as a `PreTrainedModel`.

The names below are loaded at first use; they need the extra [hf].
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from lengthwise.core.errors import LengthwiseError

if TYPE_CHECKING:
    from lengthwise.hf.attach import attach as attach
    from lengthwise.hf.attach import detach as detach
    from lengthwise.hf.rules.base import IdRule as IdRule
    from lengthwise.hf.rules.counting import Abacus as Abacus
    from lengthwise.hf.rules.counting import Interpolated as Interpolated
    from lengthwise.hf.rules.counting import Restart as Restart
    from lengthwise.hf.rules.from_scheme import SchemeIds as SchemeIds
    from lengthwise.hf.rules.places import CoupledPlaces as CoupledPlaces

_HOMES = {
    "Abacus": "lengthwise.hf.rules.counting",
    "CoupledPlaces": "lengthwise.hf.rules.places",
    "IdRule": "lengthwise.hf.rules.base",
    "Interpolated": "lengthwise.hf.rules.counting",
    "Restart": "lengthwise.hf.rules.counting",
    "SchemeIds": "lengthwise.hf.rules.from_scheme",
    "attach": "lengthwise.hf.attach",
    "detach": "lengthwise.hf.attach",
}
"""The module of each public name."""
_EXTRA = {"transformers", "tokenizers", "datasets", "accelerate", "peft"}

__all__ = [
    "Abacus",
    "CoupledPlaces",
    "IdRule",
    "Interpolated",
    "Restart",
    "SchemeIds",
    "attach",
    "detach",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'lengthwise.hf' has no attribute {name!r}; it has {', '.join(__all__)}")
    try:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        raise LengthwiseError(
            f"lengthwise.hf.{name} needs the package {error.name}; run: pip install 'lengthwise[hf]'"
        ) from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
