"""Defines the tokenizers of our language models: bytes and byte-pair encoding (BPE; Sennrich et al. 2016).

Ids 0 to 3 are the special tokens; no text is encoded as one of them."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.config import digest
from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.files import read_json, write_text
from lengthwise.core.vocab import SPECIALS

BYTES = 256
FILE = "tokenizer.json"


class Tokenizer(Protocol):
    """The interface between text and token ids."""

    @property
    def vocab_size(self) -> int:
        """Number of ids."""
        ...

    def encode(self, text: str) -> list[int]:
        """Token ids of ``text``."""
        ...

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The text of each token for display; bytes of an incomplete character are written ``\\xNN``."""
        ...


class OwnTokenizer(ABC):
    """A tokenizer whose tokens are the special ones and pieces of UTF-8; `save_tokenizer` writes it."""

    _bytes: list[bytes]
    """The bytes of each token behind the special ones."""

    @property
    def vocab_size(self) -> int:
        return len(SPECIALS) + len(self._bytes)

    @abstractmethod
    def encode(self, text: str) -> list[int]: ...

    @abstractmethod
    def to_json(self) -> str:
        """JSON text; equal texts describe equal tokenizers."""

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The text of each token for display; bytes of an incomplete character are written ``\\xNN``."""
        shown = [*SPECIALS, *(token.decode("utf-8", errors="backslashreplace") for token in self._bytes)]
        return [shown[i] for i in ids]

    @cached_property
    def sizes(self) -> Int[ndarray, " V"]:
        """Bytes of each token; 0 for special tokens."""
        return np.array([0] * len(SPECIALS) + [len(token) for token in self._bytes])


class Bytes(OwnTokenizer):
    """One token per byte of UTF-8."""

    kind = "bytes"
    _bytes = [bytes([byte]) for byte in range(BYTES)]  # noqa: RUF012

    def encode(self, text: str) -> list[int]:
        return (np.frombuffer(text.encode(), dtype=np.uint8).astype(np.int64) + len(SPECIALS)).tolist()

    def to_json(self) -> str:
        return json.dumps({"kind": self.kind})


class BPE(OwnTokenizer):
    """A byte-level BPE of the `tokenizers` library; merges do not cross words, and every text can be encoded."""

    kind = "bpe"

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        # Without this setting, which the file does not store, the text "<pad>" becomes a special token.
        tokenizer.encode_special_tokens = True
        table = _byte_letters()
        tokens = [tokenizer.id_to_token(i) or "" for i in range(len(SPECIALS), tokenizer.get_vocab_size())]
        self._bytes = [bytes(table.get(letter, 63) for letter in token) for token in tokens]

    def encode(self, text: str) -> list[int]:
        return self._tokenizer.encode(text, add_special_tokens=False).ids

    def to_json(self) -> str:
        """JSON text in the format of the `tokenizers` library."""
        return self._tokenizer.to_str(pretty=True)


def _byte_letters() -> dict[str, int]:
    """Byte-level BPE writes visible bytes as the same character and the others as U+0100 and following."""
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(BYTES) if byte not in set(visible)]
    return {chr(b): b for b in visible} | {chr(BYTES + i): b for i, b in enumerate(hidden)}


def train_bpe(texts: Iterable[str], vocabulary: int) -> BPE:
    """A BPE of at most ``vocabulary`` tokens, trained on ``texts``.

    Raises `LengthwiseError` without the `tokenizers` library, or if ``vocabulary`` is below 260.
    """
    least = len(SPECIALS) + BYTES
    require(vocabulary >= least, f"a bpe vocabulary holds the 256 bytes: at least {least} tokens, got {vocabulary}")
    tokenizers = _library()
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=list(SPECIALS),
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return BPE(tokenizer)


def _library() -> Any:
    try:
        import tokenizers
        import tokenizers.decoders
        import tokenizers.models
        import tokenizers.pre_tokenizers
        import tokenizers.trainers
    except ImportError:
        raise LengthwiseError(
            "a bpe tokenizer needs the lm extra; run: pip install 'lengthwise[lm]'; bytes as `tokenizer` need none"
        ) from None
    return tokenizers


def save_tokenizer(tokenizer: OwnTokenizer, folder: Path) -> None:
    """Write ``tokenizer.json``."""
    write_text(folder / FILE, tokenizer.to_json() + "\n")


def tokenizer_digest(tokenizer: OwnTokenizer) -> str:
    """A fingerprint of everything in a tokenizer's file, which a model keeps to know its own."""
    return digest(json.loads(tokenizer.to_json()))


def load_tokenizer(folder: Path, *, expected: str | None = None) -> OwnTokenizer:
    """Read ``tokenizer.json``; raises `LengthwiseError` if it is missing, damaged or of another format.

    It must have the digest that is ``expected``, if one is given.
    """
    path = folder / FILE
    values = read_json(path, what="tokenizer")
    if expected is not None:
        require(
            digest(values) == expected,
            f"tokenizer {path} is not the one that the model was trained with; restore the file, or train again",
        )
    if values == {"kind": Bytes.kind}:
        return Bytes()
    tokenizers = _library()
    try:
        merges, vocabulary = values["model"]["merges"], values["model"]["vocab"]
        # A pair that makes no token ends in a panic of the library.
        require(all(first + second in vocabulary for first, second in merges), "a pair makes no token")
        tokenizer = BPE(tokenizers.Tokenizer.from_str(json.dumps(values)))
    # The library raises `Exception` itself.
    except Exception:
        raise LengthwiseError(f"tokenizer {path} is damaged or of another format; train the model again") from None
    ids = sorted(tokenizer._tokenizer.get_vocab().values())
    # What ours have none of: it would change the text, or end in a panic of the library.
    parts = [key for key in ("normalizer", "truncation", "padding", "post_processor") if values.get(key) is not None]
    require(
        not parts and ids == list(range(len(ids))),
        f"tokenizer {path} is not one of ours: {f'it has a {parts[0]}' if parts else 'its ids have holes'}",
    )
    tokens = [tokenizer._tokenizer.id_to_token(i) for i in range(len(SPECIALS))]
    require(tokens == list(SPECIALS), f"tokenizer {path} is not one of ours: ids 0 to 3 are not {' '.join(SPECIALS)}")
    return tokenizer
