"""Counts of an audit by cell, which of the four sweeps breaks the model, and how two models differ."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from lengthwise.audit.model import ANSWERED, APART
from lengthwise.audit.questions import FORMS, AuditPlan, Question
from lengthwise.audit.scoring import ONLY_THOUGHT, RIGHT, UNSTOPPED, WRONG, joined
from lengthwise.core.statistics import Z95, holm, wilson

NOTICEABLE = 0.1
"""A change of the rate whose interval lies below minus this breaks the model; above minus twice this, the sweep is
excluded."""
SOUND_BASE = 0.5
"""Rate at the start of a sweep below which nothing can be read from what follows; so if guesses reach it, too."""
NOT_LEARNED = (
    "The model has not learned the task, or not as it is asked here.",
    f"A verdict needs {SOUND_BASE:.0%} right answers there, and surely more than guesses have. Train longer, try other "
    "shots or forms, or start at a shorter length.",
)
"""What follows for a model that fails at the shortest length, and what to do about it."""
ROWS = {"problem": "problem length", "length": "words of text", "distance": "words away", "number": "words that matter",
        "distractors": "distractors", "prose": "words of prose"}  # fmt: skip
"""What grows along each sweep, as the name of a row."""
BY_TOKENS = {**ROWS, "length": "tokens of text"}
"""The same where lengths are in tokens."""
AMOUNTS = {**{name: name for name in ROWS}, "length": "words"}
"""The field of a question that says how far along its sweep it is; with the problem itself, its task length."""
UNITS = {"problem": "length {}", "length": "{} words", "distance": "{} words away", "number": "{} words that matter",
         "distractors": "{} distractors", "prose": "{} words of prose", "tokens": "{} tokens"}  # fmt: skip
"""How far along a sweep a cell is."""
CULPRITS = {
    "length": "a longer text alone", "distance": "a greater distance alone", "number": "more words that matter alone",
    "distractors": "other problems in the text (distractors)", "prose": "prose in the text",
}  # fmt: skip
"""What may break the model, as the subject of a sentence."""
PARTS = ("length", "distance", "number")
"""What grows with a problem, each varied alone."""
PLURAL = ("number", "distractors")
"""Things that are counted, whose unit is their name."""
NO_ROOM = "Distractors were not asked, since none fits whole into the filler; a longer last length makes room."
BEYOND, SIGN = "†", "*"
"""What marks a text outside of training, and a difference that is sure."""
LABELS = {"excluded": "no drop", "wide": "can't say", "failing": "fails at first", "empty": "few answers"}
"""What the overview says of a sweep without a drop beyond chance."""
GUESSING = "not surely above guessing"
"""Said of a rate whose interval holds that of one answer to all."""
SURE = 0.05
"""Holm's p below which a difference of two models is sure."""
FEWEST, MORE = 20, 100
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
        for name in (*AMOUNTS.values(), "distractor_words")
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

    Chance is the sum over the wrong answers of the share of the cell's other questions whose distractors have it.
    """
    wrong = [each for each in members if each.outcome == WRONG and each.read]
    answers = {id(each): {joined(answer) for answer in each.question.others} for each in members}
    return sum(map(is_copied, wrong)), round(
        sum(
            sum(each.read in answers[id(other)] for other in members if other is not each) / (len(members) - 1)
            for each in wrong
            if len(members) > 1
        ),
        1,
    )


def is_copied(each: AskedQuestion) -> bool:
    """Whether a wrong answer is the right one of a distractor in its text."""
    return each.outcome == WRONG and each.read in {joined(answer) for answer in each.question.others}


def tally(answers: Sequence[AskedQuestion], form: str) -> dict[str, float]:
    """Of what kind the wrong answers to the longest problems are: empty, elsewhere in the problem, or other.

    Chance is, as for `copies`, the sum over them of the share of the other problems of that length that have it.
    """
    own = [each for each in answers if (each.question.sweep, each.question.form) == ("problem", form)]
    longest = max((each.question.level for each in own), default=0)
    own = [each for each in own if each.question.level == longest]
    texts = {id(each): [joined(word) for word in each.question.prompt.rsplit("\n\n", 1)[-1].split()] for each in own}

    def inside(read: str, other: AskedQuestion) -> bool:
        # What was read has no blanks, so it is looked for from the beginning of a word to the end of one.
        text, ends = "".join(texts[id(other)]), {*accumulate(map(len, texts[id(other)]), initial=0)}
        return any(text.startswith(read, i) and i + len(read) in ends for i in ends)

    wrong = [each for each in own if each.outcome == WRONG]
    written = [each for each in wrong if each.read]
    copied = sum(inside(each.read, each) for each in written)
    chance = sum(inside(each.read, other) for each in written for other in own if other is not each)
    return {
        "level": longest, "wrong": len(wrong), "empty": len(wrong) - len(written), "copied": copied,
        "copied_by_chance": round(chance / max(1, len(own) - 1), 1), "other": len(written) - copied,
    }  # fmt: skip


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
    for (level, _), members in sorted(groups.items()):
        right = sum(each.outcome == RIGHT for each in members)
        low, high = wilson(right, len(members))
        away = [each.question.distance for each in members]
        rows.append({"level": level, "from": min(away), "to": max(away), "right": right, "answered": len(members),
                     "low": low, "high": high})  # fmt: skip
    return rows


def guess_rate(answers: Sequence[str]) -> float:
    """How often the commonest answer, known from the other questions, is the right one."""
    return (max(Counter(answers).values()) - 1) / max(1, len(answers) - 1)


def is_sound(cell: Mapping[str, Any]) -> bool:
    """Whether a model has learned what a cell asks: right on half of the answers, and surely more than a guess is."""
    right, answered = cell["counts"][RIGHT], cell["answered"]
    return right >= SOUND_BASE * answered and not _may_guess(cell)


def best_form(cells: Sequence[Mapping[str, Any]], forms: Sequence[str]) -> str:
    """The form with the most right answers at the shortest length."""
    shortest = min(cell["level"] for cell in cells)
    rates: dict[str, int] = {}
    for cell in cells:
        if cell["level"] == shortest:
            rates[cell["form"]] = rates.get(cell["form"], 0) + cell["counts"][RIGHT]
    return max(forms, key=lambda form: rates.get(form, -1))


def causes(
    cells: Sequence[Mapping[str, Any]], near: Sequence[Mapping[str, Any]] = (), plan: AuditPlan | None = None,
    command: Callable[[AuditPlan], str] | None = None, errors: Mapping[str, float] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The change of the rate along each sweep with its 95 % interval, and what can be concluded of each.

    A change is the rate at the last level less that at the first, so a loss is negative. By ``kinds``, a sweep
    ``breaks`` the model, is ``excluded``, or is open: ``wide`` is its interval, ``empty`` are its ends of answers that
    count, or the model is ``failing`` where it begins already. ``learned`` says whether there is a verdict: without one
    the changes are counts and no diagnosis. ``problem`` is the change of the problem itself, and ``unexplained``
    says whether it drops and no part of it does. ``finding`` is the verdict, ``why`` is what else was seen, and
    ``next`` what to ask, with its ``command``.

    Arguments:
        cells: of `cells_of`.
        near: of `by_distance`.
        plan: what was asked, from which follows what to ask next.
        command: asks what a plan says of the same model.
        errors: of `tally`, which is said where nothing explains what is lost.
    """
    by_tokens = plan is not None and bool(plan.tokens)
    changes: dict[str, dict[str, Any]] = {}
    kinds: dict[str, str] = {}
    for sweep in ROWS:
        if sweep == "problem" or not (rows := _along(sweep, [cell for cell in cells if cell["sweep"] == sweep])):
            continue
        if len(rows) < 2 or not rows[0]["answered"] or not rows[-1]["answered"]:
            kinds[sweep] = "empty"
            continue
        changes[sweep] = _with_place(sweep, rows, by_tokens)
        kinds[sweep] = _kind(changes[sweep]) if is_sound(rows[0]) else "failing"
    base = min((cell for cell in cells if cell["sweep"] == "length"), key=lambda cell: cell["level"], default=None)
    learned = base is not None and bool(base["answered"]) and is_sound(base)
    own = [c for c in cells if base is not None and (c["sweep"], c.get("form")) == ("problem", base.get("form"))]
    own = _along("problem", own)
    ends = len(own) > 1 and bool(own[0]["answered"] and own[-1]["answered"])
    problem = _with_place("problem", own, by_tokens) if ends else None
    kinds = kinds if learned else {}
    breaks, excluded = ([sweep for sweep, kind in kinds.items() if kind == which] for which in ("breaks", "excluded"))
    drops = learned and problem is not None and problem["change"] <= 1e-9 - NOTICEABLE
    unexplained = drops and not {*PARTS} & {*breaks}
    why: list[str] = []
    further: dict[str, Any] = {}
    if base is None or not base["answered"]:
        finding = ["No answer at the shortest length counts, so nothing can be said about what breaks the model."]
    elif not learned:
        finding = [f"{_not_learned(base)}: nothing can be said about length.", NOT_LEARNED[0]]
        why, further = [NOT_LEARNED[1]], _easier(plan)
    else:
        finding = _verdict(problem, changes, kinds, explained=not unexplained)
        asked = max(cell.get("asked", cell["answered"]) for cell in own or [base])
        why = [
            *_near_say(near),
            *_copied_say(cells),
            *(_tally_say(errors) if unexplained and errors else []),
            *([NO_ROOM] if plan is not None and not any(cell["sweep"] == "distractors" for cell in cells) else []),
        ]
        unsure = "wide" in kinds.values() or (unexplained and problem is not None and problem["high"] >= -NOTICEABLE)
        fell = [(sweep, changes[sweep]) for sweep in breaks]
        fell += [("problem", problem)] if unexplained and problem is not None else []
        further = _next(asked, unsure, fell, plan)
    return {
        "changes": changes, "breaks": breaks, "excluded": excluded, "learned": learned, "problem": problem,
        "unexplained": unexplained, "kinds": kinds, **_said(finding, why, further, command),
    }  # fmt: skip


