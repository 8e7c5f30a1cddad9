"""Writes C-RASP programs for tasks of the suites, as text over the task's tokens.

The tests generate with each program and compare with `Task.answer`.
"""

from __future__ import annotations

from collections.abc import Sequence

from lengthwise.crasp.program.spelling import quote

_SEP = 'Q_"<sep>"'
_READING = 'reading := #"<sep>" = 0'


def bucket_sort_text(symbols: Sequence[str]) -> str:
    """The next symbol is the first one of which fewer are written than were read."""
    lines = [_alphabet([*symbols, "<sep>"]), _READING]
    for k, symbol in enumerate(symbols):
        here = f"Q_{quote(symbol)}"
        lines.append(f"left_{k} := #[{here} and not reading] < #[{here} and reading]")
    for k, symbol in enumerate(symbols):
        none_before = "".join(f" and not left_{other}" for other in range(k))
        lines.append(f"NEXT {quote(symbol)} := not reading and left_{k}{none_before}")
    lines.append(f"NEXT EOS := not reading{''.join(f' and not left_{k}' for k in range(len(symbols)))}")
    return "\n".join(lines)


def counting_text(numbers: Sequence[str]) -> str:
    """The successor of the current number, until the second number of the prompt."""
    lines = [_alphabet([*numbers, "<sep>"]), _READING]
    lines += ["first := exists[j = i-1] BOS", "last := reading and exists[j = i-2] BOS"]
    for k, number in enumerate(numbers):
        cases = [f"{_SEP} and exists[Q_{quote(number)} and first]"]
        if k:
            before = quote(numbers[k - 1])
            cases.append(f"not reading and Q_{before} and not exists[Q_{before} and last]")
        lines.append(f"NEXT {quote(number)} := {' or '.join(cases)}")
    ended = " or ".join(f"Q_{quote(number)} and exists[Q_{quote(number)} and last]" for number in numbers)
    lines.append(f"NEXT EOS := not reading and ({ended})")
    return "\n".join(lines)


def bigram_copy_text(symbols: Sequence[str]) -> str:
    """The symbol that followed the current one and the one before it in the input."""
    lines = [_alphabet([*symbols, "<sep>"]), _READING]
    lines += ["first := exists[j = i-1] BOS", "second := reading and exists[j = i-2] BOS"]
    lines.append(f"started := exists[j = i-1] {_SEP}")
    for k, symbol in enumerate(symbols):
        lines.append(f"before_{k} := exists[j = i-1] Q_{quote(symbol)}")
        lines.append(f"two_before_{k} := exists[j = i-2] Q_{quote(symbol)}")
    pairs = [(a, b) for a in range(len(symbols)) for b in range(len(symbols))]
    for k, symbol in enumerate(symbols):
        here = f"Q_{quote(symbol)}"
        cases = [f"{_SEP} and exists[{here} and first]", f"started and exists[{here} and second]"]
        cases += [
            f"not started and Q_{quote(symbols[b])} and before_{a} "
            f"and exists[{here} and before_{b} and two_before_{a} and reading]"
            for a, b in pairs
        ]
        lines.append(f"next_{k} := not reading and ({' or '.join(cases)})")
    lines += [f"NEXT {quote(symbol)} := next_{k}" for k, symbol in enumerate(symbols)]
    lines.append(f"NEXT EOS := not reading{''.join(f' and not next_{k}' for k in range(len(symbols)))}")
    return "\n".join(lines)


def needle_text(noise: Sequence[str], keys: Sequence[str], values: Sequence[str], hops: int) -> str:
    """What stands behind the queried key, and behind that, as often as there are hops."""
    lines = [_alphabet([*noise, *keys, *values, "<sep>"])]
    lines += [f"after_{k} := exists[j = i-1] Q_{quote(key)}" for k, key in enumerate(keys)]
    # Before the first <sep> there is a value or noise, so that only the second one follows a key.
    lines += [f"hop_0_{k} := {_SEP} and after_{k}" for k in range(len(keys))]
    for hop in range(1, hops + 1):
        targets = keys if hop < hops else values
        for t, target in enumerate(targets):
            cases = [f"hop_{hop - 1}_{k} and exists[Q_{quote(target)} and after_{k}]" for k in range(len(keys))]
            lines.append(f"hop_{hop}_{t} := {' or '.join(cases)}")
    lines += [f"NEXT {quote(value)} := hop_{hops}_{t}" for t, value in enumerate(values)]
    queried = " or ".join(f"hop_0_{k}" for k in range(len(keys)))
    lines += [f"queried := {queried}", "NEXT EOS := exists[queried] and not queried"]
    return "\n".join(lines)


def recall_text(keys: Sequence[str], values: Sequence[str], queries: int) -> str:
    """The value behind the key that stands as far back as there are queries."""
    lines = [_alphabet([*keys, *values, "<sep>"]), 'answering := #"<sep>" = 2']
    lines += [f"after_{k} := exists[j = i-1] Q_{quote(key)}" for k, key in enumerate(keys)]
    lines += [f"asked_{k} := answering and exists[j = i-{queries}] Q_{quote(key)}" for k, key in enumerate(keys)]
    for value in values:
        cases = [f"asked_{k} and exists[Q_{quote(value)} and after_{k}]" for k in range(len(keys))]
        lines.append(f"NEXT {quote(value)} := {' or '.join(cases)}")
    lines.append(f"NEXT EOS := answering{''.join(f' and not asked_{k}' for k in range(len(keys)))}")
    return "\n".join(lines)


def _alphabet(symbols: Sequence[str]) -> str:
    return f"alphabet: {' '.join(map(quote, symbols))}"
