"""`Asker`: what the audit needs of a model; `LocalModel`: a causal model of `transformers`, asked greedily."""

from __future__ import annotations

import hashlib
import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lengthwise.audit.scoring import DEFAULT, ONLY_THOUGHT, RIGHT, UNSTOPPED, WRONG, Scoring, settled
from lengthwise.core.errors import require, shortened
from lengthwise.positions.saved import attached

ANSWERED = (RIGHT, WRONG)
"""What counts in the rate."""
TRUNCATED, TOO_LONG, NOT_FINITE, UNKNOWN = "truncated", "too long", "not finite", "unknown words"
REFUSED, TIMED_OUT, FAILED, NOT_ASKED = "refused", "timed out", "failed", "not asked"
APART = (UNSTOPPED, ONLY_THOUGHT, TRUNCATED, NOT_FINITE, TOO_LONG, UNKNOWN, REFUSED, TIMED_OUT, FAILED, NOT_ASKED)
"""What is counted apart and is never a wrong answer."""
NO_RESPONSE = (TOO_LONG, UNKNOWN, REFUSED, TIMED_OUT, FAILED, NOT_ASKED)
"""Requests to which the model gave no response."""
WRITTEN = (NOT_FINITE, TOO_LONG, UNKNOWN, REFUSED, TIMED_OUT, FAILED)
"""Outcomes that are written down; the others follow from a text."""
AGAIN = (TIMED_OUT, FAILED, TOO_LONG, NOT_ASKED)
"""Requests that a continued audit repeats; it repeats all of `NO_RESPONSE` if no request had a response."""

LEARNED, ALIBI = ("gpt2", "gpt_bigcode", "opt", "gpt_neo"), ("bloom", "mpt")
"""Model types without a rotary encoding."""
PER_CHECK = 8
"""New tokens between two looks for the end of the answer."""
TEMPLATE_TOKENS = 64
"""Tokens that a server's chat template may add to a prompt, for a bound."""


@dataclass(frozen=True)
class Reply:
    """What a model wrote: text, why it ended, the tokens that were counted (None: unknown), tries before it."""

    text: str
    finish: str = "stop"
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    retries: int = 0
    reasoning: bool = False
    """Whether there was reasoning in a field of its own."""


class RequestFailed(Exception):
    """A request without an answer; ``kind`` is one of `WRITTEN`, and ``final`` says that no other try will have one."""

    def __init__(self, kind: str, detail: str, *, final: bool = False) -> None:
        self.kind, self.detail, self.final = kind, shortened(printable(detail)), final
        super().__init__(f"{kind}: {self.detail}")


def printable(text: str) -> str:
    """The text on one line, without characters that a terminal would obey."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


@dataclass(frozen=True)
class ModelFacts:
    """What is known of a model; None for what is not."""

    name: str
    where: str
    context: int | None = None
    """Most tokens of prompt and answer together."""
    trained_context: int | None = None
    """Tokens of the sequences that it was trained on before its rotary encoding was scaled."""
    rope_scaling: str | None = None
    encoding: str | None = None
    """The name of its position system in `lengthwise predict`."""
    revision: str | None = None
    """The commit on the hub that was loaded."""
    dtype: str | None = None
    given: tuple[str, ...] = ()
    """Which of these the user said, so that nothing was looked up or measured."""

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
            found.append(
                "The context of the model is neither known nor given, so prompts could not be checked against it."
            )
        return found


class Asker(ABC):
    """Answers prompts greedily."""

    facts: ModelFacts
    scoring: Scoring = DEFAULT
    """How answers will be read; a model is stopped where nothing more can change the reading."""
    concurrency: int = 1
    tries: int = 1
    """Most requests for one answer."""
    by_content: bool = True
    """Whether `identity` names the model by what it is, or (a server) only by what it is called."""
    heard: bool = False
    """Whether it has answered, now or in an earlier call: after that, a refusal is one of a question."""

    @property
    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """What decides an answer besides the prompt; no keys or passwords."""

    @abstractmethod
    def ask(self, prompt: str, budget: int) -> Reply:
        """The continuation of at most ``budget`` tokens.

        Raises:
            RequestFailed: for a request without an answer.
            LengthwiseError: where no request can have one.
        """

    def tokens(self, prompt: str) -> int | None:
        """Tokens of a prompt, or None if that is not known before it is sent."""
        return None

    def most_tokens(self, prompt: str) -> int:
        """Tokens that a prompt can't exceed; a token of text has a byte or more."""
        known = self.tokens(prompt)
        return len(prompt.encode()) + TEMPLATE_TOKENS if known is None else known

    def cancel(self) -> None:  # noqa: B027
        """End the requests that are under way."""


