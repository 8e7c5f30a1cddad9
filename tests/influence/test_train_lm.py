"""Training of language models: the same bits after an interruption, honest losses, folders that come back."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from lengthwise.core.errors import LengthwiseError, UnknownNameError
from lengthwise.core.result_file import read_sealed, write_sealed
from lengthwise.core.rng import stream
from lengthwise.influence import lm as held_out_loss
from lengthwise.influence.corpus import Corpus, Document, TextTask
from lengthwise.influence.lm import LMConfig, is_lm, lm_config, load_lm, pair, read_config, save_lm, train_lm
from lengthwise.influence.tokenizer import Bytes

LINES = [f"def f{i}(x{i % 7}):\n    return x{i % 7} + {i % 5}\n" for i in range(200)]
CORPUS = Corpus(
    "small",
    (Document("a.py", "".join(LINES[:90])), Document("b.py", "".join(LINES[90:180]))),
    (Document("c.py", "".join(LINES[180:])),),
)
TINY = LMConfig(
    context=16, vocabulary=280, layers=1, heads=2, width=16, steps=6, batch_tokens=64, warmup=2, probe_every=2
)


class Stopped(Exception):
    pass


def files(folder: Path) -> dict[str, Any]:
    return {key: value.tolist() for key, value in load_file(folder / "model.safetensors").items()}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lm") / "tiny"
    train_lm(TINY, CORPUS, folder)
    return folder


@pytest.mark.parametrize("stop_at", [1, 5])
def test_an_interrupted_training_ends_in_the_same_bits(trained: Path, tmp_path: Path, stop_at: int) -> None:
    def stop(what: str, done: int, total: int, number: float) -> None:
        if what == "train" and done == stop_at:
            raise Stopped

    with pytest.raises(Stopped):
        train_lm(TINY, CORPUS, tmp_path, stop)
    assert is_lm(tmp_path)
    with pytest.raises(LengthwiseError, match="has not ended"):
        load_lm(tmp_path)
    resumed = train_lm(TINY, CORPUS, tmp_path)
    whole = json.loads((trained / "result.json").read_text())
    assert resumed["held_out"] == whole["held_out"]
    assert resumed["probes"] == whole["probes"]
    assert files(tmp_path) == files(trained)


def test_a_finished_model_is_not_trained_again(trained: Path) -> None:
    def never(what: str, done: int, total: int, number: float) -> None:
        raise AssertionError("trained again")

    assert train_lm(TINY, CORPUS, trained, never) == read_sealed(trained / "result.json", "result file")


def test_the_seed_changes_weights_and_windows(trained: Path, tmp_path: Path) -> None:
    train_lm(dataclasses.replace(TINY, seed=1), CORPUS, tmp_path)
    assert files(tmp_path) != files(trained)


def test_a_loaded_model_is_the_trained_one(trained: Path) -> None:
    model, tokenizer = load_lm(trained)
    assert (model.name, model.vocab_size, model.max_length) == ("tiny", tokenizer.vocab_size, None)
    held_out, train = TextTask(CORPUS.held_out, tokenizer), TextTask(CORPUS.train, tokenizer)
    windows = held_out.windows(16, 1024, stream(0, "lm", "held-out", "final"))
    result = json.loads((trained / "result.json").read_text())
    last = model.target_losses(windows[:, :-1], np.tile(np.arange(16), (1024, 1)), windows[:, -1])
    assert held_out_loss.losses(model.transformer, windows)[:, -1] == pytest.approx(last, abs=1e-5)
    assert result["held_out"]["nats_per_token"] == pytest.approx(
        held_out_loss.losses(model.transformer, windows).mean()
    )
    # The unigram reference, counted in plain Python.
    counts = np.ones(tokenizer.vocab_size)
    for token in train.stream.tolist():
        counts[token] += 1
    unigram = np.mean([-np.log(counts[token] / counts.sum()) for token in windows[:, 1:].ravel()])
    assert result["held_out"]["unigram_nats_per_token"] == pytest.approx(unigram)
    text = ["".join(tokenizer.pieces(row)) for row in windows[:, 1:].tolist()]
    total = result["held_out"]["nats_per_token"] * windows[:, 1:].size
    assert result["held_out"]["nats_per_byte"] == pytest.approx(total / sum(len(t.encode()) for t in text))


def test_loss_by_context_covers_every_position_once() -> None:
    for context in (1, 2, 3, 16, 63, 64, 65, 128):
        covered = [i for low, high in held_out_loss.bands(context) for i in range(low, high + 1)]
        assert covered == list(range(1, context + 1))


def test_context_helps_a_trained_model(tmp_path: Path) -> None:
    """A text whose second half repeats the first is learned far below its unigram entropy."""
    rng = stream(0, "letters")
    texts = []
    for i in range(40):
        words = "".join(rng.choice(list("abcdefgh"), size=400))
        texts.append(Document(f"{i}", "".join(letter * 2 for letter in words)))
    corpus = Corpus("doubled", tuple(texts[:30]), tuple(texts[30:]))
    config = dataclasses.replace(TINY, tokenizer="bytes", width=32, steps=120, batch_tokens=192, warmup=10, lr=1e-2)
    result = train_lm(config, corpus, tmp_path)["held_out"]
    assert result["bytes_per_token"] == 1
    assert result["unigram_nats_per_token"] == pytest.approx(np.log(8), abs=0.05)
    # Every second letter is free once the phase is known: (ln 8) / 2.
    assert np.log(8) / 2 - 0.05 < result["by_context"][-1]["nats_per_token"] < 1.5
    assert result["by_context"][0]["nats_per_token"] > result["by_context"][-1]["nats_per_token"] + 0.2


def test_the_gain_of_the_farther_half_compares_the_same_targets(trained: Path) -> None:
    model, tokenizer = load_lm(trained)
    windows = TextTask(CORPUS.held_out, tokenizer).windows(16, 8, stream(0, "far"))
    nats = held_out_loss.losses(model.transformer, windows)
    found = held_out_loss.far_half(model.transformer, windows, nats)
    wanted = []
    for row in windows:
        for target in range(13, 17):
            ids = np.arange(target)[None]
            with_it = model.target_losses(row[None, :target], ids, row[None, target])
            # Rotary ids: only differences count, so the cut context may keep its ids.
            without = model.target_losses(row[None, 8:target], ids[:, 8:], row[None, target])
            wanted.append((with_it.item(), without.item()))
    assert found["with"] == pytest.approx(np.mean([pair[0] for pair in wanted]), abs=1e-5)
    assert found["without"] == pytest.approx(np.mean([pair[1] for pair in wanted]), abs=1e-5)
    assert found["gain"] == pytest.approx(found["without"] - found["with"])


def test_pose_is_measured_at_its_target_too(tmp_path: Path) -> None:
    result = train_lm(dataclasses.replace(TINY, scheme="pose", target=24), CORPUS, tmp_path)
    assert result["held_out"]["context"] == 16
    assert result["at_target"]["context"] == 24
    assert result["at_target"]["by_context"][-1]["to"] == 24


def test_folders_of_something_else_are_left_alone(trained: Path, tmp_path: Path) -> None:
    with pytest.raises(LengthwiseError, match="another configuration"):
        train_lm(dataclasses.replace(TINY, steps=7), CORPUS, trained)
    with pytest.raises(LengthwiseError, match="another text"):
        train_lm(TINY, Corpus("small", CORPUS.train, CORPUS.train), trained)
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(LengthwiseError, match="not empty"):
        train_lm(TINY, CORPUS, tmp_path)
    with pytest.raises(LengthwiseError, match="is a file"):
        train_lm(TINY, CORPUS, tmp_path / "mine")
    assert (tmp_path / "mine").read_text() == "precious"
    (tmp_path / "run").mkdir()
    write_sealed(tmp_path / "run" / "config.json", {"experiment": {}})
    with pytest.raises(LengthwiseError, match="not the folder of a language model"):
        train_lm(TINY, CORPUS, tmp_path / "run")
    assert not is_lm(tmp_path / "run")
    with pytest.raises(LengthwiseError, match="no language model of this format"):
        load_lm(tmp_path / "run")
    with pytest.raises(LengthwiseError, match="no language model at"):
        load_lm(tmp_path / "nowhere")


def test_damaged_folders_are_named(trained: Path, tmp_path: Path) -> None:
    for file in ("config.json", "tokenizer.json", "model.safetensors"):
        (tmp_path / file).write_bytes((trained / file).read_bytes())
    weights = bytearray((tmp_path / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (tmp_path / "model.safetensors").write_bytes(weights)
    with pytest.raises(LengthwiseError, match="damaged or of another model"):
        load_lm(tmp_path)
    model, tokenizer = load_lm(trained)
    config, corpus = read_config(trained)
    save_lm(tmp_path, model.transformer, Bytes(), config, corpus)
    with pytest.raises(LengthwiseError, match="damaged or of another model"):
        load_lm(tmp_path)
    save_lm(tmp_path, model.transformer, tokenizer, config, corpus)
    assert load_lm(tmp_path)[0].vocab_size == model.vocab_size
    with torch.no_grad():
        model.transformer.table.weight[5, 0] = float("nan")
    with pytest.raises(LengthwiseError, match="not finite"):
        save_lm(tmp_path, model.transformer, tokenizer, config, corpus)


def test_too_short_a_text_is_named(tmp_path: Path) -> None:
    corpus = Corpus("short", CORPUS.train, (Document("c", "abc"),))
    with pytest.raises(LengthwiseError, match=r"the held-out text is too short: its longest document has \d tokens"):
        train_lm(TINY, corpus, tmp_path)


def test_configurations_that_make_no_sense() -> None:
    for fields, said in (
        ({"context": 1}, "context must be at least 2"),
        ({"target": 64}, "target must be at least the context"),
        ({"target": 256}, "sequential never reaches"),
        ({"width": 10}, "width must be a multiple of heads"),
        ({"scheme": "alibi"}, "scheme"),
        ({"steps": 0}, "steps must be at least 1"),
    ):
        with pytest.raises(LengthwiseError, match=said):
            lm_config("quick", **fields)
    with pytest.raises(UnknownNameError, match="preset"):
        lm_config("full")


@pytest.mark.parametrize("preset", ["quick", "standard"])
def test_the_pair_differs_in_its_contexts_only(preset: str) -> None:
    long, short = pair(preset, seed=3)
    assert (long.context, long.scheme, long.longest) == (128, "sequential", 128)
    assert (short.context, short.scheme, short.longest) == (64, "pose", 128)
    assert dataclasses.replace(short, context=128, scheme="sequential", target=None) == long
    per_step = [config.training().batch_size * config.context for config in (long, short)]
    assert per_step[0] == per_step[1]
