"""Small standalone tasks as oracles: prompt tokens in, everything that follows out."""

from __future__ import annotations

from functools import cache

from lengthwise.core.rng import stream
from lengthwise.sparsity.dependence import Dependencies, estimate_dependencies


def copy(prompt):
    assert prompt[-1] == "="
    return [*prompt[:-1], "."]


def sample_letters(length, rng):
    return [*rng.choice(list("abcd"), size=length), "="]


def reverse(prompt):
    return [*prompt[:-1][::-1], "."]


def addition(prompt):
    text = "".join(prompt)
    first, second = text.rstrip("=").split("+")
    total = int(first[::-1]) + int(second[::-1])
    return [*str(total).zfill(len(first) + 1)[::-1], "."]


def sample_addition(length, rng):
    return [*map(str, rng.integers(10, size=length)), "+", *map(str, rng.integers(10, size=length)), "="]


def parity_scratchpad(prompt):
    answer, state = [], 0
    for bit in prompt[:-1]:
        state ^= int(bit)
        answer.append(str(state))
    return [*answer, "."]


def parity(prompt):
    return [str(sum(map(int, prompt[:-1])) % 2)]


def sample_bits(length, rng):
    return [*map(str, rng.integers(2, size=length)), "="]


def doubled(prompt):
    """Every letter twice: two answer tokens per prompt token."""
    return [letter for letter in prompt[:-1] for _ in range(2)]


def swap(prompt):
    """Neighbours exchanged; an odd last letter stays."""
    letters = prompt[:-1]
    return [letters[i ^ 1] if i ^ 1 < len(letters) else letters[i] for i in range(len(letters))]


def sort(prompt):
    return sorted(prompt[:-1])


TASKS = {
    "copy": (copy, sample_letters),
    "reverse": (reverse, sample_letters),
    "addition": (addition, sample_addition),
    "parity with scratchpad": (parity_scratchpad, sample_bits),
}


@cache
def dependencies(name: str, length: int) -> Dependencies:
    """What the search finds for a toy at one length; several tests read it."""
    return estimate_dependencies(*TASKS[name], length, stream(0, name, length))


def expected_parents(name, n):
    """The parents of every answer token at length n, up to the ties at the first places; None where any will do."""
    if name == "copy":
        return [{j} for j in range(n)] + [set()]
    if name == "reverse":
        return [{n - 1 - j} for j in range(n)] + [set()]
    if name == "parity with scratchpad":
        return [{0}] + [{j, n + 1 + j - 1} for j in range(1, n)] + [set()]
    eq = 2 * n + 2
    result = [{0, n + 1}, None]
    result += [{j, n + 1 + j, j - 1, n + j, eq + j - 1} for j in range(2, n)]
    return [*result, {n - 1, 2 * n, eq + n - 1}, set()]