class LocalModel(Asker):
    """A causal model of `transformers`, given or loaded: weights from safetensors only, without remote code.

    Greedy is the largest logit at every step, whatever ``generation_config.json`` sets; only its end tokens count. A
    model with an attached rule of position ids reads all tokens anew at every step.

    Arguments:
        model: folder or hub name, or a model.
        tokenizer: of a model that is given.
        context: tokens of prompt and answer; None for what the configuration declares.
        encoding: name of the position system for the theory; None to take it from the configuration.

    Raises:
        LengthwiseError: for what can't be loaded.
    """

    def __init__(
        self, model: Any, tokenizer: Any = None, *, context: int | None = None, encoding: str | None = None
    ) -> None:
        if isinstance(model, str):
            from lengthwise.influence.huggingface import check_folder, loaded, loaded_tokenizer
            from lengthwise.influence.models import model_type

            name = model
            check_folder(name)
            require(
                model_type(Path(name)) != "lengthwise",
                f"{name} holds our transformer, which reads ids and no text; lengthwise.hf.right_answers counts its "
                "answers",
            )
            tokenizer = loaded_tokenizer(name, extra="hf")
            what = f"model {name} can't be loaded"
            model = loaded("AutoModelForCausalLM", name, what, extra="hf", use_safetensors=True)
        else:
            require(tokenizer is not None, "a model that is given needs its tokenizer; give (model, tokenizer)")
            name = str(model.config.name_or_path or type(model).__name__)
        self.model, self.tokenizer, self._rule = model.eval(), tokenizer, attached(model)
        self.facts = facts_of(model.config, name, context, encoding)
        ends = model.generation_config.eos_token_id if model.generation_config is not None else None
        ends = [ends] if isinstance(ends, int) else list(ends or ())
        self.ends = {*ends, tokenizer.eos_token_id} - {None}
        # Those of all tokens of a long prompt would not fit into memory.
        keeps = "logits_to_keep" in inspect.signature(model.forward).parameters
        self._settings = {"use_cache": self._rule is None, **({"logits_to_keep": 1} if keeps else {})}

    @property
    def identity(self) -> dict[str, Any]:
        return {**self._digests, "extract": self.scoring.extract, "strip_think": self.scoring.strip_think}

    @cached_property
    def _digests(self) -> dict[str, Any]:
        """Digests of what was loaded, so that other weights in the same folder are another model.

        Threads and device are among them: the last bits of the logits depend on them.
        """
        import torch

        weights = hashlib.sha256()
        for name, tensor in sorted(self.model.state_dict().items()):
            weights.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
            weights.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
        config = {key: value for key, value in self.model.config.to_dict().items() if not key.startswith("_name")}
        config.pop("transformers_version", None)
        inner: Any = getattr(self.tokenizer, "backend_tokenizer", None)
        words = inner.to_str() if hasattr(inner, "to_str") else json.dumps(sorted(self.tokenizer.get_vocab().items()))
        special = f"{type(self.tokenizer).__name__} {self.tokenizer.special_tokens_map} {sorted(self.ends)}"
        return {
            "weights": weights.hexdigest(),
            "config": hashlib.sha256(json.dumps(config, sort_keys=True, default=str).encode()).hexdigest(),
            "tokenizer": hashlib.sha256((words + special).encode()).hexdigest(),
            "transformers": version("transformers"),
            "threads": torch.get_num_threads(),
            "device": str(self.model.device),
            **({} if self._rule is None else {"rule": self._rule.description}),
        }

    def tokens(self, prompt: str) -> int:
        return len(prompt_ids(self.tokenizer, prompt, self.ends))

    def ask(self, prompt: str, budget: int) -> Reply:
        import torch

        ids, new = prompt_ids(self.tokenizer, prompt, self.ends), []
        if (word := self._unknown(prompt)) is not None:
            raise RequestFailed(UNKNOWN, f"the tokenizer has no token for {word!r}")
        rows = self.model.get_input_embeddings().weight.shape[0]
        require(
            max(ids) < rows,
            f"tokenizer and model in {self.facts.name} don't belong together: token {max(ids)} of {rows}",
        )
        cache, given, finish = None, ids, "length"
        with torch.inference_mode():
            while len(new) < budget:
                inputs = torch.tensor([given], device=self.model.device)
                mask = torch.ones(1, len(ids) + len(new), dtype=torch.long, device=self.model.device)
                out = self.model(input_ids=inputs, attention_mask=mask, past_key_values=cache, **self._settings)
                logits = out.logits[0, -1]
                if not bool(torch.isfinite(logits).all()):
                    raise RequestFailed(NOT_FINITE, f"logits that are not finite at new token {len(new) + 1}")
                new.append(int(logits.argmax()))
                cache = getattr(out, "past_key_values", None)
                given = new[-1:] if cache is not None else ids + new
                if new[-1] in self.ends or (len(new) % PER_CHECK == 0 and settled(self._text(new), self.scoring)):
                    finish = "stop"
                    break
        return Reply(self._text(new), finish, len(ids), len(new))

    def _unknown(self, prompt: str) -> str | None:
        """The first word of which the model would see that it is unknown and nothing else, or None."""
        unknown = self.tokenizer.unk_token_id

        def holds(text: str) -> bool:
            return unknown in self.tokenizer(text, add_special_tokens=False)["input_ids"]

        if unknown is None or unknown in self.ends or not holds(prompt):
            return None
        return next(filter(holds, prompt.split()), prompt)

    def _text(self, ids: list[int]) -> str:
        return self.tokenizer.decode(ids, skip_special_tokens=True)


