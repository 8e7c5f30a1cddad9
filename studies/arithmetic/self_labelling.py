"""Self-improvement: a model labels longer prompts itself, filters the labels and trains on them (Lee et al. 2025)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int
from numpy import ndarray

import lengthwise as lw

ReportRound = Callable[[int, int, int, float], None]
"""Called with the round, the steps done in it, its steps, and the mean loss of the voters."""


@dataclass(frozen=True)
class Rounds:
    """How self-improvement goes on: from the first length to the last, one length a round.

    The first round takes the steps of ``start`` on the task's own labels; every later one takes ``steps`` on these and
    on all labels of the models, of ``prompts`` prompts a length.
    """

    first: int
    last: int
    start: lw.TrainingConfig
    steps: int
    prompts: int

    def config(self, longest: int) -> lw.TrainingConfig:
        """The training of the round whose longest sequences have this length."""
        steps = self.start.steps if longest == self.first else self.steps
        return dataclasses.replace(
            self.start, max_length=longest, steps=steps, warmup=min(self.start.warmup, steps // 10)
        )  # fmt: skip


@dataclass(frozen=True)
class OwnLabels:
    """What models answered to prompts of one length, after both filters; ``dropped`` counts rows by filter."""

    prompts: Int[ndarray, "N P"]
    answers: Int[ndarray, "N S"]
    dropped: dict[str, int]


class SelfLabelled(lw.Task):
    """A task up to its first length; beyond it, prompts with the answers of models. There are no places.

    It has no `answer`: nothing here knows what is right.
    """

    name = "self-labelled"
    summary = "a task whose longer answers are those of models"

    def __init__(self, task: lw.Task, first: int) -> None:
        self.task, self.first = task, first
        self.vocab = task.vocab
        self.labels: dict[int, OwnLabels] = {}

    def lengths(self, low: int, high: int) -> list[int]:
        """The task's up to the first length, and those that have labels."""
        return [*self.task.lengths(low, min(high, self.first)), *(n for n in sorted(self.labels) if low <= n <= high)]

    def layout(self, length: int, rng: lw.core.rng.Rng) -> lw.core.batch.Layout:
        """The task's, or that of the labels of this length."""
        return self.task.layout(length, rng) if length <= self.first else lw.core.batch.Layout(length)

    def write(self, seq: lw.core.batch.SequenceBuilder, layout: lw.core.batch.Layout, rng: lw.core.rng.Rng) -> None:
        """Rows drawn with replacement from the labels of this length, or what the task writes."""
        if layout.length <= self.first:
            return self.task.write(seq, layout, rng)
        labels = self.labels[layout.length]
        rows = rng.integers(len(labels.prompts), size=seq.size)
        seq.givens(labels.prompts[rows].T)
        for column in labels.answers[rows, :-1].T:
            seq.predicted(column)
        seq.eos()
        return None

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Not known."""
        raise ValueError(f"a self-labelled task has no answers of its own, not even to {prompt}")


def self_labelled(
    models: Sequence[lw.models.transformer.Transformer],
    task: lw.Task,
    scheme: lw.schemes.PositionScheme,
    length: int,
    count: int,
    rng: lw.core.rng.Rng,
) -> OwnLabels:
    """What ``models`` answer to ``count`` prompts of ``length``, greedily, where the filters let it pass.

    The length filter keeps answers of the most frequent length that end. The majority filter keeps those that more
    than half of the models give.
    """
    batch = task.batch(length, count, rng)
    prompts = batch.input_ids[:, : batch.prompt_length]  # Nothing else of the batch is read.
    most = 2 * prompts.shape[1]
    kinds = task.levels
    ids = scheme.for_evaluation().assign(np.zeros((count, prompts.shape[1] + most, len(kinds)), int), kinds, rng)
    tokens, given, after = (
        torch.from_numpy(x) for x in (prompts, ids[:, : prompts.shape[1]], ids[:, prompts.shape[1] :])
    )
    answers = np.stack(
        [
            lw.models.generate.generate(model.eval(), tokens, given, most, next_ids=after).tokens.numpy()
            for model in models
        ]
    )
    ended = (answers == lw.models.generate.END).any(-1)
    lengths = np.where(ended, (answers == lw.models.generate.END).argmax(-1) + 1, 0)  # [models, rows]
    usual = int(np.bincount(lengths[ended]).argmax()) if ended.any() else 0
    answers, fits = answers[:, :, :usual], ended & (lengths == usual)
    same = (answers[:, None] == answers[None]).all(-1) & fits[:, None] & fits[None]
    votes = same.sum(1)  # How many models give the answer of each; [models, rows]
    best = votes.argmax(0)
    chosen = answers[best, np.arange(count)]
    agreed = votes.max(0) * 2 > len(models)
    short = ~fits.any(0)
    dropped = {"length": int(short.sum()), "majority": int((~agreed & ~short).sum())}
    return OwnLabels(prompts[agreed], chosen[agreed], dropped)


@dataclass(frozen=True)
class Round:
    """The models after one round, and the labels that were new in it (None in the first round)."""

    longest: int
    models: list[lw.models.transformer.Transformer]
    labels: OwnLabels | None


def improve(
    setup: lw.training.data.TaskSetup,
    rounds: Rounds,
    seeds: Sequence[int],
    *,
    folder: Path | None = None,
    report: ReportRound | None = None,
) -> Iterator[Round]:
    """Train one model for each of ``seeds`` on the first lengths, then round by round on their common labels.

    Ends before ``rounds.last`` where no label passes the filters; that round is given with the models of the one
    before. With a ``folder`` an interrupted call goes on. Raises `LengthwiseError` for a scheme that needs places,
    which longer prompts do not have, and `TrainingDivergedError` as `Trainer` does.
    """
    lw.core.errors.require(
        not setup.scheme.uses_places,
        f"self-improvement needs ids without places, got scheme {setup.scheme.name!r}; use sequential or randomized",
    )
    own = SelfLabelled(setup.task, rounds.first)
    current = data = dataclasses.replace(setup, task=own)
    models: list[lw.models.transformer.Transformer] = []
    for number, longest in enumerate(range(rounds.first, rounds.last + 1)):
        labels = None
        if number > 0:
            rng = lw.stream(seeds[0], "own labels", longest)
            labels = self_labelled(models, setup.task, setup.scheme, longest, rounds.prompts, rng)
            if len(labels.prompts) == 0:
                yield Round(longest, models, labels)
                return
            own.labels[longest] = labels
        config = rounds.config(longest)

        def tell(step: int, loss: float, number: int = number, steps: int = config.steps) -> None:
            if report is not None:
                report(number, step, steps, loss)

        subfolder = None if folder is None else folder / f"length-{longest}"
        trainer = lw.training.trainer.Trainer(current, config, list(seeds), folder=subfolder, on_step=tell)
        models = [state.trained() for state in trainer.run()]
        current = lw.training.fine_tune.Continued(data, dict(zip(seeds, models, strict=True)))
        yield Round(longest, models, labels)
