"""How long must one train? The shortest training length from which five seeds hold to four times that length.

``python studies/training_length/training_length.py draw`` prints the drawn languages of the design. ``train --work DIR
--minutes M`` trains what is missing, with weights in DIR; the same command goes on. ``explain --work DIR`` computes
what the forecast for one model looks at, ``fit`` fits and scores it. `tables` are those of the page.
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

import numpy as np

import lengthwise as lw

HERE = Path(__file__).parent
DESIGN = HERE / "design.json"
"""Fixed before the first training."""
RESULTS = HERE / "results" / "training-length"
ONE_MODEL = HERE / "results" / "one-model"


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
    for cell in cells(content):
        path = out / f"{cell['key']}.json"
        done = {row["trained"]: row for row in lw.core.files.read_json(path)["lengths"]} if path.exists() else {}

        def attempt(longest: int, cell: dict = cell, path: Path = path, done: dict = done) -> dict[str, Any]:
            if longest not in done:
                if time.monotonic() > ends:
                    raise TimeoutError
                done[longest] = trained(content, cell, longest, work)
                write(path, cell, list(done.values()))
            return done[longest]

        try:
            lw.experiments.recipe.Candidates(tuple(content["lengths"]), len(content["seeds"])).search(
                attempt, lambda row: sum(seed["beyond"] >= content["holds"] for seed in row["seeds"])
            )
        except TimeoutError:
            return


def train_for_one_model(out: Path, work: Path, minutes: float) -> None:
    """Train the models whose own forecast is scored; one file a task."""
    content, ends = design(), time.monotonic() + 60 * minutes
    own = content["one model"]
    for cell in cells(content):
        path = out / f"{cell['key']}.json"
        if cell["system"] == "nope" and not path.exists() and time.monotonic() < ends:
            write(path, cell, [trained({**content, **own}, cell, own["longest"], work)])


def trained(content: dict[str, Any], cell: dict[str, Any], longest: int, work: Path) -> dict[str, Any]:
    """All seeds of a cell at one length."""
    began = time.process_time()
    result = experiment(content, cell, longest).run(content["seeds"], out=work, progress=False)
    seeds = [{**seed_values(run), "run": str(folder.relative_to(work))} for folder, run in result.files]
    seconds = round(time.process_time() - began, 1)
    shown = ", ".join(f"{seed['fit']:.3f} {seed['beyond']:.3f}" for seed in seeds)
    print(f"{cell['key']} to {longest}: {shown}; {seconds} s", flush=True)
    return {"trained": longest, "seeds": seeds, "cpu_seconds": seconds}


def write(path: Path, cell: dict[str, Any], lengths: list[dict[str, Any]]) -> None:
    """The result file of a cell."""
    values = {"name": cell["name"], "system": cell["system"], "lengths": lengths}
    path.parent.mkdir(parents=True, exist_ok=True)
    lw.core.files.write_json(path, {**values, **lw.experiments.provenance.provenance("cpu")}, dense=True)


# What theory and features say of a language.


def bounds(task: lw.Task) -> dict[str, float]:
    """Bounds and features of a language, by name; empty for a task that is none."""
    dfa = task.automaton() if isinstance(task, lw.tasks.language.Language) else None
    if dfa is None:
        return {}
    access = lw.languages.automaton.access_words(dfa)
    apart = [
        [lw.languages.automaton.distinguishing_word(dfa, p, q) if p != q else None for q in range(dfa.size)]
        for p in range(dfa.size)
    ]
    told = [max((len(word) for word in row if word is not None), default=0) for row in apart]
    reach = [len(word) + 1 + told[target] for state, word in access.items() for target in dfa.delta[state]]
    names = lw.forecast.features
    question = names.LanguageQuestion(dfa, "next", "nope", 16, 64)
    found = lw.forecast.model.forecaster("language").forecast(names.of_language(question))
    return {
        "2 n - 2": 2 * dfa.size - 2,
        "characteristic": max(reach),
        "monoid": names.monoid(dfa, "next"),
        **{f"feature: {name}": value for name, value in names.of_language(question).items()},
        "forecast O, 16 to 64": found.probability,
    }


BOUNDS = HERE / "bounds.json"


def write_bounds() -> None:
    """Compute what theory and features say of the design's languages, which takes a minute."""
    tasks = design()["tasks"]
    found = {entry["name"]: bounds(lw.task(entry["task"])) for entry in tasks}
    rounded = {name: {key: round(value, 4) for key, value in own.items()} for name, own in found.items()}
    lw.core.files.write_json(BOUNDS, rounded, dense=True)


