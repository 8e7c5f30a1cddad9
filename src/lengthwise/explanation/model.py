"""The model that is explained, and its accuracy against length.

A `Subject` joins a `Network` (a run of ours, a Hugging Face folder, a compiled program or a function) with a task: it
translates the task's tokens to those of the model, gives position ids, and answers in the task's tokens. Nothing in a
model's folder is executed: weights are read from safetensors only.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Num
from numpy import ndarray
from safetensors import SafetensorError
from torch import Tensor, nn

from lengthwise.core.batch import Batch
from lengthwise.core.config import config, whole
from lengthwise.core.errors import LengthwiseError, OutOfTimeError, require
from lengthwise.core.files import read_json
from lengthwise.core.rng import Rng, stream
from lengthwise.core.vocab import EOS, PAD, SPECIALS
from lengthwise.evaluation.accuracy import CHUNK_PAIRS, CHUNK_TOKENS, judge
from lengthwise.experiments.run_config import RunConfig
from lengthwise.experiments.trained import load_exported, load_trained
from lengthwise.explanation.clock import FEW, Clock
from lengthwise.explanation.given import given, same_size, same_task, title_of, tokens_of
from lengthwise.languages.automaton import Dfa, Word
from lengthwise.languages.counter import COUNTER_LANGUAGES
from lengthwise.models.generate import END
from lengthwise.models.inputs import Inputs
from lengthwise.models.limit import LimitHead, TheoryTransformer, load_theory
from lengthwise.models.mixers import AttentionSpec
from lengthwise.models.transformer import Transformer
from lengthwise.nn.absolute import NoPE
from lengthwise.positions.saved import SAVED, attached
from lengthwise.positions.schemes import PositionScheme
from lengthwise.prediction.search import words_of_task
from lengthwise.tasks import Task
from lengthwise.tasks.kinds import joined, select
from lengthwise.tasks.language import Language

Offset = int | Literal["random"]
MOST_ASKED = 512
"""Lengths beyond this are asked only where they are at most three times the trained one, or are chosen."""


class Network(ABC):
    """A model in its own tokens: logits, and where its inside is known, attention and the ablation of heads."""

    model: Any = None
    """The module with the weights, where there is one."""
    tokens: tuple[str, ...] | None = None
    """Names of the input ids, where the model has them."""
    outputs: tuple[str, ...] | None = None
    """Names of the logits, where they differ from the input ids."""
    positions: int | None = None
    """Position ids are below this; None: there is no bound."""
    rule: Any = None
    """The rule by which the model gives its position ids itself; None: it takes those that it is given."""
    described: object = None
    """The rule as JSON values."""
    heads: tuple[tuple[str, ...], ...] = ()
    """Names of the heads by layer; none where the inside is not known."""
    attends = True
    """Whether every layer has attention, as far as is known."""
    positioned = True
    """Whether its outputs depend on position ids, as far as is known."""
    first_position = 0

    @abstractmethod
    def logits(self, ids: Int[Tensor, "B T"], positions: Int[Tensor, "B T L"]) -> Float[Tensor, "B T V"]:
        """The logits after every token."""

    def own_ids(self, ids: Int[Tensor, "B T"], *, training: bool = False) -> Num[Tensor, "B T"] | None:
        """The position ids that the model gives tokens itself by its `rule`; None without one."""
        return None

    def attention(self, ids: Int[Tensor, "B T"], positions: Int[Tensor, "B T L"]) -> list[Float[Tensor, "B H T T"]]:
        """The attention weights of every layer."""
        raise NotImplementedError

    def sharpness(self, tokens: int) -> Float[ndarray, " T"]:
        """By what the model multiplies attention logits at each position, on purpose, as the context grows."""
        return np.ones(tokens)

    @contextmanager
    def ablated(self, layer: int, head: int) -> Iterator[None]:
        """While active, the output of one head is its mean over the strings of the batch, position by position."""
        raise NotImplementedError
        yield

    def digest(self) -> str | None:
        """Twelve hexadecimal digits of all weights and settings of the model; None where they are not known."""
        if self.model is None:
            return None
        settings: Any = getattr(self.model, "config", None)
        total = hashlib.blake2b(digest_size=6)
        if hasattr(settings, "to_dict"):
            settings = {key: value for key, value in settings.to_dict().items() if not key.startswith("_name")}
        total.update(f"{settings} {self.described}".encode())
        for name, module in self.model.named_modules():
            plain = {key: value for key, value in vars(module).items() if key != "name_or_path" and _is_plain(value)}
            total.update(f"{name} {type(module).__qualname__} {plain}\n".encode())
        for name, value in (*self.model.named_parameters(), *self.model.named_buffers()):
            numbers = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
            total.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode() + numbers.tobytes())
        return total.hexdigest()


def _is_plain(value: object) -> bool:
    return isinstance(value, int | float | str) or (isinstance(value, tuple) and all(map(_is_plain, value)))


@contextmanager
def _mean_of_slice(module: nn.Module, part: slice) -> Iterator[None]:
    """While active, the inputs ``part`` of an output matrix are their mean over the batch."""

    def hook(_: nn.Module, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        x = given[0].clone()
        x[..., part] = x[..., part].mean(0, keepdim=True)
        return (x, *given[1:])

    handle = module.register_forward_pre_hook(hook)
    try:
        yield
    finally:
        handle.remove()


class OwnNetwork(Network):
    """A transformer of ours."""

    def __init__(self, model: Transformer, tokens: Sequence[str]) -> None:
        self.model, self.tokens = model.eval(), tuple(tokens)
        loops = model.config.loops if isinstance(model.config.loops, int) else 0
        names = tuple(f"head {head}" for head in range(model.config.heads))
        self.attends = all(isinstance(mixer, AttentionSpec) for mixer in model.config.mixers)
        self.heads = (names,) * (len(model.blocks) * loops * self.attends)
        self.positioned = not isinstance(model.encoding, NoPE)

    def logits(self, ids: Tensor, positions: Tensor) -> Tensor:
        return self.model(ids, positions).logits

    def attention(self, ids: Tensor, positions: Tensor) -> list[Tensor]:
        return list(self.model.attention(ids, positions, slice(0, ids.shape[1])))

    def sharpness(self, tokens: int) -> ndarray:
        c = self.model.config.log_length
        return np.ones(tokens) if c is None else np.log(np.arange(1, tokens + 1)) / math.log(c)

    @contextmanager
    def ablated(self, layer: int, head: int) -> Iterator[None]:
        width = self.model.config.head_width
        out = self.model.blocks[layer % len(self.model.blocks)].attention.out
        with _mean_of_slice(out, slice(head * width, (head + 1) * width)):
            yield


OUTPUT_MATRICES = ("attn.c_proj", "self_attn.o_proj", "attention.dense", "self_attn.out_proj")
"""How the names of the matrices end that the heads' outputs go through: GPT-2, Llama and its kin, GPT-NeoX, OPT."""


