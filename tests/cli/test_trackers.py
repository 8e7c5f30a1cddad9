"""Progress goes to the real TensorBoard and the real Weights & Biases, and is read back from their files."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from terminal import TINY_OPTIONS, Terminal

if TYPE_CHECKING:
    from wandb.proto.wandb_internal_pb2 import Record

RUN = ["run", "addition", "--only", "coupled", *TINY_OPTIONS, "--set", "training.steps=20", "--seeds", "1"]


def in_log(folder: Path, key: str) -> dict[int, float]:
    """The numbers of our own log by step, which is the record."""
    (path,) = folder.rglob("log.jsonl")
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    return {entry["step"]: entry[key] for entry in entries if key in entry}


def records(path: Path) -> Iterator[Record]:
    """The records of a ``.wandb`` file, which is a LevelDB log: blocks of 32 KiB, and pieces of records in them."""
    from wandb.proto.wandb_internal_pb2 import Record

    data, at, whole = path.read_bytes(), 7, b""
    assert data[:4] == b":W&B"
    while at + 7 <= len(data):
        room = 2**15 - at % 2**15
        if room < 7:
            at += room
            continue
        _, length, kind = struct.unpack_from("<IHB", data, at)
        whole += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # a whole record, or the last piece of one
            yield Record.FromString(whole)
            whole = b""


def test_tensorboard(terminal: Terminal, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    assert terminal(*RUN, "--out", tmp_path, "--log-to", "tensorboard").code == 0
    (path,) = (tmp_path / "addition" / "tensorboard").iterdir()
    assert path.name == "coupled-0"
    read = EventAccumulator(str(path))
    read.Reload()
    losses = {event.step: event.value for event in read.Scalars("loss")}
    assert sorted(losses) == [10, 20]
    own = in_log(tmp_path, "loss")
    for step in losses.keys() & own.keys():
        assert losses[step] == pytest.approx(own[step], abs=1e-3)
    (end,) = read.Scalars("in distribution")
    (result,) = tmp_path.rglob("result.json")
    assert end.value == pytest.approx(json.loads(result.read_text())["in_distribution"]["exact_match"])


def test_weights_and_biases_offline(terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import wandb

    monkeypatch.setenv("WANDB_MODE", "offline")
    assert terminal(*RUN, "--out", tmp_path, "--log-to", "wandb").code == 0
    # `finish` does not wait until wandb's own process has closed the file; a command that ends does, at its exit.
    wandb.teardown()
    (path,) = (tmp_path / "wandb").glob("offline-run-*/*.wandb")
    written: dict[str, list[float]] = {}
    config, name = {}, ""
    for record in records(path):
        for item in record.history.item:
            written.setdefault("/".join(item.nested_key) or item.key, []).append(json.loads(item.value_json))
        if record.HasField("run"):
            name = record.run.display_name
            config |= {item.key: json.loads(item.value_json) for item in record.run.config.update}
    assert name == "coupled, seed 0"
    assert written["loss step"] == [10, 20]
    assert len(written["loss"]) == 2
    assert len(written["in distribution"]) == 1
    assert config["experiment"]["task"]["name"] == "addition"


def test_without_a_key_it_is_one_line_before_anything_is_lost(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report: 86 lines of traceback."""
    for name in ("WANDB_MODE", "WANDB_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "NETRC", "WANDB_CONFIG_DIR", "WANDB_BASE_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9" if name == "WANDB_BASE_URL" else str(tmp_path / name))
    answer = terminal(*RUN, "--out", tmp_path, "--log-to", "wandb")
    assert answer.code == 2
    (line,) = [line for line in answer.err.splitlines() if line.startswith("error: ")]
    assert line.startswith("error: --log-to wandb: ")
    assert "set WANDB_MODE=offline" in line
    assert "Traceback" not in answer.err
