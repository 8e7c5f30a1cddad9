"""The model card: what the model was trained on, its structure, what theory says of it, and measured lengths."""

from __future__ import annotations

from pathlib import Path

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.result_file import RunResult
from lengthwise.core.rng import stream
from lengthwise.experiments.run_config import RunConfig
from lengthwise.hf.own.modeling import LengthwiseForCausalLM
from lengthwise.positions.structure import structure
from lengthwise.prediction.predict import predict_task
from lengthwise.prediction.systems import position_systems
from lengthwise.prediction.verdict import SHOWN

HEAD = """---
library_name: transformers
tags: [lengthwise, length-generalization]
---
"""


def model_card(model: LengthwiseForCausalLM, result: RunResult | None = None) -> str:
    """Markdown: task, training lengths, sparsity and span by length, verdicts, and the measured lengths of ``result``.

    Where nothing was measured the card says so.
    """
    found = model.experiment
    training = found.training
    lines = [
        HEAD,
        f"# {found.task.name}: {found.scheme.name} ids, {found.encoding.name} encoding",
        "",
        f"A decoder-only transformer with {model.num_parameters():,} parameters, trained with `lengthwise` on "
        f"`{found.task.name}` at lengths {training.min_length} to {training.longest}.",
        "",
        "## Use",
        "",
        "```python",
        "import lengthwise.hf as hf",
        *_code(found),
        "",
        'model = hf.LengthwiseForCausalLM.from_pretrained("this folder")',
        "```",
        "",
        "## Structure",
        "",
        *_structure(found),
        "",
        "## What theory says",
        "",
        *_verdicts(found),
        "",
        "## Measured",
        "",
        *_measured(result),
    ]
    return "\n".join(lines) + "\n"


def save_with_card(model: LengthwiseForCausalLM, folder: str | Path, result: RunResult | None = None) -> Path:
    """`save_pretrained` and a README.md beside it."""
    model.save_pretrained(folder)
    (Path(folder) / "README.md").write_text(model_card(model, result), encoding="utf-8")
    return Path(folder)


def _code(found: RunConfig) -> list[str]:
    """The line that loads files of the author's own, without which the model has no task."""
    names = [part.name for part in (found.task, found.scheme, found.encoding) if ":" in part.name]
    files = sorted({name.rpartition(":")[0] for name in names})
    return (
        [f"import lengthwise as lw\n\nlw.load_code({', '.join(map(repr, files))})  # comes with this model"]
        if files
        else []
    )


def _structure(found: RunConfig) -> list[str]:
    top = found.training.longest
    lengths = sorted(
        {near for length in (top, 2 * top, 5 * top) for near in found.task.lengths(length, length + 5)[:1]}
    )
    rows = {length: _row(found, length) for length in lengths}
    return [
        "Sparsity k is the largest number of earlier tokens that a scored token is a function of; span is the largest",
        "distance to one, in position ids.",
        "",
        "| length | sparsity k | span |",
        "| --- | --- | --- |",
        *(f"| {length} | {row} |" for length, row in rows.items()),
    ]


def _row(found: RunConfig, length: int) -> str:
    try:
        row = structure(found.task, found.scheme, length, stream(0, "card"), size=16)
    except LengthwiseError:
        return f"– | more ids than the {found.scheme.max_position} of this model"
    return f"{row.sparsity} | {row.span}"


def _verdicts(found: RunConfig) -> list[str]:
    known = predict_task(found.task, position_systems([]))
    rows = [f"| {verdict.system} | {SHOWN[verdict.answer]} | {verdict.basis} |" for verdict in known.verdicts]
    return ["| system | generalizes? | basis |", "| --- | --- | --- |", *rows]


def _measured(result: RunResult | None) -> list[str]:
    if result is None:
        return ["No length was measured."]
    rows = [f"| {score.length} | {score.correct['exact_match']} of {score.n} |" for score in result.scores]
    return [f"Seed {result.seed}, exact matches.", "", "| length | exact |", "| --- | --- |", *rows]
