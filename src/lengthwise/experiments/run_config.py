"""An experiment: task × scheme × encoding × model × training × evaluation, as one frozen configuration."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer

from lengthwise.core.config import apply_edits, changed_fields, config, digest, fields_of, from_fields
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.registry import Registry
from lengthwise.core.result_file import FORMAT
from lengthwise.core.user_code import code_of, no_new_code
from lengthwise.evaluation.config import EvaluationConfig
from lengthwise.models.config import ModelConfig
from lengthwise.positions.encodings import ENCODINGS, EncodingSpec
from lengthwise.positions.schemes import SCHEMES, PositionScheme
from lengthwise.tasks import TASKS, Task
from lengthwise.training.config import TrainingConfig

RESULT_FORMAT = FORMAT
"""Version of result files and run directories; another version never reuses their results."""

NAMED_LATER = {
    "model": ("loops", "mixer"),
    "training": ("regularizer_normed", "progressive", "random_loops", "curriculum", "priming", "priming_length"),
}
"""Fields that came after names covered all fields, so no such name holds them."""
NAMED_WITH_OR_WITHOUT = {"sparse-parity": "balanced", "variable-assignment": "separators"}
"""A field that a task gained while they did."""
PARTS = ("task", "scheme", "encoding", "model")
"""The parts of an experiment that may be the user's own code."""


def _component(registry: Registry[Any]) -> tuple[BeforeValidator, PlainSerializer]:
    return BeforeValidator(registry.build), PlainSerializer(registry.describe)


@config
class RunConfig:
    """What one run trains and measures; the seed is not part of it. In result files it is ``experiment``."""

    task: Annotated[Task, *_component(TASKS)]
    scheme: Annotated[PositionScheme, *_component(SCHEMES)]
    encoding: Annotated[EncodingSpec, *_component(ENCODINGS)]
    model: ModelConfig = dataclasses.field(default_factory=ModelConfig)
    training: TrainingConfig = dataclasses.field(default_factory=TrainingConfig)
    evaluation: EvaluationConfig = dataclasses.field(default_factory=EvaluationConfig)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values, with digests of the user's code; ``RunConfig.from_json`` reads them back."""
        return {**fields_of(self), **self._code()}

    @classmethod
    def from_json(cls, values: dict[str, Any], *, load_code: bool = False) -> RunConfig:
        """From plain JSON values; raises `LengthwiseError` on anything unknown or of the wrong type.

        It raises one, too, where they hold digests of the user's code, and that code is another now.
        ``load_code`` says that the user typed the names: only then does ``FILE.py:Class`` run a file.
        """
        with no_new_code(allowed=load_code):
            made = from_fields(cls, {key: value for key, value in values.items() if key != "code"}, where="experiment")
        if "code" in values and values["code"] != (now := made._code().get("code", {})):
            differ = [part for part in PARTS if values["code"].get(part) != now.get(part)]
            part = differ[0] if differ else PARTS[0]
            name = getattr(getattr(made, part), "name", made.model.mixer)
            raise LengthwiseError(
                f"the code of {part} {name!r} (its file, or a module that it imports) was edited: "
                f"it was {values['code'].get(part)}, and is {now.get(part)}; restore it, or run again"
            )
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process builds everything anew from plain values, a task from the user's own file too.
        return partial(RunConfig.from_json, load_code=True), (self.to_json(),)

    def edited(self, edits: list[str]) -> RunConfig:
        """A copy with ``key.path=value`` edits, e.g. ``training.steps=100`` or ``scheme.draw=permuted``."""
        return self.from_json(apply_edits(fields_of(self), edits), load_code=True) if edits else self

    def described(self) -> dict[str, Any]:
        """What names a run: the fields that differ from their defaults, and the text of the user's own files."""
        return {"experiment": changed_fields(self), **self._code()}

    def _code(self) -> dict[str, dict[str, str]]:
        code = {part: found for part in PARTS if (found := code_of(getattr(self, part)))}
        return {"code": code} if code else {}

    def equals(self, values: Any) -> bool:
        """Whether plain JSON values, maybe of an older version with fewer fields, describe this experiment."""
        try:
            return values == self.to_json() or RunConfig.from_json(values) == self
        except (LengthwiseError, TypeError):
            return False

    def old_names(self, seed: int) -> list[str]:
        """What its run directory was called when names covered all fields, whether changed or not."""
        values = self.to_json()
        for part, fields in NAMED_LATER.items():
            values[part] = {key: value for key, value in values[part].items() if key not in fields}
        gained = NAMED_WITH_OR_WITHOUT.get(values["task"]["name"])
        before = {key: value for key, value in values["task"].items() if key != gained}
        every = [values, *([{**values, "task": before}] if gained else [])]
        return [digest({"format": RESULT_FORMAT, "experiment": each, "seed": seed}) for each in every]