class HuggingFaceNetwork(Network):
    """A causal model of transformers; it gives its own position ids if a rule is attached (`lengthwise.hf.attach`)."""

    def __init__(self, model: Any) -> None:
        from lengthwise.hf.attachment import stock

        self.model = stock(model).eval()
        self._attached = attached(self.model)
        self.rule = self._attached and self._attached.rule
        self.described = self._attached and self._attached.description
        self.near: int | None = self._attached and self._attached.near
        settings = self.model.config
        learned = "gpt2" in settings.model_type or getattr(settings, "n_positions", None) is not None
        if self.rule is None and learned:
            self.positions = settings.max_position_embeddings
        ends = [m for name, m in self.model.named_modules() if name.endswith(OUTPUT_MATRICES)]
        count = settings.num_attention_heads
        self._outputs = ends if len(ends) == settings.num_hidden_layers else []
        self._width = (
            settings.hidden_size // count if getattr(settings, "head_dim", None) is None else settings.head_dim
        )
        self.heads = (tuple(f"head {head}" for head in range(count)),) * settings.num_hidden_layers
        self.size: int = settings.vocab_size
        known: dict[str, int] | None = getattr(self.rule, "token_ids", None)
        if known is not None:
            names = {number: token for token, number in known.items()}
            self.tokens = tuple(names.get(number, "") for number in range(self.size))

    @classmethod
    def of_folder(cls, folder: Path) -> HuggingFaceNetwork:
        """The model of a folder that `save_pretrained` wrote, with the rule of position ids that it was saved with."""
        try:
            from transformers import AutoModelForCausalLM
            from transformers.utils import logging
        except ImportError:
            raise LengthwiseError(
                "a Hugging Face folder needs transformers; install it: pip install 'lengthwise[hf]'"
            ) from None
        require(
            any(folder.glob("*.safetensors")),
            f"{folder} holds no safetensors file, and files of other formats can execute code; save the model with "
            "safe_serialization",
        )
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        try:
            found: Any = AutoModelForCausalLM.from_pretrained(
                folder, local_files_only=True, trust_remote_code=False, use_safetensors=True,
                attn_implementation="eager", dtype=torch.float32,
                ignore_mismatched_sizes=True, output_loading_info=True,
            )  # fmt: skip
        except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as error:
            raise LengthwiseError(
                f"{folder} can't be read as a causal model of transformers ({' '.join(str(error).split())[:200]})"
            ) from None
        model, loaded = found
        # transformers draws such weights at random.
        unfit = sorted([*loaded["missing_keys"], *(name for name, *_ in loaded["mismatched_keys"])])
        require(
            not unfit,
            f"the weights in {folder} are not those of its config.json: {' and '.join(unfit[:2])} are missing or of "
            "another shape; save the model again",
        )
        from lengthwise.hf.attachment import attach

        return cls(attach(model) if hasattr(model.config, SAVED) else model)

    def own_ids(self, ids: Tensor, *, training: bool = False) -> Tensor | None:
        return self._attached and self._attached.ids(ids, training=training)

    def _output(self, ids: Tensor, positions: Tensor, **settings: Any) -> Any:
        model, device = self.model, self.model.device
        given = {} if self.rule is not None else {"position_ids": positions[..., 0].to(device)}
        before = model.config._attn_implementation
        model.set_attn_implementation("eager")  # Other ways to compute attention keep no weights.
        try:
            return model(input_ids=ids.to(device), use_cache=False, **given, **settings)
        finally:
            model.set_attn_implementation(before)

    def logits(self, ids: Tensor, positions: Tensor) -> Tensor:
        return self._output(ids, positions).logits

    def attention(self, ids: Tensor, positions: Tensor) -> list[Tensor]:
        return list(self._output(ids, positions, output_attentions=True).attentions)

    @contextmanager
    def ablated(self, layer: int, head: int) -> Iterator[None]:
        if not self._outputs:
            raise NotImplementedError
        with _mean_of_slice(self._outputs[layer], slice(head * self._width, (head + 1) * self._width)):
            yield


