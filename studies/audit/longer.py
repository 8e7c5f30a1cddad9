"""A tiny Llama is trained on short problems, extended in four ways, and each is audited against it.

    python studies/audit/longer.py            trains, audits, writes results.json and README.md beside this file
    python studies/audit/longer.py page       writes README.md again from results.json

Expected, from studies/methods/context-extension.md: beyond the trained context Self-Extend gains most, then YaRN;
within it Self-Extend costs nothing, while PI and YaRN, which scale near distances, cost. NTK-aware scaling and PI
gain nothing.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

import lengthwise as lw

HERE = Path(__file__).parent
TASK, TRAINED, LENGTHS = "retrieval", 16, (8, 16, 32, 64, 128)
METHODS, FACTOR = ("pi", "ntk", "yarn", "self-extend"), 8
SEEDS, STEPS, ROWS, SAMPLES = (0, 1), 400, 64, 60
SHOWN = {"<sep>": "=>", "<bos>": "", "<eos>": ""}
NOT_SCORED = -100


def plan(seed: int, lengths: tuple[int, ...] = LENGTHS) -> Any:
    """Problems with ``->`` before the answer, and no examples."""
    return lw.AuditPlan(lw.task(TASK), lengths, samples=SAMPLES, shots=0, forms=("arrow",), seed=seed, answer_tokens=4)


def tokenizer() -> Any:
    """A word is a token."""
    words = ["<unk>", "</s>", "->", "=>", *lw.task(TASK).vocab.tokens]
    inner = Tokenizer(models.WordLevel({word: index for index, word in enumerate(dict.fromkeys(words))}, "<unk>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="</s>", unk_token="<unk>")


def rows(words: Any, length: int, seed: int, step: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and labels of some problems of one length, as the audit writes them."""
    batch = lw.task(TASK).batch(length, ROWS, lw.stream(seed, "audit study", step))
    ids, border = [], 0
    for row in range(ROWS):
        shown = [SHOWN.get(word, word) for word in batch.text(row)]
        prompt = [word for word in shown[: batch.prompt_length] if word] + ["->"]
        answer = [word for word in shown[batch.prompt_length :] if word] + ["</s>"]
        ids.append(words.convert_tokens_to_ids(prompt + answer))
        border = len(prompt)
    tokens = torch.tensor(ids)
    labels = tokens.clone()
    labels[:, :border] = NOT_SCORED
    return tokens, labels


