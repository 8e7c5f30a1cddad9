"""`run_audit`: asks one model or two all questions of a plan, keeps the answers, and puts the result together."""

from __future__ import annotations

import json
import math
import shlex
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from lengthwise.audit.model import (
    AGAIN,
    ANSWERED,
    FAILED,
    NO_RESPONSE,
    NOT_ASKED,
    NOT_FINITE,
    REFUSED,
    TIMED_OUT,
    TOO_LONG,
    TRUNCATED,
    UNKNOWN,
    WRITTEN,
    Asker,
    ModelFacts,
    RequestFailed,
    printable,
)
from lengthwise.audit.questions import (
    MARK,
    AuditPlan,
    Question,
    instruction,
    natural_questions,
    number_grows,
    sweep_questions,
)
from lengthwise.audit.scoring import ONLY_THOUGHT, WRONG, Scoring, outcome, reading, strictly_right
from lengthwise.audit.summary import (
    AMOUNTS,
    BY_TOKENS,
    ROWS,
    AskedQuestion,
    amount_says,
    best_form,
    by_distance,
    causes,
    cells_of,
    is_copied,
    overview,
    paired,
    paired_says,
    tally,
)
from lengthwise.audit.tokens import counting_questions, fitted_count, with_truncation
from lengthwise.core.config import digest
from lengthwise.core.errors import require, shortened
from lengthwise.core.files import Lines, locked, make_folder, read_text, remove_unfinished, write_json, write_text
from lengthwise.experiments.provenance import now
from lengthwise.positions.system import position_systems
from lengthwise.prediction.predict import predict_task
from lengthwise.tasks import TASKS

FORMAT = 2
RESULT, ANSWERS, QUESTIONS = "audit.json", "answers.jsonl", "questions.jsonl"
CHECKS = {
    UNKNOWN: "whether the tokenizer has the task's words", TOO_LONG: "the context", NOT_ASKED: "the budget",
    TIMED_OUT: "the timeout", FAILED: "the server, the model and the key", REFUSED: "the server, the model and the key",
}  # fmt: skip
"""What to check after a question without a response, by what became of it."""
PROMPT_SHOWN = 600
"""Characters from the end of a prompt that is shown as an example."""
OTHER_LENGTH = 0.05
"""A prompt that differs by a larger share from the tokens that it should have is reported."""
AS_GIVEN = " (as given, not measured)"
"""What marks a fact that the user said."""
COMMON = ["rope", "alibi", "nope", "ape"]
"""Position systems of language models."""
ReportDone = Callable[[int, int], None]
"""Called with the number of questions that are done and that there are."""


class AnswerStore:
    """Records by key, one line of JSON each; every new one is written at once. Safe for threads of one process."""

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        self.path = folder / ANSWERS
        self._lock = threading.Lock()
        self._known: dict[str, dict[str, Any]] = {}
        require(
            not self.path.is_symlink(), f"{self.path} is a link, and answers go into a file of their own; remove it"
        )
        for line in read_text(self.path, what="answers").splitlines() if self.path.exists() else ():
            if (found := _record(line)) is not None:
                self._known[found["key"]] = found
        self.before = set(self._known)
        self._lines = None if read_only else Lines(self.path)

    def get(self, key: str) -> dict[str, Any] | None:
        """The record of a key, or None."""
        with self._lock:
            return self._known.get(key)

    def put(self, key: str, record: dict[str, Any]) -> None:
        """Write a record; raises `LengthwiseError` if the disk is full."""
        entry = {"key": key, **record}
        entry["digest"] = digest(entry)
        assert self._lines is not None
        with self._lock:
            self._lines.add(json.dumps(entry))
            self._known[key] = entry

    def close(self) -> None:
        """Close the file."""
        if self._lines is not None:
            self._lines.close()


