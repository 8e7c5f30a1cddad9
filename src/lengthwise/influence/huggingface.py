"""Adapts causal language models of Hugging Face's `transformers` to the `LanguageModel` interface.

A model needs full causal attention, position ids and an explicit attention mask, as GPT-2, Llama and GPT-NeoX have.
Loading tests this by masking tokens, and refuses other models."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Num
from numpy import ndarray
from torch import Tensor

from lengthwise.core.errors import LengthwiseError, require, shortened
from lengthwise.core.rng import stream
from lengthwise.influence.models import (
    Ids,
    LanguageModel,
    Nats,
    PerToken,
    Targets,
    Tokens,
    batch_tokens,
    captured_vectors,
    gradient_times_input,
    model_type,
    nats,
    tensor,
)
from lengthwise.models.device import chosen_device
from lengthwise.positions.saved import attached

SUITED = "use a causal model with full attention and position ids, such as GPT-2, Llama or GPT-NeoX"
TOLERANCE = 1e-3
"""Largest difference of masked and compact losses that rounding explains, relative to a loss of at least 1 nat."""
NEAR = 4
"""Tokens that are decoded together with one, for its blanks."""
LENGTHS = ("max_position_embeddings", "n_positions", "max_sequence_length", "seq_length")
"""Under which names configurations say how many positions a model has."""
HUB_SECONDS = 10.0
"""The longest wait for the hub's word on a name."""
TOKENIZER_FILES = ("tokenizer*", "vocab*", "*.model")
REACHES = 0.001
"""The largest difference that passes where reach is tested, relative to what the first token changes."""
DRAWS = 4
"""Windows of random tokens on which reach is tested."""
PROBED = 16
"""Tokens of the windows that loading tests, and that are visible where the reach of attention is tested."""


