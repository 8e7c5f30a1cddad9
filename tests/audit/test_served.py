"""An audit of a real `transformers serve`, and of the same model from its folder, on a tiny model."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from lengthwise.audit.endpoint import Endpoint
from lengthwise.audit.model import FAILED, REFUSED, TIMED_OUT, LocalModel
from lengthwise.audit.questions import AuditPlan
from lengthwise.audit.run import run_audit
from lengthwise.tasks import TASKS

PLAN = AuditPlan(TASKS.build("addition"), (1, 2), samples=2, shots=1, forms=("lines",))
CHAT = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


def saved(folder: Path) -> Path:
    """A random Llama whose tokens are characters."""
    letters = ["<unk>", "</s>", "Ċ", "Ġ", *(chr(code) for code in range(33, 127))]
    inner = Tokenizer(models.BPE({letter: index for index, letter in enumerate(letters)}, [], unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="</s>", unk_token="<unk>")
    tokenizer.chat_template = CHAT
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(letters), hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
        max_position_embeddings=1024, eos_token_id=1, bos_token_id=None,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """`transformers serve` in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("transformers")), "serve", str(folder), "--port", str(port)]
    process = subprocess.Popen([*command, "--host", "127.0.0.1", "--device", "cpu"])
    try:
        for _ in range(240):
            assert process.poll() is None, "the server ended"
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=5).read()
                break
            except (urllib.error.URLError, OSError):
                time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(timeout=30)


def check(result: dict[str, Any]) -> None:
    assert result["requests"] > 0
    assert result["prompt_tokens"] > 0
    for cell in result["cells"]:
        assert sum(cell["counts"].values()) == cell["asked"] == 2
        assert not any(cell["counts"][kind] for kind in (FAILED, REFUSED, TIMED_OUT))


def test_a_folder(tmp_path: Path):
    model = LocalModel(str(saved(tmp_path / "model")))
    result = run_audit(model, PLAN, tmp_path / "out")
    check(result)
    assert result["model"]["context"] == 1024
    assert result["model"]["encoding"] == "rope"
    assert result["theory"]


@pytest.mark.slow
def test_a_real_server(tmp_path: Path):
    folder = saved(tmp_path / "model")
    with served(folder) as url:
        result = run_audit(Endpoint(url, str(folder), timeout=120, concurrency=1), PLAN, tmp_path / "out")
    check(result)
