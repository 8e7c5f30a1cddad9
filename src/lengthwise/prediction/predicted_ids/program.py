"""Writes the C-RASP program of an id rule: after a prefix of tokens with ids, it allows the next id.

A symbol ``t@v`` is a token t with id v, and ``@v`` as an output is the id v. Ids are symbols here, so a program is for
a bounded number of ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lengthwise.crasp.program.spelling import quote
from lengthwise.prediction.predicted_ids.rule import IdRules, NextIdRule


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
