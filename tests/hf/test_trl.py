"""TRL's trainer trains on our rows, and its collator without padding is refused: it drops and overwrites ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from test_data import tokenizer
from test_pretrained_model import experiment, made
from tiny import tiny

from lengthwise.core.errors import LengthwiseError
from lengthwise.hf import CoupledPlaces, attach, collate, dataset, text_dataset
from lengthwise.tasks import TASKS


def rows_of(task: str, **settings: Any) -> list[dict[str, Any]]:
    return list(dataset(task, [3], size=2, **settings))


def joined_by_trl(rows: list[dict[str, Any]]) -> dict[str, Any]:
    from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

    return DataCollatorForLanguageModeling(pad_token_id=0, padding_free=True)(rows)


def test_5_the_collator_without_padding_loses_ids_and_labels():
    """Trap 5: the ids of the rows are gone, and where the collator's own ids are 0 the label is, too."""
    rows = rows_of("copy", scheme="coupled")
    for row in rows:
        row["labels"] = row["input_ids"]
    joined = joined_by_trl(rows)
    assert "place_ids" not in joined, "the trap is gone"
    assert (joined["labels"][joined["position_ids"] == 0] == -100).all(), "the trap is gone"
    ours = collate()(rows)
    assert ours["place_ids"].tolist() == [row["place_ids"] for row in rows]
    assert ours["labels"].tolist() == [row["labels"] for row in rows]


@pytest.mark.parametrize("own", [True, False])
def test_5_a_model_refuses_rows_that_were_joined(own: bool):
    """Joined rows would see each other, and their ids would go on from row to row."""
    joined = joined_by_trl(rows_of("addition"))
    task = TASKS.build("addition")
    model = (
        made(experiment("addition", "sequential"))
        if own
        else attach(tiny("llama", vocab=len(task.vocab)), CoupledPlaces(task))
    )
    with pytest.raises(LengthwiseError, match="place_ids" if own else "packed sequences") as error:
        model(**joined)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", [True, False])
def test_the_trainer_of_trl_trains_under_a_rule(text: bool, tmp_path: Path):
    from trl import SFTConfig, SFTTrainer

    task, seen = TASKS.build("addition"), []
    rule = CoupledPlaces(task)

    def spied(tokens: torch.Tensor) -> torch.Tensor:
        ids = torch.arange(tokens.shape[1]).expand(tokens.shape)
        seen.append(ids if text else rule.ids(tokens, (tokens != 0).sum(1), True))
        return seen[-1]

    model = attach(tiny("llama", vocab=len(task.vocab)), spied)
    before = model.model.embed_tokens.weight.clone()
    rows = text_dataset(task, [2, 4], tokenizer(), size=64) if text else dataset(task, [2, 4], size=64)
    settings = SFTConfig(
        str(tmp_path), max_steps=2, per_device_train_batch_size=8, report_to=[], save_strategy="no", use_cpu=True,
        disable_tqdm=True, logging_strategy="no", dataset_kwargs={"skip_prepare_dataset": True}, bf16=False,
        gradient_checkpointing=False,
    )  # fmt: skip
    SFTTrainer(model, args=settings, train_dataset=rows, data_collator=collate(), processing_class=tokenizer()).train()
    assert len(seen) >= 2
    assert not torch.equal(before, model.model.embed_tokens.weight)
