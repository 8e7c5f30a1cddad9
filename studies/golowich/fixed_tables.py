"""Tables of the page of settings fixed beforehand: ``python studies/golowich/fixed_tables.py`` writes them.

A table is there as soon as one of its systems is finished; a system that is not finished has no row.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import lengthwise as lw

HERE = Path(__file__).resolve().parent
STUDIES = HERE.parent
"""The folder of the studies, with the list of trainings."""
sys.path += [str(folder) for folder in (STUDIES, STUDIES / "blind", STUDIES / "huang") if str(folder) not in sys.path]

# isort: split
import alternation_depth  # noqa: E402, F401
import golowich_assignment  # noqa: E402, F401
import golowich_parity  # noqa: E402, F401
import golowich_sparse_parity  # noqa: E402, F401
import look_back as _look_back  # noqa: E402, F401
from ladder_tables import COUNTS, LADDER, counts, ladder  # noqa: E402
from table_parts import markdown, results  # noqa: E402


@dataclass(frozen=True)
class System:
    """A job, the number (from 1) of the configuration that speaks for it, and the results of its seeds."""

    job: lw.Job
    number: int
    runs: list[lw.core.result_file.RunResult]

    @property
    def head(self) -> list[str]:
        """Name, configuration, fits, and each seed in distribution."""
        fits = f"{sum(run.fitted for run in self.runs)} of {len(self.runs)}"
        return [self.job.name, str(self.number), fits, " ".join(f"{r.in_distribution.rate():.3f}" for r in self.runs)]

    def rates(self, length: int, digits: int = 2, metric: str = "exact_match", **axes: int) -> str:
        """Each seed's share of right strings; a dash where it was not measured."""
        found = [score_of(run, length, axes) for run in self.runs]
        return " ".join("–" if score is None else f"{score.rate(metric):.{digits}f}" for score in found)


HEAD = ("system", "configuration", "fitted", "in distribution")


def score_of(run: lw.core.result_file.RunResult, length: int, axes: dict[str, int]) -> lw.core.result_file.Score | None:
    """The score at a length and axes."""
    return next((s for s in run.scores if s.length == length and s.axes == axes), None)


def speaking(recipe: str, preset: str = "standard") -> tuple[System, ...]:
    """The finished systems of a recipe, in its order, by the rule that was fixed beforehand."""
    return _speaking(recipe, preset, results(recipe).parent)


@cache
def _speaking(recipe: str, preset: str, folder: Path) -> tuple[System, ...]:
    """Read once, for all tables of a recipe."""
    found = []
    for job in lw.RECIPES.make(recipe, preset).jobs:
        complete = []
        works = job.candidates.configs
        for number, work in enumerate(works, start=1):
            read = [
                lw.experiments.run_directory.finished(
                    lw.experiments.run_directory.run_directory(folder, recipe, work, seed), work, seed
                )
                for seed in job.seeds
            ]
            runs = [run for run in read if run is not None]
            if len(runs) < len(read):
                break
            complete.append(System(job, number, runs))
            if sum(run.fitted for run in runs) >= job.candidates.needed:
                break
        ended = complete and (len(complete) == len(works) or _fits(complete[-1]) >= job.candidates.needed)
        if ended:
            found.append(max(complete, key=_fits))
    return tuple(found)


def _fits(system: System) -> int:
    return sum(run.fitted for run in system.runs)


def queue() -> str:
    """Every training of the queue and whether it is done."""
    done = HERE / "queue-done.jsonl"
    lines = done.read_text(encoding="utf-8").splitlines() if done.exists() else []
    ended = {json.dumps(item["command"]) for item in map(json.loads, lines)}
    rows = [
        (item["name"], str(item["minutes"]), "done" if json.dumps(item["command"]) in ended else "open")
        for item in lw.core.files.read_json(HERE / "queue.json")
    ]
    return markdown(("training", "minutes, by estimate", "state"), rows)


def depth() -> list[Sequence[str]]:
    """L_k by depth: whole words in each bin, each seed."""
    return [
        [*system.head, *(system.rates(high, low=low, high=high) for low, high in system.job.experiment.evaluation.bins)]
        for system in speaking("alternation-depth")
    ]


def figure_1(k: int | None = None) -> list[Sequence[str]]:
    """Sparse parity at k marked bits (None: K_train) by length, on balanced numbers of ones."""
    rows = []
    for system in speaking("golowich-sparse-parity"):
        at = k or system.job.experiment.to_json()["task"]["k_max"]
        rows.append([*system.head[:3], *(system.rates(n, k=at, min_ones=0) for n in (50, 100, 200, 500))])
    return rows