def prompt_ids(tokenizer: Any, prompt: str, ends: Collection[int] = ()) -> list[int]:
    """The tokens of a prompt, with what the tokenizer puts before it and without what it appends."""
    ids = list(tokenizer(prompt)["input_ids"])
    bare = list(tokenizer(prompt, add_special_tokens=False)["input_ids"])
    special = {*tokenizer.all_special_ids, *ends}
    # A special token that the text itself ends with stays.
    return _without_last(ids, special) + bare[len(_without_last(bare, special)) :]


def _without_last(ids: list[int], special: set[int]) -> list[int]:
    end = len(ids)
    while end > 1 and ids[end - 1] in special:
        end -= 1
    return ids[:end]


def facts_of(config: Any, source: str, context: int | None = None, encoding: str | None = None) -> ModelFacts:
    """What a configuration declares of context, rotary scaling and position encoding."""
    given = tuple(name for name, value in (("context", context), ("encoding", encoding)) if value is not None)
    declared = context or getattr(config, "max_position_embeddings", None)
    rope = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    kind = rope.get("rope_type") or rope.get("type")
    trained = rope.get("original_max_position_embeddings")
    if kind not in (None, "default") and trained is None and declared:
        trained = round(declared / rope.get("factor", 1.0)) if kind in ("linear", "yarn") else None
    if encoding is None:
        by_type = {**dict.fromkeys(LEARNED, "ape"), **dict.fromkeys(ALIBI, "alibi")}
        encoding = by_type.get(config.model_type, "rope" if kind else None)
    shown = kind if kind in (None, "default") else f"{kind} with factor {rope.get('factor')}"
    dtype = getattr(config, "dtype", None)
    return ModelFacts(
        source, str(source), declared, trained or (declared if kind == "default" else None), shown, encoding,
        getattr(config, "_commit_hash", None), None if dtype is None else str(dtype).removeprefix("torch."), given,
    )  # fmt: skip