def shortest(content: dict[str, Any], values: dict[str, Any]) -> int | None:
    """The shortest length from which all seeds hold; None for never, or not yet."""
    for row in values["lengths"]:
        if all(seed["beyond"] >= content["holds"] for seed in row["seeds"]):
            return row["trained"]
    return None


def finished(content: dict[str, Any], values: dict[str, Any]) -> bool:
    """Whether the search of a cell has ended."""
    return shortest(content, values) is not None or len(values["lengths"]) == len(content["lengths"])


def measured(folder: Path = RESULTS) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Each cell with its result file, where it has one."""
    content = design()
    paths = [(cell, folder / f"{cell['key']}.json") for cell in cells(content)]
    return [(cell, lw.core.files.read_json(path)) for cell, path in paths if path.exists()]


# One model.

FOR_ONE_MODEL = HERE / "models.json"
ACCURACY_STRINGS, HARD_STRINGS, HEAD_STRINGS = 128, 32, 8
SEARCH_SECONDS = 60
"""For the automaton of a model, at most."""


def explain(out: Path, work: Path, minutes: float) -> None:
    """Compute what a forecast looks at, for the models that the design names; goes on where it stopped."""
    content, ends = design(), time.monotonic() + 60 * minutes
    rows = lw.core.files.read_json(FOR_ONE_MODEL)["models"] if FOR_ONE_MODEL.exists() else []
    done = {(row["run"], row["M"]) for row in rows}
    models = [
        (cell, values["lengths"][0]["trained"], values["lengths"][0]["seeds"][number])
        for number in range(len(content["seeds"]))
        for cell, values in measured(out)
    ]
    for cell, n, seed in models:
        if time.monotonic() > ends:
            return
        if (seed["run"], round(1.5 * n)) in done:
            continue
        began = time.process_time()
        found = {"cell": cell["key"], "task": cell["name"], "half": cell["half"], "run": seed["run"], "N": n}
        both = [
            {**found, "M": round(share * n), "fit": seed["fit"], "right": seed[outcome]}
            for share, outcome in ((1.5, "near"), (3, "far"))
        ]
        rows += [row | features for row, features in zip(both, features_of(work / seed["run"], both), strict=True)]
        lw.core.files.write_json(FOR_ONE_MODEL, {"models": rows}, dense=True)
        print(cell["key"], n, seed["seed"], f"{time.process_time() - began:.1f} s", flush=True)


def features_of(run: Path, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The features of one model at each M, and what rivals say."""
    own, model = lw.explanation, lw.explanation.model.subject_of(run, None)
    inside = [round(model.train * share) for share in (0.25, 0.5, 0.75, 1)]
    accuracy = own.model.accuracy(model, model.lengths(inside), ACCURACY_STRINGS, 0)
    oracle = own.model.WordOracle(model)
    automaton = own.automaton.learn_automaton(model, oracle, seed=0, seconds=SEARCH_SECONDS, lengths=[])
    heads = own.heads.explain_heads(model, model.lengths([row["M"] for row in rows]), HEAD_STRINGS, 0)
    hard = own.forecast.right_on_hard(model, automaton, HARD_STRINGS, 0)
    near = [row for row in accuracy.rows if row.length > model.train / 2]
    found = []
    for row in rows:
        asked = own.forecast.asked_of(model)
        values = own.forecast.model_features(model.train, row["M"], accuracy, hard, automaton, asked, heads)
        found.append(
            {
                "features": {name: round(value, 5) for name, value in values.items()},
                "same as at N": sum(each.right for each in near) / sum(each.n for each in near),
                **of_issue_o(run, model.task, row),
            }
        )
    return found


def of_issue_o(run: Path, task: lw.Task, row: dict[str, Any]) -> dict[str, float | None]:
    """The forecast without the model; where it refuses, also what its formula says."""
    system = {"nope": "nope", "alibi": "alibi", "ape": "ape"}[row["cell"].rpartition("-")[2]]
    known = lw.predict(task, train=row["N"], test=row["M"], encoding=system)[system].forecast
    found = None if known is None else known.probability
    dfa = task.automaton() if isinstance(task, lw.tasks.language.Language) else None
    if found is not None or dfa is None:
        return {"forecast O": found, "forecast O, unrefused": found}
    encoding = "learned" if system == "ape" else system
    names = lw.forecast.features
    values = names.of_language(names.LanguageQuestion(dfa, "next", encoding, row["N"], row["M"]))
    return {
        "forecast O": None,
        "forecast O, unrefused": lw.forecast.model.forecaster("language").forecast(values).probability,
    }


