"""Counts of an audit by cell, which of the four sweeps breaks the model, and how two models differ."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lengthwise.audit.model import ANSWERED, APART
from lengthwise.audit.questions import Question
from lengthwise.audit.scoring import ONLY_THOUGHT, RIGHT, UNSTOPPED, WRONG, joined
from lengthwise.core.statistics import Z95, holm, wilson

NOTICEABLE = 0.1
"""A drop of the rate whose interval lies above this breaks the model; below twice this, the sweep is excluded."""
SOUND_BASE = 0.5
"""Rate at the start of a sweep below which nothing can be read from what follows; so if guesses reach it, too."""
NEXT = (
    f"A verdict needs {SOUND_BASE:.0%} right answers there, and surely more than guesses have. Train longer, try other "
    "shots or forms, or start at a shorter length."
)
"""What to do about a model that has not learned the task."""
NAMES = {
    "length": "length of the text through filler",
    "distance": "distance through filler",
    "number": "number of words that matter",
    "distractors": "other problems in the filler (distractors)",
    "prose": "prose in the filler",
}
VARIED = {"length": "words", **{name: name for name in NAMES if name != "length"}}
"""What grows along each sweep."""
AMOUNTS = {"problem": "problem", **VARIED}
"""The field of a question that says how far along its sweep it is; with the problem itself, its task length."""
MORE = 100
"""Problems per length that are advised where fewer can't tell."""


@dataclass(frozen=True)
class AskedQuestion:
    """A question and what became of it."""

    question: Question
    outcome: str
    strict: bool = False
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    retries: int = 0
    read: str = ""
    """The answer that was read, without blanks."""


def cells_of(answers: Sequence[AskedQuestion]) -> list[dict[str, Any]]:
    """One row per sweep, form and level: counts of outcomes, and the rate of right answers with its 95 % interval.

    The strict rate counts answers without any wrapping, over all texts, those that did not stop included.
    """
    groups: dict[tuple[str, str, int], list[AskedQuestion]] = {}
    for each in answers:
        groups.setdefault(each.question.cell, []).append(each)
    return [_cell(key, members) for key, members in groups.items()]


def _cell(key: tuple[str, str, int], members: Sequence[AskedQuestion]) -> dict[str, Any]:
    counts = {name: sum(each.outcome == name for each in members) for name in (*ANSWERED, *APART)}
    answered = sum(counts[name] for name in ANSWERED)
    texts = answered + counts[UNSTOPPED] + counts[ONLY_THOUGHT]
    strict = sum(each.strict and each.outcome in ANSWERED for each in members)
    low, high = wilson(counts[RIGHT], answered) if answered else (None, None)
    about = {
        name: round(sum(getattr(each.question, name) for each in members) / len(members), 2)
        for name in (*VARIED.values(), "problem")
    }
    counted = [each.prompt_tokens for each in members if each.prompt_tokens]
    copied, chance = copies(members) if key[0] == "distractors" else (None, None)
    return {
        "sweep": key[0], "form": key[1], "level": key[2], **about,
        "tokens": round(sum(counted) / len(counted)) if counted else None, "asked": len(members), "answered": answered,
        "rate": counts[RIGHT] / answered if answered else None, "low": low, "high": high,
        "strict": strict, "texts": texts, "strict_rate": strict / texts if texts else None, "counts": counts,
        "guess": guess_rate([each.question.expected for each in members]), "copied": copied, "copied_by_chance": chance,
    }  # fmt: skip


def copies(members: Sequence[AskedQuestion]) -> tuple[int, float]:
    """Wrong answers that are right ones of a distractor in their text, and how many would be by chance.

    Chance is the share of the other questions of the cell whose distractors have that answer.
    """
    wrong = [each for each in members if each.outcome == WRONG and each.read]
    answers = {id(each): {joined(answer) for answer in each.question.others} for each in members}
    return sum(each.read in answers[id(each)] for each in wrong), round(
        sum(
            sum(each.read in answers[id(other)] for other in members if other is not each) / (len(members) - 1)
            for each in wrong
            if len(members) > 1
        ),
        1,
    )


