"""Which causal architectures of `transformers` can be attached: every one that can be built tiny is tried.

    python studies/attach/table.py            writes results.json and README.md beside this file
    python studies/attach/table.py opt xglm   prints the rows of some model types

Each is attached to a rule that restarts ids at a separator. What `generate` then gives is compared, token by token,
with a slow loop: one full pass of the stock model per token and row, without cache and padding, under ids given to it.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.modeling_outputs import CausalLMOutput
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

import lengthwise as lw

HERE = Path(__file__).parent
VOCAB, SEPARATOR, PAD, STEPS, MOST = 23, 3, 0, 6, 3_000_000
PROMPTS = [[5, 6, SEPARATOR, 7, 8, 5], [9, SEPARATOR, 4], [4, 5, 6, 7, SEPARATOR, 8, 9, 11, SEPARATOR]]
SIZES: dict[str, Any] = {
    "vocab_size": VOCAB, "hidden_size": 32, "n_embd": 32, "d_model": 32, "embed_dim": 32, "word_embed_proj_dim": 32,
    "intermediate_size": 48, "ffn_dim": 48, "d_ff": 48, "decoder_ffn_dim": 48, "encoder_ffn_dim": 48, "n_inner": 48,
    "num_hidden_layers": 2, "n_layer": 2, "num_layers": 2, "n_layers": 2, "decoder_layers": 2, "encoder_layers": 2,
    "num_attention_heads": 4, "n_head": 4, "n_heads": 4, "decoder_attention_heads": 4, "encoder_attention_heads": 4,
    "attention_heads": 4, "num_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "rotary_dim": 4,
    "max_position_embeddings": 64, "n_positions": 64, "max_seq_len": 64, "num_local_experts": 4, "num_experts": 4,
    "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "shared_expert_intermediate_size": 16,
    "moe_num_experts": 4, "moe_k": 2, "q_lora_rank": 8, "kv_lora_rank": 8, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8,
    "v_head_dim": 8, "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1, "mamba_d_state": 8, "mamba_n_heads": 4,
    "mamba_d_head": 16, "mamba_n_groups": 1, "mamba_expand": 2, "mamba_num_heads": 4, "mamba_head_dim": 16,
    "n_groups": 1,
    "ssm_state_size": 8, "lru_width": 32, "linear_num_value_heads": 4, "linear_num_key_heads": 2,
    "linear_key_head_dim": 8, "linear_value_head_dim": 8, "is_decoder": True, "add_cross_attention": False,
    "bos_token_id": None, "eos_token_id": None, "pad_token_id": PAD, "n_ctx": 64, "embedding_size": 32,
    "attention_types": [[["global"], 2]], "use_cache": True, "vocab_size_per_layer_input": VOCAB,
    "hidden_size_per_layer_input": 8, "num_kv_shared_layers": 0, "global_head_dim": 8,
    "attn_layer_indices": [1], "attn_layer_period": 2, "attn_layer_offset": 1, "attention_dropout": 0.0,
}  # fmt: skip
"""What is set where a configuration has a setting of that name."""
GROUPS = {"head_dim", "global_head_dim", "num_global_key_value_heads"}
ATTEMPTS: list[tuple[dict[str, Any], set[str]]] = [
    ({}, set()),
    ({"num_key_value_heads": 4}, set()),
    ({"num_key_value_heads": 4, "n_shared_experts": 1}, GROUPS),
    ({"num_hidden_layers": 4, "num_key_value_heads": 4}, GROUPS),
    ({"num_key_value_heads": 4, "bos_token_id": 1, "eos_token_id": 2}, GROUPS),
    ({"num_hidden_layers": 6, "num_key_value_heads": 4, "bos_token_id": 1, "eos_token_id": 2}, GROUPS),
]
"""Settings to change and to leave out, tried in turn until a model can be built."""
MODES: dict[str, dict[str, Any]] = {
    "greedy": {},
    "left padding": {},
    "no cache": {"use_cache": False},
    "static cache": {"cache_implementation": "static"},
    "2 beams": {"num_beams": 2},
}


def tiny(kind: str) -> Any:
    """A tiny model of one type with large random weights; raises the first error if it can't be built."""
    first: Exception | None = None
    for changed, left_out in ATTEMPTS:
        try:
            return built(kind, {name: v for name, v in {**SIZES, **changed}.items() if name not in left_out})
        # Configurations and models check themselves in many ways.
        except Exception as error:
            first = first or error
    assert first is not None
    raise first


