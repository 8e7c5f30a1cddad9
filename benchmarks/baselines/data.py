"""Compares sequences per second with a plain Python generator that writes tokens and places one by one."""

from __future__ import annotations

import random
from collections.abc import Iterator

from baselines.measure import BenchRow, Effort
from lengthwise.core.rng import stream
from lengthwise.tasks import Task
from lengthwise.tasks.addition import Addition
from lengthwise.tasks.variable_assignment import VariableAssignment

ROWS = 256
"""Sequences of one layout written together."""


def rows(effort: Effort) -> Iterator[BenchRow]:
    """Addition up to 30 digits, variable assignment up to 8 lines."""
    groups = 10 if effort.quick else 60
    plain_count = groups * 20
    cases = ((Addition(), 30, addition_rows), (VariableAssignment(), 8, assignment_rows))
    for task, longest, plain in cases:
        lengths = task.lengths(1, longest)
        name = f"data {task.name} (1 to {longest})"
        ours, baseline = effort.seconds(
            [
                lambda repeat, task=task, lengths=lengths: write(task, lengths, groups, repeat),
                lambda repeat, plain=plain, longest=longest: plain(plain_count, longest, repeat),
            ]
        )
        yield BenchRow.of(
            name, "sequences/s", groups * ROWS / ours, plain_count / baseline, "plain Python generator",
            f"one core, {ROWS} sequences of one layout at a time",
        )  # fmt: skip


def write(task: Task, lengths: list[int], groups: int, repeat: int) -> None:
    """Write ``groups`` batches of random lengths, with places and parents."""
    rng = stream(repeat, "bench", "data")
    for _ in range(groups):
        task.batch(lengths[int(rng.integers(len(lengths)))], ROWS, rng)


def addition_rows(count: int, longest: int, seed: int) -> list[tuple[list[int], list[int]]]:
    """Tokens and places of ``count`` additions, row by row."""
    rng = random.Random(seed)
    result = []
    for _ in range(count):
        n = rng.randint(1, longest)
        x, y = [rng.randrange(10) for _ in range(n)], [rng.randrange(10) for _ in range(n)]
        carry, total = 0, []
        for first, second in zip(x, y, strict=True):
            carry, digit = divmod(first + second + carry, 10)
            total.append(digit)
        places = list(range(2, n + 2))
        tokens = [1, *(d + 4 for d in x), 14, *(d + 4 for d in y), 15, *(d + 4 for d in total), carry + 4, 3]
        result.append((tokens, [0, *places, 1, *places, 1, *places, n + 2, n + 3]))
    return result


def assignment_rows(count: int, longest: int, seed: int) -> list[tuple[list[int], list[int]]]:
    """Tokens and places of ``count`` variable assignments with a scratchpad, row by row."""
    rng = random.Random(seed)
    result = []
    for _ in range(count):
        n = rng.randint(1, longest)
        depth = rng.randint(1, n)
        chains, left = [depth], n - depth
        while left:
            chains.append(rng.randint(1, left))
            left -= chains[-1]
        names, values = rng.sample(range(600), n), rng.sample(range(600, 616), min(16, len(chains)))
        lines, start = [], 0
        for chain, size in enumerate(chains):
            members = names[start : start + size]
            lines += list(zip(members, [*members[1:], values[chain % len(values)]], strict=True))
            start += size
        order = rng.sample(range(n), n)
        place = {line: index + 1 for index, line in enumerate(order)}
        tokens, places = [1], [0]
        for line in [*order, -1, *range(depth)]:
            tokens += [2, names[0]] if line < 0 else [lines[line][0] + 4, lines[line][1] + 4]
            places += [n + 1, n + 1] if line < 0 else [place[line], place[line]]
        result.append(([*tokens, 3], [*places, n + 1]))
    return result