DRAWS = 60
"""Of the bootstrap over tasks, kept with the coefficients."""
COEFFICIENTS = Path(lw.explanation.forecast.FILE)


def fitted(rows: Sequence[dict[str, Any]], tasks: Sequence[str] | None = None) -> np.ndarray:
    """Weights and constant in raw units; with ``tasks``, those of these tasks as often as they are named."""
    from sklearn.linear_model import LogisticRegression

    chosen = rows if tasks is None else [row for task in tasks for row in rows if row["task"] == task]
    x = np.array([list(row["features"].values()) for row in chosen])
    y = np.array([row["right"] >= lw.explanation.forecast.CUT for row in chosen])
    if y.all() or not y.any():
        return np.array([])
    mean, scale = x.mean(axis=0), np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
    found = LogisticRegression(C=1.0, max_iter=2000).fit((x - mean) / scale, y)
    weights = found.coef_[0] / scale
    return np.array([*weights, found.intercept_[0] - weights @ mean])


def scores(y: np.ndarray, p: np.ndarray) -> dict[str, float]:
    """AUC, Brier score, calibration error and balanced accuracy of probabilities."""
    from sklearn.metrics import balanced_accuracy_score, brier_score_loss, roc_auc_score

    step = np.minimum((p * 10).astype(int), 9)
    off = sum(abs(y[step == b].mean() - p[step == b].mean()) * (step == b).mean() for b in np.unique(step))
    return {
        "AUC": float(roc_auc_score(y, p)),
        "Brier": float(brier_score_loss(y, p)),
        "calibration error": float(off),
        "balanced accuracy": float(balanced_accuracy_score(y, p >= 0.5)),
    }


PREDICTORS = ("ours", "same as at N", "forecast O", "forecast O, unrefused")


def predictions(rows: Sequence[dict[str, Any]], weights: np.ndarray) -> dict[str, np.ndarray]:
    """Each predictor's probabilities; 0.5 where the forecast refuses."""
    x = np.array([[*row["features"].values(), 1.0] for row in rows])
    found = {"ours": 1 / (1 + np.exp(-(x @ weights)))}
    for name in PREDICTORS[1:]:
        found[name] = np.array([0.5 if row[name] is None else row[name] for row in rows])
    return found


def aucs(y: np.ndarray, p: Sequence[np.ndarray]) -> np.ndarray:
    """The AUC of each of several predictors, by ranks; thousands of bootstrap draws need it fast."""
    right = int(y.sum())
    ranks = lw.core.statistics.midranks(np.array(p))[:, y].sum(axis=1)
    return (ranks - right * (right + 1) / 2) / (right * (len(y) - right))


def scored(content: dict[str, Any], rows: Sequence[dict[str, Any]], draws: int = 300) -> dict[str, Any]:
    """The fit on the first half, and the scores of all predictors on the second."""
    train, test = ([row for row in rows if row["half"] == half] for half in ("fit", "test"))
    weights, rng = fitted(train), lw.stream(0, "one model", "bootstrap")
    found: dict[str, Any] = {"weights": weights, "fit": len(train), "test": len(test), "scores": {}}
    tasks = sorted({row["task"] for row in test})
    for name, chosen in (
        ("all models", test),
        ("fitted models", [row for row in test if row["fit"] >= content["fit"]]),
    ):
        y = np.array([row["right"] >= lw.explanation.forecast.CUT for row in chosen])
        if y.all() or not y.any():
            continue
        p = predictions(chosen, weights)
        of_task = {task: np.array([i for i, row in enumerate(chosen) if row["task"] == task], int) for task in tasks}
        apart: dict[str, list[float]] = {rival: [] for rival in PREDICTORS[1:]}
        for _ in range(draws):
            index = np.concatenate([of_task[tasks[t]] for t in rng.integers(len(tasks), size=len(tasks))])
            if len(index) and 0 < y[index].mean() < 1:
                ours, *others = aucs(y[index], [p[each][index] for each in PREDICTORS])
                for rival, auc in zip(apart, others, strict=True):
                    apart[rival].append(ours - auc)
        found["scores"][name] = {
            "n": len(y), "right": int(y.sum()), **{each: scores(y, p[each]) for each in PREDICTORS},
            "difference of AUC": {rival: np.quantile(each, [0.025, 0.975]).tolist() for rival, each in apart.items()},
        }  # fmt: skip
    return found