class HuggingFaceTokenizer:
    """A `transformers` tokenizer that adds no special tokens; ``bos`` is the one that it would put in front."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.vocab_size = len(inner)
        first = inner("a", verbose=False)["input_ids"][:1]
        self.bos: int | None = first[0] if first and first[0] == inner.bos_token_id else None
        self._anchor = self.encode("a")[:1]

    def encode(self, text: str) -> list[int]:
        """Token ids of ``text``, without a limit on its length."""
        return self.inner(text, add_special_tokens=False, verbose=False)["input_ids"]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """What each token adds to the text before it, blanks included; joined they are the text.

        A character of several tokens is the text of the last of them. A token stands before the first one, since many
        decoders drop a blank at the beginning.
        """
        found, behind, start = [], list(self._anchor), 0
        before = self._decoded(behind)
        for index, token in enumerate(ids):
            behind.append(int(token))
            after = self._decoded(behind[start:])
            if after.endswith("\ufffd") and index + 1 < len(ids):
                found.append("")
                continue
            found.append(after[len(before) :])
            # What is decoded next begins a few tokens back.
            start = max(0, len(behind) - NEAR)
            before = self._decoded(behind[start:])
        return found

    def _decoded(self, ids: list[int]) -> str:
        return self.inner.decode(ids, clean_up_tokenization_spaces=False)


class HuggingFaceModel(LanguageModel):
    """A causal model of `transformers` in float32, on the device that LENGTHWISE_DEVICE names.

    ``max_length``, in tokens, overrides the model's configuration; a sliding window limits it, since attention is full
    within the window. ``bos`` is a token that stands before every window, always visible, for models that were trained
    with one; a loaded model has the one that its tokenizer adds. Raises `LengthwiseError` if no maximum is known, or
    the model can't be masked, and later for windows that are longer than its attention reaches.
    """

    def __init__(
        self, name: str, inner: Any, max_length: int | None = None, *, source: str | None = None, bos: int | None = None
    ) -> None:
        require(
            "position_ids" in inspect.signature(inner.forward).parameters,
            f"model {name} ({type(inner).__name__}) takes no position ids, so its tokens can't be masked; {SUITED}",
        )
        self.name, self._source, self.bos = name, source, bos
        attached(inner)
        self.inner = inner.float().eval()
        self.max_length: int | None = _max_length(name, inner.config, max_length) - (bos is not None)
        self._reached = 0
        self.vocab_size = inner.get_input_embeddings().num_embeddings
        self.parameters = sum(parameter.numel() for parameter in inner.parameters())
        self.batch_tokens = batch_tokens(self._device)
        self._one_logit = "logits_to_keep" in inspect.signature(inner.forward).parameters
        self._check_masks()

    @classmethod
    def load(cls, source: str | Path, max_length: int | None = None) -> HuggingFaceModel:
        """Load a model from a folder or the hub, from safetensors only and without remote code.

        Raises `LengthwiseError` without the [lm] extra, if the model does not exist, or if it can't be masked.
        """
        source = str(source)
        check_folder(source)
        require(
            model_type(Path(source)) != "lengthwise",
            f"{source} holds the model of a task, which reads no text; measure it alone, as `model`",
        )
        what = f"model {source} can't be loaded"
        inner = loaded("AutoModelForCausalLM", source, what, use_safetensors=True).to(chosen_device())
        name = Path(source).name if Path(source).is_dir() else source
        try:
            bos = HuggingFaceTokenizer(loaded_tokenizer(source)).bos
        except LengthwiseError:
            bos = None  # A model without a tokenizer is measured on tokens.
        return cls(name, inner, max_length, source=source, bos=bos)

    @cached_property
    def tokenizer(self) -> HuggingFaceTokenizer:
        """The tokenizer in the model's folder; raises `LengthwiseError` if it is missing."""
        require(self._source is not None, f"model {self.name} was not loaded from a folder and has no tokenizer")
        assert self._source is not None
        return HuggingFaceTokenizer(loaded_tokenizer(self._source))

    @torch.inference_mode()
    def target_losses(self, tokens: Tokens, positions: Ids, targets: Targets) -> Nats:
        return nats(self._last_logits(tokens, positions), targets)

    def window_ids(self, tokens: Tokens) -> Ids:
        """Raises `LengthwiseError` if some layer's attention does not reach from one end of a window to the other."""
        self._check_reach(tokens.shape[1])
        return super().window_ids(tokens)

    def _masked(self, tokens: Tokens, visible: Bool[ndarray, "B T"], targets: Targets, ids: Ids) -> Nats:
        """Losses under a mask of shape [B, 1, query, key], in which a masked token attends to itself only."""
        length = tokens.shape[1] + (self.bos is not None)
        visible = np.pad(visible, ((0, 0), (length - visible.shape[1], 0)), constant_values=True)
        causal = torch.ones(length, length, dtype=torch.bool, device=self._device).tril()
        own = torch.eye(length, dtype=torch.bool, device=self._device)
        seen = causal & (tensor(visible, self._device)[:, None, None, :] | own)
        mask = torch.zeros(seen.shape, device=self._device).masked_fill(~seen, torch.finfo(torch.float32).min)
        return nats(self._forward(tokens, ids, mask).logits[:, -1], targets)

    @torch.inference_mode()
    def attention(self, tokens: Tokens, positions: Ids) -> PerToken:
        """Raises `LengthwiseError` if the model does not return its attention."""
        with self._eager():
            found = self._forward(tokens, positions, output_attentions=True).attentions
        layers = [layer for layer in found or () if layer is not None]
        require(bool(layers), f"model {self.name} does not return its attention; leave out rule attention")
        mean = torch.stack([layer[:, :, -1].double().mean(1) for layer in layers]).mean(0).cpu().numpy()
        return mean[:, mean.shape[1] - tokens.shape[1] :]

    def gradient_input(self, tokens: Tokens, positions: Ids, targets: Targets) -> PerToken:
        with captured_vectors(self.inner.get_input_embeddings()) as vectors:
            found = gradient_times_input(self._last_logits(tokens, positions), targets, vectors)
        return found[:, found.shape[1] - tokens.shape[1] :]

    @property
    def _device(self) -> torch.device:
        return self.inner.get_input_embeddings().weight.device

    def _last_logits(self, tokens: Tokens, positions: Ids) -> Float[Tensor, "B V"]:
        keep: dict[str, Any] = {"logits_to_keep": 1} if self._one_logit else {}
        return self._forward(tokens, positions, **keep).logits[:, -1]

    def _forward(self, tokens: Tokens, positions: Ids, mask: Tensor | None = None, **more: Any) -> Any:
        if self.bos is not None:
            tokens = np.pad(tokens, ((0, 0), (1, 0)), constant_values=self.bos)
            positions = self._behind_bos(positions)
        # Without a mask, `transformers` treats gaps between positions as borders of packed sequences.
        mask = torch.ones(tokens.shape, dtype=torch.long, device=self._device) if mask is None else mask
        ids, position_ids = tensor(tokens, self._device), tensor(positions, self._device)
        return self._call(ids, position_ids, attention_mask=mask, use_cache=False, **more)

    def _call(self, ids: Tensor, position_ids: Tensor, **more: Any) -> Any:
        return self.inner(input_ids=ids, position_ids=position_ids, **more)

    def _behind_bos(self, positions: Ids) -> Num[ndarray, "B T+1"]:
        """The position ids with that of the token in front."""
        return np.pad(positions + 1, ((0, 0), (1, 0)))

    @torch.inference_mode()
    def _check_reach(self, length: int) -> None:
        """Tests that the last of ``length`` tokens sees the first one in every layer, once for each length.

        All but the first token and the last few are hidden by a mask over the whole window, from which the model
        derives its local windows, whatever its configuration calls them; the same tokens alone, at their positions,
        must give the same logits. Raises `LengthwiseError` with the longest window that passes.
        """
        if length <= max(self._reached, PROBED):
            return
        if self._reaches(length):
            self._reached = length
            return
        low, high = PROBED, length
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._reaches(middle) else (low, middle)
        raise LengthwiseError(
            f"some layers of model {self.name} see the last tokens only (local attention): windows of {length} "
            f"tokens are longer than their reach; use a context of at most {low} tokens"
        )

    def _reaches(self, length: int) -> bool:
        device, keep = self._device, {"logits_to_keep": 1} if self._one_logit else {}
        seen = torch.zeros(1, length, dtype=torch.long, device=device)
        seen[:, :1] = seen[:, -PROBED // 2 :] = 1
        ids = torch.arange(length, device=device)[None]
        parts = torch.ones_like(seen[0]).bool(), seen[0].bool(), seen[0].bool() & (ids[0] > 0)
        for number in range(DRAWS):
            rng = stream(0, "reach", number)
            tokens = tensor(rng.integers(self.vocab_size, size=(1, length)), device)
            given = {"use_cache": False, **keep}
            whole, alone, without = (
                self._call(tokens[:, part], ids[:, part], attention_mask=seen[:, part], **given).logits[0, -1]
                for part in parts
            )
            noise = 1e-5 * alone.abs().max()
            if (whole - alone).abs().max() > REACHES * (without - alone).abs().max() + noise:
                return False
        return True

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
            raise LengthwiseError(f"{what} ({_first_line(error)}); {SUITED}") from None
        if not np.isfinite([*masked, *compact]).all():
            raise LengthwiseError(f"model {self.name} gives losses that are not finite; its weights are damaged")
        apart = max(abs(masked[0] - masked[1]), abs(masked[0] - compact[0]))
        require(
            apart <= TOLERANCE * max(1.0, abs(masked[0])),
            f"{what}: masked tokens move its loss by {apart:.2g} nats; {SUITED}",
        )


def loaded(auto: str, source: str, what: str, *, extra: str = "lm", **options: Any) -> Any:
    """What a class of `transformers` loads from a folder or the hub, without remote code.

    Raises `LengthwiseError`, with ``what`` if that fails, and with the ``extra`` that brings the package.
    """
    try:
        import transformers
    except ImportError:
        raise LengthwiseError(
            f"models of Hugging Face need the package transformers; run: pip install 'lengthwise[{extra}]'"
        ) from None
    if not Path(source).is_dir():
        _check_hub(source)
    logging = transformers.utils.logging
    logging.disable_progress_bar()
    try:
        return getattr(transformers, auto).from_pretrained(source, trust_remote_code=False, **options)
    # The package raises errors without a common type for missing and damaged files.
    except Exception as error:
        raise LengthwiseError(f"{what} ({type(error).__name__}: {_first_line(error)})") from None
    finally:
        logging.enable_progress_bar()


def _check_hub(source: str) -> None:
    """Raises `LengthwiseError` for what is neither here nor on the hub; one request, where loading would try many."""
    from huggingface_hub import HfApi, try_to_load_from_cache

    looks_local = Path(source).is_absolute() or source.startswith((".", "~")) or source.count("/") > 1
    require(not looks_local, f"no folder {source}; check `model`")
    try:
        if not isinstance(try_to_load_from_cache(source, "config.json"), str):
            HfApi().model_info(source, timeout=HUB_SECONDS)
    # Errors of names, of the network and of the hub have no common type.
    except Exception as error:
        why = f"{type(error).__name__}: {_first_line(error)}"
        raise LengthwiseError(
            f"no folder {source}, and no model of that name from the hub ({why}); check `model`"
        ) from None


def check_folder(source: str) -> None:
    """Raises `LengthwiseError` for a folder that holds no model."""
    found = not Path(source).is_dir() or (Path(source) / "config.json").is_file()
    require(found, f"folder {source} holds no model (config.json is missing); check `model`")


def loaded_tokenizer(source: str, extra: str = "lm") -> Any:
    """The tokenizer of a folder or a hub name; raises `LengthwiseError` if there is none."""
    folder, name = Path(source), Path(source).name if Path(source).is_dir() else source
    none = (
        f"no tokenizer beside model {name}; save the one of its training into the same folder, which for a model of "
        "lengthwise.hf.dataset is lengthwise.hf.task_tokenizer(task)"
    )
    require(not folder.is_dir() or any(next(folder.glob(kind), None) for kind in TOKENIZER_FILES), none)
    found = loaded("AutoTokenizer", source, f"the tokenizer of {name} can't be loaded", extra=extra)
    # Some classes load without their files and encode every text as nothing.
    require(bool(found("a text", verbose=False)["input_ids"]), none)
    return found


def _first_line(error: Exception) -> str:
    return shortened((str(error).strip().splitlines() or [""])[0]).rstrip(".")


def _max_length(name: str, settings: Any, given: int | None) -> int:
    if given is None:
        stated = (getattr(settings, key, None) for key in LENGTHS)
        given = next((value for value in stated if isinstance(value, int) and value > 0), None)
    require(given is not None, f"model {name} states no maximum length; say how many tokens it takes: `max_length`")
    window = getattr(settings, "sliding_window", None)
    assert given is not None
    return min(given, window) if isinstance(window, int) and window > 0 else given
