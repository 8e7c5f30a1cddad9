"""Compares the decision of C-RASP membership with automata-lib, which only builds the same automata."""

from __future__ import annotations

from collections.abc import Iterator

from baselines.measure import BenchRow, Effort
from lengthwise.crasp.decide import decide

EXPRESSIONS = (
    "(ab)*",
    "(a(ab)*b)*",
    "(a(a(ab)*b)*b)*",
    "0*1*0*1*",
    "aa*bb*cc*dd*ee*",
    "(a|b)*d(b|c)*",
    "(0|1|2)*02*",
    "(aa)*",
    "(aaaa)*",
    "(abab)*",
    "(a|b)*ab",
    "(ab|ba)*",
    "(ab|bbaa)*",
)
"""Published languages, spelled so that both parsers read them."""


def rows(effort: Effort) -> Iterator[BenchRow]:
    """One comparison on thirteen published languages, skipped where automata-lib is not installed."""
    name, against = f"decide {len(EXPRESSIONS)} languages", "automata-lib, minimal DFAs only"
    try:
        from automata.fa.dfa import DFA
        from automata.fa.nfa import NFA
    except ImportError:
        yield BenchRow(name, "ms", against=against, skipped="needs automata-lib; run: pip install automata-lib")
        return

    expressions = [(regex, "".join(sorted({letter for letter in regex if letter.isalnum()}))) for regex in EXPRESSIONS]

    def ours(repeat: int) -> None:
        for source, alphabet in expressions:
            decide(source, alphabet)

    def library(repeat: int) -> None:
        for source, alphabet in expressions:
            DFA.from_nfa(NFA.from_regex(source, input_symbols=set(alphabet)), minify=True)

    mine, theirs = effort.seconds([ours, library])
    yield BenchRow.of(
        name, "ms", 1e3 * mine, 1e3 * theirs, against,
        "ours also decides four fragments under two end conventions",
    )  # fmt: skip
