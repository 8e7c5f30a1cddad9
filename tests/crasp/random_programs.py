"""Random well-formed programs of every shape the language has."""

import random

from hypothesis import strategies as st

from lengthwise.core.vocab import EOS
from lengthwise.crasp.program import RELATIONS, And, Conditional, Count, Max, Min, Not, Or, Program, ProgramBuilder

ALPHABETS = [("a",), ("a", "b"), ("0", "1"), ("a", "<sep>", "c d"), ('"', "\\", "and", "EOS"), ("i", "j", "_x", "σ")]
NAMES = ["V", "bad", "x1", "Zähler", "_priv", "not_yet", "ifoo", "BOSS", "minimum"]


def random_program(seed: int, size: int, *, accepting: bool = False) -> Program:
    rng = random.Random(seed)
    build = ProgramBuilder(rng.choice(ALPHABETS), bos=rng.random() < 0.6, eos=rng.random() < 0.2)
    booleans = [build.symbol(rng.choice(build.alphabet))]
    counts = [build.constant(rng.choice([0, 1, 2, -3]))]
    for _ in range(size):
        index = _random_operation(rng, build, booleans, counts)
        (booleans if build.operations[index].boolean else counts).append(index)
    for name in NAMES:
        if rng.random() < 0.25:
            build.name(name, rng.randrange(len(build.operations)))
    if accepting or build.eos_declared or rng.random() < 0.7:
        return build.accept(rng.choice(booleans[-3:]))
    symbols = [symbol for symbol in (*build.alphabet, EOS) if rng.random() < 0.7] or [EOS]
    return build.next_token({symbol: rng.choice(booleans[-4:]) for symbol in symbols})


def _random_operation(rng: random.Random, build: ProgramBuilder, booleans: list[int], counts: list[int]) -> int:
    def one(pool: list[int]) -> int:
        return rng.choice(pool[-4:]) if rng.random() < 0.7 else rng.choice(pool)

    kind = rng.randrange(14)
    if kind == 0:
        marks = [build.bos] * build.bos_declared + [build.eos] * build.eos_declared
        return rng.choice(marks)() if marks and rng.random() < 0.5 else build.symbol(rng.choice(build.alphabet))
    if kind == 1:
        modulus = rng.randrange(1, 5)
        return rng.choice([build.top(), build.periodic(rng.randrange(modulus), modulus)])
    if kind == 2:
        return build.add(Not(one(booleans)))
    if kind in (3, 4):
        operands = tuple(dict.fromkeys(one(booleans) for _ in range(rng.randrange(2, 5))))
        return build.add(rng.choice([And, Or])(operands)) if len(operands) > 1 else one(booleans)
    if kind in (5, 6):
        return build.compare(one(counts), rng.choice(RELATIONS), one(counts))
    if kind == 7:
        return build.exists(one(booleans), rng.choice([None, (1,), (0, 1, 2), (2, 5)]))
    if kind in (8, 9):
        return build.count(one(booleans))
    if kind == 10:
        differences = rng.choice([(0,), (1,), (2,), (0, 1), (0, 1, 2), (1, 3), (40,)])
        return build.add(Count(one(booleans), differences))
    if kind == 11:
        return build.constant(rng.choice([0, 1, -1, 7, -12, 40_000, -3_000_000_000, 10**19]))
    if kind == 12:
        terms = [(rng.choice([-3, -2, -1, 1, 1, 2, 1000]), one(counts)) for _ in range(rng.randrange(1, 4))]
        return build.linear(terms, rng.choice([0, 0, 1, -5]))
    if rng.random() < 0.5:
        return build.add(rng.choice([Min, Max])(one(counts), one(counts)))
    return build.add(Conditional(one(booleans), one(counts), one(counts)))


programs = st.builds(random_program, st.integers(0, 2**32), st.integers(0, 30))
accepting_programs = st.builds(random_program, st.integers(0, 2**32), st.integers(0, 30), accepting=st.just(True))
