"""Pages of comparisons, audits and verifications."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import takewhile
from statistics import fmean, median, median_low
from typing import Any

from lengthwise.core.rank import RULE
from lengthwise.core.statistics import LEVEL, rank_test
from lengthwise.core.table import NEXT, Spread, Table, rounded
from lengthwise.evaluation.config import EvaluationConfig
from lengthwise.report.answer import ALIKE, SURE, answer
from lengthwise.report.control import PLAIN
from lengthwise.report.figures import NARROW, WIDE, Picture, draw_accuracy, draw_audit, draw_blind
from lengthwise.report.html import render_page
from lengthwise.report.success import answer_rows
from lengthwise.report.summary import SystemSummary, brackets_text, called, contradiction, percent, some_of
from lengthwise.report.words import once, p_text, percent_down, reaches_text, setting_text, value_text
from lengthwise.tasks import TASKS
from lengthwise.tasks.values import spoken

VARIED = {
    "length": "filler before the shortest problem",
    "distance": "the same filler behind the problem",
    "number": "a larger problem in place of the filler",
    "distractors": "other problems in place of the filler before the problem",
    "prose": "prose in place of the filler before the problem",
}
"""How each thing is varied alone."""
ABOUT = {
    "problem": "length of the problem itself",
    "tokens": "tokens of the prompt",
    "words": "words of the problem with its filler",
    "distance": "words from the farthest that matters to the answer",
    "number": "words that matter",
    "distractors": "other problems in the filler",
    "prose": "words of prose",
}
"""The columns of a cell, in words."""
READING = {
    "exact": "once code fences, “The answer is”, end tokens and the like are taken off",
    "last-number": "by the last number",
    "regex": "by the last match of the pattern",
}
"""How an answer is found in what was written."""


def audit_page(result: Mapping[str, Any]) -> str:
    """The page of a result of `lengthwise.audit.run.run_audit`, as HTML text."""
    shown, sides = result["overview"], [result, *([result["against"]] if result["against"] else [])]
    named = list(zip(shown["names"], sides, strict=True))
    cells, titles = result["cells"], result["names"]
    if result["against"]:
        cells = [{**cell, "form": name} for name, side in named for cell in side["cells"]
                 if cell["form"] == result["best_form"]]  # fmt: skip
    if result["tokens"]:
        cells = [{**cell, "words": cell["tokens"] or cell["words"]} for cell in cells]
    return render_page(
        "audit.html",
        title=f"Audit of {shown['title']}",
        result=result,
        shown=shown,
        kept=[i for i in range(len(shown["heads"])) if any(row[i] for row in shown["rows"])],
        last=result["against"] or result["causes"],
        sides=[
            {"name": name, **side, **_columns(side["cells"]), "source": _source(side["model"], side["identity"])}
            for name, side in named
        ],
        reading=READING[result["scoring"]["extract"]],
        points=lambda share: f"{round(100 * share):+d}",
        sweeps=titles,
        meaning=ABOUT,
        varied={name: how for name, how in VARIED.items() if any(cell["sweep"] == name for cell in cells)},
        figure=Picture("audit", draw_audit(cells, titles), draw_audit(cells, titles, NARROW)),
    )


def _source(model: Mapping[str, Any], identity: Mapping[str, Any]) -> str:
    if "url" not in identity:
        return model["where"]
    return f"the {identity['api']} interface of {identity['url']}, which tells nothing of {model['name']} but its name"


def _columns(cells: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    apart = [name for name in cells[0]["counts"] if any(cell["counts"][name] for cell in cells)]
    about = ("form", *ABOUT)
    same = {column: cells[0][column] for column in about if len({cell[column] for cell in cells}) == 1}
    return {
        "apart": [name for name in apart if name not in ("right", "wrong")],
        "about": [column for column in about if column not in same],
        "copies": any(cell["distractors"] for cell in cells),
        "same": {column: value for column, value in same.items() if value},
    }


CUTS = (0.90, 0.95, 0.99)
"""Cuts of exact match by which the first system is named, to see whether it depends on the cut."""


def comparison_table(values: Mapping[str, Any]) -> Table:
    """One row per system, best first: how far its seeds go, the mean beyond training, accuracy by length, theory."""
    tests, rows = values["tests"], []

    def over(rates: list[float]) -> Spread | None:
        return Spread(median(rates), min(rates), max(rates)) if rates else None

    for row in values["systems"]:
        seeds = row["seeds"]
        fitted = [seed for seed in seeds if seed["fitted"]]
        nothing = "diverged" if row["diverged"] else "not run"
        rows.append((
            row["system"],
            row["reach"] if fitted else None,
            " ".join(str(seed["reach"]) if seed["fitted"] else "×" for seed in seeds) or nothing,
            row["mean_beyond"] if fitted else None,
            *(over([seed["exact_match"][str(n)] for seed in fitted]) for n in tests),
            over([seed["in_distribution"] for seed in fitted or seeds]),
            row["verdict"],
            *(row[name][-1] if row[name] else None for name in ("sparsity", "span")),
            row["setting"],
            *(row[name] for name in ("parameters", "steps_per_second") if name in row),
            *([None, *(row["state"] or ())][-1:] if "parameters" in row else ()),
        ))  # fmt: skip
    kind = "Models" if values.get("equal") else "Position systems"
    trained = f"{kind} on {called(values['task'])}, trained up to {values['trained_to']}"
    known = any(row["fitted"] for row in values["systems"])
    caption = trained + (f".{_last_test(values)}" if known else ": no seed fitted.")
    columns = ("system", "reach", "each seed", "beyond", *map(str, tests), "in distr.", "theory", "k", "span")
    cost = ("setting", *(("parameters", "steps/s", "state") if values.get("equal") else ()))
    notes, advice = tuple(notes_of(values)), tuple(details_of(values))
    return Table((*columns, *cost), tuple(rows), caption=caption, notes=notes, advice=advice, digits=2)


def _last_test(values: Mapping[str, Any]) -> str:
    """A sentence where the task has no strings of the longest lengths that a comparison tests; else empty."""
    last, wanted = values["tests"][-1], int(values.get("tests_to", 0))
    return f" Tests end at {last}, not {wanted}, since the task has no longer strings." * (last < wanted)


def first_at(values: Mapping[str, Any], cut: float) -> str | None:
    """The system that goes farthest if exact match of ``cut`` is enough; None where no seed fitted."""

    def rank(row: Mapping[str, Any]) -> tuple[int, float]:
        reaches = []
        for seed in row["seeds"]:
            good = takewhile(lambda n: seed["exact_match"].get(str(n), 0.0) >= cut, values["tests"])  # noqa: B023
            reaches.append(max(good, default=0) if seed["fitted"] else 0)
        return median_low(reaches), row["mean_beyond"]

    fitted = [row for row in values["systems"] if row["fitted"]]
    return max(fitted, key=rank)["system"] if fitted else None


def command_of(copy: Mapping[str, Any]) -> str:
    """Python that trains a system again."""
    options = ", ".join(f"{key}={value!r}" for key, value in copy.items() if key != "task")
    return f"lw.Experiment({copy['task']!r}, {options})"


def next_rung(values: Mapping[str, Any]) -> dict[str, float] | None:
    """What to try where seeds did not fit: a budget, in seconds, and the ``steps`` that it buys.

    These are twice as many, and no fewer than those of a single training by default.

    None where every seed fitted, and where there are as many steps as a comparison takes. How many steps would suffice
    is not known before: a fit can come late and all at once.
    """
    most = values.get("most_steps", math.inf)
    unfitted = any(row["fitted"] < len(row["seeds"]) for row in values["systems"])
    if not unfitted or values["steps"] >= most:
        return None
    times = max(2.0, values["default_steps"] / values["steps"])
    budget = 60 * math.ceil(times * values["budget_seconds"] / 60)
    return {"budget": budget, "steps": min(round(times * values["steps"]), most)}


HARDLY = 0.1
"""The share of right strings of training lengths up to which more steps are not what is tried first."""
THEORY = {"yes": "possible; training may miss it"}
"""What is said of theory's answers in a sentence, where it is another word."""