def beyond_k() -> list[Sequence[str]]:
    """Sparse parity by the number of marked bits, trained or not, at the longest training and test lengths."""
    rows = []
    for system in speaking("golowich-sparse-parity"):
        marked = system.job.experiment.to_json()["task"]["k_test"]
        for n in (50, 500):
            rows.append([system.job.name, str(n), *(system.rates(n, k=k, min_ones=0) for k in marked)])
    return rows


def attention() -> list[Sequence[str]]:
    """The largest head's attention on the marked bits, K_train of them: each seed that has it, by length."""
    rows = []
    for system in speaking("golowich-sparse-parity"):
        k = system.job.experiment.to_json()["task"]["k_max"]
        cells = []
        for length in (50, 100, 200, 500):
            found = [
                max(max(layer) for layer in entry["mass"])
                for run in system.runs
                for entry in (run.model_extra or {}).get("attention", [])
                if entry["length"] == length and entry["axes"] == {"k": k, "min_ones": 0}
            ]
            cells.append(" ".join(f"{mass:.2f}" for mass in found) or "–")
        rows.append([system.job.name, *cells])
    return rows


def figure_2() -> list[Sequence[str]]:
    """Parity by system and length, each seed."""
    return [
        [*system.head, *(system.rates(n) for n in (30, 40, 60, 80, 100, 150, 200))]
        for system in speaking("golowich-parity")
    ]


