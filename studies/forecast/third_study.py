"""The third study of the forecast: frozen before any of its languages was trained.

In ``studies/forecast/results/forecast``, ``python studies/forecast/third_study.py freeze`` writes preregistration.json
(once), ``forecast`` the forecasts of the cells whose probe is done, ``table`` table.json, and the page
``third-study.md``, from files alone, in a few seconds; it refuses a result file that has changed since it was listed.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import shutil
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import lengthwise as lw

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "forecast"
FROZEN, COEFFICIENTS = RESULTS / "preregistration.json", RESULTS / "coefficients.json"
THIRD = RESULTS / "third"
SEEDS, NEEDED = (400, 401, 402, 403, 404), 4
SYSTEMS = ("nope", "ape", "alibi")
HEARD_BY = {"nope": "nope", "ape": "learned", "alibi": "alibi"}
DECIDING = (101, 150)
FLIPS, SIMULATIONS, SEED = 10_000, 300, 20261126
PROBE_CUT = 0.9
FIT = 0.995
RULES = {
    "question": "Is the accuracy of a cell (a language, what is asked, a position system) at lengths of a bin at least "
    "the cut? Training lengths are 1 to 50.",
    "ladder": "The three rungs of the first blind study in the same order for every cell, settings unchanged; five "
    "seeds, trained for all steps. A seed is fitted if at least 0.995 of 2,000 words of the training lengths are right "
    "under the ids of training. The first rung with four fitted seeds gives the outcome.",
    "outcome": "The accuracy of a seed in a bin is the lower one of uniform words (500) and, where there are any, "
    "adversarial words (500); of a cell, the median of its fitted seeds. A cell with fewer than four fitted seeds at "
    "the last rung is not fitted, and not right at any length: an outcome like the others, which enters all scores.",
    "data": "Training strings are those of stacked training of the package, drawn for all languages at once by "
    "lengthwise.training.languages, bit for bit the same (a test shows it). Rows that repeat are kept.",
    "device": "Cells and probes may be trained on a GPU (as stacks of cells and seeds, which may be captured as "
    "graphs) or on a processor, and the rungs of one cell on different machines; device and version of torch are in "
    "every file. A training on a GPU is repeated to rounding only. What was lost when a machine's time ended is "
    "trained anew from its first step.",
    "order": "Probes are trained first where the machine allows. The forecast with a probe is a function of the "
    "probe's files and of what is frozen here; it is written before the outcomes are read. Cells not run by then are "
    "counted as such in the table.",
    "probe": "Rungs 1 and 2 of the ladder on lengths 1 to 25 (2,500 and 5,000 steps), seeds 300, 301, 302. It is "
    "fitted at the first rung with two fitted seeds; its accuracy is the median of the fitted seeds on 500 uniform "
    "words of 38 to 50 symbols, its slope that of accuracy over the logarithm of the length from 26 to 50. A third "
    "rung is left out, since the development probes had no time for it. Nothing longer than 50 is looked at.",
    "forecast": "P(fits) · P(right at M, given that it fits), from the coefficients with this SHA-256, at the middle "
    "of the bin. States are forecast by the model of next symbols with the verdicts for states; no development cell "
    "asked for states.",
    "modulo": "Languages that need a period and no window are also trained with ids modulo that period (a learned "
    "table). Their forecast is that of a program without positions (feature plain = 1, nothing else heard), an "
    "extrapolation that no data support; a table of its own, in no score.",
    "scores": "Brier score, log loss, AUC, balanced accuracy at 0.5, calibration error (ten equal steps), for both "
    "cuts, each bin and all bins together; the deciding ones are cut 0.95 at lengths 101-150. By format, system and "
    "stratum beside them.",
    "tests": "Against each rival, on the cells that both forecast: the difference of balanced error, and that of the "
    "Brier score (yes and no as 1 and 0), summed over the cells of each language; a sign-flip test over languages "
    "(10,000 flips, one-sided), with Holm's correction over the rivals of the same cost. Intervals: bootstrap over "
    "languages, 90 %.",
    "aim": "Without training: balanced accuracy at least 0.92 and AUC at least 0.95; with the probe 0.95 and 0.98; "
    "calibration error at most 0.05; above every rival of the same cost.",
}


@lru_cache(maxsize=512)
def automaton(expression: str, alphabet: str) -> lw.languages.automaton.Dfa:
    """The minimal automaton of a language."""
    return lw.languages.automaton.language(expression, alphabet)


def cells_of(languages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """All cells, in the order of the languages."""
    found = []
    for item in languages:
        dfa = automaton(item["expression"], item["alphabet"])
        asked: list[tuple[Any, str, int]] = [("next", system, 0) for system in SYSTEMS]
        if item["states_asked"]:
            asked += [("state", "nope", 0), ("state", "ape", 0)]
        periodic = lw.prediction.programs.verdict(dfa, "next", "periodic")
        if item["stratum"] == "period" and periodic.verdict == "yes":
            asked.append(("next", "ape", periodic.period or 1))
        for format, encoding, modulo in asked:
            system = f"modulo-{modulo}" if modulo else encoding
            found.append(
                {
                    "key": f"{item['name']}-{format}-{system}",
                    "name": item["name"],
                    "language": item["expression"],
                    "alphabet": item["alphabet"],
                    "stratum": item["stratum"],
                    "format": format,
                    "system": system,
                    "encoding": encoding,
                    "modulo": modulo,
                }
            )
    return found


def features_of(cell: dict[str, Any], bounds: tuple[int, int]) -> dict[str, float]:
    """The features of a cell at the middle of a bin."""
    dfa, format = automaton(cell["language"], cell["alphabet"]), cell["format"]
    question = lw.forecast.features.LanguageQuestion(
        dfa, format, HEARD_BY[cell["encoding"]], lw.experiments.blind.ladder.TRAINED[1], sum(bounds) / 2
    )
    found = lw.forecast.features.of_language(question)
    if cell["modulo"]:
        found |= {"plain": 1.0, "heard": 0.0, "learned, plain": 1.0, "not plain, farther": 0.0}
    return {name: round(value, 6) for name, value in found.items()}


def name_of(bounds: tuple[int, int]) -> str:
    """``101-150``."""
    return f"{bounds[0]}-{bounds[1]}"


def frozen_cells(languages: Sequence[dict[str, Any]], model: lw.forecast.model.Forecaster) -> list[dict[str, Any]]:
    """The cells with features, forecasts without a probe, and what the rivals say."""
    found = []
    for cell in cells_of(languages):
        dfa, format = automaton(cell["language"], cell["alphabet"]), cell["format"]
        heard_by = HEARD_BY[cell["encoding"]]
        verdicts = {
            each: lw.forecast.features.plain(dfa, each) or lw.forecast.features.heard(dfa, each, heard_by)
            for each in (format, "member")
        }
        by_bin, forecasts = {}, {}
        for bounds in lw.experiments.blind.ladder.BINS:
            values = features_of(cell, bounds)
            by_bin[name_of(bounds)] = values
            for cut in lw.forecast.model.CUTS:
                made = model.forecast(values, cut)
                forecasts[f"{name_of(bounds)} {cut}"] = [
                    round(made.probability, 5), round(made.fits, 5), round(made.holds, 5)
                ]  # fmt: skip
        cell["features"] = by_bin
        cell["forecasts"] = forecasts
        cell["rivals"] = {
            "C-RASP without positions, for the format": [float(lw.forecast.features.plain(dfa, format))] * 2,
            "verdict of the encoding, for the format": [float(verdicts[format])] * 2,
            "verdict of the encoding, membership (format-blind)": [float(verdicts["member"])] * 2,
            "no counting": [float(lw.crasp.decide.no_counting(dfa))] * 2,
            "no counting, and a program without positions": [
                float(lw.crasp.decide.no_counting(dfa) and lw.forecast.features.plain(dfa, format))
            ] * 2,
            "R-trivial": [float(lw.forecast.features.r_trivial(dfa, format))] * 2,
            "star-free": [float(lw.forecast.features.star_free(dfa, format))] * 2,
            "monoid at most the median": [
                -float(lw.forecast.features.monoid(dfa, format)),
                float(lw.forecast.features.monoid(dfa, format) <= MEDIAN_MONOID)
            ],
        }  # fmt: skip
        found.append(cell)
    return found


MEDIAN_MONOID = 10
"""Of the languages of the development cells."""


def sha256(path: Path) -> str:
    """The hash of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def freeze() -> None:
    """Write the preregistration; refuses to write it twice."""
    if FROZEN.exists():
        raise SystemExit(f"{FROZEN.name} exists, and what is frozen stays")
    languages = lw.core.files.read_json(RESULTS / "languages.json")
    shutil.copyfile(lw.forecast.model.FILE, COEFFICIENTS)
    models = lw.core.files.read_json(COEFFICIENTS)
    cells = frozen_cells(languages, lw.forecast.model.of_json(models["language"]))
    content = {
        "title": "The forecast on 36 fresh languages of the hard middle",
        "coefficients": {"file": COEFFICIENTS.name, "sha256": sha256(COEFFICIENTS)},
        "kinds": {"without probe": "language", "with probe": "language with probe"},
        "seeds": list(SEEDS),
        "needed": NEEDED,
        "trained": list(lw.experiments.blind.ladder.TRAINED),
        "bins": [list(bounds) for bounds in lw.experiments.blind.ladder.BINS],
        "cuts": list(lw.forecast.model.CUTS),
        "deciding": {"bin": name_of(DECIDING), "cut": 0.95},
        "ladder": [lw.core.config.fields_of(rung) for rung in lw.experiments.blind.ladder.LADDER],
        "rules": RULES,
        "rivals without training": list(cells[0]["rivals"]),
        "rivals with training": {
            "fitted early": "the median seed has at least 0.995 of 200 words right after half of rung 1",
            "self-extrapolation": f"the probe is fitted and its accuracy is at least {PROBE_CUT}",
            "probe fitted": "the probe is fitted",
        },
        "parts alone": ["fits", "right at M, given that it fits"],
        "draw": "third_draw.py, seed 20261126: random expressions as in the first blind study, 2 or 3 symbols, 2 to 8 "
        "states, every length from 1 with words and every length from 51 to 300 with 10,000 or more, no two with the "
        "same patterns of components, none equal up to renaming to a language of any result file by then.",
        "median monoid": MEDIAN_MONOID,
        "languages": languages,
        "published": [],
        "cells": cells,
    }
    content["power"] = power(cells, languages)
    lw.core.files.write_json(FROZEN, {"sha256": lw.core.config.digest(content), "content": content})
    print(json.dumps(content["power"], indent=1))
    print(len(cells), "cells")


