"""Explains a certificate in sentences, and builds two long words that witness a *no*."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.crasp.certificates.certificate import CertificateData, certificate
from lengthwise.crasp.decide.decision import Decision
from lengthwise.languages.automata.search import Search

MAX_STATES = 40  # the size of a certificate grows with the cube of the number of states
MAX_SEARCH = 20_000  # (state, counts) pairs visited in search of access words with equal letter counts


@dataclass(frozen=True)
class Witness:
    """Two words u·xʳ·z and u′·xʳ·z of one length scale with different answers; symbols as in the alphabet."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    repeats: int


def explanation(decision: Decision, fragment: str, end: str) -> str:
    """`explain` of the verdict's certificate, or one sentence for automata beyond `MAX_STATES`; empty for *unknown*."""
    if decision.verdict(fragment, end).verdict == "unknown":
        return ""
    if decision.dfa.size > MAX_STATES:
        return f"{decision.dfa.size} states are too many for a certificate by hand (at most {MAX_STATES})."
    found = certificate(decision, fragment, end)
    return "" if found is None else explain(found)


def explain(certificate: CertificateData) -> str:
    """A few sentences: the claim, the words or potentials that prove it, and the end convention."""
    end = "the last symbol is visible" if certificate["end"] == "visible" else "the answer is read at an end mark"
    if certificate["answer"] == "yes":
        return _explain_yes(certificate, end)
    alphabet = certificate["automaton"]["alphabet"]
    first, second = certificate["pair"]
    states = [certificate["nodes"][node][0] for node in (first, second)]
    u, v = [_text(word, alphabet) for word in certificate["access"]]
    suffix = list(certificate["suffix"]) + ([certificate["letter"]] if certificate["letter"] is not None else [])
    lines = [
        f"no guarantee: no program exists {_scope(certificate)} ({end}).",
        f"After {u} and after {v} the automaton is in different states ({states[0]} and {states[1]}), "
        "and counting cannot separate them.",
        f"Yet one of them is accepted {f'after the continuation {_text(suffix, alphabet)}' if suffix else 'as it is'}, "
        "the other is not.",
    ]
    if certificate["loop"]:
        x = _text(certificate["loop"], alphabet)
        lines.append(f"{x} loops on both states: repeated often enough it fills every window, at every phase.")
    merged = len(certificate["combinations"])
    lines.append(
        f"Why: on {len(certificate['nodes'])} states, every weighted count that stays bounded gives equal values to "
        f"{merged} pair{'s' if merged != 1 else ''} of states; the certificate lists the equations."
    )
    return "\n".join(lines)


def _explain_yes(certificate: CertificateData, end: str) -> str:
    chains = [chain for part in certificate["parts"] for chain in part["components"]]
    if not chains:
        reason = "Windows and positions alone, or first occurrences, separate all states; no balanced count is needed."
    else:
        rounds = max(len(chain["rounds"]) for chain in chains)
        values = sorted({value for chain in chains for round_ in chain["rounds"] for value in round_["values"]})
        reason = (
            f"Balanced counts separate all states in {rounds} round{'s' if rounds != 1 else ''}; "
            f"inside a component they stay between {values[0]} and {values[-1]}."
        )
    return f"yes: a program exists {_scope(certificate)} ({end}).\n{reason}"


def _scope(certificate: CertificateData) -> str:
    windows, periods = certificate["windows"], certificate["periods"]
    if windows == periods == "all":
        return "for any window and any period"
    if windows == periods == 1:
        return "without windows and periods"
    window = {"all": "for any window", 1: "without windows"}.get(windows, f"with window {windows}")
    period = {"all": "for any period", 1: "without periods"}.get(periods, f"with period {periods}")
    return f"{window} and {period}"


def _text(word: Sequence[str], alphabet: Sequence[str]) -> str:
    return ("" if all(len(symbol) == 1 for symbol in alphabet) else " ").join(word) or "the empty word"


def witness(certificate: CertificateData, length: int) -> Witness:
    """Two words of about ``length`` symbols with different answers that end in the same long repetition of the loop.

    Where such access words are found, u and u′ have equal letter counts. Raises `LengthwiseError` for a certificate
    without a loop word (then there is no such pair for every window).
    """
    loop = certificate.get("loop")
    if certificate["answer"] != "no" or not loop:
        raise LengthwiseError(
            "only a 'no' for all windows has a loop to repeat; ask for the certificate of local or ape"
        )
    first, second = access_with_equal_counts(certificate)
    tail = [*certificate["suffix"], *([certificate["letter"]] if certificate["letter"] is not None else [])]
    repeats = max(1, (length - max(len(first), len(second)) - len(tail)) // len(loop))
    body = tuple(loop) * repeats
    return Witness((*first, *body, *tail), (*second, *body, *tail), repeats)


def access_with_equal_counts(certificate: dict[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Words u, u′ to the pair with equal letter counts if a bounded search finds them, else the shortest ones."""
    require(certificate["answer"] == "no", "only a 'no' has a pair of states")
    alphabet, delta = certificate["automaton"]["alphabet"], certificate["automaton"]["delta"]
    goals = [certificate["nodes"][node][0] for node in certificate["pair"]]

    def successors(node: tuple[int, tuple[int, ...]]) -> Iterator[tuple[int, tuple[int, ...]]]:
        state, counts = node
        for symbol, target in enumerate(delta[state]):
            yield target, (*counts[:symbol], counts[symbol] + 1, *counts[symbol + 1 :])

    search = Search((0, (0,) * len(alphabet)), successors)
    for state, counts in search:
        if state in goals and (goals[1 - goals.index(state)], counts) in search.parents:
            first, second = (search.word((goal, counts)) for goal in goals)
            return _symbols(first, alphabet), _symbols(second, alphabet)
        if len(search.parents) > MAX_SEARCH:
            break
    first, second = certificate["access"]
    return tuple(first), tuple(second)


def _symbols(word: Sequence[int], alphabet: Sequence[str]) -> tuple[str, ...]:
    return tuple(alphabet[symbol] for symbol in word)