def trained(words: Any, seed: int) -> Any:
    """A Llama of two layers that has seen problems of up to `TRAINED` symbols."""
    torch.manual_seed(seed)
    context = rows(words, TRAINED, seed, 0)[0].shape[1]
    config = LlamaConfig(
        vocab_size=len(words), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=context, eos_token_id=1, bos_token_id=None, pad_token_id=1,
    )  # fmt: skip
    model = LlamaForCausalLM(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=STEPS)
    shortest = lw.task(TASK).lengths(2, TRAINED)[0]
    for step in range(STEPS):
        length = int(lw.stream(seed, "audit study", "length", step).integers(shortest, TRAINED + 1))
        tokens, labels = rows(words, length, seed, step)
        loss = model(tokens, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 300 == 0:
            print(f"seed {seed}, step {step}: {loss.item():.3f} nats", flush=True)
    # What the model declares, so that it is asked beyond; the context of its training is given to `extend`.
    config.max_position_embeddings = FACTOR * context
    return model.eval()


def audited(seed: int) -> list[dict[str, Any]]:
    """A row for each method and length: the paired difference to the plain model on the same problems."""
    words = tokenizer()
    plain, found = trained(words, seed), []
    with tempfile.TemporaryDirectory() as folder:
        for method in METHODS:
            context = plain.config.max_position_embeddings // FACTOR
            longer = lw.hf.extend(plain, method, factor=FACTOR, length=context)
            audit = lw.audit_model((plain, words), plan(seed), against=(longer, words), out=folder)
            rates = {
                name: {cell["level"]: cell["counts"]["right"] for cell in values["cells"] if cell["sweep"] == "problem"}
                for name, values in (("plain", audit.values), ("extended", audit.values["against"]))
            }
            for pair in audit.values["against"]["pairs"]:
                if pair["sweep"] == "problem":
                    right = {name: counts[pair["level"]] for name, counts in rates.items()}
                    found.append({"seed": seed, "method": method, **pair, **right})
            print(f"seed {seed}, {method}: {audit.values['against']['says']}", flush=True)
    return found


def page(values: dict[str, Any]) -> str:
    """The page, from the result."""
    seeds = values["seeds"]
    lines = [
        "# A model against its extensions, by a paired audit",
        "",
        f"`python studies/audit/longer.py` trains a Llama of two layers (seeds {', '.join(map(str, seeds))}) on "
        f"`{TASK}` with up to {TRAINED} symbols, extends it by `lw.hf.extend` with factor {FACTOR}, and asks both the "
        f"same {SAMPLES} problems of each length by `lw.audit_model`. The settings were tried once before, with seed "
        "100, whose long problems were looked at.",
        "",
        "Expected, from [longer contexts](../methods/context-extension.md): beyond the trained context Self-Extend "
        "gains most, then YaRN; within it Self-Extend costs nothing, while PI and YaRN cost; NTK and PI gain nothing.",
        "",
        "Right answers in percent of the plain model, and what each method changes, in points with the 95 % interval "
        "for pairs.",
        "",
        f"| method | seed | {' | '.join(f'{length} symbols' for length in LENGTHS)} |",
        f"| --- | --- |{' --- |' * len(LENGTHS)}",
    ]
    for method in ("plain", *METHODS):
        for seed in seeds:
            cells = [row for row in values["rows"] if row["seed"] == seed and row["method"] in (method, METHODS[0])]
            cells = [row for row in cells if (row["method"] == method) or method == "plain"]
            shown = [
                f"{100 * row['plain'] / row['asked']:.0f}" if method == "plain" else
                f"{100 * row['difference']:+.0f} [{100 * row['low']:+.0f}, {100 * row['high']:+.0f}]"
                for row in sorted(cells, key=lambda row: row["level"])
            ]  # fmt: skip
            lines.append(f"| {method} | {seed} | {' | '.join(shown)} |")
    lines += ["", "## What was seen", "", *_seen(values["rows"])]
    return "\n".join(lines) + "\n"


def _mean(rows: list[dict[str, Any]], method: str, levels: list[int]) -> float:
    chosen = [row["difference"] for row in rows if row["method"] == method and row["level"] in levels]
    return 100 * sum(chosen) / len(chosen)


def _seen(rows: list[dict[str, Any]]) -> list[str]:
    inside = [length for length in LENGTHS if length <= TRAINED]
    beyond = [length for length in LENGTHS if length > TRAINED]
    gains = {method: _mean(rows, method, beyond) for method in METHODS}
    costs = {method: _mean(rows, method, inside) for method in METHODS}
    order = sorted(METHODS, key=gains.__getitem__, reverse=True)
    seen = {True: "seen", False: "not seen"}
    return [
        f"* Beyond {TRAINED} symbols, means over lengths and seeds in points: "
        f"{', '.join(f'{method} {gains[method]:+.0f}' for method in order)}. Self-Extend first and YaRN second was "
        f"expected: {seen[order[:2] == ['self-extend', 'yarn']]}. That PI gains nothing was expected: "
        f"{seen[gains['pi'] < 1]}; that NTK gains nothing: {seen[gains['ntk'] < 1]}.",
        f"* Up to {TRAINED} symbols: {', '.join(f'{method} {costs[method]:+.0f}' for method in METHODS)}. That PI and "
        f"YaRN cost and Self-Extend does not was expected: "
        f"{seen[max(costs['pi'], costs['yarn']) < -1 < costs['self-extend']]}.",
    ]


def main(words: list[str]) -> None:
    """Run the study, or write its page again."""
    torch.set_num_threads(1)
    file = HERE / "results.json"
    if words != ["page"]:
        found = [row for seed in SEEDS for row in audited(seed)]
        file.write_text(json.dumps({"seeds": SEEDS, "rows": found}, indent=1) + "\n", encoding="utf-8")
    (HERE / "README.md").write_text(page(json.loads(file.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
