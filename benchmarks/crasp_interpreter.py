"""Speed of the C-RASP interpreter against the position-by-position one, both in this run, one core.

    OMP_NUM_THREADS=1 python benchmarks/crasp_interpreter.py

1,000 words of length 1,000 per program; the unit is one operation at one position of one word. The slow one gets few
words of the same batch: it costs the same for each. It is linear in the length, as the last lines show.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from lengthwise.crasp import library, reference
from lengthwise.crasp.interpreter import evaluate_all, run
from lengthwise.crasp.program import Program

WORDS, LENGTH, REPEATS = 1_000, 1_000, 7
PROGRAMS = ("D-12", "a^n b^n c^n", "Tomita-4", "Tomita-7", "Shuffle-2", "Boolean-3", "(abab)*", "aa*bb*cc*dd*ee*")


def seconds(work: Callable[[], object], repeats: int) -> float:
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def batch(program: Program, words: int, length: int) -> np.ndarray:
    return np.random.default_rng(0).integers(len(program.alphabet), size=(words, length), dtype=np.int8)


def main() -> None:
    print(f"{'program':18} {'operations':>10} {'run':>12} {'all values':>12} {'reference':>12} {'ratio':>7}")
    for name in PROGRAMS:
        program = library.get(name)
        ids = batch(program, WORDS, LENGTH)
        units = len(program.operations) * WORDS * (LENGTH + 1)
        fast = units / seconds(lambda: run(program, ids), REPEATS)  # noqa: B023
        every = units / seconds(lambda: evaluate_all(program, ids), 3)  # noqa: B023
        words = [[program.alphabet[symbol] for symbol in row] for row in ids[:5]]
        for row, word in enumerate(words):
            assert run(program, ids[row : row + 1])[0] == reference.accepts(program, word)
        slow = units * len(words) / WORDS / seconds(lambda: [reference.accepts(program, word) for word in words], 3)  # noqa: B023
        print(f"{name:18} {len(program.operations):10} {fast:12.2e} {every:12.2e} {slow:12.2e} {fast / slow:7.0f}")
    program = library.get("Tomita-7")
    for length in (1_000, 4_000, 16_000):
        word = [program.alphabet[symbol] for symbol in batch(program, 1, length)[0]]
        nanoseconds = 1e9 * seconds(lambda: reference.accepts(program, word), 3)  # noqa: B023
        each = nanoseconds / length / len(program.operations)
        print(f"reference at length {length:6}: {each:5.0f} ns per operation and position")
    ids = batch(program, 4, 100_000)
    fast = len(program.operations) * ids.size / seconds(lambda: run(program, ids), 5)
    print(f"run at length 100000: {fast:.2e} operations and positions per second")


if __name__ == "__main__":
    main()
