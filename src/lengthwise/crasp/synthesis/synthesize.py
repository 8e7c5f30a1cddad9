"""`synthesize` finds the smallest C-RASP program that agrees with labelled words or with a membership oracle.

Programs are enumerated by size (``enumeration.py`` defines the size and the space), one per behaviour on all words up
to a length. A found program is tested on longer words; a counterexample joins the words, and the search starts again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.crasp.program.program import Program
from lengthwise.crasp.synthesis.enumeration import Enumeration
from lengthwise.crasp.synthesis.formula_search import MOST_CANDIDATES, FormulaSearch
from lengthwise.crasp.synthesis.prefix_tree import PrefixTree
from lengthwise.crasp.synthesis.refutation import first_wrong_word
from lengthwise.languages.automata.automaton import Word

MembershipOracle = Callable[[tuple[str, ...]], bool]
"""Whether a word (a tuple of symbols) is in the language."""

LARGEST = 10_000
"""Of a period or a distance."""
_MOST_NODES = 400
"""Nodes of the tree of short words; enough to tell languages apart, and the search is linear in it."""


@dataclass(frozen=True)
class Synthesis:
    """The program found (or None) and the extent of the search.

    ``smallest`` says that all smaller programs of the search space were ruled out. ``searched`` counts the candidates
    of all rounds; ``exhausted_size`` is the largest size whose programs were all tried. ``counterexamples`` refuted
    earlier programs; ``checked`` is the number of words on which the program was tested in the end.
    """

    program: Program | None
    size: int | None
    smallest: bool
    searched: int
    exhausted_size: int
    counterexamples: tuple[tuple[str, ...], ...]
    checked: int


def synthesize(
    target: MembershipOracle | Mapping[Sequence[str], bool],
    alphabet: Sequence[str],
    *,
    max_size: int = 7,
    bos: bool = True,
    periods: Sequence[int] = (),
    distances: Sequence[int] = (),
    members: Sequence[Word] = (),
    most: int = MOST_CANDIDATES,
) -> Synthesis:
    """Find the smallest program for ``target``: labelled words, or a function from words to labels.

    ``periods`` adds the atoms i ≡ r mod m, ``distances`` the local quantifier ∃[i - j = d]; without them the program is
    in C-RASP[∅]. Without ``bos`` the empty word is left out, because it has no position. Sizes with more than ``most``
    candidates are not searched.
    Raises `LengthwiseError` for symbols outside the alphabet and for contradictory or missing examples.
    """
    require(max_size >= 1, f"max_size has to be at least 1, got {max_size}")
    require(len(alphabet) > 0, "synthesis needs an alphabet of at least one symbol")
    for name, given in (("period", periods), ("distance", distances)):
        for number in given:
            require(1 <= number <= LARGEST, f"a {name} has to be at least 1 and at most {LARGEST}, got {number}")
    examples = None if callable(target) else _examples(target, alphabet, bos)
    known: dict[Word, bool] = dict(examples or {})
    counterexamples: list[Word] = []
    searched, checked = 0, len(known)

    def ask(word: Word) -> bool:
        assert callable(target)
        return bool(target(tuple(alphabet[symbol] for symbol in word)))

    while True:
        tree = PrefixTree(len(alphabet), _tree_length(len(alphabet)), [*known, *counterexamples], bos=bos)
        labels = known if examples is not None else {word: ask(word) for word in tree.words[0 if bos else 1 :]}
        search = FormulaSearch(Enumeration(alphabet, tree, periods, distances), labels, most)
        found = search.run(max_size)
        searched += search.searched
        wrong: Word | None = None
        if found is not None and examples is None:
            wrong, checked = first_wrong_word(found[0], ask, len(alphabet), bos, 0, members)
        if wrong is None:
            program, size = found or (None, None)
            return Synthesis(
                program=program,
                size=size,
                smallest=size is not None and search.exhausted >= size - 1,
                searched=searched,
                exhausted_size=search.exhausted,
                counterexamples=tuple(tuple(alphabet[symbol] for symbol in word) for word in counterexamples),
                checked=checked,
            )
        counterexamples.append(wrong)


def _tree_length(symbols: int) -> int:
    """The largest length such that all words up to it are at most `_MOST_NODES`."""
    length, nodes = 0, 1
    while length < 40 and nodes + symbols ** (length + 1) <= _MOST_NODES:
        length += 1
        nodes += symbols**length
    return max(1, length)


def _examples(target: Mapping[Sequence[str], bool], alphabet: Sequence[str], bos: bool) -> dict[Word, bool]:
    require(len(target) > 0, "synthesis needs at least one example")
    ids = {symbol: number for number, symbol in enumerate(alphabet)}
    examples: dict[Word, bool] = {}
    for word, label in target.items():
        for symbol in word:
            if symbol not in ids:
                raise LengthwiseError(f"the example {' '.join(word)!r} has {symbol!r}, which is not in the alphabet")
        require(bos or len(word) > 0, "without BOS there is no empty word; leave it out or use bos")
        coded = tuple(ids[symbol] for symbol in word)
        require(examples.get(coded, label) == label, f"the example {' '.join(word)!r} has two labels")
        examples[coded] = bool(label)
    return examples
