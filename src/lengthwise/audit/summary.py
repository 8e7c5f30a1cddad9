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
excluded. A drop is complete where this and all later rates are within this of the last, above or below."""
SOUND_BASE = 0.5
"""Rate at the start of a sweep below which nothing can be read from what follows; so if guesses reach it, too."""
NEXT = (
    f"A verdict needs {SOUND_BASE:.0%} right answers there, and surely more than guesses have. Train longer, try other "
    "shots or forms, or start at a shorter length."
)
"""What to do about a model that has not learned the task."""
NAMES = {
    "problem": "the problem itself",
    "length": "length of the text through filler",
    "distance": "distance through filler",
    "number": "number of words that matter",
    "distractors": "other problems in the filler (distractors)",
    "prose": "prose in the filler",
}
"""What varies in each sweep, in words."""
VARIED = {"length": "words", **{name: name for name in NAMES if name not in ("problem", "length")}}
"""What grows along each sweep but that of the problem."""
AMOUNTS = {"problem": "problem", **VARIED}
"""The field of a question that says how far along its sweep it is; with the problem itself, its task length."""
UNITS = {"problem": "length {}", "length": "{} words", "distance": "{} words away", "number": "{} words that matter",
         "distractors": "{} distractors", "prose": "{} words of prose"}  # fmt: skip
"""How far along a sweep a cell is."""
NO_ROOM = "Distractors were not asked, since none fits whole into the filler; a longer last length makes room."
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
        for name in (*VARIED.values(), "distractor_words", "problem")
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
    return right >= SOUND_BASE * answered and (not cell["guess"] or wilson(right, answered)[0] > cell["guess"])


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

    A change is the rate at the last level less that at the first, so a loss is negative. A sweep ``breaks`` the model,
    is ``excluded``, or is open: its interval is too wide, its ends have no answers that count, or the model fails where
    it begins already. ``learned`` says whether there is a verdict: without one the changes are counts and no diagnosis.
    ``problem`` is the change of the problem itself, and ``rest`` that from the shortest problem among as much filler to
    the longest one, where no sweep of the number is between them; ``unexplained`` says whether the problem drops and no
    part of it does.

    Arguments:
        cells: of `cells_of`.
        near: of `by_distance`.
        plan: what was asked, from which follows what to ask next.
        command: asks what a plan says of the same model.
        errors: of `tally`, which is said where nothing explains what is lost.
    """
    changes: dict[str, dict[str, Any]] = {}
    breaks, excluded, wide, empty, failing = [], [], [], [], []
    for sweep in VARIED:
        if not (rows := _along(sweep, [cell for cell in cells if cell["sweep"] == sweep])):
            continue
        if len(rows) < 2 or not rows[0]["answered"] or not rows[-1]["answered"]:
            empty.append(sweep)
            continue
        found = changes[sweep] = _with_place(sweep, rows)
        if not is_sound(rows[0]):
            failing.append(sweep)
        elif found["high"] < -NOTICEABLE:
            breaks.append(sweep)
        elif found["low"] > -2 * NOTICEABLE:
            excluded.append(sweep)
        else:
            wide.append(sweep)
    base = min((cell for cell in cells if cell["sweep"] == "length"), key=lambda cell: cell["level"], default=None)
    learned = base is not None and bool(base["answered"]) and is_sound(base)
    own = [c for c in cells if base is not None and (c["sweep"], c.get("form")) == ("problem", base.get("form"))]
    own = _along("problem", own)
    ends = len(own) > 1 and bool(own[0]["answered"] and own[-1]["answered"])
    problem = _with_place("problem", own) if ends else None
    rest = _rest(own, cells) if problem else None
    unexplained = learned and problem is not None and problem["change"] <= 1e-9 - NOTICEABLE and not (
        {"length", "distance", "number"} & {*breaks}
    )  # fmt: skip
    finding: list[str] = []
    further: dict[str, Any] = {}
    if base is None or not base["answered"]:
        finding = ["No answer at the shortest length counts, so nothing can be said about what breaks the model."]
        breaks, excluded, lines = [], [], []
    elif not is_sound(base):
        finding = [f"{_not_learned(base)}: nothing can be said about length."]
        breaks, excluded, lines, further = [], [], [NEXT], _easier(plan)
    else:
        found = {**changes, "problem": problem}
        finding = [f"What breaks the model: {NAMES[sweep]}. {_finding(sweep, found[sweep])}" for sweep in breaks]
        if unexplained and problem is not None:
            may = "may break" if problem["high"] >= -NOTICEABLE else "breaks"
            finding.append(
                f"What {may} the model: longer problems. {_finding('problem', problem)} "
                f"{_not_alone(changes)}{_rest_say(rest, own) if rest else ''}."
            )
        finding = finding or [_none_found(problem, wide or empty or failing)]
        asked = max(cell.get("asked", cell["answered"]) for cell in own or [base])
        lines = [
            *([] if unexplained else _lengths_say(own)),
            *_near_say(changes if "distance" not in (*breaks, *failing) else {}, near),
            *_copied_say(cells),
            *(_tally_say(errors) if unexplained and errors else []),
            *trained_say(plan, [cell["level"] for cell in own]),
            f"How sure: brackets are 95 % intervals over {asked} problems per length; minus means fewer right.",
            *_open_say(excluded, wide, empty, failing, changes),
            *([NO_ROOM] if plan is not None and not any(cell["sweep"] == "distractors" for cell in cells) else []),
        ]
        unsure = bool(wide) or (unexplained and problem is not None and problem["high"] >= -NOTICEABLE)
        fell = [(sweep, found[sweep]) for sweep in [*breaks, *(["problem"] if unexplained else [])]]
        further = _next(asked, unsure, fell, plan)
    return {
        "changes": changes, "breaks": breaks, "excluded": excluded, "learned": learned, "problem": problem,
        "rest": rest, "unexplained": unexplained, "finding": finding, **_said([*finding, *lines], further, command),
    }  # fmt: skip