class TheoryNetwork(Network):
    """A compiled program, or other weights of that form."""

    first_position = 1

    def __init__(self, model: TheoryTransformer) -> None:
        self.model, self.tokens = model, model.symbols
        self.outputs = tuple(EOS if name == "accept" else name for name in model.outputs)
        self.heads = tuple(tuple(head.name for head in layer.heads) for layer in model.layers)
        self.positions = getattr(model, "context", None)
        if self.positions is not None:
            self.positions += 1

    def logits(self, ids: Tensor, positions: Tensor) -> Tensor:
        return self.model(ids, positions[..., 0]).logits

    def attention(self, ids: Tensor, positions: Tensor) -> list[Tensor]:
        model, found = self.model, []
        y = model.embeddings[ids] + model.position_vectors(positions[:, 0, 0] - 1, ids.shape[1])
        sharp = torch.from_numpy(self.sharpness(ids.shape[1]))
        for layer in model.layers:
            none = [y.new_zeros(len(y), 0, y.shape[1], y.shape[1])]
            found.append(torch.cat([_limit_weights(head, y, sharp)[:, None] for head in layer.heads] or none, 1))
            y = layer(y, model.precision)
        return found

    def sharpness(self, tokens: int) -> ndarray:
        return np.log(np.arange(1, tokens + 1))

    @contextmanager
    def ablated(self, layer: int, head: int) -> Iterator[None]:
        module: nn.Module = list(self.model.layers[layer].heads)[head]
        handle = module.register_forward_hook(lambda _, __, out: out.mean(0, keepdim=True).expand_as(out))
        try:
            yield
        finally:
            handle.remove()


def _limit_weights(head: LimitHead, y: Tensor, sharp: Tensor) -> Tensor:
    tokens = y.shape[1]
    scores = (y @ head.query.T) @ (y @ head.key.T).mT
    distance = torch.arange(tokens)[:, None] - torch.arange(tokens)
    if len(head.phi):
        near = (distance >= 0) & (distance < len(head.phi))
        scores = scores + torch.where(near, head.phi[distance.clamp(0, len(head.phi) - 1)], 0.0)
    return torch.softmax((scores * sharp[:, None]).masked_fill(distance < 0, -math.inf), dim=-1)


class FunctionNetwork(Network):
    """A function ``logits(input_ids, position_ids)`` of two tensors ``[B, T]``."""

    positioned = False

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def logits(self, ids: Tensor, positions: Tensor) -> Tensor:
        found = self.function(ids, positions[..., 0])
        found = torch.as_tensor(getattr(found, "logits", found))
        require(
            found.ndim == 3 and found.shape[:2] == ids.shape,
            f"`model` must return logits of shape [{ids.shape[0]}, {ids.shape[1]}, tokens], got {list(found.shape)}",
        )
        return found


