"""What an audit says of a model before its numbers: context, rotary scaling, encoding; how it spaces its requests."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from stub_server import planted, serve
from transformers import GPT2Config, LlamaConfig

from lengthwise.audit.endpoint import Endpoint
from lengthwise.audit.model import Asker, ModelFacts, Reply, facts_of
from lengthwise.audit.questions import AuditPlan
from lengthwise.audit.run import run_audit
from lengthwise.tasks import TASKS

SMALL = AuditPlan(TASKS.build("addition"), (2, 4), samples=3, shots=1, forms=("lines",))


def llama(context: int, **rope: Any) -> LlamaConfig:
    return LlamaConfig(max_position_embeddings=context, rope_parameters={"rope_theta": 10000.0, **rope})


@pytest.mark.parametrize(
    ("config", "context", "trained", "scaling", "warns"),
    [
        (llama(4096, rope_type="default"), 4096, 4096, "default", []),
        (
            llama(16384, rope_type="yarn", factor=4.0, original_max_position_embeddings=4096),
            16384, 4096, "yarn with factor 4.0",
            ["declared context of 16384 tokens is not the one of training, 4096", "scaling in force: yarn"],
        ),
        (
            llama(8192, rope_type="linear", factor=2.0), 8192, 4096, "linear with factor 2.0",
            ["8192 tokens is not the one of training, 4096", "scaling in force: linear"],
        ),
        (
            llama(4096, rope_type="dynamic", factor=2.0), 4096, None, "dynamic with factor 2.0",
            ["scaling in force: dynamic"],
        ),
    ],
)  # fmt: skip
def test_context_and_scaling_are_those_of_the_configuration(
    config: Any, context: int, trained: int | None, scaling: str, warns: list[str]
):
    facts = facts_of(config, "model")
    assert (facts.context, facts.trained_context, facts.rope_scaling) == (context, trained, scaling)
    assert facts.encoding == "rope"
    found = facts.warnings()
    assert len(found) == len(warns)
    for text, line in zip(warns, found, strict=True):
        assert text in line


def test_a_learned_table_is_not_rotary():
    facts = facts_of(GPT2Config(n_positions=512), "model")
    assert (facts.context, facts.encoding, facts.rope_scaling) == (512, "ape", None)
    said = facts_of(GPT2Config(n_positions=512), "model", context=64, encoding="nope")
    assert (facts.given, said.context, said.given) == ((), 64, ("context", "encoding"))


class Scaled(Asker):
    """A model whose context was extended."""

    facts = ModelFacts("scaled", "nowhere", 16384, 4096, "yarn with factor 4.0", "rope")

    @property
    def identity(self) -> dict[str, Any]:
        return {"model": "scaled"}

    def ask(self, prompt: str, budget: int) -> Reply:
        return Reply("0")


def test_the_result_holds_the_warnings(tmp_path: Path):
    result = run_audit(Scaled(), SMALL, tmp_path)
    assert result["warnings"] == Scaled.facts.warnings()
    assert "4096" in result["warnings"][0]


@pytest.mark.parametrize("limit", [1, 3])
def test_no_more_requests_than_the_limit_are_open(limit: int, tmp_path: Path):
    lock, present, most = threading.Lock(), 0, 0

    def fault(handler: Any, prompt: str, before: int) -> bool:
        nonlocal present, most
        with lock:
            present += 1
            most = max(most, present)
        time.sleep(0.03)
        with lock:
            present -= 1
        return False

    with serve(planted(SMALL.task, lambda *words: False), fault) as stub:
        run_audit(Endpoint(stub.url, "stub", concurrency=limit), SMALL, tmp_path)
    assert most == limit


def test_tokens_are_added_up(tmp_path: Path):
    with serve(planted(SMALL.task, lambda *words: False)) as stub:
        result = run_audit(Endpoint(stub.url, "stub"), SMALL, tmp_path)
    assert result["prompt_tokens"] == sum(len(prompt) // 2 for prompt in stub.asked)
    assert result["completion_tokens"] > 0
