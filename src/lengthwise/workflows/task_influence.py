"""Measures on which tokens of a problem the answer of an exported model depends: the model of a task, which reads none.

The other models of `lengthwise influence` read text. A problem takes the place of a document, and one token of its
answer is the target.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lengthwise.core.config import digest
from lengthwise.core.errors import require
from lengthwise.core.rng import stream
from lengthwise.experiments.events import Report
from lengthwise.tasks import TASKS, Task

if TYPE_CHECKING:
    from lengthwise.core.batch import Batch
    from lengthwise.experiments.run_config import RunConfig
    from lengthwise.influence.measure import MeasureConfig
    from lengthwise.influence.models import OwnModel
    from lengthwise.workflows.influence_request import Request

PASSAGES = 2
"""Problems of the token-level view."""
RECENT, KS = 1, (1, 2, 4, 8, 16)
"""By default all but the last token can be hidden, and as many of these numbers are measured as the prompt allows."""


def measure_task(
    request: Request, make_config: Callable[[dict[str, Any]], MeasureConfig], report: Report
) -> tuple[OwnModel, MeasureConfig, dict[str, Any]]:
    """The model, the settings and the result without provenance; raises `LengthwiseError` for what can't be measured.

    ``request.length`` is that of the problems, by default the longest of the training; ``request.answer_token`` counts
    the tokens of the answer from 0.
    """
    from lengthwise.experiments.trained import load_exported
    from lengthwise.influence.corpus import problem_windows
    from lengthwise.influence.measure import measure, passage
    from lengthwise.influence.models import OwnModel

    assert request.model is not None
    for option, value in (("--text", request.text), ("--dataset", request.dataset), ("--chooser", request.chooser)):
        require(value is None, f"{request.model} holds the model of a task, which reads no text; leave out {option}")
    settings = {key: value for key, value in (request.settings or {}).items() if value is not None}
    for option, value in (("--context", settings.get("context")), ("--max-length", request.max_length)):
        require(value is None, f"{request.model} holds the model of a task; leave out {option} and give --length")
    report("reading the model", 0, 1)
    experiment, transformer = load_exported(Path(request.model))
    length = experiment.training.max_length if request.length is None else request.length
    count, seed = settings.get("targets", 200), settings.get("seed", 0)
    require(count >= 1, f"--targets must be at least 1, got {count}")
    rng = stream(seed, "influence", "problems", length)
    at = request.answer_token or 0
    windows, batch = problem_windows(experiment.task, length, count, at, rng)
    config = make_config(_with_defaults(settings, windows.tokens.shape[1] - 1))
    model = OwnModel(Path(request.model).resolve().name, transformer, None, ids=_window_ids(experiment, batch, config))
    pieces = _pieces(experiment.task)
    result = measure(model, windows, config, pieces=pieces, on_progress=report)
    gains = np.array([target["short"] - target["long"] for target in result["targets"]])
    for index in np.argsort(-gains, kind="stable")[:PASSAGES]:
        rows = slice(index, index + 1)
        alone = replace(windows, tokens=windows.tokens[rows], documents=windows.documents[rows],
                        offsets=windows.offsets[rows])  # fmt: skip
        result["passages"].append(passage(model, alone, config, pieces))
    about = {
        "name": f"{experiment.task.name} of length {length}, token {at} of the answer",
        "task": TASKS.describe(experiment.task), "length": length, "answer_token": at,
    }  # fmt: skip
    return model, config, {**result, "kind": "influence", "corpus": {**about, "digest": digest(about)}, "pair": None}


def _with_defaults(settings: dict[str, Any], context: int) -> dict[str, Any]:
    """The settings with the whole prompt as context; without ``ks``, those of `KS` that fit."""
    found = {"recent": RECENT, **settings, "context": context}
    most = context - found["recent"] - bool(found.get("keep_first"))
    found.setdefault("ks", [k for k in KS if k <= max(most, 1)])
    return found


def _window_ids(experiment: RunConfig, batch: Batch, config: MeasureConfig) -> Callable[[np.ndarray], np.ndarray]:
    """The ids of whole windows of ``batch``, as at test; a token keeps its id under every mask of the others."""
    rng = stream(config.seed, "influence", "ids")
    ids = experiment.scheme.for_evaluation().assign(batch.places, experiment.task.levels, rng)[:, : config.context]
    known = {row.tobytes(): own for row, own in zip(_rows(batch.input_ids[:, : config.context]), ids, strict=True)}
    return lambda tokens: np.stack([known[row.tobytes()] for row in _rows(tokens)])


def _rows(tokens: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(tokens, dtype=np.int64)


def _pieces(task: Task) -> Callable[[Any], list[str]]:
    return lambda ids: [f"{task.vocab.tokens[int(token)]} " for token in ids]
