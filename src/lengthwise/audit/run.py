"""`run_audit`: asks all questions of a plan, reuses answers on disk, and puts the result together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from lengthwise.audit.asker import Asker
from lengthwise.audit.outcomes import AGAIN, NO_RESPONSE, TOO_LONG, RequestFailed, judged
from lengthwise.audit.questions import AuditPlan, Question, natural_questions, number_grows, sweep_questions
from lengthwise.audit.store import AnswerStore
from lengthwise.audit.summary import AskedQuestion, best_form, causes, cells_of, with_truncation
from lengthwise.core.config import digest
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.files import locked, write_json
from lengthwise.positions.system import position_systems
from lengthwise.prediction.predict import predict_task
from lengthwise.tasks import TASKS

FORMAT = 1
RESULT = "audit.json"
ReportDone = Callable[[int, int], None]
"""Called with the number of questions that are done and that there are."""


def run_audit(
    asker: Asker, plan: AuditPlan, folder: Path, progress: ReportDone = lambda done, total: None
) -> dict[str, Any]:
    """Ask in every form, then vary length, distance and number in the best one; writes ``audit.json`` and returns it.

    Answers are kept in ``answers.jsonl`` as they come; a second call asks only what has none. Raises `LengthwiseError`
    if the model can't be reached, or another process is at work in the folder. Where no question was answered,
    ``no_response`` of the result says why, and no further request is made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LengthwiseError(f"cannot create {folder}: {error.strerror}; choose another --out") from None
    with locked(folder):
        store = AnswerStore(folder)
        try:
            natural = with_truncation(_ask_all(asker, natural_questions(plan), store, progress))
            no_response = _no_response(natural, [store.get(_key(asker, each.question)) or {} for each in natural])
            form = best_form(cells_of(natural), plan.forms)
            more = [] if no_response else sweep_questions(plan, form)
            varied = with_truncation(_ask_all(asker, more, store, progress))
        finally:
            store.close()
        result = {**_result(asker, plan, form, natural, varied), "no_response": no_response}
        write_json(folder / RESULT, result)
    return result


def _ask_all(
    asker: Asker, questions: Sequence[Question], store: AnswerStore, progress: ReportDone
) -> list[AskedQuestion]:
    """What became of every question; equal prompts are asked once."""
    keys = [_key(asker, question) for question in questions]
    known = {key: record["outcome"] for key in keys if (record := store.get(key)) is not None}
    again = AGAIN if any(outcome not in NO_RESPONSE for outcome in known.values()) else NO_RESPONSE
    open_ = {key: question for key, question in zip(keys, questions, strict=True) if known.get(key, again[0]) in again}
    done = len(questions) - len(open_)
    progress(done, len(questions))
    executor = ThreadPoolExecutor(max_workers=max(1, asker.concurrency))
    try:
        futures = [executor.submit(_ask, asker, key, question, store) for key, question in open_.items()]
        for future in as_completed(futures):
            future.result()
            done += 1
            progress(done, len(questions))
    finally:
        # After an error or Ctrl-C, what has not begun is left for the next call.
        executor.shutdown(cancel_futures=True)
    return [_asked(question, store.get(key) or {}) for key, question in zip(keys, questions, strict=True)]


def _no_response(answers: Sequence[AskedQuestion], records: Sequence[dict[str, Any]]) -> str:
    """What to say if the model answered nothing, with the last reason; empty otherwise."""
    if any(each.outcome not in NO_RESPONSE for each in answers):
        return ""
    counts = Counter(each.outcome for each in answers)
    said = ", ".join(f"{n} {name}" for name, n in counts.most_common())
    reason = next(
        (str(record["detail"]) for record in reversed(records) if record.get("detail")), "no reason was given"
    )
    return (
        f"none of {len(answers)} questions was answered ({said}), so nothing was learned about the model; the last: "
        f"{reason}; check the model, the key, --context and --timeout, and give the same command again"
    )


def _ask(asker: Asker, key: str, question: Question, store: AnswerStore) -> None:
    budget = budget_of(question)
    tokens, context = asker.tokens(question.prompt), asker.facts.context
    if tokens is not None and context is not None and tokens + budget > context:
        detail = f"{tokens} tokens and {budget} for the answer are more than the context of {context}"
        store.put(key, {"outcome": TOO_LONG, "detail": detail})
        return
    try:
        reply = asker.ask(question.prompt, budget)
    except RequestFailed as failure:
        store.put(key, {"outcome": failure.kind, "detail": failure.detail})
        return
    store.put(
        key, {"outcome": judged(reply, question.expected), "expected": " ".join(question.expected), **reply.to_json()}
    )


def budget_of(question: Question) -> int:
    """Tokens for an answer: several per word, and room for a label."""
    return 32 + 6 * len(question.expected)


def _key(asker: Asker, question: Question) -> str:
    return digest({"format": FORMAT, **asker.identity, "prompt": question.prompt, "expected": question.expected})


def _asked(question: Question, record: dict[str, Any]) -> AskedQuestion:
    return AskedQuestion(
        question,
        record["outcome"],
        record.get("prompt_tokens"),
        record.get("completion_tokens"),
        record.get("retries") or 0,
    )


def _result(
    asker: Asker, plan: AuditPlan, form: str, natural: Sequence[AskedQuestion], varied: Sequence[AskedQuestion]
) -> dict[str, Any]:
    everything = {_key(asker, each.question): each for each in (*natural, *varied)}.values()
    cells = cells_of(natural) + cells_of(varied)
    return {
        "format": FORMAT,
        "model": asker.facts.to_json(),
        "warnings": asker.facts.warnings(),
        "task": TASKS.describe(plan.task),
        "summary": plan.task.summary,
        "lengths": list(plan.lengths),
        "samples": plan.samples,
        "shots": plan.shots,
        "seed": plan.seed,
        "best_form": form,
        "number_grows": number_grows(plan),
        "cells": cells,
        "causes": causes(cells_of(varied)),
        "theory": _theory(asker, plan),
        "requests": len(everything),
        "retries": sum(each.retries for each in everything),
        "prompt_tokens": sum(each.prompt_tokens or 0 for each in everything),
        "completion_tokens": sum(each.completion_tokens or 0 for each in everything),
    }


def _theory(asker: Asker, plan: AuditPlan) -> dict[str, str] | None:
    """The verdict on the model's position encoding, or None where the encoding is not known."""
    name = asker.facts.encoding
    if name is None:
        return None
    verdict = predict_task(plan.task, position_systems([name])).verdicts[0]
    return {"system": verdict.system, "answer": verdict.answer, "why": verdict.why}
