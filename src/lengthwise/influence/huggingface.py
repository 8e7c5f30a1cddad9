"""Adapts causal language models of Hugging Face's `transformers` to the `LanguageModel` interface.

A model needs full causal attention, position ids and an explicit attention mask, as GPT-2, Llama and GPT-NeoX have.
Loading tests this by masking tokens, and refuses other models."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Num
from numpy import ndarray
from torch import Tensor, nn

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.rng import stream
from lengthwise.influence.models import (
    at_last_token,
    batch_tokens,
    captured_vectors,
    check_folder,
    first_line,
    gradient_times_input,
    nats,
    of_transformers,
    opened,
    separable_mlp,
    tensor,
    without_progress_bars,
)
from lengthwise.models.device import chosen_device

SUITED = "use a causal model with full attention and position ids, such as GPT-2, Llama or GPT-NeoX"
TOLERANCE = 1e-3
"""Largest difference of masked and compact losses that rounding explains, relative to a loss of at least 1 nat."""
LENGTHS = ("max_position_embeddings", "n_positions", "max_sequence_length", "seq_length")
"""Under which names configurations say how many positions a model has."""
PROBED = 16
"""Tokens of the windows that loading tests."""


class HuggingFaceTokenizer:
    """A `transformers` tokenizer that adds no special tokens."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.vocab_size = len(inner)

    def encode(self, text: str) -> list[int]:
        """Token ids of ``text``, without a limit on its length."""
        return self.inner(text, add_special_tokens=False, verbose=False)["input_ids"]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The text of each token, decoded separately."""
        return [self.inner.decode([int(token)]) for token in ids]


class HuggingFaceModel:
    """A causal model of `transformers` in float32, on the device that LENGTHWISE_DEVICE names.

    ``max_length``, in tokens, overrides the model's configuration; a sliding window limits it, since attention is full
    within the window. Raises `LengthwiseError` if no maximum is known, or the model can't be masked.
    """

    def __init__(self, name: str, inner: Any, max_length: int | None = None, *, source: str | None = None) -> None:
        require(
            "position_ids" in inspect.signature(inner.forward).parameters,
            f"model {name} ({type(inner).__name__}) takes no position ids, so its tokens can't be masked; {SUITED}",
        )
        self.name, self._source = name, source
        self.inner = inner.float().eval()
        self.max_length: int | None = _max_length(name, inner.config, max_length)
        self.vocab_size = inner.get_input_embeddings().num_embeddings
        self.parameters = sum(parameter.numel() for parameter in inner.parameters())
        self.batch_tokens = batch_tokens(self._device)
        self._one_logit = "logits_to_keep" in inspect.signature(inner.forward).parameters
        self._last_mlp: nn.Module | None = None
        self._check_masks()
        self._last_mlp = separable_mlp(inner, self._probe)

    @classmethod
    def load(cls, source: str | Path, max_length: int | None = None) -> HuggingFaceModel:
        """Load a model from a folder or the hub, from safetensors only and without remote code.

        Raises `LengthwiseError` without the [lm] extra, if the model does not exist, or if it can't be masked.
        """
        auto = of_transformers("AutoModelForCausalLM")
        source = str(source)
        check_folder(source)
        with without_progress_bars():
            inner = opened(
                lambda: auto.from_pretrained(source, use_safetensors=True, trust_remote_code=False),
                f"model {source} can't be loaded",
            )
        inner = inner.to(chosen_device())
        return cls(Path(source).name if Path(source).is_dir() else source, inner, max_length, source=source)

    @cached_property
    def tokenizer(self) -> HuggingFaceTokenizer:
        """The tokenizer in the model's folder; raises `LengthwiseError` if it is missing."""
        require(self._source is not None, f"model {self.name} was not loaded from a folder and has no tokenizer")
        auto = of_transformers("AutoTokenizer")
        what = f"no tokenizer beside model {self.name}; save one into the same folder"
        found = HuggingFaceTokenizer(opened(lambda: auto.from_pretrained(self._source, trust_remote_code=False), what))
        # Some classes load without their files and encode every text as nothing.
        require(bool(found.encode("a text")), what)
        return found

    @torch.inference_mode()
    def target_losses(
        self, tokens: Int[ndarray, "B T"], positions: Num[ndarray, "B T"], targets: Int[ndarray, " B"]
    ) -> Float[ndarray, " B"]:
        """Losses from the visible tokens; logits and the last block's MLP are computed at the last token only."""
        with nullcontext() if self._last_mlp is None else at_last_token(self._last_mlp):
            return nats(self._last_logits(tokens, positions), targets)

    @torch.inference_mode()
    def masked_losses(
        self, tokens: Int[ndarray, "B Lbar"], visible: Bool[ndarray, "B Lbar"], targets: Int[ndarray, " B"]
    ) -> Float[ndarray, " B"]:
        """Losses under a mask of shape [B, 1, query, key], in which a masked token attends to itself only."""
        return self._masked(tokens, visible, targets, self.window_ids(tokens))

    def window_ids(self, tokens: Int[ndarray, "N Lbar"]) -> Num[ndarray, "N Lbar"]:
        """The position ids of whole windows: the positions."""
        return np.broadcast_to(np.arange(tokens.shape[1]), tokens.shape)

    def _masked(
        self,
        tokens: Int[ndarray, "B Lbar"],
        visible: Bool[ndarray, "B Lbar"],
        targets: Int[ndarray, " B"],
        ids: Num[ndarray, "B Lbar"],
    ) -> Float[ndarray, " B"]:
        """`masked_losses` under given position ids."""
        length = tokens.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool, device=self._device).tril()
        own = torch.eye(length, dtype=torch.bool, device=self._device)
        seen = causal & (tensor(visible, self._device)[:, None, None, :] | own)
        mask = torch.zeros(seen.shape, device=self._device).masked_fill(~seen, torch.finfo(torch.float32).min)
        return nats(self._forward(tokens, ids, mask).logits[:, -1], targets)

    @torch.inference_mode()
    def attention(self, tokens: Int[ndarray, "B T"], positions: Num[ndarray, "B T"]) -> Float[ndarray, "B T"]:
        """Mean attention of the last token to each; raises `LengthwiseError` if the model does not return it."""
        with self._eager():
            found = self._forward(tokens, positions, output_attentions=True).attentions
        layers = [layer for layer in found or () if layer is not None]
        require(bool(layers), f"model {self.name} does not return its attention; leave out rule attention")
        return torch.stack([layer[:, :, -1].double().mean(1) for layer in layers]).mean(0).cpu().numpy()

    def gradient_input(
        self, tokens: Int[ndarray, "B T"], positions: Num[ndarray, "B T"], targets: Int[ndarray, " B"]
    ) -> Float[ndarray, "B T"]:
        """−gradient · input of each token's embedding."""
        with captured_vectors(self.inner.get_input_embeddings()) as vectors:
            return gradient_times_input(self._last_logits(tokens, positions), targets, vectors)

    @property
    def _device(self) -> torch.device:
        return self.inner.get_input_embeddings().weight.device

    def _last_logits(self, tokens: Int[ndarray, "B T"], positions: Num[ndarray, "B T"]) -> Float[Tensor, "B V"]:
        keep: dict[str, Any] = {"logits_to_keep": 1} if self._one_logit else {}
        return self._forward(tokens, positions, **keep).logits[:, -1]

    def _forward(
        self, tokens: Int[ndarray, "B T"], positions: Num[ndarray, "B T"], mask: Tensor | None = None, **more: Any
    ) -> Any:
        # Without a mask, `transformers` treats gaps between positions as borders of packed sequences.
        mask = torch.ones(tokens.shape, dtype=torch.long, device=self._device) if mask is None else mask
        ids, position_ids = tensor(tokens, self._device), tensor(positions, self._device)
        return self._call(ids, position_ids, attention_mask=mask, use_cache=False, **more)

    def _call(self, ids: Tensor, position_ids: Tensor, **more: Any) -> Any:
        """The model on tokens with position ids."""
        return self.inner(input_ids=ids, position_ids=position_ids, **more)

    @contextmanager
    def _eager(self) -> Iterator[None]:
        """Use eager attention, which alone returns its weights, while the context is active."""
        before = self.inner.config._attn_implementation
        try:
            self.inner.set_attn_implementation("eager")
        except (AttributeError, ValueError):
            raise LengthwiseError(
                f"model {self.name} does not return its attention; leave out rule attention"
            ) from None
        try:
            yield
        finally:
            self.inner.set_attn_implementation(before)

    def _check_masks(self) -> None:
        """Test that masked tokens do not change the loss, and that masked and compact losses agree."""
        length = min(PROBED, self.max_length or PROBED)
        rng = stream(0, "masks")
        tokens = rng.integers(self.vocab_size, size=(2, length))
        visible = np.arange(length) % 2 == (length - 1) % 2
        tokens[1, visible] = tokens[0, visible]
        targets = rng.integers(self.vocab_size, size=1).repeat(2)
        what = f"model {self.name} ({type(self.inner).__name__}) can't be masked"
        # Plain ids, since a rule that reads tokens may refuse random ones.
        ids = np.tile(np.arange(length), (2, 1))
        try:
            with torch.inference_mode():
                masked = self._masked(tokens, np.stack([visible, visible]), targets, ids)
            compact = self.target_losses(tokens[:1, visible], ids[:1, visible], targets[:1])
        except (TypeError, ValueError, RuntimeError, IndexError, NotImplementedError) as error:
            raise LengthwiseError(f"{what} ({first_line(error)}); {SUITED}") from None
        if not np.isfinite([*masked, *compact]).all():
            raise LengthwiseError(f"model {self.name} gives losses that are not finite; its weights are damaged")
        apart = max(abs(masked[0] - masked[1]), abs(masked[0] - compact[0]))
        require(
            apart <= TOLERANCE * max(1.0, abs(masked[0])),
            f"{what}: masked tokens move its loss by {apart:.2g} nats; {SUITED}",
        )

    def _probe(self) -> Float[ndarray, " 2"]:
        """Losses of two random windows."""
        rng, length = stream(0, "probe"), min(PROBED, self.max_length or PROBED)
        tokens, targets = rng.integers(self.vocab_size, size=(2, length)), rng.integers(self.vocab_size, size=2)
        return self.target_losses(tokens, np.tile(np.arange(length), (2, 1)), targets)


def _max_length(name: str, settings: Any, given: int | None) -> int:
    if given is None:
        stated = (getattr(settings, key, None) for key in LENGTHS)
        given = next((value for value in stated if isinstance(value, int) and value > 0), None)
    require(given is not None, f"model {name} states no maximum length; say how many tokens it takes: `max_length`")
    window = getattr(settings, "sliding_window", None)
    assert given is not None
    return min(given, window) if isinstance(window, int) and window > 0 else given