def built(kind: str, sizes: dict[str, Any]) -> Any:
    """The model with these settings, if it gives finite logits; its generation ends at no token."""
    config = type(AutoConfig.for_model(kind).get_text_config())
    known = vars(config())
    config = config(**{name: value for name, value in sizes.items() if name in known})
    with torch.device("meta"):
        size = sum(p.numel() for p in AutoModelForCausalLM.from_config(config).parameters())
    if size > MOST:
        raise ValueError(f"{size:,} parameters at the smallest settings")
    for scale in (5, 2, 1):
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_config(config).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.ndim > 1:
                    parameter.mul_(scale)
            if model(torch.tensor(PROMPTS[:1])).logits.isfinite().all():
                break
    model.generation_config = transformers.GenerationConfig(pad_token_id=PAD)
    return model


def restarting(tokens: Tensor) -> Tensor:
    """Ids that restart at the separator, written as a loop."""
    ids = torch.zeros_like(tokens)
    for row, words in enumerate(tokens.tolist()):
        count = 0
        for index, token in enumerate(words):
            count = 0 if token == SEPARATOR else count
            ids[row, index] = count
            count += 1
    return ids


def plain_ids(tokens: Tensor) -> Tensor:
    """0, 1, 2, …"""
    return torch.arange(tokens.shape[1]).expand(tokens.shape)


def padded(rows: list[list[int]]) -> dict[str, Tensor]:
    """Rows with padding in front, and their mask."""
    width = max(map(len, rows))
    tokens, mask = torch.full((len(rows), width), PAD), torch.zeros(len(rows), width, dtype=torch.long)
    for row, words in enumerate(rows):
        tokens[row, width - len(words) :], mask[row, width - len(words) :] = torch.tensor(words), 1
    return {"input_ids": tokens, "attention_mask": mask}


def full_passes(model: Any, rule: Callable[[Tensor], Tensor]) -> Any:
    """A model of which `generate` gets logits of full passes of single rows under the rule's ids, and nothing else."""

    class Full(type(model)):
        def forward(self, input_ids: Any = None, attention_mask: Any = None, **_: Any) -> Any:
            mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
            logits = []
            for tokens, seen in zip(input_ids, mask, strict=True):
                row = tokens[seen.bool()][None]
                found = model(row, attention_mask=torch.ones_like(row), position_ids=rule(row), use_cache=False)
                logits.append(found.logits[:, -1:])
            return CausalLMOutput(logits=torch.cat(logits))

        def prepare_inputs_for_generation(self, input_ids: Any, attention_mask: Any = None, **_: Any) -> Any:
            return {"input_ids": input_ids, "attention_mask": attention_mask}

    found = Full(model.config).eval()
    found.generation_config = model.generation_config
    return found


def generated(model: Any, mode: str, slow: bool) -> list[list[int]]:
    """New tokens of every prompt, alone or, with padding, together."""
    settings = {**MODES[mode], "use_cache": False} if slow else MODES[mode]
    if slow:
        settings.pop("cache_implementation", None)
    found = []
    for rows in [PROMPTS] if mode == "left padding" else [[prompt] for prompt in PROMPTS]:
        batch = padded(rows)
        result = model.generate(**batch, max_new_tokens=STEPS, do_sample=False, **settings)
        found += result[:, batch["input_ids"].shape[1] :].tolist()
    return found


def attempt(run: Callable[[], Any]) -> Any:
    """The result, or the error in one line."""
    try:
        return run()
    # Other people's code fails in every way.
    except Exception as error:
        return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:150]}"


