"""Predicts from examples alone: finds the smallest program consistent with them, and estimates the parents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from lengthwise.core.rng import stream
from lengthwise.core.vocab import Symbols
from lengthwise.crasp.synthesis.examples import labelled, read_examples
from lengthwise.crasp.synthesis.synthesize import synthesize
from lengthwise.prediction.combine_evidence import verdicts_of
from lengthwise.prediction.suites.arguments import Evidence, program_evidence
from lengthwise.prediction.systems import PositionSystem
from lengthwise.prediction.verdict import Argument, Prediction
from lengthwise.sparsity.coupling.dependence_data import dependencies_from_data

MOST_SYMBOLS = 6


def predict_examples(path: Path, systems: tuple[PositionSystem, ...]) -> Prediction:
    """The prediction from a file of examples; its basis is ``evidence``, as examples prove nothing about other strings.

    Raises `LengthwiseError` for a malformed file.
    """
    examples = read_examples(path)
    known = list(_program(examples))
    verdicts = verdicts_of(known, systems, "")
    return Prediction(
        path.name, "examples", f"{len(examples)} examples", verdicts, depends=tuple(_dependencies(examples))
    )


def _program(examples: list[tuple[Symbols, Symbols | bool]]) -> Iterator[Evidence]:
    """The smallest consistent program, if one is found and the answers are yes or no."""
    labels = labelled(examples)
    if labels is None:
        return
    alphabet = sorted({symbol for word in labels for symbol in word})
    if len(alphabet) > MOST_SYMBOLS or len(set(labels.values())) < 2:
        return
    found = synthesize(labels, alphabet, max_size=6)
    if found.program is not None:
        item = program_evidence(found.program, f"found from {len(labels)} examples")
        why = f"{item.argument.why}; consistent with the examples, which proves nothing about other strings"
        yield Evidence(item.fragment, Argument("yes", "evidence", why, item.argument.certificate))


def _dependencies(examples: list[tuple[Symbols, Symbols | bool]]) -> Iterator[str]:
    """Estimated parents at the most frequent shape (tokens of prompt and answer), if it has at least 50 examples."""
    texts = [(prompt, () if isinstance(answer, bool) else answer) for prompt, answer in examples]
    shape, count = Counter((len(prompt), len(answer)) for prompt, answer in texts).most_common(1)[0]
    if count < 50 or shape[1] == 0:
        return
    rows = [[*p, *a] for p, a in texts if (len(p), len(a)) == shape]
    found = dependencies_from_data(rows, shape[0], shape[0], stream(0, "predict", "examples"))
    for offset, parents in enumerate(found.parents):
        shown = ", ".join(f"token {p}" for p in sorted(parents)) or "nothing"
        if offset in found.unresolved:
            shown = "not found: more than two tokens at once, or too few examples"
        yield f"answer token {offset + 1} ← {shown} (estimated from {count} examples of {shape[0]} + {shape[1]} tokens)"