@dataclass(frozen=True)
class Subject:
    """A model with the task that it is asked, in the task's tokens."""

    network: Network
    task: Task
    train: int
    """The longest training length."""
    token_ids: Int[ndarray, " V"]
    """The model's id of every token of the task; -1 where it has none."""
    output_ids: Int[ndarray, " V"]
    """The logit of every token of the task; -1 where it has none."""
    scheme: PositionScheme | None = None
    """What gives position ids; None: they count tokens from ``offset`` on."""
    offset: Offset = 0
    shift: int = 0
    """What is added to all ids."""
    experiment: RunConfig | None = None
    """What trained it, where it is a run."""
    clock: Clock = field(default_factory=Clock)
    """The time that there is to ask it."""

    def position_ids(self, batch: Batch, rng: Rng, *, training: bool = False) -> Num[ndarray, "B T L"]:
        """The ids of a batch, as at test or as in training; raises `LengthwiseError` where the model has too few."""
        if self.scheme is not None:
            scheme = self.scheme if training else self.scheme.for_evaluation()
            ids = scheme.assign(batch.places, self.task.levels, rng)
            return ids + self.shift * (ids > 0) if scheme.uses_places else ids + self.shift
        with torch.random.fork_rng(devices=()):
            torch.default_generator.manual_seed(0)
            own = self.network.own_ids(torch.from_numpy(self._tokens(batch)), training=training)
        if own is not None:
            return own.cpu().numpy()[..., None]
        most, first = self.network.positions, self.network.first_position
        # The last token is never read.
        need = batch.tokens - 1 + first
        room = 0 if most is None else most - need
        offset = 0 if self.offset == "random" else self.offset
        require(
            most is None or offset <= room,
            f"it takes {need + offset} position ids, and the model has {most}; choose smaller `lengths`",
        )
        start = np.full(batch.size, offset + first)
        if self.offset == "random" and room > 0:
            start = first + rng.integers(room + 1, size=batch.size)
        return (start[:, None] + np.arange(batch.tokens))[..., None] + self.shift

    def ids_of(self, length: int, rows: int = 8, *, training: bool = False) -> Num[ndarray, "B T L"]:
        """The ids that the model reads of some strings of a length."""
        rng = stream(0, "explain", "ids seen", length)
        batch = self.task.batch(length, rows, rng)
        return self.position_ids(batch, rng, training=training)[:, : self._tokens(batch).shape[1]]

    def _tokens(self, batch: Batch) -> Int[ndarray, "B T"]:
        """The model's ids of the tokens, up to the last one whose output is scored."""
        given = batch.input_ids[:, : int(np.flatnonzero(batch.scored)[-1])]
        ids = self.token_ids[given]
        if (ids < 0).any():
            token = batch.vocab.tokens[int(given[ids < 0].flat[0])]
            raise LengthwiseError(
                f"task {self.task.name!r} uses the token {token!r}, which the model has not; name its id in `vocab`"
            )
        return ids

    def check_outputs(self) -> None:
        """Raises `LengthwiseError` if the model can't give an answer of the task: each such string would be wrong."""
        for length in (self.inside[0], self.inside[-1]):
            batch = self.task.batch(length, 8, stream(0, "explain", "outputs"))
            wanted = batch.input_ids[:, batch.scored]
            if batch.allowed is not None:
                wanted = np.flatnonzero(batch.allowed[..., END:].any((0, 1))) + END
            lacking = [self.task.vocab.tokens[token] for token in np.unique(wanted) if self.output_ids[token] < 0]
            require(
                not lacking,
                f"the right answers of task {self.task.name!r} have {', '.join(map(repr, lacking))}, which the model "
                "can't say; name the id in `vocab`",
            )

    def inputs(self, batch: Batch, rng: Rng) -> tuple[Tensor, Tensor]:
        """Tokens and position ids for the network, up to the last token whose output is scored."""
        ids = self._tokens(batch)
        return torch.from_numpy(ids), torch.from_numpy(self.position_ids(batch, rng)[:, : ids.shape[1]])

    @torch.inference_mode()
    def logits(self, batch: Batch) -> Float[ndarray, "B T V"]:
        """The logits after every token, by the task's tokens; −∞ for tokens that the model can't output.

        Raises `OutOfTimeError` where no time is left.
        """
        ids, positions = self.inputs(batch, stream(0, "explain", "ids", batch.layout.length))
        rows = max(1, min(CHUNK_TOKENS // batch.tokens, CHUNK_PAIRS // (8 * batch.tokens**2)))
        rows = min(rows, self.clock.at_once(batch.layout.length))
        pieces = list[Tensor]()
        for piece in zip(ids.split(rows), positions.split(rows), strict=True):
            with self.clock.asks(batch.layout.length, len(piece[0])):
                pieces.append(self.network.logits(*piece).detach().float())
        found = torch.cat(pieces).cpu().numpy()
        require(
            int(self.output_ids.max()) < found.shape[2],
            f"the model has {found.shape[2]} outputs, but `vocab` names id {int(self.output_ids.max())}",
        )
        return np.where(self.output_ids >= 0, found[..., self.output_ids], -np.inf)

    def right(self, batch: Batch) -> Bool[ndarray, "B S"]:
        """Whether each scored token (or set of next tokens) is right after the right tokens before it."""
        return self.right_and_finite(batch)[0]

    def all_right(self, batches: Sequence[Batch]) -> list[ndarray]:
        """Of each batch, which strings are right as a whole; those of one shape are asked together."""
        alike: dict[tuple[Any, ...], list[int]] = {}
        for number, batch in enumerate(batches):
            alike.setdefault((batch.layout, batch.scored.tobytes(), batch.allowed is None), []).append(number)
        found: dict[int, ndarray] = {}
        for numbers in alike.values():
            some = [batches[number] for number in numbers]
            right = np.asarray(self.right(joined(some) if len(some) > 1 else some[0]).all(axis=1))
            found |= zip(numbers, np.split(right, np.cumsum([batch.size for batch in some])[:-1]), strict=True)
        return [found[number] for number in range(len(batches))]

    def right_and_finite(
        self, batch: Batch, logits: Float[ndarray, "B T V"] | None = None
    ) -> tuple[Bool[ndarray, "B S"], Bool[ndarray, " B"]]:
        """As `right`, and for each string whether all of its logits are numbers; where they are not, it is wrong.

        ``logits`` are those of the batch, where they are known.
        """
        scheme, network = self.scheme, self.network
        if scheme is not None and scheme.predicted and isinstance(network, OwnNetwork):
            inputs = Inputs.of(batch, scheme.for_evaluation(), self.task.levels, stream(0, "explain", "ids"))
            with self.clock.asks(batch.layout.length, batch.size):
                judged = judge(network.model, inputs)
            return judged.token & judged.ids, ~judged.not_finite
        logits, at = self.logits(batch) if logits is None else logits, np.flatnonzero(batch.scored) - 1
        at_logits = logits[:, at]
        finite: ndarray = np.asarray(~np.isnan(at_logits).any(-1) & ~np.isposinf(at_logits).any(-1))
        if batch.allowed is not None:
            right = ((at_logits[..., END:] > 0) == batch.allowed[:, at, END:]).all(-1)
        else:
            right = at_logits.argmax(-1) == batch.input_ids[:, at + 1]
        return right & finite, np.asarray(finite.all(axis=1))

    def misfit(self, length: int) -> str:
        """Why the model can't read strings of a length; empty if it can."""
        batch = self.task.batch(length, 1, stream(0, "explain", "fits"))
        self._tokens(batch)  # A token that the model has not is another fault.
        try:
            self.position_ids(batch, stream(0, "explain"))
        except LengthwiseError as error:
            return str(error)
        return ""

    def lengths(self, wanted: Sequence[int] | None) -> list[int]:
        """Lengths that the task has and the model takes, the longest trained one with them; none if no wanted one."""
        found = [length for length in self._near(wanted).values() if length is not None and not self.misfit(length)]
        return sorted({*found, *(n for n in self.inside[-1:] if found and not self.misfit(n))})

    def between(self, low: int, high: int) -> list[int]:
        """The lengths between two that the task has and the model takes."""
        return [n for n in self.task.lengths(low + 1, high - 1) if not self.misfit(n)] if high - low > 1 else []

    def left_out(self, wanted: Sequence[int] | None) -> list[str]:
        """A line for each wanted length that is not among `lengths`."""
        lines = []
        for length, near in self._near(wanted).items():
            if near is None:
                lines.append(f"length {length} is left out: the task has none of {length} to {length + 10}")
            elif why := self.misfit(near):
                lines.append(f"length {length} is left out: {why.partition(';')[0]}")
            elif wanted is not None and near != length:
                lines.append(f"length {near} stands for {length}, which the task has not")
        if wanted is None and self.most != 3 * self.train:
            lines.append(f"asked to length {self.most}: {self._why_most}")
        return lines

    def farthest(self, most: int) -> int:
        """The longest length up to ``most`` that the task has and the model takes; 0 without one."""
        return self._longest(most, lambda length: bool(self.misfit(length)))

    def shown_to(self, most: int) -> int:
        """The longest of these for which the ids suffice that training showed."""
        shown = int(self.ids_of(self.inside[-1], 256, training=True).max()) + 1

        def too_long(length: int) -> bool:
            return bool(self.misfit(length)) or max(len(np.unique(row)) for row in self.ids_of(length, 1)) > shown

        return self._longest(most, too_long)

    def _longest(self, most: int, too_long: Callable[[int], bool]) -> int:
        known = self.task.lengths(1, most)
        at = bisect_left(known, True, key=too_long)
        return known[at - 1] if at else 0

    @cached_property
    def most(self) -> int:
        """To which length strings are asked by default.

        That is three times the trained one. Where training showed ids for longer strings, as coupled ids or random
        starts do, it is the length for which these suffice if that is at most twelve times the trained one, else eight
        times the trained one; and never more than the model has room for.
        """
        usual, far, end = 3 * self.train, *(max(3 * self.train, min(n * self.train, MOST_ASKED)) for n in (8, 12))
        shown = self.shown_to(end + 1)
        most = max(shown if shown <= end else self.shown_to(far), self.farthest(usual))
        return usual if [most] == self.task.lengths(1, usual)[-1:] else most

    @property
    def _why_most(self) -> str:
        longer = self.task.lengths(self.most + 1, self.most + 10)
        if not longer:
            return "the task has no longer ones"
        if self.misfit(min(longer)):
            ids = getattr(getattr(self.network.rule, "scheme", None), "max_position", None)
            of = "the model has room for" if ids is None else f"its ids (max_position {ids}, set before training) reach"
            return f"{of} no longer ones"
        return "training showed position ids for so long ones and longer; `lengths` asks further"

    def _near(self, wanted: Sequence[int] | None) -> dict[int, int | None]:
        """The length of the task that is measured for each wanted one, each once."""
        if wanted is None:
            shares = (0.25, 0.5, 0.75, 1, 1.1, 1.25, 1.5, 2, 3, 5, 8, 12)
            wanted = [min(round(self.train * share), self.most) for share in shares]
        found: dict[int, int | None] = {}
        for length in wanted:
            near = next(iter(self.task.lengths(max(1, length), length + 10)), None)
            if near is None or near not in found.values():
                found[length] = near
        return found

    @property
    def inside(self) -> list[int]:
        """The training lengths that have instances, from 1 on."""
        return self.task.lengths(1, self.train)


def _mapping(task: Task, vocab: Path | Mapping[str, int] | None, network: Network) -> tuple[ndarray, ndarray]:
    """The model's ids and logits of the task's tokens."""
    tokens = task.vocab.tokens
    if vocab is None and network.tokens is not None:
        named = {token: index for index, token in enumerate(network.tokens)}
    elif vocab is None:
        size = getattr(network, "size", len(tokens))
        same_size(size, task, title_of(task))
        named = {token: index for index, token in enumerate(tokens)}
    else:
        named = vocab if isinstance(vocab, Mapping) else read_json(vocab, what="vocabulary file")
        require(isinstance(named, Mapping), f"{vocab} must be a JSON object of token and id, such as {{'a': 5}}")
        for token, value in named.items():
            require(
                token in task.vocab.ids,
                f"the vocabulary names {token!r}, which is no token of task {title_of(task)}: {tokens_of(task)}",
            )
            whole(f"the id of token {token!r}", value, 0)
        require(len(set(named.values())) == len(named), "the vocabulary gives one id to two tokens; give each its own")
        size = getattr(network, "size", None)
        require(
            size is None or max(named.values(), default=0) < size,
            f"the vocabulary names id {max(named.values(), default=0)}, but the model has {size} tokens",
        )
    ids = np.array([named.get(token, -1) for token in tokens])
    if network.outputs is None:
        outputs = ids.copy()
        outputs[task.vocab.ids[PAD]] = -1
        return ids, outputs
    return ids, np.array([network.outputs.index(token) if token in network.outputs else -1 for token in tokens])


def is_pretrained(model: Any) -> bool:
    """Whether the model is one of transformers, PEFT's wrappers included; without loading that package."""
    kinds = {f"{cls.__module__}.{cls.__name__}" for cls in type(model).__mro__}
    return bool(kinds & {"transformers.modeling_utils.PreTrainedModel", "peft.peft_model.PeftModel"})


def subject_of(
    model: Any,
    task: Task | None,
    *,
    train: int | None = None,
    vocab: Path | Mapping[str, int] | None = None,
    offset: Offset = 0,
) -> Subject:
    """The model with its task; see `lengthwise.explain` for the arguments."""
    scheme = None
    experiment = getattr(model, "experiment", None)
    if isinstance(model, str | Path):
        path = Path(model)
        require(path.exists(), f"there is no model at {path}; name a run directory, a folder or a .safetensors file")
        if path.is_file():
            model = load_theory(path)
        else:
            settings = read_json(path / "config.json", what="model configuration")
            if isinstance(settings, dict) and "experiment" in settings:
                experiment, model = (load_exported if "vocabulary" in settings else load_trained)(path)
            else:
                model = HuggingFaceNetwork.of_folder(path)
    elif is_pretrained(model):
        model = HuggingFaceNetwork(model) if experiment is None else model.transformer
    if isinstance(model, Transformer):
        require(
            experiment is not None, "a Transformer doesn't know its task and scheme; give what lengthwise.load returns"
        )
        assert experiment is not None
        lacking = [] if task is None else [t for t in task.vocab.tokens if t not in experiment.task.vocab.ids]
        require(
            not lacking,
            f"the run was trained on {title_of(experiment.task)}, which has no token {' or '.join(lacking[:2])}; leave "
            "out `task`, or name a model of that task",
        )
        task, train, scheme = task or experiment.task, train or experiment.training.longest, experiment.scheme
        model = OwnNetwork(model, experiment.task.vocab.tokens)
    elif isinstance(model, TheoryTransformer):
        model = TheoryNetwork(model)
    elif not isinstance(model, Network):
        require(callable(model), f"model must be a path, a model or a function of logits, got {type(model).__name__}")
        model = FunctionNetwork(model)
    if model.rule is not None:
        own = getattr(model.rule, "task", None)
        same_task(task, own)
        task = task or own
        require(offset == 0, f"the model's rule gives its position ids; leave `offset` at 0, got {offset}")
    task, train = given(task, train)
    if offset != "random":
        offset = whole("offset", offset, 0)
    require(scheme is None or offset == 0, f"a run has its own position ids; leave `offset` at 0, got {offset}")
    ids, outputs = _mapping(task, vocab, model)
    made = Subject(model, task, train, ids, outputs, scheme, offset, experiment=experiment)
    require(bool(made.inside), f"task {task.name!r} has no instances of lengths 1 to {train}; raise `train`")
    if why := made.misfit(made.inside[-1]):
        most = made.farthest(train)
        fits = f"strings up to length {most}, so `train` is at most that" if most else "no string of the task"
        raise LengthwiseError(
            f"`train` is the longest length that the model was trained on, got {train}, but its position ids suffice "
            f"for {fits} ({why.partition(';')[0]})"
        )
    made.check_outputs()
    return made


@config
class LengthAccuracy:
    """How many of ``n`` strings of a length were right: every scored token, as in ``lengthwise run``."""

    length: int
    n: int
    right: int
    not_finite: int = 0
    """Strings with a logit that is NaN or infinite. They are wrong, and by no wrong answer."""


@config
class Accuracy:
    """Accuracy against length."""

    rows: tuple[LengthAccuracy, ...]
    train: int

    def __repr__(self) -> str:
        return f"Accuracy({', '.join(f'{row.length}: {row.right} of {row.n}' for row in self.rows)})"

    def rate(self, *, inside: bool) -> float | None:
        """The share of right strings at training lengths, or beyond them; None without strings."""
        rows = [row for row in self.rows if (row.length <= self.train) == inside]
        return sum(row.right for row in rows) / sum(row.n for row in rows) if rows else None

    @property
    def not_finite(self) -> str:
        """Where logits are NaN or infinite, and how often; empty if nowhere."""
        rows = [row for row in self.rows if row.not_finite]
        count, asked = sum(row.not_finite for row in rows), sum(row.n for row in rows)
        lengths = ", ".join(str(row.length) for row in rows)
        return f"Logits are NaN or infinite in {count} of {asked} strings (length {lengths})." if rows else ""


class RandomStrings:
    """The random strings of every length, and which of them are right; a length is asked once.

    Of a costly length (`Clock`) there are few. Raises `OutOfTimeError` where no time is left, but of trained ones.
    """

    def __init__(self, subject: Subject, samples: int, seed: int) -> None:
        self.subject, self.samples, self.seed = subject, samples, seed
        self._known: dict[int, tuple[bool, list[tuple[Batch, ndarray]]]] = {}
        self._times: dict[int, int] = {}
        self.not_finite: dict[int, int] = {}
        """Strings with a logit that is not finite, by length."""

    def __call__(self, length: int) -> tuple[bool, list[tuple[Batch, ndarray]]]:
        """Whether the strings are all that there are, which holds of few; and batches with the right strings."""
        if length not in self._known:
            self._known[length] = self._ask(length)
        return self._known[length]

    def again(self, length: int) -> tuple[bool, list[tuple[Batch, ndarray]]]:
        """The same with as many fresh strings added."""
        (every, known), times = self(length), self._times.get(length, 1)
        self._known[length] = every, known + self._ask(length, "again", *([] if times == 1 else [times]))[1]
        self._times[length] = times + 1
        return self._known[length]

    def _ask(self, length: int, *again: str | int) -> tuple[bool, list[tuple[Batch, ndarray]]]:
        rng = stream(self.seed, "explain", "test", length, *again)
        drawn, batches = (
            self.subject.task.test_strings(length, length, self.samples, rng),
            list[tuple[Batch, ndarray]](),
        )
        seen = asked = 0
        with self.subject.clock.unlimited() if length <= self.subject.train else nullcontext():
            for batch in drawn.batches:
                seen += batch.size
                for part in self._parts(batch, FEW - asked):
                    asked += part.size
                    good, finite = self.subject.right_and_finite(part)
                    batches.append((part, np.asarray(good.all(axis=1))))
                    self.not_finite[length] = self.not_finite.get(length, 0) + int((~finite).sum())
        return drawn.name == "enumerated" and asked == seen, batches

    def _parts(self, batch: Batch, few: int) -> Iterator[Batch]:
        """A batch whole; of a costly length ``few`` strings, and the others where these tell that it is not."""
        clock, length, few = self.subject.clock, batch.layout.length, max(0, few)
        if not clock.costly(length) or batch.size <= few:
            yield batch
            return
        if few:
            yield select(batch, range(few))
        if not clock.costly(length):
            yield select(batch, range(few, batch.size))


def accuracy(
    subject: Subject, lengths: Sequence[int], samples: int, seed: int, strings: RandomStrings | None = None
) -> Accuracy:
    """The share of strings that are right, by length; none of a longer length for which there is no time."""
    rows, strings = [], strings or RandomStrings(subject, samples, seed)
    for length in lengths:
        with suppress(OutOfTimeError):
            good = np.concatenate([right for _, right in strings(length)[1]])
            rows.append(LengthAccuracy(length, len(good), int(good.sum()), strings.not_finite[length]))
    return Accuracy(tuple(rows), subject.train)


class WordOracle:
    """What a model says of words: whether it accepts each of them, and what is right.

    Of a language's next symbols, a word is accepted if each of its symbols was allowed, and its end. Of membership, if
    the model says so at its end; words that begin like no word of the task were never asked in training, and are not
    accepted. Of other tasks, if the model's answer is ``answer``.
    """

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._known: dict[Word, bool] = {}
        self._right: dict[Word, bool] = {}
        self._templates: dict[int, Batch | None] = {}
        task = subject.task
        if isinstance(task, Language):
            require(
                task.ask != "state", "a model that names states has its automaton in its outputs; ask next or member"
            )
            self.dfa = task.automaton()
            self.alphabet = task.vocab.tokens[len(SPECIALS) :]
            self.meaning = f"words of {task.language}"
            return
        self.dfa = None
        words = words_of_task(task, task.name)
        self.alphabet, self.meaning, self.answer = words.alphabet, words.meaning, words.answer
        self.before, self.after = words.before, words.after

    def accepts(self, words: Sequence[Word]) -> Bool[ndarray, " B"]:
        """Whether the model accepts each word."""
        self._fill(words, self._known, self._model_says)
        return np.array([self._known[word] for word in words], dtype=bool)

    def right(self, words: Sequence[Word]) -> Bool[ndarray, " B"]:
        """Whether each word is to be accepted."""
        self._fill(words, self._right, self._truth)
        return np.array([self._right[word] for word in words], dtype=bool)

    def text(self, word: Word) -> str:
        """The word as text."""
        return Dfa(self.alphabet, ((0,) * len(self.alphabet),), (True,)).text(word)

    def _fill(self, words: Sequence[Word], known: dict[Word, bool], ask: Callable[[ndarray], ndarray]) -> None:
        by_length: dict[int, list[Word]] = {}
        for word in dict.fromkeys(words):
            if word not in known:
                by_length.setdefault(len(word), []).append(word)
        for length, group in by_length.items():
            answers = ask(np.array(group, dtype=np.int64).reshape(len(group), length))
            known.update(zip(group, answers.tolist(), strict=True))

    def _model_says(self, words: ndarray) -> ndarray:
        task, length = self.subject.task, words.shape[1]
        if not isinstance(task, Language):
            return self._answers(words)
        found, start = [], 0
        for batch in task.batches_of([words]):
            says = self.subject.logits(batch)[:, : length + 1] > 0
            ends = says[:, length, task.vocab[EOS]]
            part = words[start : start + batch.size]
            start += batch.size
            if task.ask == "next":
                steps = np.take_along_axis(says[:, :length], (part + len(SPECIALS))[..., None], axis=2)[..., 0]
                found.append(steps.all(axis=1) & ends)
            else:
                found.append(ends & self._live(part))
        return np.concatenate(found)

    def _live(self, words: ndarray) -> ndarray:
        if self.dfa is None or not any(self.dfa.live):
            return np.ones(len(words), dtype=bool)
        return np.array(self.dfa.live)[self.dfa.states_along(words)[:, -1]]

    def _answers(self, words: ndarray) -> ndarray:
        length, vocab = words.shape[1], self.subject.task.vocab
        template = self._template(length)
        if template is None:
            return np.zeros(len(words), dtype=bool)
        symbols = vocab.encode(self.alphabet)
        ids = np.repeat(template.input_ids, len(words), axis=0)
        ids[:, len(self.before) : len(self.before) + length] = symbols[words]
        batch = replace(template, input_ids=ids, places=np.repeat(template.places, len(words), axis=0))
        best = self.subject.logits(batch)[:, template.prompt_length - 1].argmax(-1)
        return (best == vocab[self.answer]) & np.array(
            [self._solution(tuple(word)) is not None for word in words.tolist()]
        )

    def _template(self, length: int) -> Batch | None:
        """A batch whose prompts hold a word of ``length`` symbols; None if the task has none."""
        if length not in self._templates:
            lengths = self.subject.task.lengths(max(1, length - 2), length + 2)
            batches = (self.subject.task.batch(n, 1, stream(0, "explain", "template")) for n in lengths)
            wanted = len(self.before) + length + len(self.after)
            self._templates[length] = next((batch for batch in batches if batch.prompt_length == wanted), None)
        return self._templates[length]

    def _solution(self, word: Word) -> str | None:
        """The task's answer for a word; None if it is no instance."""
        if self._template(len(word)) is None:
            return None
        try:
            return self.subject.task.solve([*self.before, *(self.alphabet[s] for s in word), *self.after])[0]
        except ValueError:
            return None

    def _truth(self, words: ndarray) -> ndarray:
        task = self.subject.task
        if not isinstance(task, Language):
            return np.array([self._solution(tuple(word)) == self.answer for word in words.tolist()], dtype=bool)
        if self.dfa is not None:
            return self.dfa.accepts_batch(words)
        counter = COUNTER_LANGUAGES[task.language]
        return np.array([counter.accepts(tuple(self.alphabet[s] for s in word)) for word in words.tolist()], dtype=bool)

    def members(self, length: int, count: int, rng: Rng) -> list[Word]:
        """Words of instances of the task, drawn as in training: of a language, words of it (and of next to it)."""
        task = self.subject.task
        if length not in task.lengths(length, length):
            return []
        batch = task.batch(length, count, rng)
        if isinstance(task, Language):
            return [tuple(row) for row in (batch.input_ids[:, 1 : 1 + length] - len(SPECIALS)).tolist()]
        numbers = {task.vocab[symbol]: number for number, symbol in enumerate(self.alphabet)}
        ends = batch.prompt_length - len(self.after)
        return [tuple(numbers[token] for token in row) for row in batch.input_ids[:, len(self.before) : ends].tolist()]


def edited(word: Word, symbols: int, rng: Rng) -> Word:
    """The word with one symbol replaced, removed or added."""
    at, kind, new = int(rng.integers(len(word) + 1)), int(rng.integers(3)), int(rng.integers(symbols))
    if kind == 0 or not word:
        return (*word[:at], new, *word[at:])
    at = min(at, len(word) - 1)
    return (*word[:at], *([new] if kind == 1 else []), *word[at + 1 :])