def row(kind: str) -> dict[str, Any]:
    """How one model type does: built, attached or refused, and what each mode gives."""
    model = attempt(lambda: tiny(kind))
    if isinstance(model, str):
        return {"type": kind, "built": False, "why": model}
    found: dict[str, Any] = {"type": kind, "built": True, "class": type(model).__name__}
    try:
        attached = lw.hf.attach(tiny(kind), lw.hf.Restart(SEPARATOR))
    except lw.LengthwiseError as error:
        return {**found, "attached": False, "why": str(error), "one line": "\n" not in str(error)}
    names = {module: name for name, module in attached.named_modules()}
    found |= {"attached": True, "at": names[attached._lengthwise_attachment.places.modules[0]], "modes": {}}
    slow, unruled = full_passes(model, restarting), full_passes(model, plain_ids)
    for mode in MODES:
        right = attempt(lambda mode=mode: generated(slow, mode, True))
        given = attempt(lambda mode=mode: generated(attached, mode, False))
        if isinstance(given, str) and given.startswith("LengthwiseError: "):
            found["modes"][mode] = f"refused: {given.removeprefix('LengthwiseError: ')}"
        elif given == right and not isinstance(right, str):
            found["modes"][mode] = "same"
        else:
            # What transformers itself does not do with plain ids can't be expected under a rule.
            stock = attempt(lambda mode=mode: generated(model, mode, False))
            plain = attempt(lambda mode=mode: generated(unruled, mode, True))
            found["modes"][mode] = (
                "stock differs" if stock != plain or isinstance(stock, str) else f"WRONG {given}"[:200]
            )
    found["matters"] = attempt(lambda: generated(unruled, "greedy", True)) != attempt(
        lambda: generated(slow, "greedy", True)
    )
    return found


def page(rows: list[dict[str, Any]]) -> str:
    """The page, from the rows."""
    built = [each for each in rows if each["built"]]
    good = [each for each in built if each["attached"]]
    refused = [each for each in built if not each["attached"]]
    lines = [
        "# Which architectures can be attached",
        "",
        f"`python studies/attach/table.py` tried the {len(rows)} causal model types of transformers "
        f"{transformers.__version__}. {len(built)} could be built tiny with random weights; of these "
        f"{len(good)} are attached and {len(refused)} are refused in one line.",
        "",
        "`lengthwise.hf.attach` probes the logits of every model. Each attached one then got a rule that restarts "
        "position ids at a separator. *Same*: `generate` gave, token by token, what a slow loop gives, which is one "
        "full pass of the stock model per token and row, without cache and padding, under ids given to it. "
        "*Stock differs*: the stock model itself, under plain ids, does not generate in this mode what its full passes "
        "give, so that the mode can't be judged.",
        "",
        f"| model type | attached at | {' | '.join(MODES)} |",
        f"|---|---|{'---|' * len(MODES)}",
    ]
    lines += [
        f"| {each['type']}{'' if each['matters'] else ' ¹'} | `{each['at']}` | "
        f"{' | '.join(each['modes'][mode] for mode in MODES)} |"
        for each in good
    ]
    lines += ["", "¹ The tokens happen to be those under plain ids, too; here the probe alone shows that ids matter."]
    lines += ["", "## Refused", "", "| model type | why |", "|---|---|"]
    lines += [f"| {each['type']} | {each['why'].replace('|', '/')} |" for each in refused]
    lines += ["", "## Not built", "", "Their configurations need settings of their own to be small.", ""]
    lines += [", ".join(each["type"] for each in rows if not each["built"]) + "."]
    return "\n".join(lines) + "\n"


def kinds() -> list[str]:
    """All causal model types of the installed version but our own."""
    return [kind for kind in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES if kind != "lengthwise"]


def main(chosen: list[str]) -> None:
    """Try the types, all by default."""
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    rows = []
    for kind in chosen or kinds():
        rows.append(row(kind))
        print(json.dumps(rows[-1], ensure_ascii=False), flush=True)
    if not chosen:
        text = json.dumps(
            {"transformers": transformers.__version__, "rows": rows}, separators=(",", ":"), ensure_ascii=False
        )
        (HERE / "results.json").write_text(text + "\n", encoding="utf-8")
        (HERE / "README.md").write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
