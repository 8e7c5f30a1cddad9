"""Writes C-RASP programs for tasks without a program in the library, as text over the task's tokens.

The tests generate with each program and compare with `Task.answer`.
"""

from __future__ import annotations

from collections.abc import Sequence

from lengthwise.crasp.program.spelling import quote
from lengthwise.tasks.look_back import FILLER
from lengthwise.tasks.retrieval import MARKER
from lengthwise.tasks.sparse_parity import QUERY as BITS_QUERY
from lengthwise.tasks.variable_assignment import LINE_END, QUERY

_SEP = 'Q_"<sep>"'
_READING = 'reading := #"<sep>" = 0    // only the input counts: the answer has its own neighbours'


def look_back_text(symbols: Sequence[str], t: int) -> str:
    """Every t-th of distinct symbols: the next answer is the symbol t positions after the current one."""
    lines = [_alphabet([*symbols, FILLER, "<sep>"]), _READING]
    for k, symbol in enumerate(symbols):
        lines.append(f"back_{k} := exists[j = i-{t}] Q_{quote(symbol)}")
    lines.append(f"first := exists[j = i-{t}] BOS")
    for k, symbol in enumerate(symbols):
        cases = [f"{_SEP} and exists[Q_{quote(symbol)} and first]"]
        cases += [
            f"Q_{quote(current)} and exists[Q_{quote(symbol)} and back_{other} and reading]"
            for other, current in enumerate(symbols)
            if current != symbol
        ]
        lines.append(f"next_{k} := not reading and ({' or '.join(cases)})")
    lines += [f"NEXT {quote(symbol)} := next_{k}" for k, symbol in enumerate(symbols)]
    lines.append(f"NEXT EOS := not reading and not ({' or '.join(f'next_{k}' for k in range(len(symbols)))})")
    return "\n".join(lines)


def retrieval_text(symbols: Sequence[str], side: str) -> str:
    """The neighbour of the marker, found by a window of two symbols."""
    lines = [_alphabet([*symbols, MARKER, "<sep>"])]
    if side == "after":
        lines.append(f"found := exists[j = i-1] Q_{quote(MARKER)}")
    for k, symbol in enumerate(symbols):
        if side == "after":
            where = f"Q_{quote(symbol)} and found"
        else:
            lines.append(f"after_{k} := exists[j = i-1] Q_{quote(symbol)}")
            where = f"Q_{quote(MARKER)} and after_{k}"
        lines.append(f"NEXT {quote(symbol)} := {_SEP} and exists[{where}]")
    lines.append(f"NEXT EOS := exists[{_SEP}] and not {_SEP}")
    return "\n".join(lines)


def induction_text(symbols: Sequence[str]) -> str:
    """The symbol that followed the queried symbol in the input."""
    lines = [_alphabet([*symbols, "<sep>"]), f"queried := exists[j = i-1] {_SEP}"]
    lines += [f"after_{k} := exists[j = i-1] Q_{quote(symbol)}" for k, symbol in enumerate(symbols)]
    for symbol in symbols:
        cases = [
            f"Q_{quote(current)} and exists[Q_{quote(symbol)} and after_{k}]"
            for k, current in enumerate(symbols)
            if current != symbol
        ]
        lines.append(f"NEXT {quote(symbol)} := queried and ({' or '.join(cases)})")
    lines.append("NEXT EOS := exists[queried] and not queried")
    return "\n".join(lines)


def marked_ones_text(counts: Sequence[int]) -> str:
    """1 iff the number of marked ones is one of ``counts``."""
    query = f"Q_{quote(BITS_QUERY)}"
    lines = [_alphabet(["0", "1", "0*", "1*", BITS_QUERY])]
    marked = quote("1*")
    lines.append(f"one := {' or '.join(f'#{marked} = {count}' for count in counts)}")
    lines.append(f"NEXT 1 := {query} and one")
    lines.append(f"NEXT 0 := {query} and not one")
    return "\n".join(lines)


def variable_assignment_text(names: Sequence[str], values: Sequence[str], *, separators: bool) -> str:
    """Follow a chain line by line: a name that was just repeated is looked up, any other name is repeated.

    A child follows a separator or, without separators, has an even position.
    """
    tokens = [*names, *values]
    lines = [_alphabet([*tokens, QUERY, *([LINE_END] if separators else [])])]
    lines.append(f"reading := #{quote(QUERY)} = 0")
    if separators:
        lines.append(f"child := exists[j = i-1] Q_{quote(LINE_END)} or exists[j = i-1] BOS")
    else:
        lines.append("child := i mod 2 = 0    // position 1 is BOS")
    for k, name in enumerate(names):
        lines.append(f"after_{k} := exists[j = i-1] (Q_{quote(name)} and child and reading)")
    return "\n".join([*lines, *_trace_lines(names, values, separators=separators)])


def _trace_lines(names: Sequence[str], values: Sequence[str], *, separators: bool) -> list[str]:
    """After ``? a`` the trace is ``a b b c c 7``, or ``a b ; b c ; c 7`` with separators."""
    lines: list[str] = []
    end_mark = f"Q_{quote(LINE_END)}"
    lines.append(f"queried := exists[j = i-1] Q_{quote(QUERY)}")
    for k, name in enumerate(names):
        if separators:
            # A new line starts with the parent of the line before, which stands two back from here.
            lines.append(f"before_{k} := exists[j = i-1] Q_{quote(name)}")
            lines.append(f"repeat_{k} := Q_{quote(name)} and queried or {end_mark} and before_{k}")
        else:
            lines.append(f"same_{k} := Q_{quote(name)} and exists[j = i-1] Q_{quote(name)}")
            lines.append(f"repeat_{k} := Q_{quote(name)} and not exists[j = i-1] Q_{quote(name)}")
    if separators:
        started = f"exists[j = i-1] {end_mark} or exists[j = i-1] queried"
        lines.append(f"started := {started}")
        for k, name in enumerate(names):
            lines.append(f"same_{k} := Q_{quote(name)} and started")
    for token in [*names, *values]:
        cases = [
            f"same_{k} and exists[Q_{quote(token)} and after_{k}]" for k, name in enumerate(names) if name != token
        ]
        if token in names:
            cases.append(f"repeat_{list(names).index(token)}")
        lines.append(f"NEXT {quote(token)} := not reading and ({' or '.join(cases)})")
    value = " or ".join(f"Q_{quote(value)}" for value in values)
    if separators:
        name = " or ".join(f"Q_{quote(name)}" for name in names)
        lines.append(f"NEXT {quote(LINE_END)} := not reading and ({name}) and not queried and not started")
    lines.append(f"NEXT EOS := not reading and ({value})")
    return lines


def _alphabet(symbols: Sequence[str]) -> str:
    return f"alphabet: {' '.join(map(quote, symbols))}"
