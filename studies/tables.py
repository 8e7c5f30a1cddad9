"""Compute the tables of pages from committed result files: ``python studies/tables.py [PAGE]`` prints them.

`PAGES` maps a page's name to a function that returns its tables as Markdown. ``tests/studies/test_pages.py`` compares.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from math import comb
from pathlib import Path
from statistics import median
from typing import Any

import lengthwise as lw

for _folder in sorted(Path(__file__).parent.iterdir()):
    if _folder.is_dir() and str(_folder) not in sys.path:
        sys.path.append(str(_folder))

# isort: split
from addition_methods import addition_methods as method_jobs  # noqa: E402
from architectures import tables as architectures  # noqa: E402
from blind_tables import blind  # noqa: E402
from coupled_arithmetic import coupled_arithmetic as coupled_jobs  # noqa: E402
from extension_tables import context_extension  # noqa: E402
from fixed_tables import fixed_beforehand  # noqa: E402
from half_of_the_rows import tables as half_of_the_rows  # noqa: E402
from longer_strings import tables as longer_strings  # noqa: E402
from matrix_tables import which_method_where  # noqa: E402
from modulo import LANGUAGES as MODULO  # noqa: E402
from near import tables as near  # noqa: E402
from probe_matrix import tables as probe_matrix  # noqa: E402
from rows_of_a_kind import tables as rows_of_a_kind  # noqa: E402
from rows_with_values import tables as rows_with_values  # noqa: E402
from second_round import tables as second_round  # noqa: E402
from smallest_claims import tables as smallest_claims  # noqa: E402
from table_parts import markdown, results, results_of  # noqa: E402
from three_methods import tables as three_methods  # noqa: E402
from traces import tables as traces  # noqa: E402
from training_length import tables as training_length  # noqa: E402
from twelve_models import tables as twelve_explained  # noqa: E402


def runs(recipe: str, system: str, **wanted: object) -> list[lw.report.summary.SeedResult]:
    """The results of a system by seed, those with these values in their model, training or task only."""

    def fits(result: lw.report.summary.SeedResult) -> bool:
        parts = [result.experiment[name] for name in ("model", "training", "task", "scheme")]
        return all(any(part.get(key) == value for part in parts) for key, value in wanted.items())

    found = [result for result in results_of(recipe) if result.system == system and fits(result)]
    assert found, (recipe, system, wanted)
    return sorted(found, key=lambda result: result.seed)


def score(result: lw.report.summary.SeedResult, length: int, **axes: int) -> lw.core.result_file.Score | None:
    """The score at a length and axes, if it was measured."""
    return next((s for s in result.scores if s.length == length and dict(s.axes) == axes), None)


def seeds(
    results: Sequence[lw.report.summary.SeedResult],
    length: int,
    metric: str = "exact_match",
    digits: int = 3,
    **axes: int,
) -> str:
    """The share of right strings of each seed; a dash where a seed was not measured."""
    found = [score(result, length, **axes) for result in results]
    return " ".join(f"{s.correct[metric] / s.n:.{digits}f}" if s else "–" for s in found)


def shares(results: Sequence[lw.report.summary.SeedResult], length: int, axes: dict[str, int]) -> str:
    """`seeds` with two digits, where an axis may have any name."""
    found = [next((s for s in each.scores if s.length == length and dict(s.axes) == axes), None) for each in results]
    return " ".join(f"{s.rate():.2f}" if s else "–" for s in found)


def fitted(results: Sequence[lw.report.summary.SeedResult]) -> str:
    """How many seeds fitted."""
    return f"{sum(result.fitted for result in results)} of {len(results)}"


def inside(results: Sequence[lw.report.summary.SeedResult]) -> str:
    """Each seed's share in distribution."""
    return " ".join(f"{result.in_distribution.rate():.3f}" for result in results)


