"""Builds two long words that witness a *no*: the last symbols and their number are the same, the answers are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lengthwise.crasp.certificates.certificate import Certificate

MAX_SEARCH = 20_000  # (state, counts) pairs visited in search of access words with equal letter counts


@dataclass(frozen=True)
class Witness:
    """Two words u·xʳ·z and u′·xʳ·z of one length scale with different answers; symbols as in the alphabet."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    repeats: int


def witness(certificate: Certificate, length: int) -> Witness:
    """Two words of about ``length`` symbols with different answers that end in the same long repetition of the loop.

    Where such access words are found, u and u′ have equal letter counts. Raises `ValueError` for a certificate
    without a loop word (then there is no such pair for every window).
    """
    loop = certificate.get("loop")
    if certificate["answer"] != "no" or not loop:
        raise ValueError("only a 'no' for all windows has a loop to repeat; ask for the certificate of local or ape")
    first, second = access_with_equal_counts(certificate)
    tail = [*certificate["suffix"], *([certificate["letter"]] if certificate["letter"] is not None else [])]
    repeats = max(1, (length - max(len(first), len(second)) - len(tail)) // len(loop))
    body = tuple(loop) * repeats
    return Witness((*first, *body, *tail), (*second, *body, *tail), repeats)


def access_with_equal_counts(certificate: dict[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Words u, u′ to the pair with equal letter counts if a bounded search finds them, else the shortest ones."""
    assert certificate["answer"] == "no"
    alphabet, delta = certificate["automaton"]["alphabet"], certificate["automaton"]["delta"]
    goals = [certificate["nodes"][node][0] for node in certificate["pair"]]
    start = (0, (0,) * len(alphabet))
    words: dict[tuple[int, tuple[int, ...]], tuple[int, ...]] = {start: ()}
    queue = [start]
    for node in queue:
        state, counts = node
        partner = (goals[1 - goals.index(state)], counts) if state in goals else None
        if partner in words:
            found = {state: words[node], partner[0]: words[partner]}
            return _symbols(found[goals[0]], alphabet), _symbols(found[goals[1]], alphabet)
        if len(words) > MAX_SEARCH:
            break
        for symbol, target in enumerate(delta[state]):
            following = (target, (*counts[:symbol], counts[symbol] + 1, *counts[symbol + 1 :]))
            if following not in words:
                words[following] = (*words[node], symbol)
                queue.append(following)
    first, second = certificate["access"]
    return tuple(first), tuple(second)


def _symbols(word: Sequence[int], alphabet: Sequence[str]) -> tuple[str, ...]:
    return tuple(alphabet[symbol] for symbol in word)
