"""The rule of position ids that `lengthwise.hf.attach` gives a model of transformers, for who must not import that."""

from __future__ import annotations

from typing import Any

from lengthwise.core.errors import require

STATE, SAVED = "_lengthwise_attachment", "lengthwise_rule"
"""The attribute of an attached model, and the entry of a saved configuration with the rule."""


def attached(model: Any) -> Any:
    """What is attached to a model, or to the one below PEFT's wrappers; None without a rule.

    Raises `LengthwiseError` for a model that reads plain ids though it was saved with a rule.
    """
    inner = model.get_base_model() if hasattr(model, "peft_config") and hasattr(model, "get_base_model") else model
    state = vars(inner).get(STATE)
    require(
        state is not None or not hasattr(inner.config, SAVED),
        "the model was saved with a rule of position ids, and reads plain ids now; call lengthwise.hf.attach(model), "
        f"and pass on that model (for plain ids: del model.config.{SAVED})",
    )
    return state
