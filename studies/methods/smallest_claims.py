"""ASEntmax and PoPE against the smallest synthetic claims of their papers, in small.

``python studies/methods/smallest_claims.py train --work DIR --minutes M`` trains the cells that are missing, one file
each; the same command goes on where it stopped. Tasks, settings, cuts and what is expected are the plain assignments
below; they were committed before the first training. `tables` are those of the page.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch

import lengthwise as lw

RESULTS = Path(__file__).parent / "results" / "smallest-claims"
SEEDS = 3
LETTERS, FARTHEST = 26, 3
"""Of indirect indexing: the alphabet, and the farthest shift; the paper has 52 and 15."""


@lw.config
class IndirectIndexing(lw.Task):
    """``<bos> q e o h u <sep> o + 2 <sep> u <eos>``: the letter two places to the right of o.

    Length = number of letters, all different. Left is ``-``, right ``+``. Letter, sign and digit are all needed to
    choose the parent.
    """

    summary = "the letter so many places to the left or right of a given one"
    guess = 1 / (2 * FARTHEST)

    @property
    def vocab(self) -> lw.Vocab:
        digits = [str(shift) for shift in range(1, FARTHEST + 1)]
        return lw.Vocab.of([*map(chr, range(ord("a"), ord("a") + LETTERS)), "+", "-", *digits])

    def lengths(self, low: int, high: int) -> list[int]:
        """Two letters at least, and as many as there are at most."""
        return list(range(max(low, 2), min(high, LETTERS) + 1))

    def write(self, seq: Any, layout: Any, rng: Any) -> None:
        """Letter i (from 0) has place i + 2, and so has the answer; what asks for it has place 1."""
        n, rows = layout.length, np.arange(seq.size)
        letters = rng.permuted(np.tile(np.arange(LETTERS), (seq.size, 1)), axis=1)[:, :n] + self.vocab["a"]
        pairs = [(at, to) for at in range(n) for to in range(n) if 0 < abs(to - at) <= FARTHEST]
        at, to = np.array(pairs)[rng.integers(len(pairs), size=seq.size)].T
        sign = np.where(to > at, self.vocab["+"], self.vocab["-"])
        seq.bos()
        given = seq.givens(np.ascontiguousarray(letters.T), place=np.arange(2, n + 2))
        seq.sep(place=1)
        asked = [seq.given(column, place=1)
                 for column in (letters[rows, at], sign, abs(to - at) - 1 + self.vocab["1"])]  # fmt: skip
        seq.sep(place=1)
        seq.predicted(letters[rows, to], place=to + 2, parents=[to + given[0]], selectors=[at + given[0], *asked])
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        *string, between, letter, sign, digit, end = prompt[1:] if len(prompt) > 6 else [""] * 6
        right = (prompt[0], between, end) == ("<bos>", "<sep>", "<sep>") and sign in ("+", "-") and letter in string
        to = string.index(letter) + int(sign + digit) if right and digit in self.vocab.tokens[-FARTHEST:] else -1
        if not 0 <= to < len(string):
            raise ValueError("not letters, <sep>, one of them, a sign and a digit that lead to another, and <sep>")
        return [string[to], "<eos>"]


class NapeScores(lw.nn.content.ContentEncoding):
    """Head h = 1 … H/2 has the bias −distance / h, the other half none; then ASEntmax's weights, if there is one."""

    def __init__(self, heads: int, entmax: lw.nn.ASEntmax | None, slots: Any) -> None:
        super().__init__(slots)
        slopes = [1 / (head + 1) if head < heads // 2 else 0.0 for head in range(heads)]
        self.slopes, self.entmax = torch.nn.Buffer(torch.tensor(slopes), persistent=False), entmax

    def scores(self, scores: torch.Tensor, tokens: Any) -> torch.Tensor:
        far = (tokens.query_ids[..., None, 0] - tokens.ids[:, None, :, 0]).abs()[:, None]
        biased = scores - self.slopes[:, None, None] * far
        return biased if self.entmax is None else self.entmax.scores(biased, tokens)


@lw.config
class Nape(lw.positions.encodings.EncodingSpec):
    """NoPE in half of the heads, ALiBi with slopes 1/h in the others, as the experiments of 2506.16640 have it."""

    summary = "half of the heads have ALiBi with slopes 1/h, the others no positions"

    entmax: bool = False

    def build(self, shape: Any) -> NapeScores:
        entmax = lw.nn.ASEntmax(shape.width, shape.heads) if self.entmax else None
        return NapeScores(shape.heads, entmax, self.slots(shape))


SORT = {
    "task": lw.task("bucket-sort", letters=8),
    "model": lw.ModelConfig(layers=2, heads=4, width=64, qk_norm=False),
    "training": lw.TrainingConfig(min_length=8, max_length=16, steps=3000, batch_size=64, lr=1e-3, betas=(0.9, 0.99),
                                  weight_decay=0.0, warmup=400, final_lr=0.0, stacked=True),
    "lengths": (16, 32, 64, 128),
}  # fmt: skip
"""The paper: 32 letters, lengths 32 to 64, width 256, 8 heads, 312,500 steps of 128, tests at 64 to 512."""
INDEXING = {
    "task": IndirectIndexing(),
    "model": lw.ModelConfig(layers=3, heads=4, width=64, qk_norm=False),
    "training": lw.TrainingConfig(min_length=5, max_length=10, steps=10_000, batch_size=64, lr=1e-3, betas=(0.9, 0.99),
                                  weight_decay=0.01, warmup=400, final_lr=0.1, stacked=True),
    "lengths": (10, 15, 20),
}  # fmt: skip
"""The paper: 52 letters, lengths 20 to 40, shifts to 15, 8 layers of width 512, 8 heads, 100,000 steps of 64."""
CELLS: dict[str, tuple[dict[str, Any], Any]] = {
    "sort, NAPE, softmax": (SORT, Nape()),
    "sort, NAPE, ASEntmax": (SORT, Nape(entmax=True)),
    "indexing, RoPE": (INDEXING, lw.encoding("rope")),
    "indexing, PoPE": (INDEXING, lw.encoding("pope")),
    "sort, no positions, softmax": (SORT, lw.encoding("nope")),
    "sort, no positions, ASEntmax": (SORT, lw.encoding("asentmax")),
}
"""In the order in which they are trained. All seeds of a cell are shown, whether they fit or not."""
FIT, HOLDS = 0.98, 0.95


def experiment(name: str) -> lw.Experiment:
    """What a cell trains; two systems on one task differ in the encoding alone."""
    setting, encoding = CELLS[name]
    tokens = setting["task"].batch(setting["lengths"][-1], 1, lw.stream(0, "smallest claims")).tokens
    evaluation = lw.EvaluationConfig(lengths=setting["lengths"], samples=500, fit_threshold=FIT, unfitted_too=True)
    scheme = lw.scheme("sequential", max_position=tokens + 8)
    return lw.Experiment.of(
        lw.RunConfig(setting["task"], scheme, encoding, setting["model"], setting["training"], evaluation)
    )


def file_of(name: str, folder: Path = RESULTS) -> Path:
    return folder / f"{lw.core.files.slug(name)}.json"


def train(work: Path, minutes: float, folder: Path = RESULTS) -> None:
    """Train the cells without a file in order, as long as there is time."""
    ends = time.monotonic() + 60 * minutes
    for name in CELLS:
        if file_of(name, folder).exists() or time.monotonic() > ends:
            continue
        began = time.process_time()
        rows = [
            {"seed": run.seed, "fit": run.in_distribution.rate(),
             "rates": {str(score.length): score.rate() for score in run.scores}}
            for _, run in experiment(name).run(SEEDS, out=work, progress=False).files
        ]  # fmt: skip
        values = {"cell": name, "seeds": rows, "cpu_seconds": round(time.process_time() - began, 1)}
        folder.mkdir(parents=True, exist_ok=True)
        lw.core.files.write_json(file_of(name, folder), {**values, **lw.experiments.provenance.provenance("cpu")})
        print(name, *(f"{row['fit']:.3f}" for row in rows), f"{values['cpu_seconds']} s", flush=True)


def rates(name: str, length: int | None = None) -> list[float]:
    """The share of right strings of each seed at a length, or at trained ones; nothing before the cell is trained."""
    path = file_of(name)
    rows = lw.core.files.read_json(path)["seeds"] if path.exists() else []
    return [row["fit"] if length is None else row["rates"][str(length)] for row in rows]


def claims() -> list[tuple[str, str, bool | None]]:
    """What the papers lead us to expect, with what was seen, and whether it came so; None before the training."""
    pope, rope = rates("indexing, PoPE", 10), rates("indexing, RoPE", 10)
    sparse, dense = ({n: rates(f"sort, NAPE, {weights}", n) for n in (32, 64)} for weights in ("ASEntmax", "softmax"))
    if not (pope and rope and sparse[32] and dense[32]):
        return []
    gain = fmean(sparse[64]) - fmean(dense[64])
    return [
        ("PoPE indexes: mean of at least 0.9", f"{fmean(pope):.2f}", fmean(pope) >= 0.9),
        ("RoPE does not: mean of at most 0.5", f"{fmean(rope):.2f}", fmean(rope) <= 0.5),
        ("every seed of PoPE is above every seed of RoPE", f"{min(pope):.2f}, {max(rope):.2f}", min(pope) > max(rope)),
        ("ASEntmax sorts at 2×: every seed at 0.95", f"{min(sparse[32]):.2f}", min(sparse[32]) >= HOLDS),
        ("softmax does not: mean of at most 0.5 at 2×", f"{fmean(dense[32]):.2f}", fmean(dense[32]) <= 0.5),
        ("ASEntmax is above softmax by 0.3 at 4×, in the mean", f"{gain:+.2f}", gain >= 0.3),
    ]


def tables() -> dict[str, str]:
    """The tables of the page as Markdown."""
    from table_parts import markdown

    def shown(found: list[float]) -> str:
        return " ".join(f"{rate:.2f}" for rate in found) or "–"

    every = {}
    for title, setting in (("Indirect indexing", INDEXING), ("Sorting", SORT)):
        names = [name for name, (own, _) in CELLS.items() if own is setting]
        rows = [[name.split(", ", 1)[1], *(shown(rates(name, n)) for n in (None, *setting["lengths"]))]
                for name in names]  # fmt: skip
        every[title] = markdown(["system", "trained lengths", *map(str, setting["lengths"])], rows)
    outcome = [[said, seen, "yes" if came else "no"] for said, seen, came in claims()]
    return {"Claims": markdown(["expected", "seen", "as expected"], outcome or [["–", "–", "–"]]), **every}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["train"])
    parser.add_argument("--work", type=Path, required=True, help="the folder of checkpoints")
    parser.add_argument("--minutes", type=float, default=60)
    given = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    train(given.work, given.minutes)


if __name__ == "__main__":
    main()
