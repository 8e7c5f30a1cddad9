"""Small language models: training, held-out loss, longer contexts, and the gain of far tokens."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray

from lengthwise.core.config import AtLeast2, config, fields_of, from_fields
from lengthwise.core.errors import LengthwiseError, UnknownNameError, require
from lengthwise.core.files import LOCK, locked, make_folder, read_json
from lengthwise.core.result_file import read_sealed, write_sealed
from lengthwise.core.rng import stream
from lengthwise.influence.corpus import Corpus, Document, TextTask
from lengthwise.influence.models import OwnModel
from lengthwise.influence.tokenizer import (
    FILE,
    Bytes,
    OwnTokenizer,
    load_tokenizer,
    save_tokenizer,
    tokenizer_digest,
    train_bpe,
)
from lengthwise.models.config import ModelConfig
from lengthwise.models.extension import extend, extension_methods
from lengthwise.models.transformer import Transformer
from lengthwise.positions.encodings import ENCODINGS, EncodingShape
from lengthwise.positions.schemes import PoSE, PositionScheme, Sequential
from lengthwise.training import checkpoint
from lengthwise.training.config import TrainingConfig
from lengthwise.training.data import TaskSetup
from lengthwise.training.fine_tune import fine_tune, recalibrate
from lengthwise.training.trainer import Trainer


@config
class LMConfig:
    """A decoder with rotary encodings, trained on windows of ``context`` + 1 tokens.

    Scheme ``sequential`` numbers the tokens; scheme ``pose`` draws position ids up to ``target`` (Zhu et al. 2023), so
    that training covers distances beyond the window. ``target`` defaults to ``context``. Raises `ValueError`.
    """

    context: AtLeast2 = 128
    scheme: Literal["sequential", "pose"] = "sequential"
    target: int | None = None
    tokenizer: Literal["bpe", "bytes"] = "bpe"
    vocabulary: int = 1024
    """Largest number of tokens of a BPE tokenizer."""
    layers: int = 2
    heads: int = 4
    width: int = 128
    steps: int = 900
    batch_tokens: int = 1024
    """Predicted tokens per step, at least one window; the number is the same for every context."""
    lr: float = 3e-3
    warmup: int = 50
    weight_decay: float = 0.1
    probe_every: int = 150
    """Steps between checkpoints, and between evaluations on held-out text."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.longest < self.context:
            raise ValueError(f"target must be at least the context, got {self.target} and {self.context}")
        if self.scheme == "sequential" and self.longest > self.context:
            raise ValueError(f"scheme sequential never reaches a target of {self.target}; use pose")
        self.model()
        self.training()

    @property
    def longest(self) -> int:
        """The largest position id in training."""
        return self.context if self.target is None else self.target

    def positions(self) -> PositionScheme:
        """The position scheme of training."""
        return PoSE(max_position=self.longest) if self.scheme == "pose" else Sequential(max_position=self.longest)

    def model(self) -> ModelConfig:
        """The transformer, without a log-length factor, which would depend on the number of masked keys."""
        return ModelConfig(layers=self.layers, heads=self.heads, width=self.width, init="fan_in")

    def training(self) -> TrainingConfig:
        """The training settings, with one group of windows per step."""
        return TrainingConfig(
            max_length=self.context,
            min_length=self.context,
            steps=self.steps,
            batch_size=max(1, self.batch_tokens // self.context),
            groups=1,
            lr=self.lr,
            warmup=self.warmup,
            weight_decay=self.weight_decay,
            probe_every=self.probe_every,
        )


LM_PRESETS: dict[str, dict[str, Any]] = {
    "quick": {"vocabulary": 1024, "layers": 2, "width": 128, "steps": 900, "probe_every": 150},
    "standard": {"vocabulary": 2048, "layers": 4, "width": 128, "steps": 3000, "warmup": 100, "probe_every": 250},
}
"""Sizes for one thread: a pair of models trains in at most 3 (quick) or 30 (standard) minutes."""

LONG, SHORT = 128, 64
"""Contexts of the two models of a pair, in tokens."""


def lm_config(preset: str = "standard", **fields: Any) -> LMConfig:
    """The configuration of a preset, changed by ``fields``; raises `LengthwiseError` for wrong names or values."""
    if preset not in LM_PRESETS:
        raise UnknownNameError("preset", preset, LM_PRESETS)
    return from_fields(LMConfig, LM_PRESETS[preset] | fields, where="language model")


def pair(preset: str = "standard", seed: int = 0) -> tuple[LMConfig, LMConfig]:
    """Two configurations that differ in context only: 128 tokens, and 64 tokens with PoSE ids up to 128."""
    return (
        lm_config(preset, context=LONG, seed=seed),
        lm_config(preset, context=SHORT, scheme="pose", target=LONG, seed=seed),
    )


LM_FORMAT = 1
CONFIG, MODEL = "config.json", "model.safetensors"
TOKENIZER = "model with the tokenizer "
"""How the text about a model begins; the digest of its tokenizer follows."""


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
            f"{folder} is not the folder of a language model; choose another `out`",
        )
        for key, words in (("config", "configuration"), ("corpus", "text"), ("format", "format")):
            require(found.get(key) == mine[key], f"{folder} holds a model of another {words}; choose another `out`")
        return
    make_folder(folder)
    if any(not file.name.endswith((".tmp", LOCK)) for file in folder.iterdir()):
        raise LengthwiseError(f"{folder} is not empty and not the folder of a language model; choose another `out`")
    write_sealed(path, mine)