def by_distance(answers: Sequence[AskedQuestion], form: str) -> list[dict[str, Any]]:
    """Right answers to the problems as they are, by length and by the distance of what matters, in doubling steps.

    Empty for a task in which the problems of a length have one distance.
    """
    groups: dict[tuple[int, int], list[AskedQuestion]] = {}
    for each in answers:
        question = each.question
        if (question.sweep, question.form) == ("problem", form) and question.distance and each.outcome in ANSWERED:
            groups.setdefault((question.level, 1 << (question.distance.bit_length() - 1)), []).append(each)
    if len(groups) == len({level for level, _ in groups}):
        return []
    rows = []
    for (level, start), members in sorted(groups.items()):
        right = sum(each.outcome == RIGHT for each in members)
        low, high = wilson(right, len(members))
        rows.append({"level": level, "from": start, "to": 2 * start - 1, "right": right, "answered": len(members),
                     "low": low, "high": high})  # fmt: skip
    return rows


def guess_rate(answers: Sequence[str]) -> float:
    """How often the commonest answer, known from the other questions, is the right one."""
    return (max(Counter(answers).values()) - 1) / max(1, len(answers) - 1)


def is_sound(cell: Mapping[str, Any]) -> bool:
    """Whether a model has learned what a cell asks: right on half of the answers, and surely more than a guess is."""
    right, answered = cell["counts"][RIGHT], cell["answered"]
    return right >= SOUND_BASE * answered and (not cell["guess"] or wilson(right, answered)[0] > cell["guess"])


def best_form(cells: Sequence[Mapping[str, Any]], forms: Sequence[str]) -> str:
    """The form with the most right answers at the shortest length."""
    shortest = min(cell["level"] for cell in cells)
    rates: dict[str, int] = {}
    for cell in cells:
        if cell["level"] == shortest:
            rates[cell["form"]] = rates.get(cell["form"], 0) + cell["counts"][RIGHT]
    return max(forms, key=lambda form: rates.get(form, -1))


