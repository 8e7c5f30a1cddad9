"""Hugging Face: position ids of one's own in stock models, and our transformer as a `PreTrainedModel`.

The names below are loaded at first use; they need the extra [hf].
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from lengthwise.core.errors import LengthwiseError

if TYPE_CHECKING:
    from lengthwise.hf.attachment import attach as attach
    from lengthwise.hf.attachment import detach as detach
    from lengthwise.hf.attachment import token_ids as token_ids
    from lengthwise.hf.data import collate as collate
    from lengthwise.hf.data import dataset as dataset
    from lengthwise.hf.data import text_dataset as text_dataset
    from lengthwise.hf.extension import extend as extend
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
    from lengthwise.hf.vocabulary import task_tokenizer as task_tokenizer

# No module may have the name of a function: its import would take the function's place.
_NAMES = {
    "attachment": "attach detach token_ids",
    "data": "collate dataset text_dataset",
    "extension": "extend",
    "influence": "language_model task_windows",
    "own": "LengthwiseConfig LengthwiseForCausalLM decode encode_prompt from_run model_card save_with_card to_run",
    "rules": "Abacus CoupledPlaces IdRule Interpolated Restart SchemeIds",
    "score": "right_answers",
    "vocabulary": "task_tokenizer",
}
"""The public names of each module."""
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}
_EXTRA = {"transformers", "tokenizers", "datasets", "accelerate", "peft"}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted(_MODULE_OF)
    if name not in _MODULE_OF:
        raise AttributeError(
            f"module 'lengthwise.hf' has no attribute {name!r}; it has {', '.join(sorted(_MODULE_OF))}"
        )
    try:
        value = getattr(importlib.import_module(f"lengthwise.hf.{_MODULE_OF[name]}"), name)
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _EXTRA:
            raise
        if error.name == package and isinstance(error, ModuleNotFoundError):
            raise LengthwiseError(
                f"lengthwise.hf.{name} needs the package {package}; run: pip install 'lengthwise[hf]'"
            ) from None
        raise LengthwiseError(
            f"lengthwise.hf.{name} needs a newer version of the package {package} ({str(error).splitlines()[0]}); "
            "run: pip install -U 'lengthwise[hf]'"
        ) from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_MODULE_OF)
