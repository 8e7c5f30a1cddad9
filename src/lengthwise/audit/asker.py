"""`Asker`: what the audit needs of a model, whether it is a folder or an endpoint."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any

from lengthwise.audit.outcomes import Reply


@dataclass(frozen=True)
class ModelFacts:
    """What the model says about itself; None where it does not."""

    name: str
    where: str
    context: int | None = None
    """Most tokens of prompt and answer together."""
    trained_context: int | None = None
    """Tokens of the sequences that it was trained on before its rotary encoding was scaled."""
    rope_scaling: str | None = None
    encoding: str | None = None
    """The name of its position system in `lengthwise predict`."""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)

    def warnings(self) -> list[str]:
        """What a reader of the numbers should know, in sentences."""
        found = []
        if self.context and self.trained_context and self.context > self.trained_context:
            found.append(
                f"The declared context of {self.context} tokens is not the one of training, {self.trained_context}; "
                f"rotary scaling {self.rope_scaling} bridges the difference."
            )
        if self.rope_scaling not in (None, "default"):
            found.append(f"Rotary scaling in force: {self.rope_scaling}.")
        if self.context is None:
            found.append("The context of the model is not known, so prompts could not be checked against it.")
        return found


class Asker(ABC):
    """Answers prompts greedily."""

    facts: ModelFacts
    concurrency: int = 1

    @property
    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """What decides an answer besides the prompt; no keys or passwords."""

    @abstractmethod
    def ask(self, prompt: str, budget: int) -> Reply:
        """The continuation of at most ``budget`` tokens.

        Raises `RequestFailed` for a request without an answer, and `LengthwiseError` where none can have one.
        """

    def tokens(self, prompt: str) -> int | None:
        """Tokens of a prompt, or None if that is not known before it is sent."""
        return None
