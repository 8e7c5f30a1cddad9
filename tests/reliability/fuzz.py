"""Random and mutated inputs of every kind that users write: expressions, programs, automata, results, configurations.

Run: python tests/reliability/fuzz.py COUNT [SEED]. Prints one JSON line: inputs by kind, how many were refused, and
whatever raised anything but a `LengthwiseError`, took over ten seconds, or took memory beyond two gigabytes.
"""

from __future__ import annotations

import json
import random
import resource
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.files import read_json
from lengthwise.core.result_file import RunResult
from lengthwise.crasp import library
from lengthwise.crasp.decide import Bounds, decide
from lengthwise.crasp.syntax import parse
from lengthwise.experiments.defaults import recipe_for
from lengthwise.experiments.run_config import RunConfig
from lengthwise.languages.automaton import read_dfa

SECONDS, MEMORY = 10, 2 * 2**30
ODD = [
    "",
    "\x00",
    "é",
    "𝛼",
    "'",
    '"',
    "{",
    "}",
    "[",
    "]",
    "NaN",
    "Infinity",
    "-1",
    "1e999",
    "9" * 40,
    "null",
    "\n",
    "\\",
]
BOUNDS = Bounds(max_window=2, max_period=3, max_nodes=2000, max_elements=2000, max_total_nodes=4000, max_work=100_000)

EXPRESSIONS = ["(ab)*", "(a|b)*a(a|b)", "{0,1}*1{0,1}", "a*b*c*", "(aa)*|b", "((a|b)(c|a))*"]
AUTOMATON = {
    "alphabet": ["a", "b"], "states": [0, 1, 2], "start": 0, "accepting": [1],
    "transitions": {"0": {"a": 1}, "1": {"a": 0, "b": 2}, "2": {"b": 2}},
}  # fmt: skip
SETS = [
    "training.steps=10",
    "model.width=64",
    "training.max_length=6",
    "evaluation.lengths=[1,2]",
    "encoding.name=rope",
]


class SlowError(BaseException):
    """An input took longer than `SECONDS`."""


def mutated(text: str, moves: random.Random) -> str:
    """A few characters deleted, doubled or replaced."""
    for _ in range(moves.choice([1, 1, 1, 2, 4])):
        place, end = sorted((moves.randrange(len(text) + 1), moves.randrange(len(text) + 1)))
        end = min(end, place + 8)
        kind = moves.randrange(6)
        if kind == 0:
            text = text[:place] + text[end:]
        elif kind == 1:
            text = text[:end] + text[place:end] * moves.choice([1, 2, 30]) + text[end:]
        elif kind == 2:
            text = text[:place] + moves.choice(ODD) + text[end:]
        elif kind > 3:
            text = text[:place] + moves.choice(text or "a") + text[place + 1 :]
        else:
            text = text[:place] + chr(moves.choice([moves.randrange(32, 127), moves.randrange(1, 0x2FF)])) + text[end:]
    return text


def expression(moves: random.Random, folder: Path) -> None:
    decide(mutated(moves.choice(EXPRESSIONS), moves), bounds=BOUNDS)


def program(moves: random.Random, folder: Path) -> None:
    parse(mutated(moves.choice(PROGRAMS), moves))


def automaton(moves: random.Random, folder: Path) -> None:
    path = folder / "dfa.json"
    path.write_text(mutated(json.dumps(AUTOMATON), moves), encoding="utf-8", errors="replace")
    decide(read_dfa(path), bounds=BOUNDS)


def result(moves: random.Random, folder: Path) -> None:
    path = folder / "result.json"
    path.write_text(mutated(RESULT, moves), encoding="utf-8", errors="replace")
    RunResult.of(read_json(path), "result file")


def configuration(moves: random.Random, folder: Path) -> None:
    path = folder / "config.json"
    path.write_text(mutated(CONFIG, moves), encoding="utf-8", errors="replace")
    values = read_json(path)
    if isinstance(values, dict):
        RunConfig.from_json(values)


def setting(moves: random.Random, folder: Path) -> None:
    RECIPE.edited([mutated(moves.choice(SETS), moves)], None)


KINDS: dict[str, Callable[[random.Random, Path], None]] = {
    "expressions": expression, "programs": program, "automata": automaton, "results": result,
    "configurations": configuration, "--set": setting,
}  # fmt: skip
RECIPE = recipe_for("addition", "quick").selected(["FIRE"], [])
CONFIG = json.dumps(RECIPE.jobs[0].experiment.to_json())
SCORE = {"length": 3, "n": 8, "correct": {"exact_match": 4}, "first_error_at": [1, 2]}
RESULT = json.dumps(
    {
        "format": 1, "recipe": "r", "system": "s", "experiment": json.loads(CONFIG), "seed": 0, "fitted": True,
        "in_distribution": SCORE, "scores": [SCORE, {**SCORE, "length": 5}], "steps": 10, "seconds": 1.5,
    }
)  # fmt: skip
PROGRAMS: list[str] = []


def main(count: int, seed: int = 0) -> dict[str, Any]:
    """Feed ``count`` inputs, all kinds in turn."""
    PROGRAMS.extend(library.text(name) for name in library.names()[:12])
    signal.signal(signal.SIGVTALRM, _too_slow)
    resource.setrlimit(resource.RLIMIT_AS, (8 * MEMORY, 8 * MEMORY))
    moves = random.Random(seed)
    fed, refused, faults = dict.fromkeys(KINDS, 0), dict.fromkeys(KINDS, 0), []
    with tempfile.TemporaryDirectory() as name:
        for number in range(count):
            kind = list(KINDS)[number % len(KINDS)]
            fed[kind] += 1
            signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
            try:
                KINDS[kind](moves, Path(name))
            except LengthwiseError:
                refused[kind] += 1
            except BaseException as error:
                faults.append(f"{kind}, input {number}, seed {seed}: {type(error).__name__}: {str(error)[:120]}")
                if isinstance(error, KeyboardInterrupt):
                    break
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"fed": fed, "refused": refused, "faults": faults, "peak_bytes": peak, "too_much_memory": peak > MEMORY}


def _too_slow(*_: object) -> None:
    raise SlowError


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)))