def power(cells: Sequence[dict[str, Any]], languages: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How often the deciding test would be significant, were the forecasts exactly right."""
    rng, counted = np.random.default_rng(SEED), [cell for cell in cells if not cell["modulo"]]
    p = np.array([cell["forecasts"][f"{name_of(DECIDING)} 0.95"][0] for cell in counted])
    names = [item["name"] for item in languages]
    group = np.array([names.index(cell["name"]) for cell in counted])
    flips = rng.choice((-1.0, 1.0), size=(1000, len(names)))
    found = dict.fromkeys(counted[0]["rivals"], 0)
    brier, balanced, used = dict(found), [], 0
    for _ in range(SIMULATIONS):
        # Cells of a language share half of their luck.
        luck = rng.normal(size=len(names))[group] + rng.normal(size=len(p))
        y = (ranks(luck) < p).astype(float)
        if len(set(y)) < 2:
            continue
        used += 1
        balanced.append(1 - errors(y, (p >= 0.5).astype(float)).sum())
        for name in found:
            other = np.array([cell["rivals"][name][1] for cell in counted])
            found[name] += sign_flip(errors(y, other) - errors(y, (p >= 0.5).astype(float)), group, flips) < 0.05
            brier[name] += sign_flip((other - y) ** 2 - (p - y) ** 2, group, flips) < 0.05
    return {
        "how": f"{used} simulated outcomes from the forecasts without a probe at the deciding lengths, cells of one "
        "language correlated by 0.5; the share with p < 0.05, one-sided, without Holm's correction. It takes the "
        "forecasts for right, so it is an upper bound.",
        "cells": len(counted),
        "expected right": round(float(p.sum()), 1),
        "balanced accuracy, mean and 5 % quantile": [
            round(float(np.mean(balanced)), 3), round(float(np.quantile(balanced, 0.05)), 3)
        ],
        "balanced error": {name: round(count / used, 2) for name, count in found.items()},
        "Brier": {name: round(count / used, 2) for name, count in brier.items()},
    }  # fmt: skip


def ranks(luck: np.ndarray) -> np.ndarray:
    """Uniform numbers from normal ones of variance 2."""
    from scipy.stats import norm

    return norm.cdf(luck / np.sqrt(2))


def errors(y: np.ndarray, answer: np.ndarray) -> np.ndarray:
    """What each cell adds to the balanced error."""
    share = np.where(y == 1, 1 / max(1, (y == 1).sum()), 1 / max(1, (y == 0).sum())) / 2
    return share * (answer != y)


def sign_flip(difference: np.ndarray, group: np.ndarray, flips: np.ndarray) -> float:
    """One-sided p: how often flipped sums over languages are at least the one found."""
    by_language = np.bincount(group, weights=difference, minlength=flips.shape[1])
    return float(((flips @ by_language >= by_language.sum() - 1e-12).sum() + 1) / (len(flips) + 1))


# From result files to the table.


def read_frozen() -> dict[str, Any]:
    """The preregistration; refuses one that was changed."""
    frozen = lw.core.files.read_json(FROZEN, what="preregistration")
    if lw.core.config.digest(frozen["content"]) != frozen["sha256"]:
        raise lw.LengthwiseError(f"{FROZEN.name} was changed: its content has another hash; restore it")
    if sha256(COEFFICIENTS) != frozen["content"]["coefficients"]["sha256"]:
        raise lw.LengthwiseError(f"{COEFFICIENTS.name} is not the frozen one; restore it")
    return frozen["content"]


def listed_files() -> dict[str, str]:
    """All result files with their hashes: new ones are added to files.json, changed or missing ones refused."""
    path = THIRD / "files.json"
    before = lw.core.files.read_json(path) if path.exists() else {}
    now = {
        str(each.relative_to(THIRD)): sha256(each)
        for folder in ("probes", "cells", "forecasts")
        for each in sorted((THIRD / folder).glob("*.json"))
    }
    for name, found in before.items():
        if now.get(name) != found:
            raise lw.LengthwiseError(
                f"{name} was {'changed' if name in now else 'removed'} since it was listed; restore it"
            )
    if now != before:
        lw.core.files.write_json(path, now)
    return now


def rungs_of(kind: str, key: str, count: int) -> list[dict[str, Any]]:
    """The results of a cell or a probe, rung by rung."""
    paths = [THIRD / f"{kind}s" / f"{key}-rung{rung}.json" for rung in range(1, count + 1)]
    return [lw.core.files.read_json(path) for path in paths if path.exists()]


@dataclass(frozen=True)
class ProbeFound:
    """What a probe found, as `features.of_probe` takes it."""

    status: str
    rung: int | None
    accuracy: float | None
    slope: float | None


def probe_of(key: str) -> ProbeFound | None:
    """What the probe of a cell found; None while it is not done."""
    rungs = rungs_of("probe", key, lw.forecast.features.PROBE_RUNGS)
    for result in rungs:
        if not result["speaks"]:
            continue
        fitted = [seed for seed in result["seeds"] if seed["fitted"]]
        far = [seed["sets"]["38-50"]["uniform"] for seed in fitted]
        accuracy = statistics.median(each["right"] / each["n"] for each in far)
        rows = [
            (int(length), right, total)
            for seed in fitted
            for words in seed["sets"].values()
            for length, (right, total) in words["uniform"]["by_length"].items()
        ]
        lengths, right, total = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
        slope = float(np.polyfit(np.log2(lengths), right / total, 1, w=np.sqrt(total))[0])
        return ProbeFound("fitted", result["rung"], accuracy, slope)
    return ProbeFound("not fitted", None, None, None) if len(rungs) == lw.forecast.features.PROBE_RUNGS else None


def probes() -> list[tuple[str, ProbeFound]]:
    """What the probes found, by task and encoding as JSON; those that are not done are left out."""
    found = []
    for cell in lw.core.files.read_json(FROZEN)["content"]["cells"]:
        probe = None if cell["modulo"] else probe_of(cell["key"])
        if probe is not None:
            task = {
                "name": "language",
                "language": cell["language"],
                "alphabet": cell["alphabet"],
                "ask": cell["format"],
            }
            found.append((json.dumps([task, cell["encoding"]], sort_keys=True), probe))
    return found


def write_forecasts() -> int:
    """Write the forecast with a probe of each cell whose probe is done; a written one stays."""
    content, models = read_frozen(), lw.core.files.read_json(COEFFICIENTS)
    model, count = lw.forecast.model.of_json(models["language with probe"]), 0
    for cell in content["cells"]:
        path = THIRD / "forecasts" / f"{cell['key']}.json"
        found = None if path.exists() else probe_of(cell["key"])
        if found is None:
            continue
        forecasts = {}
        for bounds, values in cell["features"].items():
            for cut in content["cuts"]:
                made = model.forecast(values | lw.forecast.features.of_probe(found), cut)
                forecasts[f"{bounds} {cut}"] = [round(made.probability, 5), round(made.fits, 5), round(made.holds, 5)]
        path.parent.mkdir(parents=True, exist_ok=True)
        lw.core.files.write_json(path, {"key": cell["key"], "probe": vars(found), "forecasts": forecasts}, dense=True)
        count += 1
    return count


def outcome_of(cell: dict[str, Any], rungs: int) -> dict[str, Any]:
    """Status, rung, early fit, and accuracy by bin of one cell."""
    results = rungs_of("cell", cell["key"], rungs)
    early = [seed.get("early") for seed in results[0]["seeds"]] if results else []
    found: dict[str, Any] = {
        "early": statistics.median(value or 0.0 for value in early) if early else None,
        "fitted by rung": [result["fitted"] for result in results],
        "devices": [f"{result['machine']['device']}, torch {result['machine']['torch']}" for result in results],
    }
    for result in results:
        if result["speaks"]:
            bins = {}
            for bounds in map(name_of, lw.experiments.blind.ladder.BINS):
                sets = [list(seed["sets"].get(bounds, {}).values()) for seed in result["seeds"] if seed["fitted"]]
                bins[bounds] = round(statistics.median(min(s["right"] / s["n"] for s in each) for each in sets), 4)
            return {"status": "fitted", "rung": result["rung"], "accuracy": bins, **found}
    status = "not fitted" if len(results) == rungs else "not run" if not results else "begun"
    return {"status": status, "rung": None, "accuracy": {}, **found}


def table() -> dict[str, Any]:
    """The table of all cells with their scores."""
    content, files = read_frozen(), listed_files()
    rows = []
    for cell in content["cells"]:
        path = THIRD / "forecasts" / f"{cell['key']}.json"
        probed = lw.core.files.read_json(path) if path.exists() else None
        rows.append(
            {name: cell[name] for name in ("key", "name", "stratum", "format", "system", "modulo", "rivals")}
            | {"without": cell["forecasts"], "with": None if probed is None else probed["forecasts"]}
            | {"probe": None if probed is None else probed["probe"]}
            | outcome_of(cell, len(content["ladder"]))
        )
    found: dict[str, Any] = {"files": len(files), "cells": rows, "counts": {}}
    for row in rows:
        group = "modulo" if row["modulo"] else row["format"]
        counts = found["counts"].setdefault(group, {})
        counts[row["status"]] = counts.get(row["status"], 0) + 1
    found["scores"] = scores_of([row for row in rows if not row["modulo"]], content)
    return found


Answer = Callable[[dict[str, Any], str], tuple[float, float] | None]
"""Of a row and ``bin cut``: the score and the probability or the answer; None where there is none."""


def predictors(content: dict[str, Any]) -> dict[str, tuple[Answer, str]]:
    """All predictors with their cost."""

    def frozen(kind: str, place: int) -> Answer:
        return lambda row, key: None if row[kind] is None else (row[kind][key][place], row[kind][key][place])

    def rival(name: str) -> Answer:
        return lambda row, key: (row["rivals"][name][0], row["rivals"][name][1])

    def early(row: dict[str, Any], key: str) -> tuple[float, float] | None:
        return None if row["early"] is None else (row["early"], float(row["early"] >= FIT))

    def extrapolated(row: dict[str, Any], key: str) -> tuple[float, float] | None:
        if row["probe"] is None:
            return None
        value = row["probe"]["accuracy"] or 0.0
        return value, float(value >= PROBE_CUT)

    def fitted(row: dict[str, Any], key: str) -> tuple[float, float] | None:
        return None if row["probe"] is None else (float(row["probe"]["status"] == "fitted"),) * 2

    found: dict[str, tuple[Answer, str]] = {
        "forecast": (frozen("without", 0), "none"),
        "forecast: will it fit alone": (frozen("without", 1), "none"),
        "forecast: right, given that it fits, alone": (frozen("without", 2), "none"),
    }
    found |= {name: (rival(name), "none") for name in content["rivals without training"]}
    return found | {
        "forecast with probe": (frozen("with", 0), "training"),
        "self-extrapolation": (extrapolated, "training"),
        "probe fitted": (fitted, "training"),
        "fitted early": (early, "training"),
    }


def scores_of(rows: Sequence[dict[str, Any]], content: dict[str, Any]) -> dict[str, Any]:
    """Scores of all predictors by cut and lengths, with tests at every bin."""
    from develop import scores

    done = [row for row in rows if row["status"] in ("fitted", "not fitted")]
    names = sorted({row["name"] for row in rows})
    rng = np.random.default_rng(SEED)
    flips = rng.choice((-1.0, 1.0), size=(FLIPS, len(names)))
    found: dict[str, Any] = {}
    every = [name_of(bounds) for bounds in lw.experiments.blind.ladder.BINS]
    for cut, lengths in itertools.product(content["cuts"], [*every, "all"]):
        here: dict[str, Any] = {}
        values: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        asked = [(row, bounds) for bounds in (every if lengths == "all" else [lengths]) for row in done]
        y = np.array([float(row["accuracy"].get(bounds, 0.0) >= cut) for row, bounds in asked])
        group = np.array([names.index(row["name"]) for row, _ in asked], dtype=int)
        for name, (answer, cost) in predictors(content).items():
            got = [answer(row, f"{bounds} {cut}") for row, bounds in asked]
            rows_here = np.array([place for place, each in enumerate(got) if each is not None], dtype=int)
            if len(rows_here) == 0 or len(set(y[rows_here])) < 2:
                continue
            both = np.array([got[place] for place in rows_here])
            values[name] = rows_here, both[:, 1]
            made = scores(y[rows_here], both[:, 1])
            if name in content["rivals without training"] or cost == "training":
                made["AUC"] = scores(y[rows_here], both[:, 0] if both[:, 0].min() >= 0 else rank(both[:, 0]))["AUC"]
            here[name] = {"cost": cost, "cells": len(rows_here), "right": int(y[rows_here].sum())} | made
        for ours, cost in (("forecast", "none"), ("forecast with probe", "training")):
            if ours not in values:
                continue
            tested = []
            for name, each in here.items():
                if name == ours or (each["cost"] != cost and (ours, name) != ("forecast with probe", "forecast")):
                    continue
                shared = np.intersect1d(values[ours][0], values[name][0])
                mine, other = (dict(zip(*values[which], strict=True)) for which in (ours, name))
                p, q = (np.array([of[place] for place in shared]) for of in (mine, other))
                gain = errors(y[shared], (q >= 0.5).astype(float)) - errors(y[shared], (p >= 0.5).astype(float))
                brier = (q - y[shared]) ** 2 - (p - y[shared]) ** 2
                low, high = interval(y[shared], p, q, group[shared], rng)
                each[f"{ours} minus it"] = {
                    "cells": len(shared),
                    "balanced accuracy": round(float(gain.sum()), 3), "interval": [low, high],
                    "p": round(sign_flip(gain, group[shared], flips), 4),
                    "Brier": round(float(brier.mean()), 4),
                    "p, Brier": round(sign_flip(brier, group[shared], flips), 4),
                }  # fmt: skip
                tested.append(each[f"{ours} minus it"])
            for which in ("p", "p, Brier"):
                corrected = lw.core.statistics.holm([each[which] for each in tested])
                for each, value in zip(tested, corrected, strict=True):
                    each[f"{which}, Holm"] = round(value, 4)
        found[f"{cut} {lengths}"] = here
    return found


def rank(values: np.ndarray) -> np.ndarray:
    """Scores between 0 and 1 in the same order."""
    return np.searchsorted(np.sort(np.unique(values)), values) / max(1, len(np.unique(values)) - 1)


def interval(y: np.ndarray, p: np.ndarray, q: np.ndarray, group: np.ndarray, rng: Any) -> list[float]:
    """90 % of the difference of balanced accuracy, by a bootstrap over languages."""
    groups, found = np.unique(group), []
    members = {each: np.flatnonzero(group == each) for each in groups}
    for _ in range(500):
        drawn = np.concatenate([members[each] for each in rng.choice(groups, len(groups))])
        if len(set(y[drawn])) == 2:
            both = [errors(y[drawn], (of[drawn] >= 0.5).astype(float)).sum() for of in (q, p)]
            found.append(both[0] - both[1])
    return [round(float(value), 3) for value in np.quantile(found, [0.05, 0.95])] if found else [0.0, 0.0]


CUT = 0.95
"""The cut of the summary, at the lengths `DECIDING`; all others are below it."""


def summary(found: dict[str, Any]) -> str:
    """What came out so far, in a few sentences."""
    scores, counts = found["scores"][f"{CUT} {name_of(DECIDING)}"], found["counts"].values()
    done = sum(each.get(status, 0) for each in counts for status in ("fitted", "not fitted"))
    every = sum(sum(each.values()) for each in counts)
    lines = [
        f"**{done} of {every} cells have ended.** For at least 0.95 at 101-150 symbols, "
        f"{scores['forecast']['cells']} cells:"
    ]
    without = list(scores)[: list(scores).index("forecast with probe")]
    for ours, names in (("forecast", without), ("forecast with probe", [n for n in scores if n not in without])):
        mine = scores[ours]
        best = max((n for n in names if not n.startswith("forecast")), key=lambda n: scores[n]["balanced accuracy"])
        lines.append(
            f"* The {ours} has balanced accuracy {mine['balanced accuracy']:.2f}, AUC {mine['AUC']:.2f} and "
            f"calibration error {mine['calibration error']:.2f}; the best rival of the same cost, *{best}*, has "
            f"{scores[best]['balanced accuracy']:.2f} and {scores[best]['AUC']:.2f}."
        )
    return "\n".join(lines)


def errors_by_kind(cells: Sequence[dict[str, Any]]) -> list[str]:
    """Where the errors are, by kind of language, format and system; thought of after the outcomes were seen."""
    from page import table as markdown

    bounds, key = name_of(DECIDING), f"{name_of(DECIDING)} {CUT}"
    groups: dict[tuple[str, ...], list[tuple[float, float, float]]] = {}
    for row in cells:
        if row["with"] is not None and row["status"] in ("fitted", "not fitted") and not row["modulo"]:
            right = float(row["accuracy"].get(bounds, 0.0) >= CUT)
            each = right, row["without"][key][0], row["with"][key][0]
            groups.setdefault((row["stratum"], row["format"], row["system"]), []).append(each)
    arrays = {group: np.array(each) for group, each in groups.items()}
    loss = {group: (each[:, 1:] - each[:, :1]) ** 2 for group, each in arrays.items()}
    total = sum(each.sum(axis=0) for each in loss.values())
    worst = sorted(arrays, key=lambda group: -float(loss[group][:, 0].sum()))
    named = [
        f"{kind}, {'states' if asked == 'state' else 'next symbols'}, {system}" for kind, asked, system in worst
    ]  # fmt: skip
    rows = [
        [
            name, len(each), int(each[:, 0].sum()), f"{each[:, 1].mean():.2f}", f"{each[:, 2].mean():.2f}",
            int((errors_at(each, 1) == 1).sum()), int((errors_at(each, 1) == -1).sum()),
            *(f"{share:.0%}" for share in loss[group].sum(axis=0) / total),
        ]
        for name, group in zip(named, worst, strict=True) for each in [arrays[group]]
    ]  # fmt: skip
    every = np.concatenate(list(arrays.values()))
    best = max(np.unique(every[:, 1]), key=lambda cut: balanced(every[:, 0], every[:, 1] >= cut))
    head = ["kind, asked, system", "cells", "right", "mean forecast", "with probe", "false yes", "false no"]
    share = sum(float(loss[group][:, 0].sum()) for group in worst[:3]) / total[0]
    return [
        "## Where it errs, seen afterwards",
        f"Squared error at the deciding cut: {share:.0%} of the forecast's comes from {'; '.join(named[:3])}. "
        "A yes is a forecast of at least 0.5. The order of the cells is better than that cut: with a yes from "
        f"{best:.2f} on, which nobody knew beforehand, balanced accuracy would have been "
        f"{balanced(every[:, 0], every[:, 1] >= best):.2f}.",
        markdown([*head, "share of squared error", "share, with probe"], rows),
    ]


def errors_at(each: np.ndarray, place: int) -> np.ndarray:
    """1 for a yes that was not right, -1 for a no that was."""
    return (each[:, place] >= 0.5).astype(int) - each[:, 0].astype(int)


def balanced(y: np.ndarray, said: np.ndarray) -> float:
    """Mean of the shares of right answers among right and other cells."""
    return float((said[y == 1].mean() + (~said[y == 0]).mean()) / 2)


def page(found: dict[str, Any]) -> str:
    """The text of third-study.md."""
    from page import table as markdown

    content = read_frozen()
    strata: dict[str, int] = {}
    for item in content["languages"]:
        strata[item["stratum"]] = strata.get(item["stratum"], 0) + 1
    statuses = ("fitted", "not fitted", "begun", "not run")
    parts = [
        "# The third study: the forecast on 36 fresh languages",
        summary(found),
        "Written by `python studies/forecast/third_study.py table` from studies/forecast/results/forecast. What was "
        "fixed before any of these languages was trained, and the forecasts themselves, are in preregistration.json "
        "there.",
        f"Languages by what predicts their next symbols: {', '.join(f'{n} {name}' for name, n in strata.items())}.",
        markdown(
            ["cells", *statuses],
            [[kind, *(counts.get(each, 0) for each in statuses)] for kind, counts in found["counts"].items()],
        ),
    ]
    if any(found["scores"].values()):
        parts += [
            "A cell that is not fitted is not right at any length. Cells that are begun or not run enter no score, so "
            "while there are any, the numbers are of the cells that fit on an early rung, the easier ones."
        ]
    parts += errors_by_kind(found["cells"])
    measures = ("balanced accuracy", "AUC", "Brier", "log loss", "calibration error")
    folded: list[str] = []
    for key, predictors_here in found["scores"].items():
        if not predictors_here:
            continue
        cut, lengths = key.split(" ")
        rows = []
        for name, each in predictors_here.items():
            ours = each.get("forecast minus it") or each.get("forecast with probe minus it")
            shown = "" if ours is None else f"{ours['balanced accuracy']:+.3f} [{ours['interval'][0]:+.3f}, " \
                f"{ours['interval'][1]:+.3f}], p = {ours['p']:.3f} ({ours['p, Holm']:.3f})"  # fmt: skip
            rows.append([name, each["cells"], each["right"], *(each.get(measure, "") for measure in measures), shown])
        scored = markdown(["predictor", "cells", "right", *measures, "ours minus it (p; Holm)"], rows)
        title = f"Accuracy of at least {cut}, lengths {lengths}"
        if key == f"{CUT} {name_of(DECIDING)}":
            parts += [f"## {title}", scored]
        else:
            folded.append(f"<details markdown><summary>{title}</summary>\n\n{scored}\n\n</details>")
    parts += ["## Other cuts and lengths", *folded]
    rows = [
        [
            row["name"], row["stratum"], row["format"], row["system"], row["status"],
            f"{row['without']['101-150 0.95'][0]:.2f}",
            "" if row["with"] is None else f"{row['with']['101-150 0.95'][0]:.2f}",
            *(row["accuracy"].get(bounds, "") for bounds in map(name_of, lw.experiments.blind.ladder.BINS)),
        ]
        for row in found["cells"]
    ]  # fmt: skip
    head = [
        "language",
        "kind",
        "asked",
        "system",
        "status",
        "forecast",
        "with probe",
        *map(name_of, lw.experiments.blind.ladder.BINS),
    ]
    parts += ["## All cells", "Forecast: of 0.95 at 101-150.", markdown(head, rows)]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("freeze", "forecast", "table"))
    what = parser.parse_args().what
    if what == "freeze":
        freeze()
    elif what == "forecast":
        print(write_forecasts(), "forecasts written")
    else:
        made = table()
        lw.core.files.write_text(RESULTS / "table.json", json.dumps(made, separators=(",", ":")) + "\n")
        lw.core.files.write_text(HERE / "third-study.md", page(made))
        print(made["counts"])


if __name__ == "__main__":
    main()
