"""Reads and writes a language model's folder: ``config.json``, ``tokenizer.json`` and ``model.safetensors``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lengthwise.core.config import fields_of, from_fields
from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.files import LOCK, read_json
from lengthwise.core.result_file import read_sealed, write_sealed
from lengthwise.influence.lm.config import LMConfig
from lengthwise.influence.text.tokenizer import OwnTokenizer, load_tokenizer, save_tokenizer, tokenizer_digest

if TYPE_CHECKING:
    from lengthwise.influence.models.language_model import OwnModel
    from lengthwise.models.transformer import Transformer

LM_FORMAT = 1
CONFIG, MODEL = "config.json", "model.safetensors"
TOKENIZER = "model with the tokenizer "
"""How the text about a model begins; the digest of its tokenizer follows. Older files say ``model``."""


def is_lm(folder: Path) -> bool:
    """Whether ``config.json`` declares a language model, whose training may be unfinished."""
    try:
        values = read_json(folder / CONFIG)
    except LengthwiseError:
        return False
    return isinstance(values, dict) and values.get("kind") == "lm"


def description(config: LMConfig, corpus: dict[str, Any]) -> dict[str, Any]:
    """The contents of ``config.json``; ``corpus`` is the value of `Corpus.describe`."""
    return {"format": LM_FORMAT, "kind": "lm", "config": fields_of(config), "corpus": corpus}


def claim_lm_dir(folder: Path, config: LMConfig, corpus: dict[str, Any]) -> None:
    """Create the folder of a model, or check that it belongs to this configuration and text.

    Raises `LengthwiseError` if the folder holds other files.
    """
    path, mine = folder / CONFIG, description(config, corpus)
    if path.exists():
        found = read_sealed(path, "model configuration")
        require(
            isinstance(found, dict) and found.get("kind") == "lm",
            f"{folder} is not the folder of a language model; choose another --out",
        )
        for key, words in (("config", "configuration"), ("corpus", "text"), ("format", "format")):
            require(found.get(key) == mine[key], f"{folder} holds a model of another {words}; choose another --out")
        return
    require(not folder.exists() or folder.is_dir(), f"{folder} is a file, not a folder; choose another --out")
    if folder.exists() and any(not file.name.endswith((".tmp", LOCK)) for file in folder.iterdir()):
        raise LengthwiseError(f"{folder} is not empty and not the folder of a language model; choose another --out")
    write_sealed(path, mine)


def save_lm(
    folder: Path, transformer: Transformer, tokenizer: OwnTokenizer, config: LMConfig, corpus: dict[str, Any]
) -> None:
    """Write the three files atomically; raises `LengthwiseError` if the weights are not finite."""
    from lengthwise.training import checkpoint

    write_sealed(folder / CONFIG, description(config, corpus))
    save_tokenizer(tokenizer, folder)
    about = TOKENIZER + tokenizer_digest(tokenizer)
    checkpoint.save_tensors(folder / MODEL, transformer.state_dict(), about, step=config.steps)


def read_config(folder: Path) -> tuple[LMConfig, dict[str, Any]]:
    """Configuration and corpus of the model in a folder; raises `LengthwiseError` if there is none."""
    values = read_sealed(folder / CONFIG, "language model")
    require(
        isinstance(values, dict) and values.get("kind") == "lm" and values.get("format") == LM_FORMAT,
        f"{folder} holds no language model of this format; train one with `lengthwise lm train`",
    )
    for key in ("config", "corpus"):
        require(isinstance(values.get(key), dict), f"{folder / CONFIG} lacks {key!r}; train the model again")
    return from_fields(LMConfig, values["config"], where=str(folder / CONFIG)), values["corpus"]


def new_transformer(config: LMConfig, vocab_size: int) -> Transformer:
    """A randomly initialized transformer of this configuration."""
    from lengthwise.models.transformer import Transformer
    from lengthwise.positions.encodings import ENCODINGS, EncodingShape

    model = config.model()
    shape = EncodingShape(model.width, model.heads, model.head_width, ("position",), config.longest)
    return Transformer(model, ENCODINGS.build("rope"), vocab_size, shape, predicts_ids=False)


def load_lm(folder: Path) -> tuple[OwnModel, OwnTokenizer]:
    """The model and tokenizer of a folder; rotary encodings set no maximum length.

    Raises `LengthwiseError` if the folder holds no model, or its model is unfinished or damaged.
    """
    import torch

    from lengthwise.influence.models.language_model import OwnModel
    from lengthwise.training import checkpoint

    config, _ = read_config(folder)
    path = folder / MODEL
    require(path.exists(), f"the training of {folder} has not ended; give `lengthwise lm train` again to go on")
    tensors, metadata = checkpoint.load_tensors(path)
    about = metadata.get("about", "")
    tokenizer = load_tokenizer(folder, expected=about.removeprefix(TOKENIZER) if about.startswith(TOKENIZER) else None)
    with torch.random.fork_rng(devices=[]):
        transformer = new_transformer(config, tokenizer.vocab_size)
    try:
        transformer.load_state_dict(tensors)
    except RuntimeError:
        raise checkpoint.damage(path) from None
    return OwnModel(folder.resolve().name, transformer, None), tokenizer