def huang() -> dict[str, str]:
    """Two cells of the 25 tasks with one setting switched; the last bin, every seed."""
    rows = []
    for system, switched, adversarial in (
        ("{0,1,2}*02*, nope", "log-length attention on", 1),
        ("Tomita-4, nope", "the settings of Tomita-4 with APE", 0),
    ):
        shown = []
        for folder in ("huang", "huang/controls"):
            found = [run for run in runs(folder, system) if run.experiment["model"]["layers"] == 2]
            axes = {"low": 101, "high": 150} | ({"adversarial": 1} if adversarial else {})
            shown.append(seeds(found, 150, metric="exact_match", digits=2, **axes))
        rows.append((system.replace(", nope", "").replace("*", "\\*"), "NoPE", "no", switched, *shown))
    heads = ("language", "positions", "theory", "switched", "101–150 in the table", "101–150 switched")
    return {"switched": markdown(heads, rows)}


def variable_assignment() -> dict[str, str]:
    """Predictive position coupling against lines, its error per step, replacements and ablations."""
    name, ppc = "variable-assignment", "scratchpad + PPC"
    big, lines = runs(name, ppc, width=256), (8, 16, 32, 80, 160, 400)
    main = [
        (str(n), f"{n // 8}×", seeds(big, n, chains=4, depth=n // 4), seeds(big, n, chains=1, depth=n)) for n in lines
    ]
    systems = [
        ("PPC, quick setting (width 128)", runs(name, ppc, width=128)),
        ("absolute shift", runs(name, "scratchpad + absolute shift", steps=6000)),
        ("absolute shift, quick setting", runs(name, "scratchpad + absolute shift", steps=3500)),
        ("RoPE + PoSE, separators, ids to 964", runs(name, "scratchpad + RoPE + PoSE", steps=10000)),
        ("RoPE + PoSE, separators, ids to 204", runs(name, "scratchpad + RoPE + PoSE", steps=12000)),
        ("RoPE + PoSE, no separators", runs(name, "scratchpad + RoPE + PoSE", steps=1200)),
        ("RoPE + PoSE, no scratchpad", runs(name, "RoPE + PoSE, no scratchpad", steps=2600)),
    ]
    shown = (16, 32, 160)
    replacements = [
        (title, fitted(found), inside(found), *(seeds(found, n, chains=4, depth=n // 4) for n in shown))
        for title, found in systems
    ]
    replacements_one = [
        (title, *(seeds(found, n, chains=1, depth=n) for n in shown)) for title, found in systems if found[0].fitted
    ]
    several = [f"{n} lines ({n // 8}×)" for n in shown]
    return {
        "main": markdown(("lines", "multiple", "4 chains, each seed", "one chain, each seed"), main),
        "error per step": _error_per_step(),
        "oracle ids": _oracle(big),
        "replacements": markdown(("system", "fitted", "in distribution", *several), replacements),
        "replacements, one chain": markdown(("system", *several), replacements_one),
        "ablations": _ablations(),
    }


def _at_risk(length: int) -> tuple[int, int]:
    """Generated steps up to and with the first error, and first errors, over all strings of all seeds of one length."""
    steps = errors = 0
    for path in lw.core.result_file.result_files(results("variable-assignment")):
        values = lw.core.files.read_json(path)
        if values["system"] == "scratchpad + PPC" and values["experiment"]["model"]["width"] == 256:
            for found in values["scores"]:
                if found["length"] == length:
                    at = found["first_error_at"]
                    steps += (found["n"] - len(at)) * (found["tokens_total"] // found["n"]) + sum(at) + len(at)
                    errors += len(at)
    return steps, errors


def _error_per_step() -> str:
    """First errors per generated step, by length, both kinds of prompts together, with exact 95 % intervals."""
    counted = {length: _at_risk(length) for length in (80, 160, 400)}
    rows = [
        (str(length), f"{steps:,}", str(errors), f"{1e5 * errors / steps:.1f}")
        for length, (steps, errors) in counted.items()
    ]
    steps, errors = counted[400]
    for title, others in (("400 against 80", (80,)), ("400 against 80 and 160", (80, 160))):
        before, wrong = (sum(counted[length][part] for length in others) for part in (0, 1))
        low, high = (p / (1 - p) * before / steps for p in share_interval(errors, errors + wrong))
        rows.append((title, "", "", f"ratio {errors * before / (steps * wrong):.1f} [{low:.1f}, {high:.1f}]"))
    return markdown(("lines", "generated steps", "first errors", "errors per 100,000 steps"), rows)


def share_interval(count: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Clopper and Pearson's exact interval of a share, by bisection."""

    def at_most(k: int, p: float) -> float:
        return sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))

    def solve(holds: Callable[[float], bool]) -> float:
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if holds(middle) else (low, middle)
        return (low + high) / 2

    tail = (1 - level) / 2
    lowest = 0.0 if count == 0 else solve(lambda p: 1 - at_most(count - 1, p) < tail)
    highest = 1.0 if count == n else solve(lambda p: at_most(count, p) > tail)
    return lowest, highest


def _oracle(results: Sequence[lw.report.summary.SeedResult]) -> str:
    rows = []
    for chains, name in ((4, "4 chains"), (1, "one chain")):
        found = [score(result, 400, chains=chains, depth=400 // chains) for result in results]
        own, given = ([str(s.correct[key]) for s in found if s] for key in ("exact_match", "oracle_ids"))
        rows.append((name, " ".join(own), " ".join(given)))
    return markdown(("400 lines", "predicted ids: right of 200, each seed", "right ids given"), rows)


def _ablations() -> str:
    same = ("no slot level", "no log-length scaling", "no QK-norm", "2 layers", "3 layers", "4 layers")
    names = {
        "as it is": "nothing",
        "ids with one jump": "ids drawn with one jump (PoSE-like)",
        "permuted ids": "ids permuted",
        "contiguous ids": "ids contiguous with offset",
        "pointer head": "pointer id head",
        **{name: name for name in same},
        "no QK-norm, no log-length": "no QK-norm, no log-length scaling",
        "RoPE on coupled ids": "RoPE on coupled ids",
        "RoPE on coupled ids, pointer head": "RoPE on coupled ids, pointer head",
    }
    rows = []
    for system, title in names.items():
        found = runs("ppc-ablations", system)
        both = (seeds(found, 160, chains=4, depth=40), seeds(found, 160, chains=1, depth=160))
        rows.append((title, fitted(found), inside(found), *both))
    return markdown(("changed", "fitted", "in distribution", "4 chains", "one chain"), rows)


def parity_scratchpad() -> dict[str, str]:
    """Parity with a scratchpad by system and length."""
    systems = {
        "scratchpad + PPC": {}, "scratchpad + given ids": {}, "scratchpad + RoPE + PoSE": {},
        "scratchpad + absolute shift": {"max_position": 165}, "scratchpad + NoPE": {}, "no scratchpad (control)": {},
    }  # fmt: skip
    lengths = (30, 40, 60, 80, 100, 150, 200)
    rows = []
    for system, wanted in systems.items():
        found = runs("parity-scratchpad", system, **wanted)
        cells = [seeds(found, n, digits=2) for n in lengths]
        rows.append((system, fitted(found), inside(found), *(c if set(c) - set("– ") else "–" for c in cells)))
    shift = [run for run in results_of("parity-scratchpad") if run.system == "scratchpad + absolute shift"]
    settings = [
        (run.experiment, run) for run in sorted(shift, key=lambda run: (run.experiment["training"]["steps"], run.seed))
    ]
    other = [
        (
            str(e["scheme"]["max_position"]),
            str(e["model"]["width"]),
            f"{e['training']['steps']:,}",
            str(run.seed),
            inside([run]),
        )
        for e, run in settings
    ]
    return {
        "main": markdown(("system", "fitted", "in distribution", *(f"{n} bits" for n in lengths)), rows),
        "absolute shift": markdown(("largest id", "width", "steps", "seed", "in distribution"), other),
    }


def automatic_coupling() -> dict[str, str]:
    """Found and hand-made places, every seed."""
    systems = [
        ("copy, hand-made", "copy, hand-made"), ("copy, **found**", "copy, found"),
        ("reverse, hand-made", "reverse, hand-made"), ("reverse, **found**", "reverse, found"),
        ("parity with scratchpad, hand-made, same id", "parity-scratchpad, hand-made"),
        ("parity with scratchpad, hand-made, offset one", "parity-scratchpad, hand-made, offset one"),
        ("parity with scratchpad, **found**", "parity-scratchpad, found"),
        ("addition, hand-made", "addition, hand-made"), ("addition, **found**", "addition, found"),
    ]  # fmt: skip
    rows = []
    for title, system in systems:
        found = runs("automatic-coupling", system)
        numbers = ", ".join(str(result.seed) for result in found)
        rows.append((title, numbers, fitted(found), *(seeds(found, n) for n in (20, 40, 100))))
    return {"main": markdown(("task, places", "seeds", "fitted", "20 (2×)", "40 (4×)", "100 (10×)"), rows)}


def sparse_parity() -> dict[str, str]:
    """Sparse parity on balanced numbers of ones."""
    ape = {"steps": 3000}
    rows = []
    for trained in (4, 6, 8, 10, 12):
        for place in ("", ", marked within 16"):
            found = runs("sparse-parity", f"K_train = {trained}{place}", **ape)
            for k in range(2, trained + 1, 2):
                both = [seeds(found, n, k=k, min_ones=0) for n in (50, 500)]
                if both != ["1.000 1.000 1.000"] * 2:
                    rows.append((str(trained), "within 16" if place else "anywhere", str(k), *both))
    upto = markdown(("K_train", "marks", "k", "50 bits", "500 bits"), rows)
    rows = []
    for place in ("", ", marked within 16"):
        found = runs("sparse-parity", f"K_train = 8{place}, RoPE", **ape)
        for n in (50, 100, 200, 500):
            cells = [seeds(found, n, k=k, min_ones=0, digits=2) for k in (2, 4, 6, 8)]
            rows.append(("within 16" if place else "anywhere", str(n), *cells))
    rope = markdown(("marks", "bits", "k = 2", "4", "6", "8"), rows)
    rows = []
    for trained in (4, 6, 8, 10):
        for place in ("", ", marked within 16"):
            found = runs("sparse-parity", f"K_train = {trained}{place}", **ape)
            more = trained + (1 if trained % 2 == 0 else 2)
            cells = [seeds(found, n, k=trained + 2, min_ones=more) for n in (50, 500)]
            rows.append((str(trained), "within 16" if place else "anywhere", f"{more} to {trained + 2}", *cells))
    beyond = markdown(("K_train", "marks", "ones", "50 bits", "500 bits"), rows)
    return {"up to K_train": upto, "RoPE": rope, "more ones than in training": beyond, "500 bits": _stable()}


def _stable() -> str:
    """Seeds of the quick recipe at 500 bits, fair bits, with one setting changed."""
    changes = {
        "none": {"steps": 1500, "min_length": 5, "log_length": 50},
        "strings of 20 to 50 bits (`training.min_length=20`)": {"steps": 1500, "min_length": 20},
        "500 steps (`training.steps=500`)": {"steps": 500},
        "no log-length scaling (`model.log_length=null`)": {"steps": 1500, "log_length": None},
    }
    rows = []
    for title, wanted in changes.items():
        log_length = wanted.get("log_length", 50)
        found = [
            run
            for run in runs("sparse-parity", "K_train = 4", **wanted)
            if run.experiment["model"]["log_length"] == log_length
        ]
        rows.append((title, *(seeds(found, 500, k=k) for k in (1, 2, 3, 4))))
    return markdown(("change", "k = 1", "2", "3", "4"), rows)


def planted_theory() -> dict[str, str]:
    """The three figures of the study of exact learners."""
    study = lw.core.files.read_json(results("planted-theory") / "quick" / "study.json")["rows"]

    def ranged(row: dict[str, Any], length: str) -> str:
        low, high = row["spread"][list(row["error"]).index(length)]
        return f"{row['error'][length]:.3f} [{low:.2f}–{high:.2f}]" if high else "0"

    names = {
        "local": ("local: S\\* and weights of span ≤ 4", "exact (Theorem A)"),
        "non-local": ("non-local: S\\* anywhere, a weight per offset", "fails"),
        "non-local with PoSE": ("non-local, training ids stretched by PoSE", "exact (offsets covered)"),
        "far": ("far: S\\* = {i, i + ℓ/2}, a weight per offset", "fails"),
        "far with coupling": ("far, the two halves numbered alike (coupling)", "exact (Corollary C)"),
    }
    by_length = [
        (
            *names[row["learner"]],
            *(ranged(row, n) for n in ("16", "20", "32", "96")),
            f"{100 * row['settled'][-1]:.0f} %",
        )
        for row in study
        if row["figure"] == "length"
    ]
    by_k = []
    for strings in (100, 300, 1000, 3000, 10000):
        own = [row for row in study if row["figure"] == "k" and row["trained_on"] == strings]
        by_k.append((f"{strings:,}", *(f"{row['error']['64']:.3f} ({row['unseen']})" for row in own)))
    growth = [
        (
            str(row["k"]), *(f"{row['error'][n]:.4f}" for n in ("8", "32", "128")), f"{row['slope']:.2f}",
            f"{row['heuristic'][-1]:.3f}", f"{row['bound'][-1]:.2f}",
        )
        for row in study
        if row["figure"] == "growth"
    ]  # fmt: skip
    heads = ("learner", "expected", "16", "20", "32", "96", "strings of 96 on which all heads are right")
    return {
        "by length": markdown(heads, by_length),
        "by k": markdown(("training strings", "k = 1", "k = 2", "k = 3", "k = 4"), by_k),
        "growth": markdown(("k", "8", "32", "128", "exponent", "heuristic at 128", "Theorem B at 128"), growth),
    }


def limit_transformers() -> dict[str, str]:
    """R over the context, the idealized learner, and products of learned positions."""
    growth = lw.core.files.read_json(results("regularizer-growth") / "quick" / "study.json")["rows"]
    contexts = list(growth[0]["R"])
    learner = lw.core.files.read_json(results("idealized-learner") / "quick" / "study.json")["rows"]
    settled = []
    for row in learner:
        last = row["choices"][-1]
        known = f"knows words up to {last['n'] // 2} by heart; errs on {last['errors']} of {last['words']}"
        settled.append((
            row["target"].replace("*", "\\*"), str(row["settled_from"] or "never"), f"{last['regularizer']:.4g}",
            f"`{last['program']}`" if last["program"] else known, str(row["exhaustive_to"]),
            "settles" if row["expected"] else "no program",
        ))  # fmt: skip
    products = lw.core.files.read_json(results("positional-products") / "standard" / "study.json")["rows"]
    relations = dict.fromkeys((row["relation"], row["kind"], row["always_zero"]) for row in products)
    shown = []
    for relation, kind, zero in relations:
        cells = []
        for width in (32, 256):
            (row,) = (row for row in products if (row["relation"], row["width"]) == (relation, width))
            ours, published = (
                " / ".join(f"{row[part][n]:.2f}" for n in ("100", "150")) for part in ("errors", "published")
            )
            cells += [f"**{ours}**" if row["extrapolates"] else ours, published]
        shown.append((relation, kind, *cells, f"{zero:.2f}"))
    heads = ("relation", "kind", "d = 32: ours", "published", "d = 256: ours", "published", "answering 0")
    return {
        "growth": markdown(
            ("network", *(f"N = {n}" for n in contexts)),
            [
                (
                    row["network"].replace("*", "\\*"),
                    *(f"{row['R'][n]:.4g}" if n in row["R"] else "–" for n in contexts),
                )
                for row in growth
            ],
        ),
        "learner": markdown(
            ("target", "settled from n =", "R at the end", "program at the end", "words checked to", "theory"), settled
        ),
        "products": markdown(heads, shown),
    }


def influence_planted() -> dict[str, str]:
    """Which rules of selection find the planted tokens."""
    rows = []
    for row in lw.core.files.read_json(results("influence-planted") / "quick" / "study.json")["rows"]:
        names = ("greedy", "one-shot", "surrogate", "attention", "gradient-input")
        found = [f"{100 * row['found'][name]:.3g} %" if name in row["found"] else "–" for name in names]
        recovered = " ".join(f"{row['R'][k]:.2f}" for k in ("1", "2", "3"))
        rows.append(
            (row["label"], str(row["k"]), row["reader"], *found, recovered, f"{row['null'][str(row['k'])]:.3f}")
        )
    rules = ("greedy", "one-shot", "surrogate", "attention", "gradient × input")
    return {"main": markdown(("g\\*", "k", "model", *rules, "greedy's R_1 R_2 R_3", "null at k"), rows)}


def arithmetic() -> dict[str, str]:
    """Addition under a local bias of coupled ids and with a learned table, other methods, and other arithmetic."""
    found = {}
    for longest in (30, 10):
        results = runs("addition", f"local bias, up to {longest}")
        lengths, rows = by_digits(results)
        shares = [[each.scores[i].rate() or 0.0 for each in results] for i in range(len(lengths))]
        rows.append(("median", fitted(results) + " fitted", *(f"{median(values):.3f}" for values in shares)))
        found[f"local-{longest}"] = markdown(("seed", "in distribution", *lengths), rows)
    lengths, rows = by_digits(runs("addition", "coupled, up to 30"))
    found["learned"] = markdown(("seed", "in distribution", *lengths), rows)
    found |= {"first errors": first_errors(), "jumps": addition_jumps(), "methods": addition_methods()}
    return found | {
        "coupled": coupled_arithmetic(), "looped": looped_parity(), "self-improvement": self_improvement()
    }  # fmt: skip


def by_digits(results: Sequence[lw.report.summary.SeedResult]) -> tuple[list[str], list[tuple[str, ...]]]:
    """The tested lengths, and for each seed its share in distribution and at each of them."""
    lengths = [each.length for each in results[0].scores]
    rows = [(str(each.seed), inside([each]), *(seeds([each], n) for n in lengths)) for each in results]
    return [str(n) for n in lengths], rows


def first_errors() -> str:
    """At which digit sums of the learned table's first reported seed go wrong: the commonest digit, and all others."""
    scores = runs("addition", "coupled, up to 30")[0].scores
    ((digit, _),) = Counter(at for each in scores for at in each.first_error_at).most_common(1)
    rows = []
    for each in scores:
        wrong, there = len(each.first_error_at), each.first_error_at.count(digit)
        assert wrong == each.n - each.correct["exact_match"]
        rows.append((str(each.length), str(wrong), str(there), str(wrong - there)))
    return markdown(("length", "wrong of 200", f"at digit {digit}", "elsewhere"), rows)


def addition_jumps() -> str:
    """Jumps of coupled ids in none, some or all training strings: every seed by digits, and its commonest errors."""
    rows = []
    for label, system in (("none", "no jumps"), ("in 30 %", "jumps in 30 %"), ("in all", "jumps in all")):
        for result in runs("addition-jumps", system):
            found = score(result, 40) if result.fitted else result.in_distribution
            assert found is not None
            where = "at 40 digits" if result.fitted else "in distribution"
            (top, count), *others = Counter(found.first_error_at).most_common(2)
            errors = f"{where}: {count} of {len(found.first_error_at)} at digit {top}"
            errors += "".join(f", {count} at digit {digit}" for digit, count in others)
            share = inside([result]) + ("" if result.fitted else ", not fitted")
            rows.append((label, str(result.seed), share, *(seeds([result], n) for n in (10, 20, 40, 70, 100)), errors))
    return markdown(("jumps", "seed", "in distribution", "10", "20", "40", "70", "100", "first errors"), rows)


def addition_methods() -> str:
    """Position methods side by side on addition: every seed by number of digits."""
    lengths, rows = (10, 15, 20, 25, 28, 30, 31, 32, 35, 40), []
    for job in method_jobs("standard").jobs:
        results = runs("addition-methods", job.name)
        rows.append((job.name, fitted(results), inside(results), *(seeds(results, n, digits=2) for n in lengths)))
    return markdown(("method", "fitted", "in distribution", *map(str, lengths)), rows)


def coupled_arithmetic() -> str:
    """Arithmetic with published rules of places: every seed at each tested length, exact match."""
    rows = []
    for job in coupled_jobs("standard").jobs:
        results = runs("coupled-arithmetic", job.name)
        cells = dict.fromkeys((score.length, tuple(score.axes.items())) for each in results for score in each.scores)
        shown = "; ".join(f"{length}: {shares(results, length, dict(axes))}" for length, axes in cells)
        rows.append((job.name, fitted(results), inside(results), shown))
    return markdown(("system", "fitted", "in distribution", "length: every seed"), rows)


def looped_parity() -> str:
    """Parity with a loop for each token beside unlooped layers: every seed by number of bits."""
    systems = ("one layer, looped by tokens", "one layer, looped 4 times", "4 layers, RoPE", "4 layers, NoPE")
    rows, lengths = [], (20, 25, 30, 35, 40, 50, 60)
    for system in systems:
        results = runs("looped-parity", system)
        rows.append((system, fitted(results), inside(results), *(seeds(results, n, digits=2) for n in lengths)))
    return markdown(("system", "fitted", "in distribution", *(f"{n} bits" for n in lengths)), rows)


def self_improvement() -> str:
    """Copied digits in rounds on labels of the models: every model before, midway, at the end, and the control."""
    rows, lengths = [], (8, 9, 10, 12, 14, 16, 20)
    for row in lw.core.files.read_json(results("self-improvement") / "standard" / "study.json")["rows"]:
        if row["longest"] % 4:
            continue
        made = row["labels"] and f"{row['labels']['right']} of {row['labels']['kept']}"
        what = "control" if row["system"] == "control" else f"labels to {row['longest']} digits"
        shares = (" ".join(f"{exact[str(n)]:.2f}" for exact in row["exact"]) for n in lengths)
        rows.append((str(row["seed"]), what, made or "–", *shares))
    return markdown(("seed", "models", "right labels of that length", *map(str, lengths)), rows)


def right_by_digits(name: str) -> dict[int, list[int]]:
    """Right sums of 100 by number of digits, one for each seed, as `examples/huggingface_addition.py` printed them."""
    found: dict[int, list[int]] = {}
    for line in (results("huggingface-addition") / f"{name}.tsv").read_text(encoding="utf-8").splitlines():
        _, _, _, digits, right, of = line.split("\t")[:6]
        assert of == "100"
        found.setdefault(int(digits), []).append(int(right))
    return found


def hugging_face() -> dict[str, str]:
    """A stock Llama and GPT-2 on addition; right sums of 100 of each seed."""
    rows = []
    for label, name in (
        ("Llama, coupled ids", "llama-coupled"),
        ("Llama, plain ids", "llama-plain"),
        ("GPT-2, coupled ids", "gpt-2-coupled"),
    ):
        rows.append((label, *(", ".join(map(str, values)) for values in right_by_digits(name).values())))
    found = {"example": markdown(("model", *map(str, right_by_digits("llama-coupled"))), rows)}
    return found | {"errors": gpt_2_errors()}


def gpt_2_errors() -> str:
    """What `benchmarks/huggingface_errors.py` counted: right sums of 100 of 32 digits, a column for each seed."""
    folder = results("huggingface-addition")
    seeds = lw.core.files.read_json(folder / "gpt-2-errors.json")["seeds"]
    order = sorted(seeds)
    far, scale, first = "right_by_far_places", "right_by_scale", "right_by_first_id"
    fresh = [line.split("\t") for line in (folder / "gpt-2-sharpened.tsv").read_text(encoding="utf-8").splitlines()]
    anew = {(seed, times): right for _, _, seed, digits, right, _, times in fresh if digits == "32"}
    rows = [
        ("as it is", *(str(seeds[seed][scale]["1.0"]) for seed in order)),
        ("24, 16, 8 far places visible", *(listed(seeds[seed][far], ("24", "16", "8")) for seed in order)),
        ("no far place visible", *(str(seeds[seed][far]["0"]) for seed in order)),
        ("attention scores × 1.25, 1.5, 2", *(listed(seeds[seed][scale], ("1.25", "1.5", "2.0")) for seed in order)),
        (
            f"ids begin at {', '.join(seeds[order[0]][first])}",
            *(listed(seeds[seed][first], tuple(seeds[seed][first])) for seed in order),
        ),
    ]
    rows.append(("new problems, through `generate`, as it is", *(anew[seed, "1.0"] for seed in order)))
    rows.append(("new problems, through `generate`, × 1.5", *(anew[seed, "1.5"] for seed in order)))
    return markdown(("GPT-2, coupled ids, 32 digits", *(f"seed {seed}" for seed in order)), rows)


def listed(counts: dict[str, int], keys: Sequence[str]) -> str:
    """Some counts, separated by commas."""
    return ", ".join(str(counts[key]) for key in keys)


def modulo() -> dict[str, str]:
    """Ids modulo m on uniformly drawn words: every seed, beside plain positions under the frozen ladder."""
    rows = []
    for language, m in MODULO:
        cells = [cell for cell in lw.measured.cells() if cell.target == language and cell.format == "next"]
        own = [(f"modulo {m}", cell) for cell in cells if cell.study == "modulo"]
        plain = [(cell.system, cell) for cell in cells if cell.rung and cell.system in ("nope", "ape")]
        for label, cell in own + plain:
            bins = [" ".join(f"{value:.2f}" for value in t.accuracy) for t in cell.tests if t.words != "adversarial"]
            rows.append((f"`{language}`".replace("|", "\\|"), label, f"{sum(cell.fitted)} of 5", *bins))
    return {"seeds": markdown(("language", "ids", "fitted", "51–100", "101–150", "151–300"), rows)}


PAGES: dict[str, Callable[[], dict[str, str]]] = {
    "studies/architectures/README.md": architectures,
    "studies/arithmetic/README.md": arithmetic,
    "studies/arithmetic/automatic-coupling.md": automatic_coupling,
    "studies/attach/near.md": near,
    "studies/blind/README.md": blind,
    "studies/explain/README.md": twelve_explained,
    "studies/explain/half_of_the_rows.md": half_of_the_rows,
    "studies/explain/longer_strings.md": longer_strings,
    "studies/explain/second_round.md": second_round,
    "studies/explain/rows_of_a_kind.md": rows_of_a_kind,
    "studies/explain/rows_with_values.md": rows_with_values,
    "studies/forecast/modulo.md": modulo,
    "studies/forecast/probe-matrix.md": probe_matrix,
    "studies/golowich/README.md": fixed_beforehand,
    "studies/golowich/parity-scratchpad.md": parity_scratchpad,
    "studies/golowich/sparse-parity.md": sparse_parity,
    "studies/golowich/variable-assignment.md": variable_assignment,
    "studies/huang/README.md": huang,
    "studies/influence/influence-planted.md": influence_planted,
    "studies/methods/README.md": which_method_where,
    "studies/methods/context-extension.md": context_extension,
    "studies/methods/smallest-claims.md": smallest_claims,
    "studies/methods/three-methods.md": three_methods,
    "studies/theory/README.md": planted_theory,
    "studies/traces/README.md": traces,
    "studies/training_length/README.md": training_length,
    "docs/howto/huggingface-example.md": hugging_face,
    "docs/limit_transformers.md": limit_transformers,
}
"""The function of each page that returns its tables by title, as Markdown."""


def main(names: list[str]) -> None:
    """Print the tables of these pages, or of all."""
    if unknown := [name for name in names if name not in PAGES]:
        sys.exit(f"no tables of a page {unknown[0]!r}; pages: {', '.join(PAGES)}")
    for name in names or PAGES:
        for title, table in PAGES[name]().items():
            print(f"## {name}: {title}\n\n{table}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