def _record(line: str) -> dict[str, Any] | None:
    """The record of a line, or None if it was cut short, changed or has no digest; its question is then asked again."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not isinstance(found.get("key"), str):
        return None
    if found.pop("digest", None) != digest(found):
        return None
    counts = (found.get(name) for name in ("prompt_tokens", "completion_tokens", "retries"))
    failed, text, finish = (found.get(name) for name in ("failed", "text", "finish"))
    known = failed in WRITTEN or (failed is None and isinstance(text, str) and isinstance(finish, str))
    return found if known and all(count is None or type(count) is int for count in counts) else None


@dataclass
class Spending:
    """Most tokens and requests of one call, never exceeded: each question first reserves the most that it can cost."""

    most_tokens: int | None = None
    most_requests: int | None = None
    tokens: int = 0
    requests: int = 0
    questions: int = 0
    """Asked by this call."""
    before: set[str] = field(default_factory=set)
    """Keys of the answers that an earlier call left."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        for name, value in (("most_tokens", self.most_tokens), ("most_requests", self.most_requests)):
            require(value is None or value >= 0, f"{name} must be 0 or more, got {value}")

    def reserve(self, tokens: int, requests: int) -> bool:
        """Take the most that a question can cost; False, and nothing taken, if that is too much."""
        with self._lock:
            fits = (self.most_tokens is None or self.tokens + tokens <= self.most_tokens) and (
                self.most_requests is None or self.requests + requests <= self.most_requests
            )
            if fits:
                self.tokens, self.requests = self.tokens + tokens, self.requests + requests
                self.questions += 1
            return fits

    def give_back(self, tokens: int, requests: int) -> None:
        """Return what was reserved and not used."""
        with self._lock:
            self.tokens, self.requests = self.tokens - tokens, self.requests - requests