def _said(
    finding: list[str], why: list[str], further: Mapping[str, Any], command: Callable[[AuditPlan], str] | None
) -> dict[str, Any]:  # fmt: skip
    """The verdict, what else was seen, what to do next with its command, and all of it as one text."""
    run = command(further["plan"]) if command is not None and further.get("plan") is not None else None
    then = f"What next: {further['says']}." if further else None
    says = " ".join(filter(None, [*finding, *why, then, run]))
    return {"finding": finding, "why": why, "next": then, "command": run, "says": says}


def _kind(found: Mapping[str, Any]) -> str:
    if found["high"] < -NOTICEABLE:
        return "breaks"
    return "excluded" if found["low"] > -2 * NOTICEABLE else "wide"


def overview(
    sides: Sequence[Mapping[str, Any]], names: Sequence[str], form: str, plan: AuditPlan,
    pairs: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:  # fmt: skip
    """A row for each sweep: what can be said, right answers step by step, and the change.

    Of two models, a step has the right answers of both, and the change is that from the first to the second in the
    last step.

    Arguments:
        sides: one or two models with ``cells`` and ``causes``.
        names: of the models.
        form: of the sweeps; the problem itself has a row for each form.
        plan: what was asked.
        pairs: of `paired`.
    """
    cells = [cell for side in sides for cell in side["cells"]]
    sizes, differences = {cell["answered"] for cell in cells}, {(r["sweep"], r["form"], r["level"]): r for r in pairs}
    titles, steps, rows = BY_TOKENS if plan.tokens else ROWS, {}, []
    for group in zip(*(side["cells"] for side in sides), strict=True):
        cell = group[0]
        found = differences.get((cell["sweep"], cell["form"], cell["level"]), {})
        mark = SIGN * ((found.get("holm") or SURE) < SURE)
        counts = "→".join(_count(one, alone=len(sizes) == 1) for one in group)
        shown = _number(_place(cell["sweep"], cell, bool(plan.tokens))[1])
        step = f"{shown}{BEYOND * cell['beyond']}:\xa0{counts}{mark}"
        steps.setdefault((cell["sweep"], cell["form"]), []).append((step, found))
    for (sweep, name), along in steps.items():
        says, moves = _conclusion(sweep, sides[0]["causes"]) if name == form and not pairs else ("", "")
        moves = _bare(_points_of(along[-1][1])) if along[-1][1].get("pairs") else moves
        title = f"{titles[sweep]}, {name}" if sweep == "problem" and len(plan.forms) > 1 else titles[sweep]
        rows.append((title, says, "; ".join(step for step, _ in along), moves))
    said = " ".join(row[1] for row in rows).strip()
    words = f" ({plan.longest_trained} words)" if plan.longest_trained else ""
    apart = {name: sum(cell["counts"][name] for cell in cells) for name in APART}
    legend = {
        f"{'→'.join(names)}; {SIGN} where the difference is sure after Holm's correction.": bool(pairs),
        f"Change: points {'in the last step' if pairs else 'from the first step to the last'}, with its 95 % interval.":
        any(row[3] for row in rows),
        f"No drop: one of {round(200 * NOTICEABLE)} points is excluded.": LABELS["excluded"] in said,
        "Guessing: one answer to all.": GUESSING in str(sides[0]["causes"]["finding"]) and bool(said),
        f"{BEYOND} outside the trained lengths, as given, or in a text longer than such{words}.": (
            any(cell["beyond"] for cell in cells)
        ),
        f"Not counted: {', '.join(f'{n} {name}' for name, n in apart.items() if n)}.": any(apart.values()),
    }  # fmt: skip
    heads = ["what grows", "verdict", f"step: right{f' of {max(sizes)}' if len(sizes) == 1 else ''}", "change [95 %]"]
    return {"heads": heads, "rows": rows, "legend": [text for text, holds in legend.items() if holds]}


def _conclusion(sweep: str, causes: Mapping[str, Any]) -> tuple[str, str]:
    """What a sweep says, in a few words, and its change; nothing where the model has not learned the task."""
    found = causes["problem"] if sweep == "problem" else causes["changes"].get(sweep)
    if not causes["learned"]:
        return "", ""
    kind = causes["kinds"].get(sweep) or (_kind(found) if found else "empty")
    if found is None or kind == "failing" or found["begins"] is None:
        return LABELS[kind], _bare(points(found)) if found else ""
    verb = "breaks" if kind == "breaks" else "drops"
    return f"{verb} at {found['steps'][found['begins']]['short']}", _bare(points(found))


def _bare(said: str) -> str:
    return said.replace(" points", "")


def _along(sweep: str, cells: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return sorted(cells, key=lambda cell: cell.get(AMOUNTS[sweep], cell["level"]))


def _with_place(sweep: str, rows: Sequence[Mapping[str, Any]], by_tokens: bool) -> dict[str, Any]:
    """The change along a sweep, and where among its steps it begins: the first with an interval below the start."""
    start, *later = [row for row in rows if row["answered"]]
    steps = [
        {"level": row["level"], "at": amount_says(unit, amount), "short": _number(amount),
         "right": row["counts"][RIGHT], "answered": row["answered"], "guessing": _may_guess(row)}
        for row in (start, *later)
        for unit, amount in [_place(sweep, row, by_tokens)]
    ]  # fmt: skip
    begins = next((i for i, row in enumerate(later, 1) if change(start, row)["high"] < 0), None)
    return {**change(start, later[-1]), "steps": steps, "begins": begins}


def _place(sweep: str, cell: Mapping[str, Any], by_tokens: bool) -> tuple[str, float]:
    """What a cell has grown in, and to how much; a text in tokens, where these are what was asked for."""
    if sweep == "length" and by_tokens and cell.get("tokens"):
        return "tokens", cell["tokens"]
    return sweep, cell.get(AMOUNTS[sweep], cell["level"])


def _number(amount: float) -> str:
    return f"{amount:,.0f}" if amount >= 3 else f"{amount:.1f}".removesuffix(".0")


def amount_says(unit: str, amount: float) -> str:
    """How far along a sweep something is, in words."""
    shown = UNITS[unit].format(_number(amount))
    return shown.replace("words", "word").replace("distractors", "distractor") if amount == 1 else shown


def _count(cell: Mapping[str, Any], *, alone: bool) -> str:
    """Right answers of a cell, and of how many where that is not the same in all."""
    if not cell["answered"]:
        return "–"
    return f"{cell['counts'][RIGHT]}" if alone else f"{cell['counts'][RIGHT]}/{cell['answered']}"


def _may_guess(cell: Mapping[str, Any]) -> bool:
    """Whether a rate is not surely above that of one answer to all."""
    return bool(cell["guess"]) and wilson(cell["counts"][RIGHT], cell["answered"])[0] <= cell["guess"]


def _right(step: Mapping[str, Any]) -> str:
    return f"{step['right']} of {step['answered']}"


def _where(found: Mapping[str, Any], at: str = "at") -> str:
    """Where a drop begins, with the right answers there and, if these are others, at the last step."""
    start, last = found["steps"][found["begins"]], found["steps"][-1]
    least = "" if _right(start) == _right(last) else f"; {_right(last)} at {last[at]}"
    guess = f", {GUESSING}" if last["guessing"] else ""
    return f"at {start[at]} ({_right(start)} right{least}{guess})"


def _verdict(
    problem: Mapping[str, Any] | None, changes: Mapping[str, Any], kinds: Mapping[str, str], *, explained: bool
) -> list[str]:  # fmt: skip
    """How far the model holds, what breaks it and what doesn't, and of what nothing can be said, in a few sentences."""
    of = {kind: [sweep for sweep in kinds if kinds[sweep] == kind] for kind in ("breaks", "excluded")}
    rest = [ROWS[sweep] for sweep, kind in kinds.items() if kind not in of]
    found = {
        sweep: f"{CULPRITS[sweep]} break{'s' * (sweep not in PLURAL)} it "
        f"{_where(changes[sweep], 'short' if sweep in PLURAL else 'at')}"
        for sweep in of["breaks"]
    }
    first = [_holds(problem)] if problem is not None else []
    no = [CULPRITS[sweep] for sweep in PARTS if sweep in of["excluded"]]
    if not explained and problem is not None and problem["begins"] is not None:
        first.append(f"neither {' nor '.join(no)} explains it" if len(no) > 1 else f"{no[0]} does not explain it" if no
                     else "why is open")  # fmt: skip
    first += [found.pop(sweep) for sweep in PARTS if sweep in found]
    if explained and not (of["breaks"] or rest):
        first.append("nothing that was varied breaks it")
    first += [f"nothing can be said of {', '.join(rest)}"] if rest else []
    return [f"{text[0].upper()}{text[1:]}." for text in ("; ".join(first), *found.values()) if text]


def _holds(problem: Mapping[str, Any]) -> str:
    """How far the problems themselves are right."""
    steps, begins, kind = problem["steps"], problem["begins"], _kind(problem)
    if begins is not None:
        before, verb = steps[begins - 1], "breaks" if kind == "breaks" else "drops"
        return f"holds to {before['at']} ({_right(before)} right), {verb} {_where(problem)}"
    end = f"{steps[-1]['at']}, the longest asked ({_right(steps[-1])} right)"
    if kind == "excluded":
        return f"holds to {end}"
    return f"no drop beyond chance to {end}, but one of {round(200 * NOTICEABLE)} points is not excluded"


def _near_say(near: Sequence[Mapping[str, Any]]) -> list[str]:
    """Right answers to what is near and what is far in the longest problems."""
    longest = [row for row in near if row["level"] == near[-1]["level"]]
    if len(longest) > 1:
        half = sum(row["answered"] for row in longest) / 2
        split = min(range(1, len(longest)), key=lambda i: abs(sum(row["answered"] for row in longest[:i]) - half))
        sides = [
            {"counts": {RIGHT: sum(row["right"] for row in rows)}, "answered": sum(row["answered"] for row in rows),
             "from": rows[0]["from"], "to": rows[-1]["to"]}
            for rows in (longest[:split], longest[split:])
        ]  # fmt: skip
        first, last = (f"{side['counts'][RIGHT]} of {side['answered']}" for side in sides)
        found = change(*sides)
        return [
            f"In problems of length {longest[0]['level']}, right on {first} where what matters is "
            f"{sides[0]['from']} to {sides[0]['to']} words away, on {last} where it is {sides[1]['from']} to "
            f"{sides[1]['to']}: "
            f"{points(found)}{', which may be chance' if found['change'] and found['low'] < 0 < found['high'] else ''}."
        ]
    return []


def _next(
    asked: int, unsure: bool, fell: Sequence[tuple[str, Mapping[str, Any]]], plan: AuditPlan | None
) -> dict[str, Any]:
    """What to ask next, in words and as a plan, and nothing where nothing is open."""
    steps, further = [], plan
    if unsure:
        more = FEWEST if asked < FEWEST else max(MORE, 2 * asked)
        steps.append(f"ask more samples ({more}), since intervals are those of {asked} problems")
        further = plan and replace(plan, samples=more)
    inner, least = [], False
    for sweep, found in fell:
        before, start = (found["steps"][i] for i in ((found["begins"] or 1) - 1, found["begins"] or 1))
        step = start["right"] / start["answered"] - before["right"] / before["answered"]
        levels = [each["level"] for each in found["steps"]]
        finer = _between(further, sweep, before["level"], start["level"], levels) if further is not None else None
        least |= sweep == "distractors" and bool(found["begins"]) and start["level"] == 1
        # Where a rate falls little by little, levels between two neighbours tell nothing.
        if finer is not None and step < found["change"] / 2:
            inner.append(f"between {before['at']} and {start['at']}")
            further = finer
    if inner:
        steps.append(f"ask {' and '.join(inner)}")
    elif fell and not least and not unsure and asked < MORE:
        steps.append(f"ask more samples ({MORE}), to see where the drop begins")
        further = plan and replace(plan, samples=MORE)
    if not fell and not unsure and plan is not None and (longer := _longer(plan)) is not None:
        steps, further = ["ask longer ones"], longer
    return {"says": "; ".join(steps), "plan": further if further != plan else None} if steps else {}


def _easier(plan: AuditPlan | None) -> dict[str, Any]:
    """The same in all forms, and without examples; if these were asked, from a shorter length on."""
    if plan is None:
        return {}
    missing = [name for name in FORMS if name not in plan.forms]
    if missing or plan.shots:
        says = [*(["in other forms"] if missing else []), *(["without examples (shots 0)"] if plan.shots else [])]
        return {
            "says": f"ask {' and '.join(says)}, since a model does best as it was trained",
            "plan": replace(plan, forms=(*plan.forms, *missing), shots=0),
        }
    shorter = plan.lengths[0] // 2
    if not plan.task.lengths(shorter, shorter):
        return {}
    return {"says": "ask shorter ones", "plan": replace(plan, lengths=(shorter, *plan.lengths))}


def _between(plan: AuditPlan, sweep: str, low: int, high: int, asked: Sequence[int] = ()) -> AuditPlan | None:
    """The plan with levels between two neighbours of those ``asked``, or None where there is none to ask."""
    inner = sorted({low + (high - low) // 4, low + (high - low) // 2} - {low, high})
    if sweep == "distractors" and (plan.distractors or not plan.tokens):
        return replace(plan, distractors=tuple(sorted({*asked, *inner}))) if inner else None
    if not plan.tokens or sweep in ("problem", "number"):
        found = [length for length in inner if plan.task.lengths(length, length)]
        return replace(plan, lengths=tuple(sorted({*plan.lengths, *found}))) if found else None
    if sweep == "length":
        return replace(plan, tokens=tuple(sorted({*plan.tokens, *inner}))) if inner and low else None
    if sweep == "distance":
        return replace(plan, depths=tuple(sorted({*plan.depths, *inner}, reverse=True))) if inner else None
    # Shares of the filler are fixed, so less of it is asked in shorter texts.
    return replace(plan, tokens=plan.tokens[:-1]) if len(plan.tokens) > 2 else None


def _longer(plan: AuditPlan) -> AuditPlan | None:
    """The plan with a length twice the longest, or None for a task that has none."""
    if plan.tokens:
        return replace(plan, tokens=(*plan.tokens, 2 * plan.tokens[-1]))
    length = 2 * plan.lengths[-1]
    return replace(plan, lengths=(*plan.lengths, length)) if plan.task.lengths(length, length) else None


def _copied_say(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """How many wrong answers are those of a distractor, where that is farthest from chance."""
    asked = [cell for cell in cells if cell.get("copied") is not None and cell["distractors"] and cell["counts"][WRONG]]
    if not asked:
        return []
    most = max(asked, key=lambda cell: (cell["copied"] - cell["copied_by_chance"], -cell["distractors"]))
    wrong, copied, chance = most["counts"][WRONG], most["copied"], most["copied_by_chance"]
    return [
        f"At {amount_says('distractors', most['distractors'])}, {copied} of {wrong} wrong answers are right for a "
        f"distractor, {_against_chance(copied, wrong, chance)}."
    ]


def _against_chance(count: int, wrong: int, chance: float) -> str:
    """Whether so many of the wrong answers are more than chance would give."""
    more = wilson(count, wrong)[0] > chance / wrong
    return f"{'more than' if more else 'which may be'} chance (about {chance:g})"


def _tally_say(errors: Mapping[str, float]) -> list[str]:
    """Of what kind the wrong answers to the longest problems are."""
    if not errors["wrong"]:
        return []
    chance = _against_chance(int(errors["copied"]), int(errors["wrong"]), errors["copied_by_chance"])
    return [
        f"Of {errors['wrong']} wrong answers at length {errors['level']}, {errors['copied']} stand elsewhere in the "
        f"problem, {chance}; {errors['empty']} are empty, {errors['other']} are others."
    ]


def points(found: Mapping[str, Any]) -> str:
    """A change in points with its interval; a loss is negative."""
    middle, low, high = (round(100 * found[name]) for name in ("change", "low", "high"))
    return f"{middle:+d} points [{low:+d} to {high:+d}]"


def _not_learned(base: Mapping[str, Any]) -> str:
    """That a model fails at the shortest length already, in words."""
    right, answered = base["counts"][RIGHT], base["answered"]
    if not right:
        return "Never right, even at the shortest length"
    guess = f", {GUESSING} ({base['guess']:.0%} for one answer to all)" if _may_guess(base) else ""
    return f"Right on {right} of {answered} at the shortest length{guess}"


def change(first: Mapping[str, Any], last: Mapping[str, Any]) -> dict[str, float]:
    """The rate of a later cell less that of an earlier, with Newcombe's interval (1998)."""
    (right, n), (later, m) = ((cell["counts"][RIGHT], cell["answered"]) for cell in (first, last))
    (low1, high1), (low2, high2) = wilson(right, n), wilson(later, m)
    before, after = right / n, later / m
    return {
        "change": after - before,
        "low": after - before - math.hypot(high1 - before, after - low2),
        "high": after - before + math.hypot(before - low1, high2 - after),
    }


def paired(first: Sequence[AskedQuestion], second: Sequence[AskedQuestion]) -> list[dict[str, Any]]:
    """How a second model differs from a first on the same questions, by sweep and level.

    ``difference`` is the rate of the second less that of the first over questions that both answered, with a 95 %
    interval (Agresti and Min 2005: Wald's for pairs with half a pair added to each of the four counts), and ``p`` the
    exact two-sided McNemar test of the pairs that differ; ``holm`` is that for all rows together.
    """
    rows: dict[tuple[str, str, int], dict[str, Any]] = {}
    for one, other in zip(first, second, strict=True):
        sweep, form, level = one.question.cell
        row = rows.setdefault(one.question.cell, {
            "sweep": sweep, "form": form, "level": level, "amount": [], "asked": 0, "pairs": 0, "both": 0, "lost": 0,
            "won": 0,
        })  # fmt: skip
        row["asked"] += 1
        row["amount"].append(getattr(one.question, AMOUNTS[sweep]))
        if one.outcome in ANSWERED and other.outcome in ANSWERED:
            row["pairs"] += 1
            row["both"] += one.outcome == RIGHT == other.outcome
            row["lost"] += one.outcome == RIGHT != other.outcome
            row["won"] += one.outcome != RIGHT == other.outcome
    found = [
        {**row, "amount": amount, "at": amount_says(row["sweep"], amount),
         **difference(row["lost"], row["won"], row["pairs"])}
        for row in rows.values()
        for amount in [round(sum(row["amount"]) / row["asked"])]
    ]  # fmt: skip
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


def paired_says(
    rows: Sequence[Mapping[str, Any]], form: str, name: str, plan: AuditPlan | None = None,
    command: Callable[[AuditPlan], str] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """What a second model changes at the shortest and the longest length, where that is sure, and what to ask next."""
    own = sorted((r for r in rows if r["sweep"] == "problem" and r["form"] == form), key=lambda row: row["level"])
    if not own:
        return _said(["No question was asked of both models."], [], {}, None)
    finding = [f"{name}: {'; '.join(map(_change_says, own if len(own) < 2 else (own[0], own[-1])))}."]
    tested = [row for row in rows if row["holm"] is not None]
    sure = [row for row in tested if row["holm"] < SURE]
    further: dict[str, Any] = {}
    if tested:
        finding.append(
            f"Of {len(tested)} differences on the same questions, {len(sure)} hold after Holm's correction."
            f"{_surest(tested) if not sure else ''}"
        )
        at = next((i for i, row in enumerate(own) if row in sure), None)
        more = max(MORE, 2 * own[-1]["asked"])
        if not sure and any(row["lost"] or row["won"] for row in tested):
            says = f"ask more samples ({more}), since none of the differences is sure"
            further = {"says": says, "plan": plan and replace(plan, samples=more)}
        elif at and plan is not None:
            low, high = own[at - 1]["level"], own[at]["level"]
            if (finer := _between(plan, "problem", low, high)) is not None:
                says = f"ask lengths between {low} and {high}, the first at which the difference is sure"
                further = {"says": says, "plan": finer}
    return _said(finding, [], further, command)


def _surest(rows: Sequence[Mapping[str, Any]]) -> str:
    row = min(rows, key=lambda row: row["p"])
    return f" The surest: at {row['at']}, {_points_of(row)}, p {row['holm']:.2g}." if row["difference"] else ""


def _points_of(row: Mapping[str, Any]) -> str:
    return points({**row, "change": row["difference"]})


def _change_says(row: Mapping[str, Any]) -> str:
    where = f"at length {row['level']}"
    if row["difference"] is None:
        return f"nothing can be said {where}, where no question was answered by both"
    first, second = row["both"] + row["lost"], row["both"] + row["won"]
    if not (first or second):
        return f"neither is ever right {where}, so nothing can be said there"
    unsure = "" if row["low"] > 0 or row["high"] < 0 or not row["difference"] else ", which may be chance"
    counts = f"both right on {first}" if first == second else f"right on {second} instead of {first}"
    return f"{_points_of(row)} {where}, {counts} of {row['pairs']}{unsure}"