def figure_3(chains: int) -> list[Sequence[str]]:
    """Variable assignment by system and lines, each seed."""
    return [
        [*system.head, *(system.rates(n, chains=chains, depth=n // chains) for n in (16, 32, 80, 160, 400, 1000))]
        for system in speaking("golowich-assignment")
    ]


def stops() -> list[Sequence[str]]:
    """Of the wrong strings of all seeds, both kinds of prompts: those whose first error is at the end."""
    rows = []
    for system in speaking("golowich-assignment"):
        cells = []
        for n in (16, 32, 80, 160, 400, 1000):
            scores = [score for run in system.runs for score in run.scores if score.length == n]
            wrong = sum(score.n - score.correct["exact_match"] for score in scores)
            cells.append(f"{sum(s.first_error.get('eos', 0) for s in scores)} of {wrong}" if scores else "–")
        rows.append([system.job.name, *cells])
    return rows


def ablations() -> list[Sequence[str]]:
    """Predictive position coupling with one part changed, at 160 lines."""
    return [
        [*system.head[:1], *system.head[2:], *(system.rates(160, chains=c, depth=160 // c) for c in (4, 1))]
        for system in speaking("golowich-ablations")
    ]


def look_back(preset: str) -> list[Sequence[str]]:
    """Every t-th symbol at one, two and three times the training length."""
    return [
        [*system.head, *(system.rates(n) for n in system.job.experiment.evaluation.lengths)]
        for system in speaking("look-back", preset)
    ]


def unions() -> list[Sequence[str]]:
    """Mean squared errors on windows of 150: median and range of the seeds, and the published one."""
    files = sorted((results("positional-unions")).glob("*/study.json"))
    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for path in files:
        for row in lw.core.files.read_json(path)["rows"]:
            found.setdefault((row["relation"], row["width"]), []).append(row)
    rows = []
    for (relation, width), own in found.items():
        errors = sorted(row["errors"]["150"] for row in own)
        held = sum(row["extrapolates"] for row in own)
        rows.append([
            relation, str(width), f"{median(errors):.3g} [{errors[0]:.3g}, {errors[-1]:.3g}]",
            f"{own[0]['published']['150']:.3g}", f"{own[0]['always_zero']:.3g}", f"{held} of {len(own)}",
        ])  # fmt: skip
    return rows


def figure_4() -> list[Sequence[str]]:
    """What the block of 64 behind 64 recent tokens is worth, and the fraction that k tokens recover."""
    rows = []
    for path in sorted((results("influence-far")).glob("*/study.json")):
        for row in lw.core.files.read_json(path)["rows"]:
            summary = row["summary"]
            chosen = {**summary["rules"], "greedy, other model": summary["cross"], "greedy, null": summary["null"]}
            for name in ("greedy", "attention", "random", "last-k", "greedy, other model", "greedy, null"):
                cells = [_with_interval(chosen[name][k]) for k in ("1", "4", "16")]
                rows.append([str(row["seed"]), row["text"], f"{row['gain']:.3f}", name, *cells])
    return rows


def _with_interval(found: Mapping[str, Any]) -> str:
    if found["recovered"] is None:
        return "–"
    low, high = found["interval"] or (None, None)
    return f"{found['recovered']:.2f}" + ("" if low is None else f" [{low:.2f}, {high:.2f}]")


def gain_while_training() -> list[Sequence[str]]:
    """Each probe of the two models: loss by context, what the block is worth, the strongest induction head by layer."""
    rows = []
    for path in sorted((results("influence-far")).glob("*/study.json")):
        for seed, training in lw.core.files.read_json(path)["training"].items():
            for probe in training["curve"]:
                known = probe["by_context"]
                losses = [f"{known[context]:.3f}" if context in known else "–" for context in PROBED]
                heads = " ".join(f"{head:.2f}" for head in probe["induction"])
                rows.append([seed, f"{probe['step']:,}", *losses, f"{probe['gain']:.3f}", heads])
    return rows


PROBED = ("16", "32", "64", "128", "192")
LINES = ("16 lines", "32", "80", "160", "400", "1,000")
BITS = ("50 bits", "100", "200", "500")
TABLES: dict[str, tuple[Callable[[], list[Sequence[str]]], tuple[str, ...]]] = {
    "depth": (depth, (*HEAD, "51–100", "101–150", "151–200", "201–300")),
    "figure 1, k = K_train": (figure_1, (*HEAD[:3], *BITS)),
    "figure 1, k = 4": (lambda: figure_1(4), (*HEAD[:3], *BITS)),
    "figure 1, every k": (beyond_k, ("system", "bits", *(f"k = {k}" for k in (2, 4, 6, 8, 10, 12)))),
    "figure 1, attention": (attention, ("system", *BITS)),
    "figure 2": (figure_2, (*HEAD, "30 bits", "40", "60", "80", "100", "150", "200")),
    "figure 3, four chains": (lambda: figure_3(4), (*HEAD, *LINES)),
    "figure 3, one chain": (lambda: figure_3(1), (*HEAD, *LINES)),
    "figure 3, failures to stop": (stops, ("system", *LINES)),
    "ablations": (ablations, ("changed", *HEAD[2:], "4 chains", "one chain")),
    "induction, to 10 symbols": (lambda: look_back("quick"), (*HEAD, "10 symbols", "20", "30")),
    "induction, to 25 symbols": (lambda: look_back("standard"), (*HEAD, "25 symbols", "50", "75")),
    "unions": (unions, ("relation", "width", "error at 150 [range]", "published", "answering 0", "extrapolates")),
    "ten expressions": (lambda: ladder("ten-expressions"), LADDER),
    "other positions": (lambda: ladder("variants"), LADDER),
    "other positions, counts": (lambda: counts("variants"), COUNTS),
    "figure 4": (figure_4, ("seed", "text", "worth, nats", "chosen by", "k = 1", "k = 4", "k = 16")),
    "figure 4, while training": (
        gain_while_training,
        ("seed", "step", *(f"{n} tokens" for n in PROBED), "worth, nats", "induction by layer"),
    ),
}
"""By title: the rows, and the heads of the columns."""


def fixed_beforehand() -> dict[str, str]:
    """The queue, and every table that has a row."""
    found = {title: (rows(), heads) for title, (rows, heads) in TABLES.items()}
    return {"queue": queue(), **{title: markdown(heads, rows) for title, (rows, heads) in found.items() if rows}}


PAGE = Path(__file__).with_name("README.md")
RESULTS_BEGIN = "and a test compares them with this page.\n"
"""The last words before the tables of results."""


def updated(text: str) -> str:
    """The page with its tables made anew from the files; all other words stay."""
    tables = fixed_beforehand()
    text = re.sub(r"^\| training \|.*?\n(?!\|)", lambda _: tables["queue"] + "\n", text, count=1, flags=re.M | re.S)
    before, found, _ = text.partition(RESULTS_BEGIN)
    assert found, f"{PAGE} has lost the words {RESULTS_BEGIN!r}"
    shown = [f"\n### {title[0].upper()}{title[1:]}\n\n{table}\n" for title, table in tables.items() if title != "queue"]
    return before + found + "".join(shown)


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(PAGE)