def save_lm(
    folder: Path, transformer: Transformer, tokenizer: OwnTokenizer, config: LMConfig, corpus: dict[str, Any]
) -> None:
    """Write the three files atomically; raises `LengthwiseError` if the weights are not finite."""
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
    model = config.model()
    shape = EncodingShape(model.width, model.heads, model.head_width, ("position",), config.longest)
    return Transformer(model, ENCODINGS.build("rope"), vocab_size, shape, predicts_ids=False)


def load_lm(folder: Path) -> tuple[OwnModel, OwnTokenizer]:
    """The model and tokenizer of a folder; rotary encodings set no maximum length.

    Raises `LengthwiseError` if the folder holds no model, or its model is unfinished or damaged.
    """
    config, _ = read_config(folder)
    path = folder / MODEL
    require(path.exists(), f"the training of {folder} has not ended; give `lengthwise lm train` again to go on")
    tensors, about = checkpoint.load_tensors(path)
    tokenizer = load_tokenizer(folder, expected=about.removeprefix(TOKENIZER))
    with torch.random.fork_rng(devices=[]):
        transformer = new_transformer(config, tokenizer.vocab_size)
    try:
        transformer.load_state_dict(tensors)
    except RuntimeError:
        raise checkpoint.damage(path) from None
    return OwnModel(folder.resolve().name, transformer, None), tokenizer


ROWS = 32


@dataclass(frozen=True)
class HeldOut:
    """Windows of held-out text and the loss of a unigram model on them."""

    windows: Int[ndarray, "N L+1"]
    sizes: Int[ndarray, " V"]
    """Bytes of each token."""
    unigram: float
    """Nats per token of the windows under the token frequencies of the training text (one added to each count)."""

    @classmethod
    def of(
        cls, held_out: TextTask, train: TextTask, tokenizer: OwnTokenizer, context: int, rng: np.random.Generator,
        *, count: int,
    ) -> HeldOut:  # fmt: skip
        """Draw ``count`` random windows of ``context`` predicted tokens."""
        windows = held_out.windows(context, count, rng)
        counts = np.bincount(train.stream, minlength=tokenizer.vocab_size) + 1.0
        frequencies = np.log(counts / counts.sum())
        return cls(windows, tokenizer.sizes, float(-frequencies[windows[:, 1:]].mean()))


@torch.inference_mode()
def losses(transformer: Transformer, windows: Int[ndarray, "N L+1"]) -> Float[ndarray, "N L"]:
    """Loss in nats of every token but the first; the token of entry i has i + 1 tokens of context."""
    training = transformer.training
    transformer.eval()
    result = []
    length = windows.shape[1] - 1
    ids = torch.arange(length)[None, :, None]
    for start in range(0, len(windows), ROWS):
        tokens = torch.from_numpy(windows[start : start + ROWS])
        logits = transformer(tokens[:, :-1], ids.expand(len(tokens), -1, -1)).logits
        nats = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), reduction="none")
        result.append(nats.view(len(tokens), length).double().numpy())
    transformer.train(training)
    return np.concatenate(result)


