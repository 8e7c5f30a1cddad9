"""A prediction from examples alone: the smallest program consistent with them, and which tokens they depend on."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.rng import stream
from lengthwise.crasp.synthesis import synthesize
from lengthwise.prediction.knowledge import Evidence, program_evidence
from lengthwise.prediction.predict import _from_programs, _verdict
from lengthwise.prediction.systems import PositionSystem
from lengthwise.prediction.verdict import Argument, Prediction
from lengthwise.sparsity.dependence_data import dependencies_from_data

Word = tuple[str, ...]
LABELS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
MOST_SYMBOLS = 6


def read_examples(path: Path) -> list[tuple[Word, Word | bool]]:
    """Read ``{"prompt": "a a b" or ["a", …], "answer": true, "b b a" or [...]}`` lines.

    Raises `LengthwiseError` naming the line that is not one.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise LengthwiseError(f"cannot read examples {path}: {error}") from None
    examples = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                value = json.loads(line)
                answer = value["answer"]
                examples.append((_word(value["prompt"]), answer if isinstance(answer, bool) else _word(answer)))
            except (json.JSONDecodeError, KeyError, TypeError, RecursionError):
                shape = '{"prompt": "a a b", "answer": true}'
                raise LengthwiseError(f"{path}, line {number}: not an example; write {shape}") from None
    require(bool(examples), f"{path} holds no examples")
    return examples


def _word(value: object) -> Word:
    if isinstance(value, str):
        return tuple(value.split())
    if isinstance(value, list) and all(isinstance(symbol, str) for symbol in value):
        return tuple(value)
    raise TypeError


def predict_examples(path: Path, systems: tuple[PositionSystem, ...]) -> Prediction:
    """Evidence only: examples never prove anything about the strings that they leave out."""
    examples = read_examples(path)
    known = list(_program(examples))
    verdicts = tuple(_verdict(system, _from_programs(system, known), "") for system in systems)
    return Prediction(
        path.name, "examples", f"{len(examples)} examples", verdicts, depends=tuple(_dependencies(examples))
    )


def _program(examples: list[tuple[Word, Word | bool]]) -> Iterator[Evidence]:
    """The smallest consistent program, where answers are yes or no; finding none proves nothing."""
    labels: dict[Sequence[str], bool] = {}
    for prompt, answer in examples:
        if not isinstance(answer, bool):
            if len(answer) != 1 or answer[0].lower() not in LABELS:
                return
            answer = LABELS[answer[0].lower()]
        if labels.setdefault(prompt, answer) != answer:
            raise LengthwiseError(f"the prompt {' '.join(prompt)!r} has two answers; keep one")
    alphabet = sorted({symbol for word in labels for symbol in word})
    if len(alphabet) > MOST_SYMBOLS or len(set(labels.values())) < 2:
        return
    found = synthesize(labels, alphabet, max_size=6)
    if found.program is not None:
        item = program_evidence(found.program, f"found from {len(labels)} examples")
        why = f"{item.argument.why}; consistent with the examples, which proves nothing about other strings"
        yield Evidence(item.fragment, Argument("yes", "evidence", why, item.argument.certificate))


def _dependencies(examples: list[tuple[Word, Word | bool]]) -> Iterator[str]:
    """Estimated parents at the most frequent shape, if there are enough examples of it."""
    texts = [(prompt, () if isinstance(answer, bool) else answer) for prompt, answer in examples]
    shape, count = Counter((len(prompt), len(answer)) for prompt, answer in texts).most_common(1)[0]
    if count < 50 or shape[1] == 0:
        return
    rows = [[*p, *a] for p, a in texts if (len(p), len(a)) == shape]
    found = dependencies_from_data(rows, shape[0], shape[0], stream(0, "predict", "examples"))
    for offset, parents in enumerate(found.parents):
        shown = ", ".join(f"token {p}" for p in sorted(parents)) or "nothing"
        yield f"answer token {offset + 1} ← {shown} (estimated from {count} examples of {shape[0]} + {shape[1]} tokens)"
