"""`load`: the trained model of a run, which answers in text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lengthwise.api.result import Result
from lengthwise.core import config as arguments
from lengthwise.core.errors import LengthwiseError, listed, require
from lengthwise.core.rng import stream
from lengthwise.core.table import Table, Tabular
from lengthwise.core.vocab import BOS, EOS
from lengthwise.evaluation.accuracy import read_prompt
from lengthwise.experiments.run_config import RunConfig
from lengthwise.experiments.trained import load_trained
from lengthwise.models.generate import END, generate
from lengthwise.models.inputs import Inputs
from lengthwise.models.transformer import Transformer
from lengthwise.report.summary import SeedResult
from lengthwise.tasks.language import Language

MOST_ROWS = 24
"""Prefixes that a `Reading` shows; of more, the first of those where model and language differ, and the last."""


@dataclass(frozen=True, repr=False)
class Reading(Tabular):
    """What a model says after every prefix of a word, from the empty one on, and what is right by the language.

    ``said`` and ``right`` hold the symbols that may come next, with ``<eos>`` where the word may end; of a model that
    is asked whether a prefix is a word, ``<eos>`` or nothing; of one that is asked for states, the state. They stop at
    a prefix with which no word begins, since nothing is asked there. ``accepts`` says whether the model takes the word,
    ``is_word`` whether it is one; of states both are None.
    """

    word: tuple[str, ...]
    said: tuple[tuple[str, ...], ...]
    right: tuple[tuple[str, ...], ...]
    accepts: bool | None
    is_word: bool | None

    @property
    def differs(self) -> int | None:
        """After how many symbols the two first differ; None where they never do."""
        return next((at for at, pair in enumerate(zip(self.said, self.right, strict=True)) if pair[0] != pair[1]), None)

    def finding(self) -> str:
        """Whether it is accepted, whether it is a word, and where model and language first differ."""
        count, at = len(self.right), self.differs
        takes = "Accepted" if self.accepts else "Not accepted"
        agree = "and" if self.accepts == self.is_word else "though"
        first = f"{takes}, {agree} it is {'a' if self.is_word else 'no'} word. " * (self.accepts is not None)
        if at is None:
            beyond = f"; no word goes on with symbol {count}, {self.word[count - 1]}" if count <= len(self.word) else ""
            prefixes = f"all {count} prefixes" if count > 1 else "the empty prefix"
            return f"{first}The model is right after {prefixes}{beyond}."
        where = f"after {at} of {len(self.word)} symbols" if at else "before the first symbol"
        says = f"the model says {_sets(self.said[at])}, right is {_sets(self.right[at])}"
        return f"{first}Model and language first differ {where}: {says}."

    def table(self) -> Table:
        """One row per prefix; of a long word the first where the two differ, and the last."""
        last = len(self.right) - 1
        shown = [at for at in range(last + 1) if last < MOST_ROWS or self.said[at] != self.right[at] or at == last]
        shown = [*shown[:MOST_ROWS], *shown[MOST_ROWS:][-1:]]
        rows = tuple(
            (at, self.word[at - 1] if at else "", _sets(said := self.said[at]), _sets(right := self.right[at]),
             "yes" if said != right else None)
            for at in shown
        )  # fmt: skip
        notes = (f"not shown: {last + 1 - len(shown)} of {last + 1} prefixes; the first that differ are shown",)
        return Table(
            ("read", "symbol", "the model says", "right", "differs"), rows, answer={"finding": self.finding()},
            notes=notes * (len(shown) <= last), empty=("",) * len(rows),
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"word": list(self.word), "accepts": self.accepts, "is_word": self.is_word, "differs": self.differs,
                "said": list(map(list, self.said)), "right": list(map(list, self.right))}  # fmt: skip


def _sets(tokens: Sequence[str]) -> str:
    return " ".join("end" if token == EOS else token for token in sorted(tokens, key=EOS.__eq__)) or "nothing"


class TrainedTransformer(Transformer):
    """A `Transformer` that knows its task, and so reads prompts and writes answers as text."""

    experiment: RunConfig

    @classmethod
    def of(cls, experiment: RunConfig, model: Transformer) -> TrainedTransformer:
        """The same module (its parameters are shared), with the experiment that trained it."""
        made = cls.__new__(cls)
        made.__dict__.update(model.__dict__)
        made.experiment = experiment
        return made

    @torch.inference_mode()
    def generate(self, prompt: str | Sequence[str], *, steps: int | None = None) -> str:
        """The greedy continuation of a prompt such as ``"7 2 + 5 4 ="`` or a list of tokens, without ``<eos>``.

        Position ids of new tokens come from the scheme, or from the model itself where it predicts them. ``steps``
        bounds the number of new tokens. Raises `LengthwiseError` for a prompt that the task does not have, and for a
        language, which has none (`may_follow`).
        """
        task, scheme = self.experiment.task, self.experiment.scheme
        require(not isinstance(task, Language), "a language has no prompts with an answer; ask .may_follow(word)")
        most = None if steps is None else arguments.whole("steps", steps, 1)
        text = prompt if isinstance(prompt, str) else " ".join(arguments.names("prompt", prompt))
        read = read_prompt(task, scheme, text)
        given = None if scheme.predicted else read.next_ids
        if given is None and not scheme.predicted:
            raise LengthwiseError(
                f"the places of this answer depend on its content, so scheme {scheme.name!r} can't give its ids; "
                "train with scheme predictive-coupling"
            )
        device = next(self.parameters()).device
        out = generate(
            self,
            torch.from_numpy(read.input_ids).to(device),
            torch.from_numpy(read.position_ids).to(device),
            most or read.steps,
            next_ids=None if given is None else torch.from_numpy(given).to(device),
        )
        words = task.vocab.decode(out.tokens[0].tolist())
        return " ".join(words[: words.index(EOS)] if EOS in words else words)

    @torch.inference_mode()
    def may_follow(self, word: str | Sequence[str]) -> Reading:
        """What the model says after every prefix of a word, and what is right: of a model of a language.

        Arguments:
            word: symbols such as ``"a b a"``, ``"aba"`` or ``["a", "b", "a"]``; ``""`` is the empty word.

        Returns: a `Reading`, which prints as a table.

        Raises: `LengthwiseError` for a model of another task, a symbol that the language lacks, and a word that is too
            long for the model.
        """
        task, scheme = self.experiment.task, self.experiment.scheme.for_evaluation()
        if not isinstance(task, Language):
            raise LengthwiseError(f"task {task.name!r} is no language; ask .generate(prompt)")
        symbols = task.machine().alphabet
        parts = word.split() if isinstance(word, str) else arguments.names("word", word)
        parts = parts[1:] if parts[:1] == [BOS] else parts
        read = tuple(one for part in parts for one in ([part] if part in symbols else part))
        for one in read:
            require(one in symbols, f"the language has no symbol {one!r}; its symbols are {' '.join(symbols)}")
        (batch,) = task.batches_of([np.array([[symbols.index(one) for one in read]], dtype=np.int64)])
        device = next(self.parameters()).device
        inputs = Inputs.of(batch, scheme, task.levels, stream(0, "prompt", "ids")).to(device)
        assert inputs.allowed is not None
        logits = self(inputs.input_ids, inputs.position_ids, at=inputs.at).logits
        tokens = task.vocab.tokens[END:]
        said, right = (
            [
                tuple(token for token, there in zip(tokens, row, strict=True) if there)
                for row in rows[0, :, END:].tolist()
            ]
            for rows in (logits > 0, inputs.allowed)
        )
        asked = len(read) + 1
        said, right = said[:asked], right[:asked]
        if task.ask == "state":
            return Reading(read, tuple(said), tuple(right), None, None)
        goes_on = task.ask == "member" or all(one in now for one, now in zip(read, said, strict=False))
        live = next((at for at, now in enumerate(right) if not now), asked) if task.ask == "next" else asked
        ends = goes_on and EOS in said[-1], EOS in right[-1]
        return Reading(read, tuple(said[:live]), tuple(right[:live]), *ends)


def load(source: Result | str | Path, seed: int | None = None, *, system: str | None = None) -> TrainedTransformer:
    """The trained model of a `Result` or of a run directory: a plain `torch.nn.Module` that answers in text.

    ``generate(prompt)`` of it gives the answer; of a language, ``may_follow(word)`` says what may come next.

    Arguments:
        source: a `Result`, a run directory, or a folder with several.
        seed: which seed; by default the best of those that fitted, by exact match at the longest test.
        system: which system, where the runs are of several.

    Returns: the model, in evaluation mode.

    Raises: `LengthwiseError` if there is no such run, the runs are of several systems and none is named, or the folder
        holds no checkpoint.
    """
    return TrainedTransformer.of(*load_trained(run_folder(source, seed, system)))


def run_folder(source: Result | str | Path, seed: int | None = None, system: str | None = None) -> Path:
    """The run directory that `load` reads; arguments and errors as there."""
    if not isinstance(source, Result):
        folder = arguments.path("source", source)
        return folder if (folder / "config.json").exists() else run_folder(Result.of([folder]), seed, system)
    seed = None if seed is None else arguments.whole("seed", seed)
    names = list(dict.fromkeys(run.system for run in source.runs))
    if system is None and len(names) > 1:
        raise LengthwiseError(f"these runs are of {len(names)} systems; give one as `system`: {listed(names)}")
    mine = source.files if system is None else source.only(systems=[system]).files
    candidates = [(folder, run) for folder, run in mine if seed is None or run.seed == seed]
    if not candidates:
        seeds = ", ".join(str(run.seed) for _, run in mine)
        raise LengthwiseError(f"seed {seed} was not run; the seeds are {seeds}")
    return max(candidates, key=lambda candidate: _goodness(candidate[1]))[0]


def _goodness(run: SeedResult) -> tuple[bool, float, float]:
    """Whether a run fitted, its exact match at the longest test, and that at training lengths."""
    longest = max((score.length for score in run.scores), default=0)
    there = [score.rate() for score in run.lower if score.length == longest]
    return run.fitted, min(there, default=0.0) or 0.0, run.in_distribution.rate()