def hardly_any(values: Mapping[str, Any]) -> bool:
    """Whether every system that was trained is right on hardly any string of its training lengths."""
    return max(_in_distribution(values["systems"]), default=1.0) <= HARDLY


MORE_SEEDS = 3
"""Seeds of the comparison that is next after one of a single seed."""


def what_next(values: Mapping[str, Any], systems: Sequence[SystemSummary]) -> tuple[str, dict[str, Any] | None]:
    """What to do next and why, with the options that the same command gets for it; None where it is another command.

    To finish, more seeds, longer for what did not fit, and before that where there is `no_control`, then what results
    in general ask for (`answer`). ``out`` of the options is what the name of the folder ends in, then.
    """
    rows, seeds, longest = values["systems"], values["seeds"], values["trained_to"]
    if started := [row["system"] for row in rows if not row["seeds"] and not row["diverged"]]:
        who = ", ".join(started) if len(started) < 3 else f"{len(started)} systems"
        return f"the same command goes on, with {who}", {}
    fits, rung, few = [row for row in rows if row["fitted"]], next_rung(values), too_few_steps(values)
    untold = rung is not None and len(fits) > 1 and no_control(rows)
    if fits and not untold and (len(fits) > 1 or len(rows) == 1 or rung is None):
        wanted, missing = max(values["seeds_wanted"], MORE_SEEDS if seeds == 1 else seeds), _missing(fits)
        if wanted > seeds or missing:
            wanted = max(wanted, answer(systems).enough if systems else 0)
            more = f"up to {wanted} seeds of each system, since {'one' if seeds == 1 else 'few'} may be luck"
            more += f"; the budget did not reach {missing}" * bool(missing)
            return more, {"seeds": wanted} if wanted > values["seeds_wanted"] else {}
        if systems and _all_alike(values, systems):
            return _longer_tests(values)
    shorter = TASKS.build(values["task"]).lengths(1, longest // 2)
    if shorter and ((hardly_any(values) and not few) or (rung is None and not fits)):
        why = "shorter strings first, since so many steps did not suffice; or fewer symbols, or another encoding"
        return why, {"max_length": longest // 2, "out": f"to-{longest // 2}"}
    if rung is None:
        step = answer(systems).step if systems else ""
        done = "a figure and a table for a paper (docs/howto/paper.md)" if fits else "larger models, or fewer symbols"
        return step or done, None
    why = f"{rung['steps']:,} steps, for what does not fit yet"
    if not fits:
        why += "; or fewer systems, or shorter strings"
    if untold:
        why += "; without plain ids that fit nothing tells whether the ids help"
    only = {"seeds": 1} if seeds == 1 and values["seeds_wanted"] > 1 else {}
    return why, {"budget": f"{rung['budget'] // 60:.0f}m", **only, "out": f"{rung['steps']}-steps"}


def no_control(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether systems with plain ids are compared and none of them fitted."""
    plain = [row for row in rows if row["scheme"] in PLAIN]
    return bool(plain) and not any(row["fitted"] for row in plain)


def _missing(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many seeds the budget did not reach, of which systems."""
    few = {row["system"]: row["missing"] for row in rows if row["missing"] and not row["diverged"]}
    of = spoken([*few]) if len(few) < 4 else f"{len(few)} systems"
    return f"{sum(few.values())} seed{'s' * (sum(few.values()) > 1)} of {of}" * bool(few)


def _longer_tests(values: Mapping[str, Any]) -> tuple[str, dict[str, Any] | None]:
    """What may tell systems apart that are all right up to the longest test."""
    end, task = values["tests"][-1], TASKS.build(values["task"])
    longer = [n for n in (values["trained_to"], end, 2 * end, 4 * end) if task.lengths(n, n)]
    if max(longer, default=0) <= end:
        return f"any of them will do: all are right up to {end}, and there are no longer strings to test", None
    why = f"longer tests, which may tell them apart; up to {end} any of them will do"
    return why, {"test_lengths": longer, "out": f"tests-to-{longer[-1]}"}


def too_few_steps(values: Mapping[str, Any]) -> bool:
    """Whether hardly any string is right after fewer steps than a training has by default, which says nothing else."""
    usual = min(values.get("default_steps", 0), values.get("most_steps", math.inf))
    return hardly_any(values) and values["steps"] < usual


def notes_of(values: Mapping[str, Any]) -> list[str]:
    """What a reader must know: what the columns are, and which seeds did not fit."""
    rows, few = values["systems"], f"less than {100 * EvaluationConfig.fit_threshold:g} %"
    columns = (
        f"reach: the longest length with {percent(values['reach_at'])} right, there and at all shorter tests; beyond: "
        f"mean exact match at longer tests; brackets: lowest and highest fitted seed; ranked {RULE}"
    )
    unfitted = [
        f"{row['system']} ({len(row['seeds']) - row['fitted']} of {len(row['seeds'])})"
        for row in rows
        if row["fitted"] < len(row["seeds"])
    ]
    lost = (
        f"×: not fitted, so right on {few} of strings of training lengths; counts as 0 and says nothing about length: "
        f"{', '.join(unfitted)}"
    )
    return [*[columns] * any(row["fitted"] for row in rows), *[lost] * bool(unfitted)]


def details_of(values: Mapping[str, Any]) -> list[str]:
    """How settings were chosen, in what models differ, what theory says, and what is missing."""
    rows = values["systems"]
    missing = [f"{row['system']} ({row['missing']})" for row in rows if row["missing"] and not row["diverged"]]
    left = f"seeds that the budget did not reach: {', '.join(missing)}; the same command goes on from here"
    notes = [*[left] * bool(missing), f"settings: {values['selection']}", *filter(None, [what_differs(values)])]
    if values.get("equal"):
        counts = [row["parameters"] for row in rows]
        notes.append(
            f"parameters: {min(counts):,} to {max(counts):,}, by the width; training tokens: the same for all, since "
            "the strings are the same; steps/s: of one seed, as timed before training; state: numbers kept of a "
            f"sequence of length {values['tests'][0]}…{values['tests'][-1]}"
        )
    firsts = {cut: first_at(values, cut) for cut in CUTS}
    if len(set(firsts.values())) > 1:
        shown = ", ".join(f"{system} at {percent(cut)}" for cut, system in firsts.items())
        notes.append(f"which system is first depends on the cut: {shown}")
    elif firsts[CUTS[0]] is not None:
        notes.append(f"the first system is the same at cuts of {', '.join(f'{percent(cut)}' for cut in CUTS)}")
    longest = values["tests"][-1]
    for row in rows:
        rates = [seed["exact_match"][str(longest)] for seed in row["seeds"] if seed["fitted"]]
        answer = "no" if row["verdict"] == "no guarantee" else str(row["verdict"])
        against = contradiction(row["system"], answer, "", median(rates), longest) if rates else None
        notes += [against.rstrip(".")] if against else []
    silent = [row["system"] for row in rows if row["verdict"] is None]
    notes += [f"no theorem covers {', '.join(silent)}"] * bool(silent)
    lengths = next((row["structure_lengths"] for row in rows if row["structure_lengths"]), None)
    if lengths:
        notes.append(f"k and span, at length {lengths[-1]}: what one token needs, in tokens and in ids to the farthest")
    return notes


DIFFER = "They differ in"
"""How it begins in what models that are compared differ."""


def what_differs(values: Mapping[str, Any]) -> str:
    """What is the same for all systems, and in what their models differ; empty where nothing is trained."""
    copies = {row["system"]: row["copy"] for row in values["systems"] if row["copy"] is not None}
    if not copies:
        return ""
    same, scaling = f"all systems: {values['steps']:,} steps of the same strings", "model.log_length"
    parts = {
        "layers": {name: copy["model"]["layers"] for name, copy in copies.items()},
        "width": {name: copy["model"]["width"] for name, copy in copies.items()},
        "learning rate": {name: copy["training"]["lr"] for name, copy in copies.items()},
        setting_text(scaling): {
            name: value_text(copy["model"].get("log_length"), scaling) for name, copy in copies.items()
        },
        "draw of coupled ids": {
            name: copy["scheme"]["draw"] for name, copy in copies.items() if "draw" in copy.get("scheme", {})
        },
    }
    equal = [f"{part} {next(iter(of.values()))}" for part, of in parts.items() if len(set(of.values())) == 1]
    unlike = []
    for part, of in parts.items():
        if len(set(of.values())) > 1:
            groups = {value: [name for name in of if of[name] == value] for value in dict.fromkeys(of.values())}
            whose = "; ".join(f"{value} for {', '.join(names)}" for value, names in groups.items())
            unlike.append(f"{part} ({whose})")
    line = ", ".join([same, *equal])
    return f"{line}. {DIFFER} {' and '.join(unlike)}" if unlike else line


def comparison_finding(values: Mapping[str, Any]) -> str:
    """Which system goes farthest, in one sentence, what theory has on it, and of how many systems nothing is known."""
    rows, trained, longest = values["systems"], values["trained_to"], values["tests"][-1]
    best = next((row for row in rows if row["fitted"]), None)
    if best is None:
        few = f"{values['steps']:,} steps may be too few to learn the task at all. " * too_few_steps(values)
        tried = [rate for row in rows for rate in row["tuning"] or () if rate is not None]
        if not any(row["seeds"] for row in rows):
            most = percent_down(max(tried, default=0.0))
            top = f"fits its training lengths yet: at best {most} of these strings are right"
            top = f"{top} after {values['steps']:,} steps" if tried else "is trained yet, so nothing is known"
            return f"No system {top}. The same command goes on."
        most, needed = percent_down(max(_in_distribution(rows))), percent(EvaluationConfig.fit_threshold)
        return few + (
            f"No system fits its training lengths yet: at best {most} of these strings are right after "
            f"{values['steps']:,} steps, and {needed} are required. So nothing is known of longer ones."
        )
    rest = [row for row in rows if row is not best]
    fitted = [seed for seed in best["seeds"] if seed["fitted"]]
    if (farthest := max(seed["reach"] for seed in fitted)) > trained:
        second, far = next((row for row in rest if row["fitted"]), None), _far(best, longest)
        reached = f"{best['system']} is right in tests up to {far}"
        whole = _right_to_the_end(values)
        tied = whole if best in whole else [row for row in rows if row["fitted"] and _far(row, longest) == far]
        if len(tied) > 1:
            if len({_far(row, longest) for row in tied}) > 1:
                far = f"{longest}, the longest, in every seed"
            who = f"{spoken([row['system'] for row in tied])} are{' all' * (len(tied) > 2)}"
            reached = f"{who} right in tests up to {far}"
        elif second is not None:
            goes = _goes_beyond(second, trained)
            reached += f"; {second['system']} up to {_far(second)}" * goes
        behind = [row for row in rest if row["fitted"] and row not in tied and not _goes_beyond(row, trained)]
        reached += f"; {some_of([row['system'] for row in behind])} not beyond {trained}" * bool(behind)
        at_end = percent_down(median(seed["exact_match"][str(longest)] for seed in fitted))
        reached += f"; {best['system']} has {at_end} right at {longest}" * (farthest < longest)
    else:
        reached = f"no system{' that fitted' * any(not row['fitted'] for row in rows)} is right beyond {trained}"
        if best["mean_beyond"] >= 0.005:
            mean = rounded(best["mean_beyond"], 2)
            reached += f"; best there is {best['system']} with {mean} in the mean of the longer lengths"
    theory = {None: "", "unknown": f" No theorem says whether {best['system']} works at all lengths."}.get(
        best["verdict"], f" Theory, on {best['system']} at all lengths: {THEORY.get(best['verdict'], best['verdict'])}."
    )
    groups = {
        "Not fitted yet, so unknown": [row["system"] for row in rest if row["seeds"] and not row["fitted"]],
        "Not finished": [row["system"] for row in rest if not row["seeds"]],
    }
    unknown = "".join(f" {why}: {some_of(names)}." for why, names in groups.items() if names)
    return once(
        f"Trained on lengths up to {trained} for {values['steps']:,} steps, {reached}.{_last_test(values)}"
        f"{theory}{unknown}"
    )


def comparison_answer(values: Mapping[str, Any], systems: Sequence[SystemSummary]) -> dict[str, str]:
    """How sure the finding is, and the order of the first two where these go equally far; and why."""
    rows = answer_rows(systems, len(values["systems"]))
    return {**rows, **({SURE: f"{rows.get(SURE, '')} {tie}".strip()} if (tie := _tie(values)) else {})}


def _tie(values: Mapping[str, Any]) -> str:
    """Whether the mean beyond training, which orders the first two where these go equally far, may be noise."""
    first, second = ([row for row in values["systems"] if row["fitted"]] + [None, None])[:2]
    if first is None or second is None or first["reach"] != second["reach"]:
        return ""
    means = [[seed["mean_beyond"] for seed in row["seeds"]] for row in (first, second)]
    if min(map(len, means)) < 2 or fmean(means[0]) == fmean(means[1]):
        return ""
    p, (ours, theirs) = rank_test(*means), (rounded(fmean(of), 2) for of in means)
    is_noise = "may be noise" if p > 1 - LEVEL else "is no noise"
    return (
        f"{first['system']} is before {second['system']} by the mean beyond training alone ({ours}, {theirs}), which "
        f"{is_noise} (rank test, p {p_text(p)})."
    )


def _right_to_the_end(values: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The systems of which every seed fits and is right up to the longest test, which is beyond training."""
    end, rows = values["tests"][-1], [row for row in values["systems"] if row["seeds"]]
    right = [row for row in rows if all(seed["fitted"] and seed["reach"] == end for seed in row["seeds"])]
    return right if end > values["trained_to"] else []


def _all_alike(values: Mapping[str, Any], systems: Sequence[SystemSummary]) -> bool:
    """Whether all that fitted are right to the end in every seed, and the best is above none."""
    fitted = [row for row in values["systems"] if row["fitted"]]
    return len(fitted) > 1 and fitted == _right_to_the_end(values) and answer(systems).sure == ALIKE


def _in_distribution(rows: Sequence[Mapping[str, Any]]) -> list[float]:
    return [seed["in_distribution"] for row in rows for seed in row["seeds"]]


def _goes_beyond(row: Mapping[str, Any], trained: int) -> bool:
    """Whether a seed is right beyond training."""
    return max(seed["reach"] for seed in row["seeds"] if seed["fitted"]) > trained


def _far(row: Mapping[str, Any], longest: int = 0) -> str:
    far = [seed["reach"] for seed in row["seeds"] if seed["fitted"]]
    return reaches_text(far, len(row["seeds"]), longest)


def comparison_page(values: Mapping[str, Any], systems: Sequence[SystemSummary] = ()) -> str:
    """The page of a ``comparison.json``, as HTML text, with the accuracy of ``systems`` against length."""
    wide, narrow = (draw_accuracy(systems, width, band="range") for width in (WIDE, NARROW))
    return render_page(
        "comparison.html",
        title=f"{'Models' if values.get('equal') else 'Position systems'} on {called(values['task'])}",
        finding=comparison_finding(values),
        answer=comparison_answer(values, systems) | {NEXT: values["next"].partition("\n")[0]},
        more=(f"band: {brackets_text((), 'range')}",),
        shown=comparison_table(values),
        figure=Picture("comparison", wide, narrow) if wide else None,
        commands=[(row["system"], command_of(row["copy"])) for row in values["systems"] if row["copy"] is not None],
        provenance=f"Commit {values['commit']}, {values['machine'].get('processor', 'unknown processor')}, "
        f"{values['time'][:16].replace('T', ' ')} UTC, budget {values['budget_seconds']:.0f} s.",
    )


BINS = ("51-100", "101-150", "151-300")
CELL_HEADS = ("language", "expression", "positions", "predicted", "status", "rung", "fitted", *BINS, "prediction")


def picture(rows: Sequence[Mapping[str, Any]], cut: float) -> Picture | None:
    """The figure of all cells that were run, in both widths; None if there is none."""
    run = [row for row in rows if row["seeds"]]
    return Picture("blind", draw_blind(run, cut), draw_blind(run, cut, NARROW)) if run else None


def cell(row: Mapping[str, Any]) -> list[Any]:
    """One cell as a row: the scores of all seeds in each bin, the lower one of both sets of words."""
    numbers = []
    for name in BINS:
        rates = [[found["rate"] for found in seed["sets"].get(name, {}).values()] for seed in row["seeds"]]
        numbers.append(" ".join(rounded(min(found), 2) for found in rates if found) or "–")
    fitted = f"{row['fitted']} of {len(row['seeds'])}" if row["seeds"] else "–"
    return [row["language"], row["expression"], row["encoding"], row["predicted"], row["status"],
            row["rung"] or "–", fitted, *numbers, outcome_of(row)]  # fmt: skip


def outcome_of(row: Mapping[str, Any]) -> str:
    """Whether the prediction was right, in words; of a cell that the budget cut off, whether it is so far."""
    so_far = row.get("provisional") is not None
    outcome = row["provisional"] if so_far else row["right"]
    return ("provisionally " if so_far else "") + {True: "right", False: "wrong", None: "undecided"}[outcome]


BLIND_RULE = (
    "Trained on 1–50 symbols, five seeds per rung of the ladder of the blind study; the first rung with four fitted "
    "seeds speaks. A cell is decided on 101–150 symbols, on the lower accuracy of uniform and adversarial words: "
    "predicted yes is right if the median of the fitted seeds is at least 0.70, predicted no if it is below. No means "
    "no guarantee: no program exists. Cells that did not fit, or were not run, are neither right nor wrong. A "
    "provisional cell ran out of time when its models fitted: they were tested as they were, which decides nothing."
)


def verification_page(rows: Sequence[Mapping[str, Any]], title: str, reasons: Sequence[str]) -> str:
    """One self-contained HTML page."""
    return render_page(
        "verification.html",
        title=title,
        reasons=reasons,
        reliability=[f"{row['encoding']}: {row['reliability']}." for row in rows],
        figure=picture(rows, 0.70),
        cells=(CELL_HEADS, [cell(row) for row in rows]),
        rule=BLIND_RULE,
    )
