"""Library programs that generate: copying, reversing, sorting, interleaved majorities, and induction."""

from __future__ import annotations

from collections.abc import Sequence

from lengthwise.crasp.library.entry import HUANG, OURS, Entry
from lengthwise.crasp.program.spelling import quote

SYMBOLS = "abcdefg"
"""Seven symbols have 13,700 words without repetition; the tests run all of them."""

_SEP = 'Q_"<sep>"'
_HEAD = 'alphabet: {} "<sep>"\n'


def unique_copy_text(symbols: Sequence[str]) -> str:
    """Copy of distinct symbols by induction: what followed the current symbol in the input comes next."""
    lines = [f"after_{k} := exists[j = i-1] Q_{quote(symbol)}" for k, symbol in enumerate(symbols)]
    lines.append(f"answering := exists[{_SEP}]")
    for symbol in symbols:
        cases = [f"{_SEP} and exists[Q_{quote(symbol)} and exists[j = i-1] BOS]"]
        cases += [
            f"Q_{quote(current)} and exists[Q_{quote(symbol)} and after_{k}]"
            for k, current in enumerate(symbols)
            if current != symbol
        ]
        lines.append(f"NEXT {quote(symbol)} := answering and ({' or '.join(cases)})")
    ends = [f"Q_{quote(symbol)} and exists[{_SEP} and after_{k}]" for k, symbol in enumerate(symbols)]
    lines.append(f"NEXT EOS := answering and ({' or '.join(ends)} or {_SEP} and exists[j = i-1] BOS)")
    return _HEAD.format(" ".join(map(quote, symbols))) + "\n".join(lines)


def unique_reverse_text(symbols: Sequence[str]) -> str:
    """Distinct symbols in reverse order: what came before the current symbol in the input comes next."""
    lines = [f"after_{k} := exists[j = i-1] Q_{quote(symbol)}" for k, symbol in enumerate(symbols)]
    lines.append('reading := #"<sep>" = 0    // the answer has bigrams too; only those of the input count')
    for k, symbol in enumerate(symbols):
        cases = [f"{_SEP} and after_{k}"]
        cases += [
            f"Q_{quote(current)} and exists[Q_{quote(current)} and after_{k} and reading]"
            for current in symbols
            if current != symbol
        ]
        lines.append(f"NEXT {quote(symbol)} := not reading and ({' or '.join(cases)})")
    first = [f"Q_{quote(symbol)} and exists[Q_{quote(symbol)} and exists[j = i-1] BOS]" for symbol in symbols]
    lines.append(f"NEXT EOS := not reading and ({' or '.join(first)} or {_SEP} and exists[j = i-1] BOS)")
    return _HEAD.format(" ".join(map(quote, symbols))) + "\n".join(lines)


def sort_text(symbols: Sequence[str]) -> str:
    """Distinct symbols in the order of the alphabet: the next larger symbol of the input comes next."""
    lines = [f"has_{k} := exists[Q_{quote(symbol)}]" for k, symbol in enumerate(symbols)]
    lines.append(f"answering := exists[{_SEP}]")
    for k, symbol in enumerate(symbols):
        # From <sep>, which is below all symbols, or from a smaller symbol, with nothing of the input in between.
        cases = [
            " and ".join([f"Q_{quote(smaller)}", *(f"not has_{between}" for between in range(place + 1, k))])
            for place, smaller in enumerate(symbols[:k])
        ]
        cases.append(" and ".join([_SEP, *(f"not has_{below}" for below in range(k))]))
        lines.append(f"NEXT {quote(symbol)} := answering and has_{k} and ({' or '.join(cases)})")
    ends = [
        " and ".join([f"Q_{quote(symbol)}", *(f"not has_{above}" for above in range(k + 1, len(symbols)))])
        for k, symbol in enumerate(symbols)
    ]
    ends.append(" and ".join([_SEP, *(f"not has_{k}" for k in range(len(symbols)))]))
    lines.append(f"NEXT EOS := answering and ({' or '.join(ends)})")
    return _HEAD.format(" ".join(map(quote, symbols))) + "\n".join(lines)


def induction_text(symbols: Sequence[str]) -> str:
    """Induction head: every symbol that has followed the current one before may come next."""
    lines = [f"after_{k} := exists[j = i-1] Q_{quote(symbol)}" for k, symbol in enumerate(symbols)]
    for symbol in symbols:
        cases = [f"Q_{quote(current)} and exists[Q_{quote(symbol)} and after_{k}]" for k, current in enumerate(symbols)]
        lines.append(f"NEXT {quote(symbol)} := {' or '.join(cases)}")
    return f"alphabet: {' '.join(map(quote, symbols))}\n" + "\n".join(lines)


def interleaved_majority_text(period: int) -> str:
    """Majorities of ``period`` interleaved binary streams, answered in the order of the streams; a tie is 0."""
    lines = ['reading := #"<sep>" = 0', "written := #[not reading]    // 1 at <sep>, one more with each answer"]
    for stream in range(period):
        # The first symbol is at position 2, after BOS.
        lines.append(f"in_{stream} := reading and i mod {period} = {(stream + 2) % period}")
        lines.append(f"one_{stream} := #[in_{stream} and Q_0] + 1 <= #[in_{stream} and Q_1]")
    ones = " or ".join(f"written = {stream + 1} and one_{stream}" for stream in range(period))
    zeros = " or ".join(f"written = {stream + 1} and not one_{stream}" for stream in range(period))
    lines += [f"NEXT 0 := {zeros}", f"NEXT 1 := {ones}", f"NEXT EOS := written = {period + 1}"]
    return _HEAD.format("0 1") + "\n".join(lines)


ENTRIES = (
    Entry("unique_copy", "prompt w <sep> with distinct symbols of a–g; answer: w", HUANG, unique_copy_text(SYMBOLS), 7),
    Entry(
        "unique_reverse",
        "prompt w <sep> with distinct symbols of a–g; answer: w backwards",
        "task: Huang et al. 2025 and follow-ups; program: " + OURS,
        unique_reverse_text(SYMBOLS),
        7,
    ),
    Entry(
        "sort",
        "prompt w <sep> with distinct symbols of a–g; answer: w in alphabetical order",
        HUANG,
        sort_text(SYMBOLS),
        7,
    ),
    Entry(
        "induction",
        "at every position of a word over a, b, c: the symbols that have followed the current symbol before",
        HUANG,
        induction_text("abc"),
        7,
    ),
    Entry(
        "bin_majority_interleave",
        "prompt w <sep> of three interleaved words over 0, 1; answer: 1 for each one with more 1s than 0s, else 0",
        HUANG,
        interleaved_majority_text(3),
        12,
    ),
)