def report(transformer: Transformer, held_out: HeldOut, context: int) -> dict[str, Any]:
    """Mean losses on the first ``context`` predicted tokens: per token, per byte and by amount of context."""
    windows = held_out.windows[:, : context + 1]
    nats = losses(transformer, windows)
    size = held_out.sizes[windows[:, 1:]].sum()
    return {
        "context": context,
        "windows": len(nats),
        "nats_per_token": float(nats.mean()),
        "nats_per_byte": float(nats.sum() / size),
        "bytes_per_token": float(size / nats.size),
        "unigram_nats_per_token": held_out.unigram,
        "by_context": [
            {"from": low, "to": high, "nats_per_token": float(nats[:, low - 1 : high].mean())}
            for low, high in bands(nats.shape[1])
        ],
        "far_half": far_half(transformer, windows, nats),
    }


def far_half(transformer: Transformer, windows: Int[ndarray, "N L+1"], nats: Float[ndarray, "N L"]) -> dict[str, float]:
    """Mean loss of the last quarter of the targets ``with`` and ``without`` the farther half of the context.

    ``gain`` is the difference of the two, in nats per token.
    """
    half, quarter = nats.shape[1] // 2, max(1, nats.shape[1] // 4)
    short = float(losses(transformer, windows[:, half:])[:, -quarter:].mean())
    long = float(nats[:, -quarter:].mean())
    return {"with": long, "without": short, "gain": short - long}


def bands(context: int) -> Sequence[tuple[int, int]]:
    """Ranges of context, in tokens: 1, 2, 3–4, 5–8, 9–16 and so on."""
    result, low = [(1, 1)], 2
    while low <= context:
        high = min(2 * low - 2, context)
        result.append((low, high))
        low = high + 1
    return result


Watch = Callable[[Transformer], dict[str, Any]]
"""What a probe notes of a model besides its losses."""
ReportTraining = Callable[[str, int, int, float], None]
"""Called with what is done (``tokenize``, ``train`` or ``held-out``), how far, of how much, and a loss in nats per
token (not a number where there is none)."""

Watcher = Callable[[Int[ndarray, "N L+1"]], Watch]
"""Makes a `Watch` of the held-out windows of the probes."""
PROBED, MEASURED = 64, 1024
"""Windows of held-out text at each probe and at the end."""
RESULT = "result.json"
REPORTED = ("parameters", "tokens_seen", "seconds", "held_out", "at_target")


def train_lm(
    config: LMConfig,
    corpus: Corpus,
    folder: Path,
    report: ReportTraining | None = None,
    about: Callable[[], Mapping[str, Any]] | None = None,
    *,
    probed: int = PROBED,
    watch: Watcher | None = None,
) -> dict[str, Any]:
    """Train a model into ``folder`` and measure it; a finished one is returned, an interrupted one goes on.

    Each probe takes ``probed`` held-out windows. ``watch`` makes of these what else a probe notes; training then ends
    at the first probe that notes ``fitted``.

    Returns what ``result.json`` holds: losses on held-out text, steps, seconds, and what ``about`` adds (where the
    numbers come from). Raises `LengthwiseError` if the folder holds something else or another process is at work in
    it, the text is shorter than a window, or training diverges.
    """
    claim_lm_dir(folder, config, corpus.describe())
    with locked(folder):
        path = folder / RESULT
        if path.exists() and (folder / MODEL).exists():
            found = read_sealed(path, "result file")
            whole = isinstance(found, dict) and found.get("format") == LM_FORMAT and set(REPORTED) <= set(found)
            require(whole, f"result file {path} is damaged; delete it and run again")
            return found
        found = _train(config, corpus, folder, report or (lambda *_: None), probed, watch)
        found |= about() if about else {}
        write_sealed(path, found)
        return found


