"""`LocalModel`: a causal model of `transformers` from a folder or the hub, asked greedily."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lengthwise.audit.asker import Asker, ModelFacts
from lengthwise.audit.outcomes import Reply
from lengthwise.core.errors import LengthwiseError, require

try:
    import transformers
except ModuleNotFoundError:
    raise LengthwiseError(
        "the audit of a folder needs the package transformers; run: pip install 'lengthwise[hf]'"
    ) from None

LEARNED, ALIBI = ("gpt2", "gpt_bigcode", "opt", "gpt_neo"), ("bloom", "mpt")
"""Model types without a rotary encoding."""
PER_CHECK = 8
"""New tokens between two looks for the end of the first line."""


class LocalModel(Asker):
    """Weights from safetensors only, without remote code. Raises `LengthwiseError` for what can't be loaded."""

    def __init__(self, source: str, context: int | None = None, encoding: str | None = None) -> None:
        path = Path(source)
        looks_local = path.is_absolute() or source.startswith((".", "~")) or source.count("/") > 1
        require(path.is_dir() or not looks_local, f"no folder {source}; check the model, or give --endpoint URL")
        try:
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(source, trust_remote_code=False)
            self.model: Any = transformers.AutoModelForCausalLM.from_pretrained(
                source, use_safetensors=True, trust_remote_code=False
            ).eval()
        # The package raises errors without a common type for missing and damaged files.
        except Exception as error:
            first = (str(error).splitlines() or [""])[0]
            raise LengthwiseError(f"model {source} can't be loaded ({type(error).__name__}: {first})") from None
        self.facts = facts_of(self.model.config, source, context, encoding)

    @property
    def identity(self) -> dict[str, Any]:
        return {"folder": self.facts.where}

    def tokens(self, prompt: str) -> int:
        return len(self.tokenizer(prompt)["input_ids"])

    def ask(self, prompt: str, budget: int) -> Reply:
        given = self.tokenizer(prompt, return_tensors="pt")
        stop = transformers.StoppingCriteriaList([_FirstLine(self.tokenizer, given["input_ids"].shape[1])])
        pad = self.tokenizer.pad_token_id if self.tokenizer.pad_token_id is not None else self.tokenizer.eos_token_id
        found = self.model.generate(
            input_ids=given["input_ids"], attention_mask=given["attention_mask"], max_new_tokens=budget,
            do_sample=False, num_beams=1, pad_token_id=pad, stopping_criteria=stop,
        )[0, given["input_ids"].shape[1] :]  # fmt: skip
        text = self.tokenizer.decode(found, skip_special_tokens=True)
        ended = len(found) < budget or int(found[-1]) in _ends(self.model)
        return Reply(text, "stop" if ended else "length", given["input_ids"].shape[1], len(found))


class _FirstLine(transformers.StoppingCriteria):
    """Stops once a whole line was written."""

    def __init__(self, tokenizer: Any, prompt: int) -> None:
        self.tokenizer, self.prompt = tokenizer, prompt

    def __call__(self, input_ids: Any, scores: Any, **kwargs: Any) -> Any:
        import torch

        new = input_ids[0, self.prompt :]
        done = False
        if len(new) % PER_CHECK == 0 and len(new):
            done = "\n" in self.tokenizer.decode(new, skip_special_tokens=True).lstrip()
        return torch.full((input_ids.shape[0],), done, dtype=torch.bool, device=input_ids.device)


def facts_of(config: Any, source: str, context: int | None = None, encoding: str | None = None) -> ModelFacts:
    """What a configuration says about context, rotary scaling and position encoding."""
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
    return ModelFacts(
        source, str(source), declared, trained or (declared if kind == "default" else None), shown, encoding
    )


def _ends(model: Any) -> set[int]:
    found = model.generation_config.eos_token_id
    return set() if found is None else {found} if isinstance(found, int) else set(found)
