"""How long must one train? The shortest training length from which five seeds hold to four times that length.

``python studies/training_length/study.py draw`` prints the languages of design.json, ``train --out results --work DIR
--minutes M`` trains what is missing (weights stay in DIR; the same command goes on), and ``table`` prints the page's
tables.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import lengthwise as lw

HERE = Path(__file__).parent
DESIGN = HERE / "design.json"
"""Fixed before the first training."""
RESULTS = HERE / "results"


DRAWN = {"window": 3, "period": 2, "no": 2, "counting": 2, "without counting": 3}
"""How many languages are drawn of each kind; see studies/forecast/third_draw.py."""
SEED = 20261201


def draw() -> list[dict[str, Any]]:
    """The first languages of a random stream that fill `DRAWN`; none of them is in the third study or named."""
    sys.path += [str(HERE.parent / "blind"), str(HERE.parent / "forecast")]
    import blind_draw
    import third_draw
    import third_run

    known = lw.core.files.read_json(third_run.PREREGISTRATION)["content"]["languages"]
    without = [lw.languages.automaton.language(entry["expression"], entry["alphabet"]) for entry in known]
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in DRAWN}
    for text, alphabet, dfa in blind_draw.new_languages(SEED, without):
        count = lw.languages.sampling.count_words
        if not all(count(dfa, n) for n in range(3, 13)) or any(count(dfa, n) < 100 for n in range(13, 121)):
            continue
        kind = third_draw.stratum(dfa)
        if kind is not None and len(found[kind]) < DRAWN[kind]:
            found[kind].append({"language": text, "alphabet": alphabet, "kind": kind})
        if all(len(found[kind]) == count for kind, count in DRAWN.items()):
            break
    return [entry for members in found.values() for entry in members]


def design() -> dict[str, Any]:
    """Languages, systems, settings, and how all is scored."""
    return lw.core.files.read_json(DESIGN, what="design of the study")


def cells(content: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The cells in the order in which they are trained: a task under a system."""
    for system, names in content["systems"].items():
        for entry in content["tasks"]:
            if names == "all" or entry["name"] in names:
                yield {**entry, "system": system, "key": f"{lw.core.files.slug(entry['name'])}-{system}"}


def experiment(content: dict[str, Any], cell: dict[str, Any], longest: int) -> lw.Experiment:
    """What a cell trains to a length: the first rung of the frozen ladder with fewer steps."""
    ladder, encoding = lw.experiments.blind.ladder, cell["system"]
    rung = dataclasses.replace(ladder.LADDER[0], steps=content["steps"])
    return lw.Experiment.of(
        lw.RunConfig(
            task=lw.task(cell["task"]),
            scheme=lw.scheme(
                {"name": "sequential", "max_position": 6 * longest + 8, "random_start": encoding == "ape"}
            ),
            encoding=ladder.encoding_spec(rung, encoding),
            model=dataclasses.replace(
                ladder.model_config(rung, encoding), log_length=None if encoding == "alibi" else longest
            ),
            training=dataclasses.replace(
                ladder.training_config(rung, encoding), max_length=longest, groups=content["groups"]
            ),
            evaluation=lw.EvaluationConfig(
                bins=((longest + 1, 2 * longest), (2 * longest + 1, 4 * longest)), samples=content["strings"],
                fit_samples=content["fit strings"], fit_threshold=content["fit"], unfitted_too=True,
            ),
        )
    )  # fmt: skip


def seed_values(run: Any) -> dict[str, Any]:
    """Accuracy of one seed at the trained lengths, on (N, 2N] and on (2N, 4N], and on all of (N, 4N]."""
    near, far = (score.rate() for score in sorted(run.scores, key=lambda score: score.length))
    return {
        "seed": run.seed,
        "fit": run.in_distribution.rate(),
        "near": near,
        "far": far,
        "beyond": (near + 2 * far) / 3,
    }


def train(out: Path, work: Path, minutes: float) -> None:
    """Train the cells in order, each to longer and longer lengths until all seeds hold; one file a cell."""
    content, ends = design(), time.monotonic() + 60 * minutes
    out.mkdir(parents=True, exist_ok=True)
    for cell in cells(content):
        path = out / f"{cell['key']}.json"
        found = lw.core.files.read_json(path)["lengths"] if path.exists() else []
        done = {row["trained"]: row for row in found}

        def attempt(longest: int, cell: dict = cell, path: Path = path, done: dict = done) -> dict[str, Any]:
            if longest in done:
                return done[longest]
            if time.monotonic() > ends:
                raise TimeoutError
            began = time.process_time()
            result = experiment(content, cell, longest).run(content["seeds"], out=work, progress=False)
            done[longest] = {
                "trained": longest,
                "seeds": [{**seed_values(run), "run": str(folder.relative_to(work))} for folder, run in result.files],
                "cpu_seconds": round(time.process_time() - began, 1),
            }
            values = {"name": cell["name"], "system": cell["system"], "lengths": list(done.values())}
            lw.core.files.write_json(path, {**values, **lw.experiments.provenance.provenance("cpu")}, dense=True)
            shown = ", ".join(f"{seed['fit']:.3f} {seed['beyond']:.3f}" for seed in done[longest]["seeds"])
            print(f"{cell['key']} to {longest}: {shown}; {done[longest]['cpu_seconds']} s", flush=True)
            return done[longest]

        try:
            lw.experiments.recipe.Candidates(tuple(content["lengths"]), len(content["seeds"])).search(
                attempt, lambda row: sum(seed["beyond"] >= content["holds"] for seed in row["seeds"])
            )
        except TimeoutError:
            return


def main(arguments: Sequence[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("draw", "train"))
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--work", type=Path, help="where runs and their weights are kept")
    parser.add_argument("--minutes", type=float, default=60)
    given = parser.parse_args(arguments)
    if given.what == "draw":
        print(*draw(), sep="\n")
    else:
        os.environ["OMP_NUM_THREADS"] = "1"
        train(given.out, given.work, given.minutes)


if __name__ == "__main__":
    main(sys.argv[1:])
