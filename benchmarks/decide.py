"""Time the decision: the 17 published languages, random expressions, building automata with and without a library.

Run: python benchmarks/decide.py [--count 300]. All figures come from one run; medians, in milliseconds.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import subprocess
import sys
import time

from lengthwise.core.rng import stream
from lengthwise.crasp.decide import decide
from lengthwise.crasp.extraction import program_of
from lengthwise.languages.automaton import language
from lengthwise.languages.named import LANGUAGES, random_expression
from lengthwise.languages.regex import render
from lengthwise.languages.sampling import UniformSampler


def milliseconds(function, *arguments, **options) -> float:
    started = time.perf_counter()
    function(*arguments, **options)
    return 1_000 * (time.perf_counter() - started)


def import_time(module: str) -> float:
    """Median of five fresh interpreters, less an empty one that has NumPy."""
    code = "import numpy, time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
    runs = [
        subprocess.run([sys.executable, "-c", code.format(module)], capture_output=True, check=True) for _ in range(5)
    ]
    return 1_000 * statistics.median(float(run.stdout) for run in runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="random expressions")
    arguments = parser.parse_args()

    sources = [(entry.source, entry.alphabet) for entry in LANGUAGES.values()]
    print(
        f"17 published languages, decided: {sum(milliseconds(decide, *source) for source in sources):8.1f} ms in total"
    )

    rng = stream(7, "random languages")
    drawn = (random_expression(int(rng.integers(5, 16)), "abc", rng) for _ in range(50 * arguments.count))
    several = (expression for expression in drawn if language(expression, "abc").size > 2)
    entries = [(render(expression), "abc") for expression in itertools.islice(several, arguments.count)]
    times = [milliseconds(decide, regex, alphabet) for regex, alphabet in entries]
    print(f"{len(entries)} random expressions: {statistics.median(times):8.2f} ms median, {max(times):.1f} ms slowest")
    decisions = [decide(regex, alphabet) for regex, alphabet in entries]
    yes = [decision for decision in decisions if decision.verdict("ape", "eos").verdict == "yes"]
    programs = [milliseconds(program_of, decision, "ape", "eos") for decision in yes]
    print(f"program of a yes:             {statistics.median(programs):8.2f} ms median, {max(programs):.1f} ms slowest")

    from automata.fa.dfa import DFA
    from automata.fa.nfa import NFA

    def with_library(regex: str, alphabet: str) -> None:
        DFA.from_nfa(NFA.from_regex(regex, input_symbols=set(alphabet)), minify=True)

    ours = [milliseconds(language, regex, alphabet) for regex, alphabet in entries]
    theirs = [milliseconds(with_library, regex, alphabet) for regex, alphabet in entries]
    print(f"automaton, own construction:  {statistics.median(ours):8.2f} ms median")
    print(f"automaton, automata-lib:      {statistics.median(theirs):8.2f} ms median")
    own = import_time("lengthwise.languages.automaton")
    library = import_time("automata.fa.nfa")
    print(f"import, own construction:     {own:8.1f} ms")
    print(f"import, automata-lib:         {library:8.1f} ms")

    dfa = LANGUAGES["D-4"].dfa()
    sampler = UniformSampler(dfa)
    first = milliseconds(sampler.sample, 1_000, 1, stream(1))
    again = milliseconds(sampler.sample, 1_000, 1, stream(1))
    batch = milliseconds(sampler.sample, 1_000, 2_000, stream(1))
    print(f"uniform words of D-4, length 1,000: {first:.1f} ms first, {again:.1f} ms next, {batch:.1f} ms for 2,000")


if __name__ == "__main__":
    main()