def _train(
    config: LMConfig, corpus: Corpus, folder: Path, tell: ReportTraining, probed: int, watch: Watcher | None
) -> dict[str, Any]:
    tell("tokenize", 0, 1, float("nan"))
    tokenizer = _tokenizer(config, corpus, folder)
    train = _task(config, corpus.train, tokenizer, config.context, "training")
    held_out = _task(config, corpus.held_out, tokenizer, config.longest, "held-out")
    tell("tokenize", 1, 1, float("nan"))

    def drawn(count: int, *names: str) -> HeldOut:
        # The seed is not that of the training, so that models of all seeds are held against the same text.
        rng = stream(0, "lm", "held-out", *names)
        return HeldOut.of(held_out, train, tokenizer, config.longest, rng, count=count)

    windows = drawn(probed, "probe").windows[:, : config.context + 1]
    watched = None if watch is None else watch(windows)

    def probe(model: Transformer, step: int, seed: int) -> dict[str, Any]:
        nats = losses(model, windows)
        tell("held-out", step, config.steps, float(nats.mean()))
        found = {"held_out": float(nats.mean()), "far_half": far_half(model, windows, nats)["gain"]}
        return found if watched is None else found | watched(model)

    setup = TaskSetup(train, config.positions(), ENCODINGS.build("rope"), config.model())
    training = dataclasses.replace(config.training(), stop_when_fitted=watched is not None)
    trainer = Trainer(
        setup, training, [config.seed], probe, folder,
        on_step=lambda step, loss: tell("train", step, config.steps, loss),
    )  # fmt: skip
    (state,) = trainer.run()
    save_lm(folder, state.trained(), tokenizer, config, corpus.describe())
    model, progress, measured = state.trained(), state.progress, drawn(MEASURED, "final")
    return {
        "format": LM_FORMAT,
        "kind": "lm",
        "tokens": {"train": len(train.stream), "held_out": len(held_out.stream), "vocabulary": tokenizer.vocab_size},
        "parameters": model.parameter_count,
        "steps": progress.step,
        "tokens_seen": progress.step * config.training().batch_size * config.context,
        "seconds": round(progress.seconds, 2),
        "held_out": report(model, measured, config.context),
        # Windows longer than those of the training: what its ids, not its texts, reached.
        "at_target": report(model, measured, config.longest),
        "probes": progress.probes,
    }


def _tokenizer(config: LMConfig, corpus: Corpus, folder: Path) -> OwnTokenizer:
    """The folder's, or a new one; it depends on the training text and the vocabulary size only."""
    if (folder / FILE).exists():
        return load_tokenizer(folder)
    if config.tokenizer == "bytes":
        tokenizer = Bytes()
    else:
        tokenizer = train_bpe((document.text for document in corpus.train), config.vocabulary)
    save_tokenizer(tokenizer, folder)
    return tokenizer


def _task(
    config: LMConfig, documents: tuple[Document, ...], tokenizer: OwnTokenizer, context: int, part: str
) -> TextTask:
    task = TextTask(documents, tokenizer)
    longest = task.max_length() + 1
    require(
        longest > context,
        f"the {part} text is too short: its longest document has {longest} tokens, and a context of {context} needs "
        f"{context + 1}; choose a longer text or a smaller context",
    )
    return task


PLAIN, WINDOW, DROPPED, TUNED = "none", "window", "drope", "pi, tuned"
FINE_TUNING_LR = 0.3
"""Learning rate of fine-tuning, as a share of that of the training."""


def methods(tuned: bool) -> list[str]:
    """What is compared: RoPE as it is, RoPE with a window, the extensions, and with ``tuned`` those that train."""
    return [PLAIN, WINDOW, *extension_methods(), *([TUNED, DROPPED] if tuned else [])]


