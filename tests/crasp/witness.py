"""Pairs of words that show a "no" for all windows: they differ in the answer, and end in one long repetition."""

from dataclasses import dataclass
from functools import cache

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.languages.automaton import Search, Word

MAX_SEARCH = 20_000  # (state, counts) pairs visited in search of access words with equal letter counts


@dataclass(frozen=True)
class Witness:
    """Two words u·xʳ·z and u′·xʳ·z of one length scale with different answers; symbols as in the alphabet."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    repeats: int


def witness(certificate: dict, length: int) -> Witness:
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


def access_with_equal_counts(certificate: dict) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Words u, u′ to the pair with equal letter counts if a bounded search finds them, else the shortest ones."""
    require(certificate["answer"] == "no", "only a 'no' has a pair of states")
    alphabet, delta = certificate["automaton"]["alphabet"], certificate["automaton"]["delta"]
    goals = tuple(certificate["nodes"][node][0] for node in certificate["pair"])
    found = _with_equal_counts(tuple(map(tuple, delta)), goals)
    first, second = certificate["access"] if found is None else ([alphabet[s] for s in word] for word in found)
    return tuple(first), tuple(second)


@cache
def _with_equal_counts(delta: tuple[Word, ...], goals: tuple[int, ...]) -> list[Word] | None:
    """Words to two states with equal symbol counts, None if a bounded search finds none; asked again by many tests."""

    def successors(node):
        state, counts = node
        for symbol, target in enumerate(delta[state]):
            yield target, (*counts[:symbol], counts[symbol] + 1, *counts[symbol + 1 :])

    search = Search((0, (0,) * len(delta[0])), successors)
    for state, counts in search:
        if state in goals and (goals[1 - goals.index(state)], counts) in search.parents:
            return [search.word((goal, counts)) for goal in goals]
        if len(search.parents) > MAX_SEARCH:
            break
    return None
