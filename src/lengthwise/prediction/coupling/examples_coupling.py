"""The coupling search on a file of examples, where the number of prompt tokens is the length."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.rng import stream
from lengthwise.crasp.synthesis.examples import read_examples
from lengthwise.prediction.coupling.task_coupling import FOUND_FROM, CouplingFinding, search
from lengthwise.sparsity.coupling.coupling_check import check_coupling
from lengthwise.sparsity.coupling.dependence import Dependencies
from lengthwise.sparsity.coupling.dependence_data import dependencies_from_data

FEWEST = 200
"""Examples of one prompt length that are enough to estimate parents among a few symbols."""

TokenRows = Sequence[Sequence[str]]


def couple_examples(
    path: Path, *, seed: int = 0, progress: Callable[[str], None] = lambda step: None
) -> CouplingFinding:
    """Find places from the examples in ``path``, and check them at the longer prompts of the same file.

    Of each prompt length, the examples with the most frequent answer length are used. Raises `LengthwiseError` for a
    malformed file, answers that are yes or no, or fewer than three prompt lengths with 200 examples.
    """
    rows = _rows(path)
    lengths = tuple(sorted(rows))

    def estimate(n: int) -> Dependencies:
        progress(f"dependencies of prompts of {n} tokens")
        return dependencies_from_data(rows[n], n, n, stream(seed, "couple", "file", n))

    known, rule, reason = search(lengths, estimate)
    count = sum(len(rows[n]) for n in lengths) // len(lengths)
    if rule is None:
        sparsity = {n: d.sparsity for n, d in known.items()}
        return CouplingFinding(path.name, None, True, count, tuple(known), sparsity, 0, reason=reason)
    found_from = tuple(known)
    known |= {n: estimate(n) for n in lengths if n not in known}
    checks = check_coupling(rule, known, lengths)
    return CouplingFinding(
        path.name, None, True, count, found_from, {n: d.sparsity for n, d in known.items()}, 0,
        rule, "" if checks.holds else checks.problems[0], checks,
    )  # fmt: skip


def _rows(path: Path) -> dict[int, TokenRows]:
    """Prompt and answer together, by the number of prompt tokens; lengths with too few examples are left out."""
    by_length: dict[int, list[tuple[Sequence[str], Sequence[str]]]] = defaultdict(list)
    for prompt, answer in read_examples(path):
        if isinstance(answer, bool):
            raise LengthwiseError(f"{path}: answers are yes or no; a coupling places the tokens of longer answers")
        by_length[len(prompt)].append((prompt, answer))
    rows: dict[int, TokenRows] = {}
    for n, pairs in by_length.items():
        size, _ = Counter(len(answer) for _, answer in pairs).most_common(1)[0]
        kept = [[*prompt, *answer] for prompt, answer in pairs if len(answer) == size]
        if len(kept) >= FEWEST:
            rows[n] = kept
    require(
        len(rows) >= FOUND_FROM,
        f"{path} has {len(rows)} prompt lengths with {FEWEST} examples or more, and a rule needs {FOUND_FROM}; "
        "give more examples, of a few lengths each",
    )
    return rows
