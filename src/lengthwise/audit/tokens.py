"""What the tokens that a server counts tell: which prompts it cut short, and how long a filler has to be."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from lengthwise.audit.model import ANSWERED, TRUNCATED
from lengthwise.audit.questions import Arrangement, AuditPlan, Count, Question, questions_of
from lengthwise.audit.summary import AskedQuestion
from lengthwise.core.errors import require

SHORTENED = 0.8
"""A prompt whose tokens are fewer than this share of what its text needs was truncated."""
APART = 0.06
"""The largest share by which a prompt's tokens may differ from what fits the others."""
KINDS = ("length", "distractors", "prose")
"""Sweeps whose filler is of one kind: plain, of other problems, and prose."""
LEAST = 200
"""Fewest words of filler in a question that is asked for its tokens alone."""
TEXTS = 4
"""Such questions of each kind and size, since words differ in their tokens."""


def counting_questions(plan: AuditPlan, form: str) -> list[Question]:
    """Texts of each kind of filler, some twice as long as the others, for whose tokens a server is asked."""
    size = max(LEAST, plan.tokens[0] // 4)
    one = replace(plan, samples=TEXTS, answer_tokens=1)
    shape = next(each for each in plan.prompt_forms if each.name == form)
    return [
        question
        for sweep in KINDS
        for words in (size, 2 * size)
        for question in questions_of(
            one, shape, Arrangement(sweep, words, plan.lengths[0], words, replaced=float(sweep != KINDS[0]))
        )
    ]


def fitted_count(natural: Sequence[AskedQuestion], counted: Sequence[AskedQuestion]) -> Count:
    """How many tokens a prompt of one form has, by least squares over the means of the cells that a server counted.

    Arguments:
        natural: what became of problems of that form without filler.
        counted: what became of `counting_questions`.

    Raises:
        LengthwiseError: where the server gives no counts, or they don't grow with the text.
    """
    way_out = "so lengths can't be told in its tokens; leave out tokens, and give lengths"
    answers = [each for each in (*natural, *counted) if each.prompt_tokens]
    require(
        {*map(id, counted)} <= {*map(id, answers)} and len(answers) > len(counted),
        f"the server does not count the tokens of prompts, {way_out}",
    )
    cells: dict[tuple[str, str, int], list[AskedQuestion]] = {}
    for each in answers:
        cells.setdefault(each.question.cell, []).append(each)
    table = np.array([(1, *np.mean([each.question.amounts for each in cell], 0)) for cell in cells.values()])
    tokens = np.array([np.mean([each.prompt_tokens or 0 for each in cell]) for cell in cells.values()])
    shares, *_ = np.linalg.lstsq(table, tokens, rcond=None)
    wrong = np.abs(table @ shares - tokens) - APART * tokens - 3
    worst = int(wrong.argmax())
    require(
        wrong[worst] <= 0 and shares[2:].min() >= 0.99,
        f"the server counts {tokens[worst]:,.0f} tokens where {table[worst] @ shares:,.0f} fit its other counts, "
        f"{way_out}",
    )
    return lambda prompt, amounts: round(float(np.array((1, *amounts)) @ shares))


def with_truncation(answers: Sequence[AskedQuestion]) -> list[AskedQuestion]:
    """The same, with answers to prompts that a server cut short counted apart.

    The tokens of a prompt are a constant and a part for each word of prose, each other word and each further character
    of either, fitted to the shorter prompts of the same form. A word has one token or more, so the fit can't go below
    that. A prompt with less than `SHORTENED` of its fit was truncated; a smaller cut can't be seen from outside.
    """
    truncated: set[tuple[str, str]] = set()
    for form in dict.fromkeys(each.question.form for each in answers):
        asked = [each for each in answers if each.question.form == form and each.prompt_tokens]
        tokens = {each.question.prompt: each.prompt_tokens or 0 for each in asked}
        rows: list[Kinds] = []
        counted: list[int] = []
        kinds_of = {text: _kinds(text) for text in tokens}
        for text in sorted(tokens, key=lambda text: (sum(kinds_of[text][:2]), len(text))):
            kinds = kinds_of[text]
            if rows and tokens[text] < SHORTENED * _expected(rows, counted, kinds):
                truncated.add((form, text))
            else:
                rows.append(kinds)
                counted.append(tokens[text])
    return [
        replace(each, outcome=TRUNCATED)
        if each.outcome in ANSWERED and (each.question.form, each.question.prompt) in truncated
        else each
        for each in answers
    ]


PROSE = re.compile(r"[A-Za-z.,:]{2,}")
"""Words of prose."""
LOWEST = (1.0, 1.0, 0.0, 0.0)
"""The fewest tokens of each of `_kinds`."""
Kinds = tuple[int, int, int, int]


def _kinds(text: str) -> Kinds:
    """Words of prose, other words, and the characters beyond the first of the ones and of the others."""
    words = text.split()
    prose = [word for word in words if PROSE.fullmatch(word)]
    others = [word for word in words if not PROSE.fullmatch(word)]
    return len(prose), len(others), sum(map(len, prose)) - len(prose), sum(map(len, others)) - len(others)


def _expected(rows: Sequence[Kinds], tokens: Sequence[int], kinds: Kinds) -> float:
    """Tokens of a text by least squares over ``rows``, with slopes no lower than `LOWEST`."""
    lowest = np.array(LOWEST)
    table, counts = np.array(rows, dtype=float), np.array(tokens, dtype=float)
    rest = counts - table @ lowest
    # Deviations from the means, so that the constant is free.
    centred, target = table - table.mean(0), rest - rest.mean()
    best, error = np.zeros(len(lowest)), float(target @ target)
    for chosen in product((False, True), repeat=len(lowest)):
        columns = np.flatnonzero(chosen)
        if not len(columns):
            continue
        part, *_ = np.linalg.lstsq(centred[:, columns], target, rcond=None)
        left = target - centred[:, columns] @ part
        if (part >= 0).all() and float(left @ left) < error - 1e-9:
            best, error = np.zeros(len(lowest)), float(left @ left)
            best[columns] = part
    slopes = lowest + best
    return float(counts.mean() + slopes @ (np.array(kinds, dtype=float) - table.mean(0)))
