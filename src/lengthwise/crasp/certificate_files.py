"""Certificates in files: written, read and checked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.files import read_json, write_json
from lengthwise.crasp.certificates import certificate
from lengthwise.crasp.checker import check
from lengthwise.crasp.decide import FRAGMENTS, Decision
from lengthwise.languages.automaton import Dfa, dfa_from_json, dfa_to_json, language, minimize
from lengthwise.languages.named import LANGUAGES

FORMAT = "lengthwise certificates 1"
WHAT = "certificate file"


@dataclass(frozen=True)
class CheckedCertificate:
    """One certificate that holds; ``rebuilt`` if its automaton was made again from an expression."""

    source: str
    fragment: str
    end: str
    answer: str
    rebuilt: bool


def certified(source: str, decision: Decision) -> dict[str, Any]:
    """A language's automaton and the certificate of every yes and no, each checked; *unknown* has none."""
    made = [certificate(decision, fragment, end) for fragment in FRAGMENTS for end in decision.ends]
    # As they will be read: words are lists then.
    certificates = json.loads(json.dumps([one for one in made if one is not None]))
    for one in certificates:
        check(one, decision.dfa)
    return {"source": source, "automaton": dfa_to_json(decision.dfa), "certificates": certificates}


def write_certificates(path: Path, languages: list[dict[str, Any]]) -> None:
    """Write what `certified` made of each language, whole or not at all."""
    write_json(path, {"format": FORMAT, "languages": languages}, dense=True)


def _is_of(expression: str, dfa: Dfa) -> bool:
    named = LANGUAGES.get(expression)
    try:
        return (named is not None and named.dfa() == dfa) or language(expression, dfa.alphabet) == dfa
    except LengthwiseError:
        return False


def check_certificates(path: Path) -> Iterator[CheckedCertificate]:
    """Check every certificate of a file in order; raises `LengthwiseError` at the first that proves nothing.

    The automaton of an expression is built again and must be the file's; what came from an automaton file is a
    statement about the automaton that the file holds.
    """
    value = read_json(path, what=WHAT)
    known = isinstance(value, dict) and value.get("format") == FORMAT and isinstance(value.get("languages"), list)
    require(known, f"{path} is no {WHAT}; write one with `lw.decide(EXPRESSION).save_certificates(FILE)`")
    for entry in value["languages"]:
        require(
            isinstance(entry, dict) and set(entry) == {"source", "automaton", "certificates"}
            and isinstance(entry["source"], str) and isinstance(entry["certificates"], list),
            f"{path}: a language has a source, an automaton and certificates, nothing else",
        )  # fmt: skip
        source = entry["source"]
        dfa = minimize(dfa_from_json(entry["automaton"], where=f"automaton of {source!r} in {path}"))
        rebuilt = not source.endswith(".json")
        require(not rebuilt or _is_of(source, dfa), f"{path}: the automaton is not that of {source!r}")
        for one in entry["certificates"]:
            require(isinstance(one, dict), f"{path}, {source}: a certificate is an object")
            fragment, end = str(one.get("fragment")), str(one.get("end"))
            try:
                check(one, dfa)
            except LengthwiseError as error:
                raise LengthwiseError(f"{path}, {source}, {fragment} with {end}: {error}") from None
            yield CheckedCertificate(source, fragment, end, one["answer"], rebuilt)