def _said(
    lines: list[str], further: Mapping[str, Any], command: Callable[[AuditPlan], str] | None
) -> dict[str, Any]:  # fmt: skip
    """Lines with what to do next, and the command for it as the last of them."""
    run = command(further["plan"]) if command is not None and further.get("plan") is not None else None
    lines = [*lines, *([f"What next: {further['says']}."] if further else []), *([run] if run else [])]
    return {"lines": lines, "command": run, "says": " ".join(lines)}


def _along(sweep: str, cells: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The cells of a sweep from its start to its end."""
    return sorted(cells, key=lambda cell: cell.get(AMOUNTS[sweep], cell["level"]))


def _with_place(sweep: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The change along a sweep, and the places among its steps where it begins and is complete; these may be None.

    It begins at the first level with an interval below the start, and is complete at the first from there on, and
    before the last, whose rate, with all later ones, is within `NOTICEABLE` of the last, above or below.
    """
    start, *later = [row for row in rows if row["answered"]]
    steps = [
        {"level": row["level"], "at": _at(sweep, row), "right": row["counts"][RIGHT], "answered": row["answered"]}
        for row in (start, *later)
    ]
    begins = next((i for i, row in enumerate(later, 1) if change(start, row)["high"] < 0), None)
    rates = [step["right"] / step["answered"] for step in steps]
    near = [abs(rate - rates[-1]) <= NOTICEABLE + 1e-9 for rate in rates]
    complete = next((i for i in range(begins or len(steps), len(steps) - 1) if all(near[i:])), None)
    return {**change(start, later[-1]), "steps": steps, "begins": begins, "complete": complete}


def _at(sweep: str, cell: Mapping[str, Any]) -> str:
    """How far along its sweep a cell is, in words; a text's length in tokens, too, and distractors with their words."""
    shown = amount_says(sweep, cell.get(AMOUNTS[sweep], cell["level"]))
    if sweep == "distractors" and cell.get("distractor_words"):
        return f"{shown} ({cell['distractor_words']:.3g} words)"
    return f"{shown} ({cell['tokens']:,} tokens)" if sweep == "length" and cell.get("tokens") else shown


def amount_says(sweep: str, amount: float) -> str:
    """How far along its sweep something is, in words."""
    shown = UNITS[sweep].format(f"{amount:.1f}".removesuffix(".0"))
    return shown.replace("words", "word").replace("distractors", "distractor") if amount == 1 else shown


def _right(step: Mapping[str, Any]) -> str:
    return f"{step['right']} of {step['answered']}"


def _finding(sweep: str, found: Mapping[str, Any]) -> str:
    """How much is lost along a sweep, where that begins and where it is complete."""
    steps, begins, complete = found["steps"], found["begins"], found["complete"]
    shown = [f"{step['at']} with {_right(step)} right" for step in steps]
    first, last = (f"{_right(step)} at {step['at']}" for step in (steps[0], steps[-1]))
    text = f"Right on {first}, on {last}: {points(found)}."
    if begins is None:
        return f"{text} No step alone is beyond chance below the first."
    # A distractor is whole, so none is between these.
    smallest = sweep == "distractors" and begins == 1 and steps[1]["level"] == 1
    if begins > 1:
        place = f"The first drop beyond chance is at {shown[begins]}; the step before is {shown[begins - 1]}"
    elif smallest:
        place = f"One is enough for a drop beyond chance: {shown[1]}"
    elif len(steps) == 2:
        return f"{text} Steps between these were not asked."
    else:
        place = f"The drop is beyond chance already at the first step asked, {shown[1]}; smaller ones were not asked"
    if begins == len(steps) - 1:
        return f"{text} {place}."
    within = f"within {round(100 * NOTICEABLE)} points of the rate at the last"
    if complete is None:
        return f"{text} {place}. It changes up to the last step: none before it stays {within}."
    step = steps[complete]
    where = "there on" if complete == begins else f"{step['at']} on, with {_right(step)} right,"
    return f"{text} {place}. From {where} it stays {within}."


def _none_found(problem: Mapping[str, Any] | None, is_open: object) -> str:
    """That no cause was found, with how the problem itself does."""
    text = "No cause was found" if is_open else "Nothing that was varied breaks the model"
    if problem is None:
        return f"{text}."
    first, last = problem["steps"][0], problem["steps"][-1]
    return f"{text}: right on {_right(first)} at {first['at']}, on {_right(last)} at {last['at']}, {points(problem)}."


def _rest(own: Sequence[Mapping[str, Any]], cells: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The change from the shortest problems among filler to the longest, in texts of about one length."""
    if not own or any(cell["sweep"] == "number" for cell in cells):
        return None
    filled = [cell for cell in cells if cell["sweep"] in ("length", "distance") and cell["answered"]]
    alike = [cell for cell in filled if abs(cell.get("words", -9) - own[-1].get("words", 0)) <= 1]
    if not alike or not own[-1]["answered"]:
        return None
    right = f"{alike[-1]['counts'][RIGHT]} of {alike[-1]['answered']}"
    return {**change(alike[-1], own[-1]), "filled": right, "words": alike[-1]["words"]}


def _not_alone(changes: Mapping[str, Any]) -> str:
    """That what was varied alone, through filler, does not explain why longer problems are wrong."""
    words = {"length": "a longer text", "distance": "a greater distance", "number": "more words that matter"}
    asked = [text for sweep, text in words.items() if sweep in changes]
    if not asked:
        return "Nothing else was varied, so why is open"
    if len(asked) == 1:
        return f"{asked[0].capitalize()} alone does not explain it"
    return f"Neither {' nor '.join(asked)} alone explains it"


def _rest_say(rest: Mapping[str, Any], own: Sequence[Mapping[str, Any]]) -> str:
    """What remains in texts of one length."""
    return (
        f": among texts of about {rest['words']:.0f} words, short problems with filler are right on {rest['filled']} "
        f"and long ones without on {own[-1]['counts'][RIGHT]} of {own[-1]['answered']}, {points(rest)}"
    )


def _near_say(changes: Mapping[str, Mapping[str, Any]], near: Sequence[Mapping[str, Any]]) -> list[str]:
    """Right answers to what is near and what is far, through filler and in the longest problems themselves."""
    lines = []
    if "distance" in changes:
        first, *_, last = changes["distance"]["steps"]
        # By tokens, levels are depths: 100 is the end of the filler.
        depths = [f" (depth {end['level']} %)" if first["level"] > last["level"] else "" for end in (first, last)]
        lines.append(
            f"Near or far, through filler: right on {_right(first)} where what matters is {first['at']} on average"
            f"{depths[0]}, on {_right(last)} where it is {last['at']}{depths[1]}: {points(changes['distance'])}."
        )
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
        lines.append(
            f"Near or far, in problems of length {longest[0]['level']}: right on {first} where what matters is "
            f"{sides[0]['from']} to {sides[0]['to']} words away, on {last} where it is {sides[1]['from']} to "
            f"{sides[1]['to']}: "
            f"{points(found)}{', which may be chance' if found['change'] and found['low'] < 0 < found['high'] else ''}."
        )
    return lines


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
    if least:
        steps.append("the drop is there at 1 distractor, and there is no smaller number to ask")
    if not fell and not unsure and plan is not None and (longer := _longer(plan)) is not None:
        steps, further = ["ask longer ones"], longer
    if any(sweep == "problem" for sweep, _ in fell):
        steps.append("the wrong answers to the longest problems are in questions.jsonl")
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
    return [
        f"At {_at('distractors', most)}, {most['copied']} of {most['counts'][WRONG]} wrong answers are right for a "
        f"distractor. By chance about {most['copied_by_chance']:g} would be (the share of the other texts with a "
        "distractor that has the same answer, added up over the wrong ones)."
    ]


def _tally_say(errors: Mapping[str, float]) -> list[str]:
    """Of what kind the wrong answers to the longest problems are."""
    if not errors["wrong"]:
        return []
    return [
        f"Of {errors['wrong']} wrong answers at length {errors['level']}, {errors['empty']} are empty, "
        f"{errors['copied']} are elsewhere in the problem (about {errors['copied_by_chance']:g} would be by chance), "
        f"and {errors['other']} are others."
    ]


def trained_say(plan: AuditPlan | None, lengths: Sequence[int]) -> list[str]:
    """Which of the lengths the model was trained on, if that is known."""
    if plan is None or plan.trained is None:
        return []
    low, high = plan.trained
    kinds = {
        "within that": [length for length in lengths if low <= length <= high],
        "below what it was trained on": [length for length in lengths if length < low],
        "beyond what it was trained on": [length for length in lengths if length > high],
    }
    parts = [f"{_listed(own)} {'is' if len(own) == 1 else 'are'} {what}" for what, own in kinds.items() if own]
    return [f"Trained on lengths {low} to {high}: {', '.join(parts)}."]


def _listed(values: Sequence[int]) -> str:
    *first, last = map(str, values)
    return f"{', '.join(first)} and {last}" if first else last


def points(found: Mapping[str, Any]) -> str:
    """A change in points with its interval; a loss is negative."""
    middle, low, high = (round(100 * found[name]) for name in ("change", "low", "high"))
    return f"{middle:+d} points [{low:+d} to {high:+d}]"


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


def _open_say(
    excluded: Sequence[str], wide: Sequence[str], empty: Sequence[str], failing: Sequence[str],
    changes: Mapping[str, Mapping[str, Any]],
) -> list[str]:  # fmt: skip
    """A sentence for each kind of conclusion but the causes that has members."""
    kinds = {
        f"Not what breaks it at these lengths (a drop of {round(200 * NOTICEABLE)} points is excluded)": excluded,
        "Intervals too wide to say, so ask more samples": wide,
        "Nothing can be said, since the model fails where the sweep begins, so ask shorter texts": failing,
        "Nothing can be said, since too few answers count": empty,
    }

    def named(name: str) -> str:
        return f"{NAMES[name]} ({points(changes[name])})" if name in wide else NAMES[name]

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
        return _said(["No question was asked of both models."], {}, None)
    lines = [f"{name}: {'; '.join(map(_change_says, own if len(own) < 2 else (own[0], own[-1])))}."]
    tested = [row for row in rows if row["holm"] is not None]
    sure = [row for row in tested if row["holm"] < SURE]
    further: dict[str, Any] = {}
    if tested:
        by_sweep: dict[str, list[str]] = {}
        for row in sure:
            by_sweep.setdefault(row["sweep"], []).append(str(row["amount"]))
        places = "; ".join(
            f"{NAMES[sweep]} at {UNITS[sweep].format(', '.join(levels))}" for sweep, levels in by_sweep.items()
        )
        lines.append(
            "How sure: both answered the same questions, brackets are 95 % intervals for pairs, and signs are of the "
            f"second less the first. Of {len(tested)} differences, {len(sure)} hold after Holm's correction"
            f"{f': {places}' if places else ''}.{_surest(tested) if not sure else ''}"
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
    return _said(lines, further, command)


def _surest(rows: Sequence[Mapping[str, Any]]) -> str:
    """The difference with the lowest p, if there is any."""
    row = min(rows, key=lambda row: row["p"])
    where = f"{NAMES[row['sweep']]} at {row['at']}"
    return f" The surest: {where}, {_points_of(row)}, p {row['holm']:.2g}." if row["difference"] else ""


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