def fit() -> None:
    """Fit on the first half, score on the second, and write the coefficients that `lengthwise explain` reads."""
    content, rows = design(), lw.core.files.read_json(FOR_ONE_MODEL)["models"]
    found = scored(content, rows)
    train = [row for row in rows if row["half"] == "fit"]
    tasks, rng, drawn = sorted({row["task"] for row in train}), lw.stream(0, "one model", "coefficients"), []
    while len(drawn) < DRAWS:
        weights = fitted(train, [tasks[t] for t in rng.integers(len(tasks), size=len(tasks))])
        if len(weights):
            drawn.append(np.round(weights, 5).tolist())
    names = list(train[0]["features"])
    means = {name: round(float(np.mean([row["features"][name] for row in train])), 5) for name in names}
    every = found["scores"]["all models"]
    models, count = len({row["run"] for row in rows if row["half"] == "test"}), found["test"]
    line = (
        f"on {models} small models without positions, trained to {rows[0]['N']}, of other tasks ({count} forecasts), "
        f"AUC {every['ours']['AUC']:.2f} and calibration error {every['ours']['calibration error']:.2f}; the accuracy "
        f"at trained lengths has AUC {every['same as at N']['AUC']:.2f}"
    )
    values = {
        "features": names, "weights": np.round(found["weights"], 5).tolist(), "draws": drawn, "means": means,
        "scored": line,
    }  # fmt: skip
    lw.core.files.write_json(COEFFICIENTS, values, dense=True)
    print(line)


# The tables of the page.


def tables() -> dict[str, str]:
    """The tables of the page as Markdown."""
    from scipy.stats import spearmanr
    from table_parts import markdown

    content, found = design(), measured()
    known = {cell["key"]: lw.core.files.read_json(BOUNDS)[cell["name"]] for cell, _ in found}
    rows = []
    for cell, values in found:
        held = shortest(content, values)
        first = str(held) if held else "never" if finished(content, values) else "not yet"
        own = known[cell["key"]]
        each = "; ".join(
            f"{row['trained']}: " + " ".join(f"{s['fit']:.2f}/{s['beyond']:.2f}" for s in row["seeds"])
            for row in values["lengths"]
        )
        limits = [f"{own[name]:g}" if own else "–" for name in ("2 n - 2", "characteristic", "monoid")]
        rows.append([cell["name"], cell["system"], first, *limits, each])
    titles = ["language", "system", "shortest N", "2 n − 2", "characteristic", "monoid"]
    result = {"shortest training length": markdown([*titles, "N: fit/beyond of each seed"], rows)}
    ended = [(c, v) for c, v in found if c["system"] == "nope" and known[c["key"]] and finished(content, v)]
    if len(ended) > 3:
        never = 2 * content["lengths"][-1]
        y = [shortest(content, values) or never for _, values in ended]
        ranks = []
        for name in known[ended[0][0]["key"]]:
            x = [known[cell["key"]][name] for cell, _ in ended]
            if len(set(x)) > 1 and len(set(y)) > 1:
                rho, p = spearmanr(x, y)
                ranks.append([name, str(len(x)), f"{rho:+.2f}", f"{p:.3f}"])
        if ranks:
            result["rank correlations"] = markdown(["with", "languages", "Spearman's ρ", "p"], ranks)
    if FOR_ONE_MODEL.exists():
        for name, values in scored(content, lw.core.files.read_json(FOR_ONE_MODEL)["models"])["scores"].items():
            lines = [
                [each, *(f"{values[each][what]:.3f}" for what in values[each]),
                 " to ".join(f"{end:+.2f}" for end in values["difference of AUC"].get(each, [])) or "–"]
                for each in PREDICTORS
            ]  # fmt: skip
            columns = ["predictor", *values["ours"], "ours above it in AUC, 95 %"]
            result[f"one model: {name}, {values['right']} of {values['n']} right"] = markdown(columns, lines)
    return result


def main(arguments: Sequence[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("draw", "bounds", "train", "train-for-one-model", "explain", "fit"))
    parser.add_argument("--out", type=Path, help="folder of the results")
    parser.add_argument("--work", type=Path, help="where runs and their weights are kept")
    parser.add_argument("--minutes", type=float, default=60)
    given = parser.parse_args(arguments)
    if given.what == "draw":
        print(*draw(), sep="\n")
    elif given.what == "bounds":
        write_bounds()
    elif given.what == "fit":
        fit()
    elif given.work is None:
        parser.error("--work is needed")
    else:
        os.environ["OMP_NUM_THREADS"] = "1"
        run, folder = {
            "train": (train, RESULTS), "train-for-one-model": (train_for_one_model, ONE_MODEL),
            "explain": (explain, ONE_MODEL),
        }[given.what]  # fmt: skip
        run(given.out or folder, given.work, given.minutes)


if __name__ == "__main__":
    main(sys.argv[1:])
