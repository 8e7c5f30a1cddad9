"""The bits of a training depend on its threads: a run that goes on with another number says so."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
import torch

from lengthwise.core.files import read_json
from lengthwise.core.result_file import RESULT
from lengthwise.experiments.run import run_seed
from lengthwise.experiments.run_config import RunConfig
from lengthwise.training import checkpoint
from lengthwise.training.trainer import Trainer

TINY = RunConfig.from_json(
    {
        "task": {"name": "copy", "symbols": "repeats", "letters": 3},
        "scheme": {"name": "coupled", "max_position": 24},
        "encoding": {"name": "learned"},
        "model": {"layers": 1, "heads": 2, "width": 16, "mlp_ratio": 1},
        "training": {"max_length": 3, "steps": 10, "batch_size": 8, "groups": 2, "probe_every": 5},
        "evaluation": {"lengths": [2], "samples": 8, "fit_samples": 8, "probe_samples": 6, "unfitted_too": True},
    }
)


def test_another_number_of_threads_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save, before = Trainer._save, torch.get_num_threads()

    def interrupted(trainer: Trainer) -> None:
        save(trainer)
        raise KeyboardInterrupt

    try:
        torch.set_num_threads(1)
        monkeypatch.setattr(Trainer, "_save", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_seed(TINY, 0, tmp_path / "run", recipe="r", system="s")
        monkeypatch.setattr(Trainer, "_save", save)
        torch.set_num_threads(2)
        with pytest.warns(UserWarning, match="goes on with another number of threads, 2") as said:
            run_seed(TINY, 0, tmp_path / "run", recipe="r", system="s")
    finally:
        torch.set_num_threads(before)
    assert read_json(tmp_path / "run" / RESULT)["threads"] == [1, 2]
    assert [one.filename for one in said] == [__file__], "the user's line, not ours"


def test_one_number_is_not_worth_a_word(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        run_seed(TINY, 0, tmp_path / "run", recipe="r", system="s")
    assert "threads" not in read_json(tmp_path / "run" / RESULT)
    found = checkpoint.read(tmp_path / "run")
    assert found is not None
    assert found[1].progress[0].threads == [torch.get_num_threads()]
