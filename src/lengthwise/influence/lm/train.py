"""Trains a small language model on a corpus; the result depends on configuration and text only, and runs resume."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.errors import require
from lengthwise.core.files import locked, read_json, write_json
from lengthwise.core.result_file import check_seal, sealed
from lengthwise.core.rng import stream
from lengthwise.influence.lm import held_out_loss
from lengthwise.influence.lm.config import LM_PRESETS, LMConfig, lm_config, pair
from lengthwise.influence.lm.far_gain import Watch
from lengthwise.influence.lm.files import LM_FORMAT, MODEL, claim_lm_dir, save_lm
from lengthwise.influence.text.corpus import Corpus, Document
from lengthwise.influence.text.text_task import TextTask
from lengthwise.influence.text.tokenizer import FILE, Bytes, OwnTokenizer, load_tokenizer, save_tokenizer, train_bpe
from lengthwise.models.transformer import Transformer
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.training.runs import RunState
from lengthwise.training.setup import TaskSetup
from lengthwise.training.trainer import Trainer

__all__ = ["LM_PRESETS", "LMConfig", "ReportTraining", "lm_config", "pair", "train_lm"]

ReportTraining = Callable[[str, int, int, float], None]
"""Called with what is done (``tokenize``, ``train`` or ``held-out``), how far, of how much, and a loss in nats per
token (not a number where there is none)."""

Watcher = Callable[[Int[ndarray, "N L+1"]], Watch]
"""Makes of the held-out windows of the probes what each probe notes besides."""
PROBED, MEASURED = 64, 1024
"""Windows of held-out text at each probe and at the end."""
RESULT = "result.json"
REPORTED = ("parameters", "tokens_seen", "seconds", "held_out", "at_target")


def train_lm(
    config: LMConfig,
    corpus: Corpus,
    folder: Path,
    report: ReportTraining | None = None,
    about: Callable[[], Mapping[str, Any]] | None = None,
    *,
    probed: int = PROBED,
    watch: Watcher | None = None,
) -> dict[str, Any]:
    """Train a model into ``folder`` and measure it; a finished one is returned, an interrupted one goes on.

    Each probe takes ``probed`` held-out windows. ``watch`` makes of these what else a probe notes; training then ends
    at the first probe that notes ``fitted``.

    Returns what ``result.json`` holds: losses on held-out text, steps, seconds, and what ``about`` adds (where the
    numbers come from). Raises `LengthwiseError` if the folder holds something else or another process is at work in
    it, the text is shorter than a window, or training diverges.
    """
    claim_lm_dir(folder, config, corpus.describe())
    with locked(folder):
        found = _finished(folder)
        if found is None:
            found = _train(config, corpus, folder, report or _silent, probed, watch)
            found |= about() if about else {}
            write_json(folder / RESULT, sealed(found))
        return found


def _finished(folder: Path) -> dict[str, Any] | None:
    if (folder / RESULT).exists() and (folder / MODEL).exists():
        result = read_json(folder / RESULT, what="result file")
        check_seal(result, f"result file {folder / RESULT}")
        whole = isinstance(result, dict) and result.get("format") == LM_FORMAT and set(REPORTED) <= set(result)
        require(whole, f"result file {folder / RESULT} is damaged; delete it and run again")
        return result
    return None


def _train(
    config: LMConfig, corpus: Corpus, folder: Path, tell: ReportTraining, probed: int, watch: Watcher | None
) -> dict[str, Any]:
    tell("tokenize", 0, 1, float("nan"))
    tokenizer = _tokenizer(config, corpus, folder)
    train = _task(config, corpus.train, tokenizer, config.context, "training")
    held_out = _task(config, corpus.held_out, tokenizer, config.longest, "held-out")
    tell("tokenize", 1, 1, float("nan"))

    def drawn(count: int, *names: str) -> held_out_loss.HeldOut:
        # The seed is not that of the training, so that models of all seeds are held against the same text.
        rng = stream(0, "lm", "held-out", *names)
        return held_out_loss.HeldOut.of(held_out, train, tokenizer, config.longest, rng, count=count)

    windows = drawn(probed, "probe").windows[:, : config.context + 1]
    watched = None if watch is None else watch(windows)

    def probe(model: Transformer, step: int, seed: int) -> dict[str, Any]:
        nats = held_out_loss.losses(model, windows)
        tell("held-out", step, config.steps, float(nats.mean()))
        found = {"held_out": float(nats.mean()), "far_half": held_out_loss.far_half(model, windows, nats)["gain"]}
        return found if watched is None else found | watched(model)

    setup = TaskSetup(train, config.positions(), ENCODINGS.build("rope"), config.model())
    training = dataclasses.replace(config.training(), stop_when_fitted=watched is not None)
    trainer = Trainer(
        setup, training, [config.seed], probe, folder,
        on_step=lambda step, loss: tell("train", step, config.steps, loss),
    )  # fmt: skip
    (state,) = trainer.run()
    save_lm(folder, state.trained(), tokenizer, config, corpus.describe())
    tokens = {"train": len(train.tokens), "held_out": len(held_out.tokens), "vocabulary": tokenizer.vocab_size}
    return _result(config, state, tokens, drawn(MEASURED, "final"))


def _result(
    config: LMConfig, state: RunState, tokens: dict[str, int], measured: held_out_loss.HeldOut
) -> dict[str, Any]:
    model, progress = state.trained(), state.progress
    return {
        "format": LM_FORMAT,
        "kind": "lm",
        "tokens": tokens,
        "parameters": model.parameter_count,
        "steps": progress.step,
        "tokens_seen": progress.step * config.training().batch_size * config.context,
        "seconds": round(progress.seconds, 2),
        "held_out": held_out_loss.report(model, measured, config.context),
        # Windows longer than those of the training: what its ids, not its texts, reached.
        "at_target": held_out_loss.report(model, measured, config.longest),
        "probes": progress.probes,
    }


def _tokenizer(config: LMConfig, corpus: Corpus, folder: Path) -> OwnTokenizer:
    """The folder's, or a new one; it depends on the training text and the vocabulary size only."""
    if (folder / FILE).exists():
        return load_tokenizer(folder)
    if config.tokenizer == "bytes":
        tokenizer = Bytes()
    else:
        tokenizer = train_bpe((document.text for document in corpus.train), config.vocabulary)
    save_tokenizer(tokenizer, folder)
    return tokenizer


def _task(
    config: LMConfig, documents: tuple[Document, ...], tokenizer: OwnTokenizer, context: int, part: str
) -> TextTask:
    task = TextTask(documents, tokenizer)
    longest = task.max_length() + 1
    require(
        longest > context,
        f"the {part} text is too short: its longest document has {longest} tokens, and a context of {context} needs "
        f"{context + 1}; choose a longer text or a smaller context",
    )
    return task


def _silent(what: str, done: int, total: int, number: float) -> None:
    del what, done, total, number
