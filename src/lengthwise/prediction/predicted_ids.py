"""Whether position ids can be predicted (PPC), and the program that predicts them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.batch import Batch
from lengthwise.core.once import once
from lengthwise.core.rng import stream
from lengthwise.core.vocab import EOS
from lengthwise.crasp.program import quote
from lengthwise.positions.schemes import PredictiveCoupling
from lengthwise.tasks import Task

UNKNOWN = -1
"""Where a rule gives no id."""
LARGEST_ID = 1 << 16
"""Drawn ids are so sparse that no rule fits by chance; the draw takes a random number for each of them."""
PROGRAM_FOR = "for ids up to any bound"

SelectorKind = Literal["this", "next", "none", "same id", "same token", "token"]


@dataclass(frozen=True, order=True)
class NextIdRule:
    """One form: the id of an earlier token, which ``kind`` finds, ``offset`` tokens after it.

    ``this`` and ``next``: the current token's id, and that plus one; ``none``: "no place". ``same id``: the first token
    with the current token's id; ``same token``: all earlier tokens like the current one; ``token``: all tokens
    ``token``. ``slot`` restricts the last two to one id of the ``label`` level, such as "child".
    """

    cost: int
    kind: SelectorKind
    offset: int = 0
    slot: int | None = None
    token: int | None = None

    @property
    def local(self) -> bool:
        """Whether it reads tokens at a bounded distance in ids only."""
        return self.kind in ("this", "next", "none", "same id")

    def words(self, vocab: Any) -> str:
        """The rule in words."""
        where = "" if self.slot is None else f" in slot {self.slot}"
        found = {
            "this": "the current id",
            "next": "the current id plus one",
            "none": "no place",
            "same id": "of the first token with the current id",
            "same token": f"of the earlier token like the current one{where}",
            "token": f"of {vocab.tokens[self.token] if self.token is not None else ''}{where}",
        }[self.kind]
        if self.local and self.kind != "same id":
            return found
        beside = {0: "the id ", 1: "the id of the token after that ", -1: "the id of the token before that "}
        return (beside[self.offset] + found).replace("that of", "that").replace("that the", "the")

    def predict(self, batch: Batch, ids: Int[ndarray, "B T K"], at: int) -> Int[ndarray, " B"]:
        """The id after the token ``at`` on the first level, `UNKNOWN` in rows where the rule gives none."""
        first = ids[:, :, 0]
        if self.kind in ("this", "next"):
            return first[:, at] + (self.kind == "next")
        if self.kind == "none":
            return np.zeros(batch.size, dtype=first.dtype)
        found = self.matches(batch, ids, at)
        # The id at an offset from each match that has such a neighbour; all of them have to agree.
        values = np.full(found.shape, UNKNOWN)
        low, high = max(0, -self.offset), at + 1 - max(0, self.offset)
        values[:, low:high] = first[:, low + self.offset : high + self.offset]
        found &= values != UNKNOWN
        largest = np.where(found, values, UNKNOWN).max(axis=1)
        agree = (np.where(found, values, largest[:, None]) == largest[:, None]).all(axis=1)
        return np.where(agree & found.any(axis=1), largest, UNKNOWN)

    def matches(self, batch: Batch, ids: Int[ndarray, "B T K"], at: int) -> ndarray:
        """Which tokens up to ``at`` the rule finds, shape ``[B, at + 1]``."""
        tokens = batch.input_ids[:, : at + 1]
        if self.kind == "same id":
            same = ids[:, : at + 1, 0] == ids[:, at, None, 0]
            return same & (np.cumsum(same, axis=1) == 1)
        found = tokens == (batch.input_ids[:, at, None] if self.kind == "same token" else self.token)
        if self.kind == "same token":
            found[:, at] = False
        return found if self.slot is None else found & (ids[:, : at + 1, 1] == self.slot)


@dataclass(frozen=True)
class IdRules:
    """The rules of a task in order of use, in words, with what they read; ``missing``: the share of ids without one."""

    rules: tuple[NextIdRule, ...]
    texts: tuple[str, ...]
    lengths: tuple[int, ...]
    span: tuple[int, ...]
    """By length, the largest distance in tokens from the predicting token to one that its rule reads."""
    local: bool
    """Whether every rule reads only tokens at a bounded distance in ids."""
    missing: float

    @property
    def found(self) -> bool:
        """Whether the rules give every id of the sampled sequences."""
        return self.missing == 0

    @property
    def sentence(self) -> str:
        """The rule, how far it reads, and whether C-RASP expresses it."""
        if not self.found:
            return (
                f"no rule was found for {self.missing:.0%} of the ids (tried: this id, the next, "
                "and look-ups by id and by content); no program is known"
            )
        rules = "; ".join(self.texts)
        if self.local:
            return f"{rules} (local; a program exists {PROGRAM_FOR})"
        reads = f"reads {', '.join(map(str, self.span))} tokens back at lengths {', '.join(map(str, self.lengths))}"
        return f"{rules} (a look-up, not local: {reads}; a program exists {PROGRAM_FOR})"


@once()
def id_rules(task: Task, lengths: tuple[int, ...], *, size: int = 32) -> IdRules:
    """The rules for the predicted ids of ``task`` on the first level, from ``size`` sequences of each length.

    Ids are drawn as a scheme with predicted ids draws them in training. The cheapest rules that give all ids are
    taken greedily: each covers the tokens after which it is never wrong.
    """
    draw = "contiguous" if task.place_rule == "next" else "sorted"
    scheme = PredictiveCoupling(draw=draw, max_position=LARGEST_ID)
    samples = []
    for length in lengths:
        batch = task.batch(length, size, stream(0, "id rule", length))
        ids = scheme.assign(batch.places, task.levels, stream(0, "id rule", "ids", length))
        samples.append((batch, ids))
    columns = [(batch, ids, t, _keys(batch, ids, t - 1)) for batch, ids in samples for t in _predicted(batch)]
    right = {rule: _right_after(rule, columns) for rule in _candidates(task, samples)}
    chosen: list[tuple[NextIdRule, set[Any]]] = []
    left = {key for found in right.values() for key, fits in found.items() if fits}
    hopeless = {key for found in right.values() for key in found} - left
    while left:
        gains = {rule: {key for key in left if found.get(key)} for rule, found in right.items()}
        best = max(gains, key=lambda rule: (len(gains[rule]) / rule.cost, -rule.cost))
        chosen.append((best, gains[best]))
        left -= gains[best]
    return _described(task, samples, lengths, chosen, hopeless)


def _keys(batch: Batch, ids: ndarray, at: int) -> list[tuple[int, ...]]:
    """By row, what the choice of a rule may depend on: the current token, and its ids on ``label`` levels."""
    return [(int(t), *map(int, fixed)) for t, fixed in zip(batch.input_ids[:, at], ids[:, at, 1:], strict=True)]


def _predicted(batch: Batch) -> list[int]:
    """The columns whose ids matter: the scored ones without ``<eos>``, after which nothing follows."""
    return [int(t) for t in np.flatnonzero(batch.scored) if (batch.input_ids[:, t] != batch.vocab[EOS]).any()]


def _right_after(
    rule: NextIdRule, columns: list[tuple[Batch, ndarray, int, list[tuple[int, ...]]]]
) -> dict[tuple[int, ...], bool]:
    """For every key, whether the rule is right wherever the key occurs before a predicted id."""
    found: dict[tuple[int, ...], bool] = {}
    for batch, ids, t, keys in columns:
        fits = rule.predict(batch, ids, t - 1) == ids[:, t, 0]
        for key, fit in zip(keys, fits.tolist(), strict=True):
            found[key] = found.get(key, True) and fit
    return found


def _candidates(task: Task, samples: list[tuple[Batch, ndarray]]) -> Iterator[NextIdRule]:
    yield NextIdRule(1, "this")
    yield NextIdRule(1, "none")
    if task.place_rule == "next":
        yield NextIdRule(1, "next")
    for offset in (1, -1):
        yield NextIdRule(2, "same id", offset)
    slots: list[int | None] = [None]
    if len(task.levels) > 1:
        slots += sorted({int(s) for _, ids in samples for s in np.unique(ids[:, :, 1])})
    # Tokens that stand in every sequence: marks and separators.
    everywhere = set.intersection(*(set(row) for batch, _ in samples for row in batch.input_ids.tolist()))
    for cost, slot in enumerate(slots):
        for offset in (0, 1):
            yield NextIdRule(3 + min(cost, 1), "same token", offset, slot)
            for token in sorted(everywhere):
                yield NextIdRule(3 + min(cost, 1), "token", offset, slot, token)


def _described(
    task: Task,
    samples: list[tuple[Batch, ndarray]],
    lengths: tuple[int, ...],
    chosen: list[tuple[NextIdRule, set[Any]]],
    hopeless: set[Any],
) -> IdRules:
    by_key = {key: rule for rule, keys in chosen for key in keys}
    spans, missing, total = [], 0, 0
    for batch, ids in samples:
        farthest = 0
        for t in _predicted(batch):
            keys = _keys(batch, ids, t - 1)
            total += len(keys)
            missing += sum(key in hopeless for key in keys)
            for rule in {by_key[key] for key in keys if key in by_key} - {NextIdRule(1, "this"), NextIdRule(1, "none")}:
                if rule.kind != "next":
                    rows = [by_key.get(key) == rule for key in keys]
                    where = rule.matches(batch, ids, t - 1)[rows].any(axis=0)
                    farthest = max(farthest, int(t - 1 - np.argmax(where)) if where.any() else 0)
        spans.append(farthest)
    rules = tuple(dict.fromkeys(rule for rule, _ in chosen))
    texts = tuple(rule.words(task.vocab) for rule in rules)
    local = all(rule.local for rule, _ in chosen)
    return IdRules(rules, texts, lengths, tuple(spans), local, missing / max(total, 1))


def id_rule_text(rules: Mapping[str, NextIdRule], names: Sequence[str], ids: int) -> str:
    """The program over tokens ``names`` and ids below ``ids``, where ``rules`` maps each token to its rule.

    A rule for one token (kind ``token``) names it by its place in ``names``. Slots are left out: a token in a slot is a
    token of its own.
    """
    values = range(ids)
    pairs = [f"{name}@{v}" for name in names for v in values]
    lines = [f"alphabet: {' '.join(map(quote, [*pairs, *(f'@{v}' for v in values)]))}"]
    for t, name in enumerate(names):
        lines.append(f"token_{t} := {_or(_is(name, v) for v in values)}")
        lines.append(f"after_token_{t} := exists[j = i-1] token_{t}")
    for v in values:
        lines.append(f"id_{v} := {_or(_is(name, v) for name in names)}")
        lines.append(f"before_{v} := exists[j = i-1] id_{v}")
        lines.append(f"first_{v} := id_{v} and #[id_{v}] = 1")
        lines.append(f"after_first_{v} := exists[j = i-1] first_{v}")
    for v in values:
        cases = [f"token_{t} and ({_next(rules[name], names, t, v, ids)})" for t, name in enumerate(names)]
        lines.append(f"NEXT {quote(f'@{v}')} := {_or(cases)}")
    return "\n".join(lines)


def certificate(found: IdRules) -> dict[str, Any]:
    """The rules as plain JSON values, each with its program over two tokens and three ids.

    There are no programs where some ids have no rule.
    """
    names = ("a", "b")
    rules = {
        text: id_rule_text(dict.fromkeys(names, replace(rule, slot=None, token=rule.token and 0)), names, 3)
        for rule, text in zip(found.rules, found.texts, strict=True)
    }
    return {
        "rules": list(found.texts),
        "lengths": list(found.lengths),
        "span": list(found.span),
        "local": found.local,
        "missing": found.missing,
        "programs": rules if found.found else {},
    }


def _next(rule: NextIdRule, names: Sequence[str], current: int, v: int, ids: int) -> str:
    """When the rule gives the id v after the token ``current``."""
    match rule.kind:
        case "this":
            return f"id_{v}"
        case "next":
            return f"id_{v - 1}" if v else "false"
        case "none":
            return "false" if v else "true"
        case "same id" if rule.offset == 1:
            return _or(f"id_{w} and exists[id_{v} and after_first_{w}]" for w in range(ids))
        case "same id":
            return _or(f"id_{w} and exists[first_{w} and before_{v}]" for w in range(ids))
        case _:
            wanted = current if rule.kind == "same token" or rule.token is None else rule.token
    if rule.offset == 1:
        return f"exists[id_{v} and after_token_{wanted}]"
    symbol = _is(names[wanted], v)
    if rule.kind == "same token":
        # The current token is no earlier one.
        return f"exists[{symbol}] and not {symbol} or #[{symbol}] >= 2"
    return f"exists[{symbol}]"


def _is(name: str, v: int) -> str:
    return f"Q_{quote(f'{name}@{v}')}"


def _or(cases: Iterable[str]) -> str:
    return " or ".join(f"({case})" for case in cases)
