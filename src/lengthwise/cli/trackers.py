"""Sends the progress of a run to Weights & Biases or TensorBoard, on request; result files stay the record."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lengthwise.core.errors import LengthwiseError, UnknownNameError
from lengthwise.experiments.events import Event
from lengthwise.experiments.recipe import Recipe

Log = Callable[[Event], None]
EVERY = 10
"""Training steps between two numbers."""


@contextmanager
def tracker(name: str | None, recipe: Recipe, folder: Path) -> Iterator[Log]:
    """What takes the events of a run of ``recipe``: nothing without a name, else one run per system and seed.

    Raises `UnknownNameError` for another service, and `LengthwiseError` if its package is not installed.
    """
    if name is None:
        yield lambda event: None
        return
    if name not in _OPENERS:
        raise UnknownNameError("service to log to", name, _OPENERS)
    open_run, opened = _OPENERS[name](recipe, folder), {}

    def log(event: Event) -> None:
        key = event.job, event.seed
        if event.phase == "reused" or (event.phase == "train" and event.done % EVERY):
            return
        if key not in opened:
            opened[key] = open_run(*key)
        write, _ = opened[key]
        what = {"train": "loss", "test": "exact match", "finished": "in distribution"}.get(event.phase, event.phase)
        write(what, event.number, event.done)

    try:
        yield log
    finally:
        for _, close in opened.values():
            close()


def _package(name: str, extra: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise LengthwiseError(
            f"--log-to {extra} needs the package {extra}; run: pip install 'lengthwise[{extra}]'"
        ) from None


def _wandb(recipe: Recipe, folder: Path) -> Callable[[str, int], tuple[Callable[[str, float, int], None], Any]]:
    wandb = _package("wandb", "wandb")
    settings = {job.name: job.to_json() for job in recipe.jobs}

    def open_run(job: str, seed: int) -> tuple[Callable[[str, float, int], None], Any]:
        run = wandb.init(
            project="lengthwise", group=recipe.name, name=f"{job}, seed {seed}", config=settings[job],
            dir=str(folder.parent), reinit="create_new",
        )  # fmt: skip
        return lambda what, number, step: run.log({what: number, f"{what} step": step}), run.finish

    return open_run


def _tensorboard(recipe: Recipe, folder: Path) -> Callable[[str, int], tuple[Callable[[str, float, int], None], Any]]:
    _package("tensorboard", "tensorboard")
    module = importlib.import_module("torch.utils.tensorboard")

    def open_run(job: str, seed: int) -> tuple[Callable[[str, float, int], None], Any]:
        name = "".join(c if c.isalnum() or c in "-_" else "-" for c in job)
        writer = module.SummaryWriter(str(folder / "tensorboard" / f"{name}-{seed}"))
        return lambda what, number, step: writer.add_scalar(what, number, step), writer.close

    return open_run


_OPENERS: dict[str, Callable[[Recipe, Path], Any]] = {"wandb": _wandb, "tensorboard": _tensorboard}
