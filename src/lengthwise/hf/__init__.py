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
    from lengthwise.hf.data import collate as collate
    from lengthwise.hf.data import dataset as dataset
    from lengthwise.hf.data import text_dataset as text_dataset
    from lengthwise.hf.extend import extend as extend
    from lengthwise.hf.influence import language_model as language_model
    from lengthwise.hf.influence import task_windows as task_windows
    from lengthwise.hf.own import LengthwiseConfig as LengthwiseConfig
    from lengthwise.hf.own import LengthwiseForCausalLM as LengthwiseForCausalLM
    from lengthwise.hf.own import decode as decode
    from lengthwise.hf.own import encode_prompt as encode_prompt
    from lengthwise.hf.own import from_run as from_run
    from lengthwise.hf.own import model_card as model_card
    from lengthwise.hf.own import save_with_card as save_with_card
    from lengthwise.hf.own import to_run as to_run
    from lengthwise.hf.rules import Abacus as Abacus
    from lengthwise.hf.rules import CoupledPlaces as CoupledPlaces
    from lengthwise.hf.rules import IdRule as IdRule
    from lengthwise.hf.rules import Interpolated as Interpolated
    from lengthwise.hf.rules import Restart as Restart
    from lengthwise.hf.rules import SchemeIds as SchemeIds
    from lengthwise.hf.score import right_answers as right_answers

_HOMES = {
    "Abacus": "lengthwise.hf.rules",
    "CoupledPlaces": "lengthwise.hf.rules",
    "IdRule": "lengthwise.hf.rules",
    "Interpolated": "lengthwise.hf.rules",
    "Restart": "lengthwise.hf.rules",
    "SchemeIds": "lengthwise.hf.rules",
    "LengthwiseConfig": "lengthwise.hf.own",
    "LengthwiseForCausalLM": "lengthwise.hf.own",
    "from_run": "lengthwise.hf.own",
    "to_run": "lengthwise.hf.own",
    "encode_prompt": "lengthwise.hf.own",
    "decode": "lengthwise.hf.own",
    "model_card": "lengthwise.hf.own",
    "save_with_card": "lengthwise.hf.own",
    "collate": "lengthwise.hf.data",
    "dataset": "lengthwise.hf.data",
    "text_dataset": "lengthwise.hf.data",
    "language_model": "lengthwise.hf.influence",
    "task_windows": "lengthwise.hf.influence",
    "right_answers": "lengthwise.hf.score",
    "attach": "lengthwise.hf.attach",
    "extend": "lengthwise.hf.extend",
    "detach": "lengthwise.hf.attach",
}
"""The module of each public name."""
_EXTRA = {"transformers", "tokenizers", "datasets", "accelerate", "peft"}

__all__ = [
    "Abacus",
    "CoupledPlaces",
    "IdRule",
    "Interpolated",
    "LengthwiseConfig",
    "LengthwiseForCausalLM",
    "Restart",
    "SchemeIds",
    "attach",
    "collate",
    "dataset",
    "decode",
    "detach",
    "encode_prompt",
    "extend",
    "from_run",
    "language_model",
    "model_card",
    "right_answers",
    "save_with_card",
    "task_windows",
    "text_dataset",
    "to_run",
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
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _EXTRA:
            raise
        raise LengthwiseError(
            f"lengthwise.hf.{name} needs a newer version of the package {package} ({str(error).splitlines()[0]}); "
            "run: pip install -U 'lengthwise[hf]'"
        ) from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
