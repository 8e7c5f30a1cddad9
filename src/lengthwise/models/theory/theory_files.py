"""Saves and loads Limit and finite transformers: weights as safetensors, everything else as JSON in the header.

Loading checks shapes, finiteness and φ, and executes no code of the file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.files import replacing
from lengthwise.models.tensor_digest import digest_of
from lengthwise.models.theory.finite import FiniteTransformer
from lengthwise.models.theory.limit import LimitTransformer, TheoryTransformer
from lengthwise.models.theory.limit_parts import LimitHead, LimitLayer, LimitMlp

FORMAT = 1
_KINDS: dict[str, type[TheoryTransformer]] = {"limit": LimitTransformer, "finite": FiniteTransformer}


def save_theory(model: TheoryTransformer, path: Path, *, source: str = "") -> None:
    """Write a model atomically; ``source`` may hold the text of its program."""
    kind = next(name for name, cls in _KINDS.items() if isinstance(model, cls))
    description = {
        "format": FORMAT,
        "kind": kind,
        "symbols": model.symbols,
        "outputs": model.outputs,
        "dimensions": model.dimensions,
        "precision": model.precision,
        "heads": [[head.name for head in layer.heads] for layer in model.layers],
        "source": source,
    }
    tensors = {name: value.contiguous() for name, value in model.state_dict().items()}
    with replacing(path) as temporary:
        try:
            text = json.dumps(description)
            save_file(tensors, temporary, metadata={"lengthwise": text, "digest": digest_of(tensors, text)})
        except SafetensorError as error:
            # It wraps the system's error as text; `replacing` knows what to say about those.
            raise OSError(str(error)) from None


def load_theory(path: Path) -> LimitTransformer | FiniteTransformer:
    """Read a model; raises `LengthwiseError` if the file is missing, damaged, of another format, or malformed."""
    damaged = LengthwiseError(f"model file {path} is damaged or of another format; compile the program again")
    if not path.exists():
        raise LengthwiseError(f"no model file at {path}; check the path")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = dict(file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        text = metadata.pop("lengthwise")
        # Older files have no digest.
        sound = not metadata or metadata == {"digest": digest_of(tensors, text)}
        description = json.loads(text)
        if not sound or description["format"] != FORMAT:
            raise damaged
        return _build(description, tensors)
    except (SafetensorError, KeyError, TypeError, ValueError, IndexError, OSError):
        raise damaged from None


def _build(description: dict[str, Any], tensors: dict[str, Tensor]) -> Any:
    layers = []
    for number, names in enumerate(description["heads"]):
        heads = []
        for index, name in enumerate(names):
            prefix = f"layers.{number}.heads.{index}."
            fields = {field: tensors[prefix + field] for field in ("key", "query", "value_in", "value_out", "phi")}
            heads.append(LimitHead(str(name), **fields))
        mlp = (tensors[f"layers.{number}.mlp.{field}"] for field in ("weight_in", "bias", "step", "weight_out"))
        layers.append(LimitLayer(heads, LimitMlp(*mlp)))
    return _KINDS[description["kind"]](
        [str(symbol) for symbol in description["symbols"]],
        [str(output) for output in description["outputs"]],
        embeddings=tensors["embeddings"],
        positions=tensors["positions"],
        layers=layers,
        readout=tensors["readout"],
        dimensions=[str(name) for name in description["dimensions"]],
        precision=description["precision"],
    )