def causes(cells: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The drop of the rate along each sweep with its 95 % interval, and what can be concluded of each.

    A sweep ``breaks`` the model, is ``excluded``, or is ``open``: its interval is too wide, its ends have no answers
    that count, or the model fails where it begins already. ``learned`` says whether there is a verdict: without one
    the drops are counts and no diagnosis. ``problem`` is the drop of the problem itself, and ``rest`` that from the
    shortest problem among as much filler to the longest one, where no sweep of the number is between them;
    ``unexplained`` says whether the problem drops and no part of it does.
    """
    drops: dict[str, dict[str, float]] = {}
    breaks, excluded, wide, empty, failing = [], [], [], [], []
    asked = [name for name in NAMES if any(cell["sweep"] == name for cell in cells)]
    for sweep in asked:
        rows = [cell for cell in cells if cell["sweep"] == sweep]
        rows.sort(key=lambda cell: cell.get(VARIED[sweep], cell["level"]))
        first, last = rows[0], rows[-1]
        if len(rows) < 2 or not first["answered"] or not last["answered"]:
            empty.append(sweep)
            continue
        found = drop(first["counts"][RIGHT], first["answered"], last["counts"][RIGHT], last["answered"])
        drops[sweep] = found
        if not is_sound(first):
            failing.append(sweep)
        elif found["low"] > NOTICEABLE:
            breaks.append(sweep)
        elif found["high"] < 2 * NOTICEABLE:
            excluded.append(sweep)
        else:
            wide.append(sweep)
    base = min((cell for cell in cells if cell["sweep"] == "length"), key=lambda cell: cell["level"], default=None)
    learned = base is not None and bool(base["answered"]) and is_sound(base)
    own = [c for c in cells if base is not None and (c["sweep"], c.get("form")) == ("problem", base.get("form"))]
    own.sort(key=lambda cell: cell["level"])
    problem = None
    if len(own) > 1 and own[0]["answered"] and own[-1]["answered"]:
        first, last = own[0], own[-1]
        problem = drop(first["counts"][RIGHT], first["answered"], last["counts"][RIGHT], last["answered"])
    rest = _rest(own, cells) if problem else None
    unexplained = learned and problem is not None and problem["drop"] >= NOTICEABLE - 1e-9 and not (
        {"length", "distance", "number"} & {*breaks}
    )  # fmt: skip
    if base is None or not base["answered"]:
        lines = ["No answer at the shortest length counts, so nothing can be said about what breaks the model."]
        breaks, excluded = [], []
    elif not is_sound(base):
        lines = [f"{_not_learned(base)}: nothing can be said about length.", NEXT]
        breaks, excluded = [], []
    else:
        lines = _lengths_say(own)
        if unexplained and problem is not None:
            lines.append(_unexplained_says(own, problem, rest))
        lines += [*_says(breaks, excluded, wide, empty, failing, drops), *_copied_say(cells)]
        unsure = bool(wide) or (unexplained and problem is not None and problem["low"] <= NOTICEABLE)
        lines += _next(max(cell["asked"] for cell in own), unsure, unexplained) if own else []
    return {
        "drops": drops, "breaks": breaks, "excluded": excluded, "learned": learned, "problem": problem, "rest": rest,
        "unexplained": unexplained, "lines": lines, "says": " ".join(lines),
    }  # fmt: skip


def _rest(own: Sequence[Mapping[str, Any]], cells: Sequence[Mapping[str, Any]]) -> dict[str, float] | None:
    """The drop from the shortest problems among filler to the longest, in texts of about one length."""
    if not own or any(cell["sweep"] == "number" for cell in cells):
        return None
    filled = [cell for cell in cells if cell["sweep"] in ("length", "distance") and cell["answered"]]
    alike = [cell for cell in filled if abs(cell.get("words", -9) - own[-1].get("words", 0)) <= 1]
    if not alike or not own[-1]["answered"]:
        return None
    first, last = alike[-1], own[-1]
    return drop(first["counts"][RIGHT], first["answered"], last["counts"][RIGHT], last["answered"])


def _unexplained_says(
    own: Sequence[Mapping[str, Any]], problem: Mapping[str, float], rest: Mapping[str, float] | None
) -> str:
    """That the problem drops and no sweep does, with what remains."""
    text = (
        f"Not explained: the drop of {points(problem)} in the problem itself, from length {own[0]['level']} to "
        f"{own[-1]['level']}, is explained by none of these sweeps"
    )
    return (
        f"{text}; of it {points(rest)} remain between short problems with filler and long ones." if rest else f"{text}."
    )


def _next(asked: int, unsure: bool, unexplained: bool) -> list[str]:
    """What to do where something is left open: more samples only where an interval is too wide."""
    steps = []
    if unsure:
        steps.append(f"ask more samples ({max(MORE, 2 * asked)}), since intervals are those of {asked} problems")
    if unexplained:
        steps.append("read wrong answers to the longest problems, and see right ones by distance, in the page")
    if unexplained and not unsure:
        steps.append("the drop itself is sure, so train on longer problems or with other positions")
    return [f"What next: {'; '.join(steps)}."] if steps else []


def _copied_say(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """How many wrong answers at the most distractors are those of a distractor."""
    last = max((cell for cell in cells if cell.get("copied") is not None), key=lambda c: c["distractors"], default=None)
    if last is None or not last["counts"][WRONG]:
        return []
    return [
        f"With the most distractors, {last['copied']} of {last['counts'][WRONG]} wrong answers are right for a "
        f"distractor; by chance about {last['copied_by_chance']:g} would be."
    ]


def points(found: Mapping[str, float]) -> str:
    """A drop in points with its interval."""
    low, high = (f"{100 * found[end]:+.0f}" for end in ("low", "high"))
    return f"{100 * found['drop']:.0f} points [{low} to {high}]"


def _not_learned(base: Mapping[str, Any]) -> str:
    """That a model fails at the shortest length already, in words."""
    right, answered = base["counts"][RIGHT], base["answered"]
    if not right:
        return "Never right, even at the shortest length"
    low = f"Right on {right} of {answered} at the shortest length"
    return low if right < SOUND_BASE * answered else f"{low}, where one answer to all is right on {base['guess']:.0%}"


def _lengths_say(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """Right answers to the problems as they are, length by length."""
    shown = [f"{cell['level']}: {cell['counts'][RIGHT]} of {cell['answered']}" for cell in cells if cell["answered"]]
    return [f"Right at length {', '.join(shown)}."] if shown else []


def drop(right: int, n: int, later_right: int, later_n: int) -> dict[str, float]:
    """A difference of two rates with Newcombe's interval (1998, from the Wilson intervals of both)."""
    first, second = right / n, later_right / later_n
    (low1, high1), (low2, high2) = wilson(right, n), wilson(later_right, later_n)
    difference = first - second
    return {
        "drop": difference,
        "low": difference - math.hypot(first - low1, high2 - second),
        "high": difference + math.hypot(high1 - first, second - low2),
    }


def _says(
    breaks: Sequence[str], excluded: Sequence[str], wide: Sequence[str], empty: Sequence[str], failing: Sequence[str],
    drops: Mapping[str, Mapping[str, float]],
) -> list[str]:  # fmt: skip
    """A sentence for each kind of conclusion that has members; drops have 95 % intervals."""
    kinds = {
        "What breaks the model": breaks,
        f"Not what breaks it at these lengths (a drop of {round(200 * NOTICEABLE)} points is excluded)": excluded,
        "Intervals too wide to say, so ask more samples": wide,
        "Nothing can be said, since the model fails where the sweep begins": failing,
        "Nothing can be said, since too few answers count": empty,
    }

    def named(name: str) -> str:
        if name in breaks:
            return f"{NAMES[name]}, by {points(drops[name])}"
        return f"{NAMES[name]} ({points(drops[name])})" if name in wide else NAMES[name]

    return [f"{what}: {'; '.join(map(named, names))}." for what, names in kinds.items() if names]


def paired(first: Sequence[AskedQuestion], second: Sequence[AskedQuestion]) -> list[dict[str, Any]]:
    """How a second model differs from a first on the same questions, by sweep and level.

    ``difference`` is the rate of the second less that of the first over questions that both answered, with a 95 %
    interval (Agresti and Min 2005: Wald's for pairs with half a pair added to each of the four counts), and ``p`` the
    exact two-sided McNemar test of the pairs that differ; ``holm`` is that for all rows together.
    """
    rows: dict[tuple[str, str, int], dict[str, Any]] = {}
    for one, other in zip(first, second, strict=True):
        sweep, form, level = one.question.cell
        row = rows.setdefault(
            one.question.cell,
            {
                "sweep": sweep,
                "form": form,
                "level": level,
                "amount": [],
                "asked": 0,
                "pairs": 0,
                "both": 0,
                "lost": 0,
                "won": 0,
            },
        )
        row["asked"] += 1
        row["amount"].append(getattr(one.question, AMOUNTS[sweep]))
        if one.outcome in ANSWERED and other.outcome in ANSWERED:
            row["pairs"] += 1
            row["both"] += one.outcome == RIGHT == other.outcome
            row["lost"] += one.outcome == RIGHT != other.outcome
            row["won"] += one.outcome != RIGHT == other.outcome
    found = [
        {**row, "amount": round(sum(row["amount"]) / row["asked"]), **difference(row["lost"], row["won"], row["pairs"])}
        for row in rows.values()
    ]
    corrected = iter(holm([row["p"] for row in found if row["p"] is not None]))
    return [{**row, "holm": None if row["p"] is None else next(corrected)} for row in found]


def difference(lost: int, won: int, pairs: int) -> dict[str, float | None]:
    """The paired difference of two rates, its 95 % interval and McNemar's exact p; None without pairs."""
    if not pairs:
        return {"difference": None, "low": None, "high": None, "p": None}
    n, b, c = pairs + 2, lost + 0.5, won + 0.5
    middle = (c - b) / n
    half = Z95 * math.sqrt(max(0.0, b + c - (c - b) ** 2 / n)) / n
    differ, smaller = lost + won, min(lost, won)
    p = min(1.0, 2 * sum(math.comb(differ, k) for k in range(smaller + 1)) / 2**differ)
    return {
        "difference": (won - lost) / pairs,
        "low": max(-1.0, middle - half),
        "high": min(1.0, middle + half),
        "p": p,
    }


def paired_says(rows: Sequence[Mapping[str, Any]], form: str, name: str) -> str:
    """What a second model costs and gains at the shortest and at the longest length, in one sentence."""
    own = sorted((r for r in rows if r["sweep"] == "problem" and r["form"] == form), key=lambda row: row["level"])
    parts = [_change(row) for row in ((own[0], own[-1]) if len(own) > 1 else own)]
    return f"{name}: {'; '.join(parts)}." if parts else "No question was asked of both models."


def _change(row: Mapping[str, Any]) -> str:
    where = f"at length {row['level']}"
    if row["difference"] is None:
        return f"nothing can be said {where}, where no question was answered by both"
    if not (row["both"] or row["lost"] or row["won"]):
        return f"neither is ever right {where}, so nothing can be said there"
    points = round(100 * row["difference"])
    verb = f"gains {points} points" if points > 0 else f"costs {-points} points" if points < 0 else "changes nothing"
    interval = f"[{100 * row['low']:+.0f}, {100 * row['high']:+.0f}] of {row['pairs']} pairs"
    unsure = "" if row["low"] > 0 or row["high"] < 0 or not points else ", which may be chance"
    return f"{verb} {where} {interval}{unsure}"