@dataclass(frozen=True)
class LongerContexts:
    """The settings of a measurement; ``fine_tuning`` is a number of steps, 0 leaves out what needs training."""

    multiples: tuple[int, ...] = (2, 4, 8)
    windows: int = 64
    fine_tuning: int = 0
    methods: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        require(
            len(self.multiples) > 0 and min(self.multiples) >= 2,
            f"multiples of the context must be 2 or more, got {list(self.multiples)}",
        )
        require(self.windows >= 1, f"windows must be at least 1, got {self.windows}")
        require(self.fine_tuning >= 0, f"fine-tuning steps must be 0 or more, got {self.fine_tuning}")
        for name in self.methods or ():
            if name not in methods(self.fine_tuning > 0):
                raise UnknownNameError("way to extend a context", name, methods(self.fine_tuning > 0))

    @property
    def chosen(self) -> list[str]:
        """The methods in order."""
        return list(self.methods or methods(self.fine_tuning > 0))


def measure_longer(
    folder: Path, corpus: Corpus, settings: LongerContexts, tell: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """Losses of the model in ``folder`` on held-out windows of each multiple of its context.

    Each row has the mean loss in nats per token ``within`` the trained context, ``beyond`` it, and over the ``last``
    trained context of the window, and ``by_position``, the mean over each eighth of the trained context. Raises
    `LengthwiseError` if the folder holds no model, or the text no document that is long enough.
    """
    own, tokenizer = load_lm(folder)
    config, _ = read_config(folder)
    train, held_out = TextTask(corpus.train, tokenizer), TextTask(corpus.held_out, tokenizer)
    longest = config.context * max(settings.multiples)
    require(
        held_out.max_length() >= longest,
        f"the longest held-out document has {held_out.max_length() + 1} tokens, and {max(settings.multiples)} times "
        f"the context needs {longest + 1}; give smaller multiples or a longer text",
    )
    windows = held_out.windows(longest, settings.windows, stream(0, "lm", "longer"))
    models = _Models(own.transformer.eval(), config, train, settings.fine_tuning)
    rows = []
    for method in settings.chosen:
        for multiple in settings.multiples:
            if tell is not None:
                tell(f"{method}, {multiple} times the context")
            nats = losses(models.reading(method, multiple), windows[:, : multiple * config.context + 1])
            rows.append({"method": method, "multiple": multiple, **_summary(nats, config.context)})
    described = {key: list(value) if isinstance(value, tuple) else value for key, value in vars(settings).items()}
    return {"context": config.context, "seed": config.seed, "settings": described, "rows": rows}


@dataclass
class _Models:
    """Models of one language model for longer contexts, made when they are needed."""

    model: Transformer
    config: LMConfig
    train: TextTask
    steps: int
    dropped: Transformer | None = None

    def reading(self, method: str, multiple: int) -> Transformer:
        """The model that reads ``multiple`` times the trained context by ``method``."""
        context = self.config.context
        if method == PLAIN:
            return self.model
        if method == WINDOW:
            made = copy.deepcopy(self.model)
            made.encoding.window = context
            return made
        if method == DROPPED:
            if self.dropped is None:
                self.dropped = recalibrate(self.model, *self._short(context), share=1.0)
            return self.dropped
        if method == TUNED:
            return fine_tune(extend(self.model, "pi", factor=multiple), *self._short(multiple * context))
        return extend(self.model, method, factor=multiple, length=context)

    def _short(self, context: int) -> tuple[TaskSetup, TrainingConfig]:
        """Windows of the training text, and settings of a short fine-tuning with as many tokens in a step."""
        config = dataclasses.replace(self.config, context=context, target=None, scheme="sequential")
        setup = TaskSetup(self.train, Sequential(max_position=context), ENCODINGS.build("rope"), self.config.model())
        return setup, dataclasses.replace(
            config.training(),
            steps=self.steps,
            warmup=max(1, self.steps // 10),
            lr=FINE_TUNING_LR * self.config.lr,
            probe_every=self.steps,
        )


def _summary(nats: Float[ndarray, "N L"], context: int) -> dict[str, Any]:
    piece = max(1, context // 8)
    starts = range(0, nats.shape[1], piece)
    return {
        "within": float(nats[:, :context].mean()),
        "beyond": float(nats[:, context:].mean()),
        "last": float(nats[:, -context:].mean()),
        "by_position": [round(float(nats[:, start : start + piece].mean()), 4) for start in starts],
    }