def estimate(plan: AuditPlan, *askers: Asker, folder: Path) -> dict[str, int]:
    """What an audit costs besides the answers in ``folder``: questions, prompt tokens, and the most tokens of answers.

    Tokens of prompts are those of the model where it knows them before, else a third of the characters. The form of
    the last questions is known only later, so they count in the form with the longest prompts.
    """
    store = AnswerStore(folder, read_only=True)
    total = {"questions": 0, "prompt_tokens": 0, "most_answer_tokens": 0}
    asked = natural_questions(plan)
    longest = max(asked, key=lambda question: len(question.prompt)).form
    asked += [*sweep_questions(plan, longest), *(counting_questions(plan, longest) if plan.tokens else ())]
    for model in askers:
        for question in {_key(model, each): each for each in asked}.values():
            record = store.get(_key(model, question))
            if record is not None and record.get("failed") not in NO_RESPONSE:
                continue
            known = model.tokens(question.prompt)
            total["questions"] += 1
            total["prompt_tokens"] += -(-len(question.prompt) // 3) if known is None else known
            total["most_answer_tokens"] += question.budget
    return total


def run_audit(
    asker: Asker, plan: AuditPlan, folder: Path, progress: ReportDone = lambda done, total: None,
    *, against: Asker | None = None, spending: Spending | None = None, out: Path | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Ask in every form, then vary one thing at a time in the best one; writes ``audit.json`` and returns it.

    Answers are kept in ``answers.jsonl`` as they come; a second call asks only what has none. ``questions.jsonl`` has
    a line for every question of every cell, with what became of it, so that all counts can be made again.

    Arguments:
        asker: the model.
        plan: what is asked.
        folder: where files go.
        progress: is called after every answer.
        against: a second model, which gets the same questions.
        spending: bounds of this call; questions beyond them are counted as not asked.
        out: the folder, if a user chose it, for the commands in the result.

    Returns:
        The result as JSON values. Where no question was answered, ``no_response`` says why.

    Raises:
        LengthwiseError: if the model can't be reached or refuses the first question, or another process is at work in
            the folder.
    """
    make_folder(folder)
    spending = spending or Spending()
    models = [asker] if against is None else [asker, against]
    for model in models:
        model.scoring = plan.scoring
    with locked(folder):
        remove_unfinished(folder)
        store = AnswerStore(folder)

        known: set[str] = set()
        # Filler by tokens takes long to fit, so that its questions are counted when they are there.
        usual = plan.prompt_forms[0].name
        swept = {} if plan.tokens else {usual: sweep_questions(plan, usual)}
        natural = natural_questions(plan)
        planned = len({_key(model, each) for model in models for each in (*natural, *swept.get(usual, ()))})

        def ask(model: Asker, questions: Sequence[Question]) -> list[AskedQuestion]:
            def report(done: int, total: int) -> None:
                progress(done, max(planned, total))

            return _ask_all(model, questions, store, report, plan.scoring, spending, known)

        try:
            pairs = [(model, ask(model, natural)) for model in models]
            no_response = "; ".join(filter(None, (_no_response(*pair, store) for pair in pairs)))
            form = best_form(
                [cell for pair in pairs for cell in cells_of(_seen(*pair))], [form.name for form in plan.prompt_forms]
            )
            if not no_response and form not in swept:
                swept[form] = sweep_questions(_with_count(plan, asker, form, pairs[0][1], ask), form)
            more = [] if no_response else swept[form]
            both = [_seen(model, [*first, *ask(model, more)]) for model, first in pairs]
        finally:
            store.close()

        def command(asked: AuditPlan) -> str:
            return command_of(asked, asker, against, out)

        result = {
            **_plan_values(plan, form), **_result(asker, both[0], store, plan, form, command),
            "theory": theory_of(plan, asker.facts), "against": None, "command": command(plan),
        }  # fmt: skip
        if against is not None:
            rows = paired(both[0], both[1])
            names = f"{against.facts.name} against {asker.facts.name}"
            result["against"] = {
                **_result(against, both[1], store, plan, form, command), "pairs": rows,
                **paired_says(rows, form, names, plan, command),
            }  # fmt: skip
        result["overview"] = _overview(result, form, plan)
        result["no_response"] = no_response
        write_text(
            folder / QUESTIONS,
            "".join(line for pair in zip(models, both, strict=True) for line in _question_lines(*pair, store)),
        )
        write_json(folder / RESULT, result)
    return result


def _with_count(
    plan: AuditPlan, asker: Asker, form: str, natural: Sequence[AskedQuestion],
    ask: Callable[[Asker, Sequence[Question]], list[AskedQuestion]],
) -> AuditPlan:  # fmt: skip
    """The plan with a count of tokens, where it needs one: the model's own, or one fitted to a server's counts."""
    if not plan.tokens or plan.count is not None:
        return plan
    if asker.tokens("a") is not None:
        return replace(plan, count=lambda prompt, amounts: asker.tokens(prompt) or 0)
    counted = ask(asker, counting_questions(plan, form))
    return replace(plan, count=fitted_count([each for each in natural if each.question.form == form], counted))


def _ask_all(
    asker: Asker, questions: Sequence[Question], store: AnswerStore, progress: ReportDone, scoring: Scoring,
    spending: Spending, known: set[str],
) -> list[AskedQuestion]:  # fmt: skip
    """What became of every question; equal prompts are asked once. ``known`` gets their keys, for the progress."""
    keys = [_key(asker, question) for question in questions]
    failed = {key: record.get("failed") for key in keys if (record := store.get(key)) is not None}
    heard = any(kind not in NO_RESPONSE for kind in failed.values())
    asker.heard |= heard
    again = AGAIN if heard else NO_RESPONSE
    open_ = {key: question for key, question in zip(keys, questions, strict=True) if failed.get(key, again[0]) in again}
    spending.before |= store.before & set(keys) - set(open_)
    known.update(keys)
    done = len(known) - len(open_)
    progress(done, len(known))
    executor = ThreadPoolExecutor(max_workers=max(1, asker.concurrency))
    try:
        # Until a model was heard, its first question goes alone: if that is refused for good, no other is sent.
        alone, waiting = 0 if asker.heard else 1, list(open_.items())
        for some in (waiting[:alone], waiting[alone:]):
            futures = [executor.submit(_ask, asker, key, question, store, spending) for key, question in some]
            for future in as_completed(futures):
                future.result()
                done += 1
                progress(done, len(known))
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        asker.cancel()
        raise
    finally:
        # After an error or Ctrl-C, what has not begun is left for the next call.
        executor.shutdown(cancel_futures=True)
    return [asked_question(question, store.get(key), scoring) for key, question in zip(keys, questions, strict=True)]


def _question_lines(asker: Asker, answers: Sequence[AskedQuestion], store: AnswerStore) -> list[str]:
    """A line of JSON for each question of each cell, whose ``key`` is that of its answer."""
    found = []
    for each in answers:
        key, question = _key(asker, each.question), each.question
        found.append(json.dumps({
            "model": asker.facts.name, "where": asker.facts.where, "sweep": question.sweep, "form": question.form,
            "level": question.level, "index": question.index, "problem": question.problem, "words": question.words,
            "distance": question.distance, "number": question.number, "distractors": question.distractors,
            "distractor_words": question.distractor_words, "others": question.others,
            "prose": question.prose, "prompt": question.prompt, "expected": question.expected,
            "written": (store.get(key) or {}).get("text"), "outcome": each.outcome, "strict": each.strict, "key": key,
        }) + "\n")  # fmt: skip
    return found


def _seen(asker: Asker, answers: Sequence[AskedQuestion]) -> list[AskedQuestion]:
    """The same, with what a server cut short counted apart; a model that is here sees the tokens that it counts."""
    return list(answers) if asker.by_content else with_truncation(answers)


def _no_response(asker: Asker, answers: Sequence[AskedQuestion], store: AnswerStore) -> str:
    """What to say if the model answered nothing, with the last reason; empty otherwise."""
    if any(each.outcome not in NO_RESPONSE for each in answers):
        return ""
    counts = ", ".join(f"{n} {name}" for name, n in Counter(each.outcome for each in answers).most_common())
    records = [store.get(_key(asker, each.question)) or {} for each in answers]
    reason = next(
        (str(record["detail"]) for record in reversed(records) if record.get("detail")), "no reason was given"
    )
    checks = " and ".join(dict.fromkeys(CHECKS[each.outcome] for each in answers))
    return (
        f"none of {len(answers)} questions was answered ({counts}), so nothing was learned about the model; the last: "
        f"{reason}; check {checks}, and give the same command again"
    )


def _ask(asker: Asker, key: str, question: Question, store: AnswerStore, spending: Spending) -> None:
    context, budget = asker.facts.context, question.budget
    tokens = asker.tokens(question.prompt)
    if tokens is not None and context is not None and tokens + budget > context:
        detail = f"{tokens} tokens and {budget} for the answer are more than the context of {context}"
        spending.reserve(0, 0)
        store.put(key, {"failed": TOO_LONG, "detail": detail})
        return
    most = asker.most_tokens(question.prompt) + budget
    if not spending.reserve(most * asker.tries, asker.tries):
        return
    try:
        reply = asker.ask(question.prompt, budget)
    except RequestFailed as failure:
        require(
            asker.heard or not failure.final,
            f"{asker.facts.where} refuses the first question to {asker.facts.name!r} ({failure.detail}), so no other "
            "is asked; correct the model or what it names, and give the command again",
        )
        store.put(key, {"failed": failure.kind, "detail": failure.detail})
        return
    asker.heard = True
    known = reply.prompt_tokens is not None and reply.completion_tokens is not None
    used = (reply.prompt_tokens or 0) + (reply.completion_tokens or 0) if known else most
    spending.give_back(most * (asker.tries - reply.retries) - used, asker.tries - 1 - reply.retries)
    store.put(key, {"expected": question.expected, **asdict(reply)})


def _key(asker: Asker, question: Question) -> str:
    return digest({
        "format": FORMAT, **asker.identity, "prompt": question.prompt, "expected": question.expected,
        "budget": question.budget,
    })  # fmt: skip


def asked_question(question: Question, record: dict[str, Any] | None, scoring: Scoring) -> AskedQuestion:
    """What became of a question by its record."""
    if record is None or record.get("failed"):
        return AskedQuestion(question, record["failed"] if record else NOT_ASKED)
    text, finished = record["text"], record["finish"] != "length"
    became = outcome(text, question.expected, scoring, finished=finished)
    if not text.strip() and record.get("reasoning") and finished:
        became = ONLY_THOUGHT
    strict = strictly_right(text, question.expected, scoring)
    read = reading(text, scoring)
    counts = (record.get("prompt_tokens"), record.get("completion_tokens"), record.get("retries") or 0)
    return AskedQuestion(question, became, strict, *counts, read=read)


def _plan_values(plan: AuditPlan, form: str) -> dict[str, Any]:
    told = [each.name for each in plan.prompt_forms if "{instruction}" in each.head]
    return {
        "format": FORMAT, "task": TASKS.describe(plan.task), "summary": plan.task.summary,
        "instruction": instruction(plan.task, plan.digits), "told": told, "lengths": list(plan.lengths),
        "samples": plan.samples, "shots": plan.shots, "seed": plan.seed, "digits": plan.digits,
        "scoring": plan.scoring._asdict(), "answer_tokens": plan.answer_tokens, "forms": list(plan.forms),
        "tokens": list(plan.tokens), "depths": list(plan.depths), "text": plan.text and str(plan.text),
        "best_form": form,
        "number_grows": number_grows(plan), "date": now()[:10], "names": BY_TOKENS if plan.tokens else ROWS,
        "trained": plan.trained and list(plan.trained),
        "distractor": f"another whole problem of length {plan.lengths[0]} without its answer, in a line that begins "
        f"with {MARK}, such as {plan.other(0, 0).text!r}; nothing says that it is to be left out",
    }  # fmt: skip


def is_beyond(cell: Mapping[str, Any], plan: AuditPlan) -> bool:
    """Whether a problem has a length outside of training, or its text is longer than any problem there."""
    if plan.trained is None:
        return False
    low, high = plan.trained
    return not low <= cell["problem"] <= high or cell["words"] > (plan.longest_trained or math.inf)


def command_of(plan: AuditPlan, asker: Asker, against: Asker | None = None, out: Path | None = None) -> str:
    """What asks the questions of a plan; settings of a task have no option, and are named beside it."""

    def several(values: Sequence[Any]) -> str:
        return ",".join(map(str, values))

    options: dict[str, Any] = {"endpoint": asker.identity.get("url"), "api": asker.identity.get("api")}
    if against is not None:
        options |= {"against": against.facts.name, "against-endpoint": against.identity.get("url")}
    options |= {
        "task": TASKS.describe(plan.task)["name"], "lengths": several(plan.lengths), "samples": plan.samples,
        "shots": plan.shots, "forms": several(plan.forms), "seed": plan.seed, "digits": plan.digits,
        "answer-tokens": plan.answer_tokens, "extract": plan.scoring.extract, "pattern": plan.scoring.pattern,
    }  # fmt: skip
    if plan.tokens:
        options |= {"tokens": several(plan.tokens), "depths": several(plan.depths), "text": plan.text}
    if plan.distractors:
        options["distractors"] = several(plan.distractors)
    if plan.trained:
        options["trained"] = "-".join(map(str, plan.trained))
    options |= {name: getattr(asker.facts, name) for name in asker.facts.given}
    options |= {"key-variable": getattr(asker, "key_variable", None), "out": out}
    usual = {"api": "chat", "seed": 0, "digits": "blanks", "extract": "exact", "key-variable": "OPENAI_API_KEY"}
    options = {name: value for name, value in options.items() if value is not None and value != usual.get(name)}
    words = ["lengthwise", "audit", asker.facts.name]
    words += [word for name, value in options.items() for word in (f"--{name}", str(value))]
    asks = any(not one.by_content for one in (asker, against) if one is not None)
    return shlex.join([*words, *["--keep-think"] * (not plan.scoring.strip_think), *["--yes"] * asks])


def _result(
    asker: Asker, answers: Sequence[AskedQuestion], store: AnswerStore, plan: AuditPlan, form: str,
    command: Callable[[AuditPlan], str],
) -> dict[str, Any]:  # fmt: skip
    once = {_key(asker, each.question): each for each in answers}
    everything = list(once.values())
    cells, near, errors = cells_of(answers), by_distance(answers, form), tally(answers, form)
    cells = [{**cell, "beyond": is_beyond(cell, plan)} for cell in cells]
    return {
        "model": asdict(asker.facts),
        "identity": asker.identity,
        "warnings": [*asker.facts.warnings(), *_warnings(asker, once, store), *_other_lengths(cells, plan)],
        "cells": cells,
        "causes": causes(cells, near, plan, command, errors),
        "by_distance": near,
        "errors": errors,
        "examples": _examples(asker, answers, store),
        "requests": sum(each.outcome != NOT_ASKED for each in everything),
        "retries": sum(each.retries for each in everything),
        "prompt_tokens": sum(each.prompt_tokens or 0 for each in everything),
        "completion_tokens": sum(each.completion_tokens or 0 for each in everything),
    }


def _overview(result: Mapping[str, Any], form: str, plan: AuditPlan) -> dict[str, Any]:
    """What page and terminal begin with: model and task, verdict, the table of `overview`, warnings, theory's line."""
    other = result["against"]
    sides = [result, other] if other else [result]
    names = [Path(side["model"]["name"]).name or side["model"]["name"] for side in sides]
    if len({*names}) < len(names):
        names = [f"{name} at {side['model']['where']}" for name, side in zip(names, sides, strict=True)]
    alone = [f"{name} alone: {' '.join(side['causes']['finding'])}" for name, side in zip(names, sides, strict=True)]
    facts = result["model"]
    known = f", {facts['encoding']} positions{AS_GIVEN * ('encoding' in facts['given'])}" if facts["encoding"] else ""
    systems: dict[str, list[str]] = {}
    for each in result["theory"]:
        systems.setdefault(each["shown"], []).append(each["system"])
    theory = "; ".join(
        shown if known else f"{shown} if positions are {' or '.join(of)}" for shown, of in systems.items()
    )
    return {
        "names": names, "title": f"{' and '.join(names)} on {result['task']['name']}", "task": result["instruction"],
        "finding": (other or result["causes"])["finding"], "alone": alone if other else [],
        **overview(sides, names, form, plan, other["pairs"] if other else ()), "theory": f"Theory{known}: {theory}.",
        "warnings": [line for side in sides for line in side["warnings"]],
    }  # fmt: skip


def _examples(asker: Asker, answers: Sequence[AskedQuestion], store: AnswerStore) -> list[dict[str, Any]]:
    """One question at the end of each sweep, a wrong one if there is any, with the end of what was asked.

    With distractors it is one whose answer is that of a distractor, if there is any at any number of them.
    """
    shown: dict[str, AskedQuestion] = {}
    for sweep in dict.fromkeys(each.question.sweep for each in answers):
        own = [each for each in answers if each.question.sweep == sweep]
        last = [each for each in own if each.question.level == own[-1].question.level]
        wrong = (each for each in last if each.outcome == WRONG)
        wrong = chain(filter(is_copied, reversed(own)), wrong)
        shown[sweep] = next(wrong, next((each for each in last if each.outcome in ANSWERED), last[0]))
    return [
        {
            "sweep": sweep, "level": each.question.level,
            "at": amount_says(sweep, getattr(each.question, AMOUNTS[sweep])),
            "outcome": f"{each.outcome}{', copied from a distractor' if is_copied(each) else ''}",
            "prompt": each.question.prompt[-PROMPT_SHOWN:], "expected": each.question.expected,
            "written": shortened(printable((store.get(_key(asker, each.question)) or {}).get("text", ""))),
        }
        for sweep, each in shown.items()
    ]  # fmt: skip


def _warnings(asker: Asker, once: dict[str, AskedQuestion], store: AnswerStore) -> list[str]:
    found = []
    count = Counter(each.outcome for each in once.values())
    texts = [each for each in once.values() if each.outcome not in (*WRITTEN, NOT_ASKED)]
    if count[NOT_FINITE]:
        found.append(f"{count[NOT_FINITE]} answers ended in logits that are not finite; they count as no answer.")
    if count[UNKNOWN]:
        records = (store.get(key) or {} for key, each in once.items() if each.outcome == UNKNOWN)
        why = next(records).get("detail", "")
        found.append(f"{count[UNKNOWN]} of {len(once)} prompts have words that the model can't read: {why}.")
    if count[NOT_ASKED]:
        found.append(f"{count[NOT_ASKED]} questions were not asked, since the budget was used up.")
    unknown = sum(not each.prompt_tokens for each in texts)
    if unknown and not asker.by_content:
        found.append(f"Truncation can't be excluded for {unknown} of {len(texts)} answers without a count of tokens.")
    if count[TRUNCATED]:
        found.append(f"{count[TRUNCATED]} prompts were cut short by the server; smaller cuts can't be seen.")
    old = sum(key in store.before for key in once)
    if old and not asker.by_content:
        found.append(
            f"{old} of {len(once)} answers are from an earlier call, and a server's model is known by its name only; "
            "choose another folder to ask again."
        )
    return found


def _other_lengths(cells: Sequence[Mapping[str, Any]], plan: AuditPlan) -> list[str]:
    """A sentence where prompts don't have the tokens that they should have."""
    apart = [
        f"{cell['tokens']:,} instead of {cell['level']:,}"
        for cell in cells
        if plan.tokens and cell["sweep"] == "length" and cell["tokens"] and cell["level"]
        and abs(cell["tokens"] - cell["level"]) > OTHER_LENGTH * cell["level"]
    ]  # fmt: skip
    return [f"Prompts have other tokens than they should by the model's count: {', '.join(apart)}."] if apart else []


def theory_of(plan: AuditPlan, facts: ModelFacts | None = None) -> list[dict[str, str]]:
    """What theory says of the model's position system on this task; of each common one where it is not known."""
    names = [facts.encoding] if facts is not None and facts.encoding is not None else COMMON
    found = predict_task(plan.task, position_systems(names)).verdicts
    return [
        {"system": each.system, "answer": each.answer, "shown": each.shown, "why": each.in_theory} for each in found
    ]
