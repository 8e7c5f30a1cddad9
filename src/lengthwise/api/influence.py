"""Influential tokens: on which far tokens a model depends, the small language models for it, and longer contexts."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lengthwise.core import config as arguments
from lengthwise.core.config import digest, fields_of, from_fields
from lengthwise.core.errors import LengthwiseError, UnknownNameError, require
from lengthwise.core.files import locked, make_folder, remove_unfinished, write_json, write_text
from lengthwise.core.result_file import sealed
from lengthwise.core.rng import stream
from lengthwise.core.table import Table, Tabular
from lengthwise.experiments.events import Report, silent
from lengthwise.tasks import TASKS

if TYPE_CHECKING:
    from lengthwise.core.batch import Batch
    from lengthwise.experiments.influence import Models
    from lengthwise.experiments.run_config import RunConfig
    from lengthwise.influence.corpus import Corpus, Document
    from lengthwise.influence.lm import ReportTraining
    from lengthwise.influence.measure import MeasureConfig
    from lengthwise.influence.models import LanguageModel, OwnModel
    from lengthwise.influence.tokenizer import Tokenizer

RESULT, PAGE, TOKENS = "result.json", "report.html", "tokens.html"
LONG_PARTS = ("targets", "passages")
"""Parts of a result that stay in the file when it is printed."""
PASSAGES = 2
"""Problems of the token-level view of a task's model."""
RECENT, KS = 1, (1, 2, 4, 8, 16)
"""Of a task's model all but the last token can be hidden, and as many of these numbers are measured as fit."""


class Influence(Tabular):
    """How much of the gain of a long context a few of its tokens recover; ``file`` is result.json."""

    def __init__(self, values: dict[str, Any], file: Path) -> None:
        self.values, self.file = values, file

    @property
    def page(self) -> Path:
        """The page with curves and findings."""
        return self.file.with_name(PAGE)

    def table(self) -> Table:
        """One row per selection rule and k: the share of the gain that is recovered, with its 95 % interval."""
        from lengthwise.report.influence import InfluenceResult

        read = InfluenceResult.of(self.values)
        rows = tuple(
            (rule, k, cell.recovered, *(cell.interval or (None, None)))
            for rule, row in read.cells.items()
            for k, cell in row.items()
        )
        return Table(("rule", "k", "recovered", "low", "high"), rows, caption=f"{read.model} on {read.corpus}")

    def to_json(self) -> dict[str, Any]:
        """The result without the parts that are long, and its file."""
        return {"file": str(self.file), **without_long_parts(self.values)}


PARTS_OF_A_MODEL = (
    "config.json", "model*", "*-of-*", "pytorch_model*", "adapter*", "tokenizer*", "vocab*", "merges*", "*.model",
    "special_tokens_map.json", "added_tokens.json", "*.py",
)  # fmt: skip
"""The files of a folder that decide what a model answers: settings, weights, tokenizer, code."""


def content_of(model: str | None) -> str | None:
    """What names a model: a digest of the `PARTS_OF_A_MODEL` in its folder; of a hub, its name."""
    if model is None or not Path(model).is_dir():
        return model
    total = hashlib.sha256()
    for path in sorted({path for pattern in PARTS_OF_A_MODEL for path in Path(model).glob(pattern) if path.is_file()}):
        with open(path, "rb") as file:
            total.update(f"{path.name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return total.hexdigest()[:16]


def measure_influence(
    model: str | None = None,
    *,
    text: str | Path | None = None,
    dataset: str | None = None,
    chooser: str | None = None,
    context: int | None = None,
    recent: int | None = None,
    ks: Sequence[int] | None = None,
    targets: int = 200,
    rules: Sequence[str] = (),
    keep_first: bool = False,
    max_length: int | None = None,
    length: int | None = None,
    answer_token: int | None = None,
    preset: str = "quick",
    seed: int = 0,
    out: str | Path = "runs",
    settings: dict[str, Any] | None = None,
    progress: Report = silent,
) -> Influence:
    """Measure how much of the gain of a long context a few of its tokens recover.

    Everything before the last ``recent`` tokens is hidden; then the k tokens that help most are made visible again.
    An exported model of a task is measured on problems instead of text.

    Arguments:
        model: a model's folder or hub name; by default the trained pair of ``preset``.
        text: a text file or a folder, by default Python's standard library.
        dataset: a Hugging Face data set ``NAME[:CONFIG]``, streamed, instead of ``text``.
        chooser: another model that chooses tokens, as a control.
        context: tokens before each target.
        recent: how many of these stay visible.
        ks: numbers of influential tokens.
        targets: how many target tokens.
        rules: selection rules beside greedy.
        keep_first: the first token stays visible, too (attention sinks).
        max_length: most tokens of a hub model that does not state it.
        length: of the problems, for the model of a task; by default the longest it was trained on.
        answer_token: which token of the answer is the target, for the model of a task; from 0.
        preset: which trained pair: ``"quick"`` or ``"standard"``.
        seed: of the targets, and of random choices.
        out: the folder for results and the trained pair.
        settings: further fields of `MeasureConfig`.
        progress: called with the part at work, and how far it is.

    Returns: the result, which lies with its pages in a folder of ``out``.

    Raises: `LengthwiseError` for everything that a caller can get wrong, before anything is trained or measured where
        that can be known.
    """
    from lengthwise.experiments.provenance import provenance
    from lengthwise.influence.models import model_type

    chosen = {
        "context": context, "recent": recent, "ks": sorted(set(ks)) if ks else None, "targets": targets,
        "rules": list(rules) or None, "keep_first": keep_first, "seed": seed, **(settings or {}),
    }  # fmt: skip
    source = None if text is None else arguments.path("text", text)
    request = _Request(model, chooser, source, dataset, preset, max_length, length, answer_token, chosen)
    out = arguments.path("out", out)
    if out.exists() or out.is_symlink():
        make_folder(out)  # only to refuse a file, or a link that leads nowhere, before minutes of work
    require(request.model is not None or request.chooser is None, "`chooser` needs `model`; the pair has its own")
    started = time.perf_counter()
    if request.model is not None and model_type(Path(request.model)) == "lengthwise":
        measured, config, values = _measure_task(request, progress)
    else:
        measured, config, values = _measure_text(request, out, progress)
    named = {
        "model": content_of(request.model) or request.preset, "chooser": content_of(request.chooser),
        "corpus": values["corpus"]["digest"],
        "config": fields_of(config),
    }  # fmt: skip
    file = out / "influence" / digest(named) / RESULT
    result = {
        "format": 1, **values, "model_content": named["model"], "seed": config.seed,
        "seconds": round(time.perf_counter() - started, 2),
        **provenance(_device(measured)),
    }  # fmt: skip
    make_folder(file.parent)
    with locked(file.parent):
        remove_unfinished(file.parent)
        write_json(file, sealed(result), dense=True)
        write_pages(file, result)
    return Influence(result, file)


@dataclass(frozen=True)
class _Request:
    model: str | None
    chooser: str | None
    text: Path | None
    dataset: str | None
    preset: str
    max_length: int | None
    length: int | None
    answer_token: int | None
    settings: dict[str, Any]


def _measure_text(request: _Request, out: Path, report: Report) -> tuple[LanguageModel, MeasureConfig, dict[str, Any]]:
    """The model, the settings and the result without provenance, of a model that reads text."""
    from lengthwise.experiments.influence import CONTEXT, RECENT, observe
    from lengthwise.influence.corpus import load_corpus

    own = {"context": CONTEXT, "recent": RECENT} if request.model is None else {}
    config = measure_config(own | {key: value for key, value in request.settings.items() if value is not None})
    longest = request.max_length
    require(longest is None or longest >= 2, f"max_length must be at least 2, got {longest}")
    for option, value in (("length", request.length), ("answer_token", request.answer_token)):
        require(
            value is None,
            f"`{option}` is for the exported model of a task; leave it out, or give its folder as `model`",
        )
    report("reading the text", 0, 1)
    corpus = load_corpus(request.text, request.dataset)
    if request.model is None:
        models, documents = _pair(request, corpus, out, report)
    else:
        models, documents = _named(request, corpus)
    return models.model, config, observe(models, documents, corpus.describe(), config, report)


def measure_config(settings: dict[str, Any]) -> MeasureConfig:
    """The settings with the given fields; the rules always include greedy. Raises `LengthwiseError`."""
    from lengthwise.influence.measure import SELECTION_RULES, MeasureConfig

    fields = dict(settings)
    if fields.get("rules"):
        fields["rules"] = list(dict.fromkeys(["greedy", *fields["rules"]]))
    config = from_fields(MeasureConfig, fields, where="measurement")
    for rule in config.rules:
        SELECTION_RULES.get(rule)
    return config


def write_pages(path: Path, result: dict[str, Any]) -> None:
    """Draw ``report.html`` and ``tokens.html`` beside a result file."""
    from lengthwise.report.influence import InfluenceResult, token_view
    from lengthwise.report.page import render

    read = InfluenceResult.of(result, where=f"result file {path}")
    write_text(path.with_name(PAGE), render([], [read]))
    write_text(path.with_name(TOKENS), token_view(read))


def without_long_parts(result: dict[str, Any]) -> dict[str, Any]:
    """A result without the parts that are long: what ``--json`` prints."""
    return {key: value for key, value in result.items() if key not in LONG_PARTS}


def _device(model: LanguageModel) -> str:
    """Our own models are loaded where they were trained, on the processor; others where the environment says."""
    from lengthwise.influence.models import OwnModel
    from lengthwise.models.device import chosen_device

    return "cpu" if isinstance(model, OwnModel) else chosen_device()


def _pair(request: _Request, corpus: Corpus, out: Path, report: Report) -> tuple[Models, Sequence[Document]]:
    """The pair of `lengthwise run influence`, in its folder; other text than its own was never trained on."""
    from lengthwise.experiments import recipes as _recipes  # noqa: F401
    from lengthwise.experiments.influence import SIZES, trained_pair
    from lengthwise.experiments.recipe import RECIPES
    from lengthwise.experiments.run_directory import run_directory
    from lengthwise.influence.corpus import standard_library

    if request.preset not in SIZES:
        raise UnknownNameError("preset", request.preset, SIZES)
    named = request.text is not None or request.dataset is not None
    own = standard_library() if named else corpus
    (job,) = RECIPES.make("influence", request.preset).jobs
    folder = run_directory(out, "influence", job.works[0], 0)
    models = trained_pair(SIZES[request.preset], 0, own, folder, report)
    return models, _unseen(corpus, own.describe())


def _named(request: _Request, corpus: Corpus) -> tuple[Models, Sequence[Document]]:
    from lengthwise.experiments.influence import Models

    assert request.model is not None
    model, tokenizer, trained_on = load_model(request.model, request.max_length)
    chooser = None
    if request.chooser is not None:
        chooser, other, _ = load_model(request.chooser, request.max_length)
        sample = corpus.held_out[0].text[:2000]
        require(
            tokenizer.vocab_size == other.vocab_size and tokenizer.encode(sample) == other.encode(sample),
            f"{request.chooser} cuts text into other tokens than {request.model}; the two need the same tokenizer",
        )
    return Models(model, tokenizer, chooser), _unseen(corpus, trained_on)


def _unseen(corpus: Corpus, trained_on: dict[str, Any] | None) -> Sequence[Document]:
    """The held-out part of the text that a model was trained on, all of any other."""
    if trained_on is not None and trained_on.get("digest") == corpus.describe()["digest"]:
        return corpus.held_out
    return sorted((*corpus.train, *corpus.held_out), key=lambda document: document.name)


def load_model(name: str, max_length: int | None = None) -> tuple[LanguageModel, Tokenizer, dict[str, Any] | None]:
    """A model by folder or hub name, its tokenizer, and the text that it was trained on where that is known.

    Raises `LengthwiseError` where there is no such model, or it can't be masked.
    """
    from lengthwise.influence.lm import is_lm, load_lm, read_config

    path = Path(name)
    if path.is_dir() and is_lm(path):
        model, tokenizer = load_lm(path)
        return model, tokenizer, read_config(path)[1]
    require(not path.is_file(), f"{name} is a file; give the folder of a model, or a hub name")
    local = name.startswith((".", "/", "~")) or name.count("/") > 1
    if local and not path.is_dir():
        raise LengthwiseError(f"no model at {name}; check `model`, or train one with `lengthwise lm train`")
    from lengthwise.influence.huggingface import HuggingFaceModel

    loaded = HuggingFaceModel.load(name, max_length)
    return loaded, loaded.tokenizer, None


def _measure_task(request: _Request, report: Report) -> tuple[OwnModel, MeasureConfig, dict[str, Any]]:
    """The model, the settings and the result without provenance; raises `LengthwiseError` for what can't be measured.

    ``request.length`` is that of the problems, by default the longest of the training; ``request.answer_token`` counts
    the tokens of the answer from 0.
    """
    from lengthwise.experiments.trained import load_exported
    from lengthwise.influence.corpus import problem_windows
    from lengthwise.influence.measure import measure, passage
    from lengthwise.influence.models import OwnModel

    assert request.model is not None
    for option, value in (("text", request.text), ("dataset", request.dataset), ("chooser", request.chooser)):
        require(value is None, f"{request.model} holds the model of a task, which reads no text; leave out `{option}`")
    settings = {key: value for key, value in request.settings.items() if value is not None}
    for option, value in (("context", settings.get("context")), ("max_length", request.max_length)):
        require(value is None, f"{request.model} holds the model of a task; leave out `{option}` and give `length`")
    report("reading the model", 0, 1)
    experiment, transformer = load_exported(Path(request.model))
    length = experiment.training.max_length if request.length is None else request.length
    count, seed = settings.get("targets", 200), settings.get("seed", 0)
    require(count >= 1, f"targets must be at least 1, got {count}")
    rng = stream(seed, "influence", "problems", length)
    at = request.answer_token or 0
    windows, batch = problem_windows(experiment.task, length, count, at, rng)
    config = measure_config(_with_defaults(settings, windows.tokens.shape[1] - 1))
    model = OwnModel(Path(request.model).resolve().name, transformer, None, ids=_window_ids(experiment, batch, config))

    def pieces(ids: Sequence[int]) -> list[str]:
        return [f"{experiment.task.vocab.tokens[int(token)]} " for token in ids]

    result = measure(model, windows, config, pieces=pieces, on_progress=report)
    gains = np.array([target["short"] - target["long"] for target in result["targets"]])
    for index in np.argsort(-gains, kind="stable")[:PASSAGES]:
        rows = slice(index, index + 1)
        alone = replace(windows, tokens=windows.tokens[rows], documents=windows.documents[rows],
                        offsets=windows.offsets[rows])  # fmt: skip
        result["passages"].append(passage(model, alone, config, pieces))
    about = {
        "name": f"{experiment.task.name} of length {length}, token {at} of the answer",
        "task": TASKS.describe(experiment.task), "length": length, "answer_token": at,
    }  # fmt: skip
    return model, config, {**result, "kind": "influence", "corpus": {**about, "digest": digest(about)}, "pair": None}


def _with_defaults(settings: dict[str, Any], context: int) -> dict[str, Any]:
    """The settings with the whole prompt as context; without ``ks``, those of `KS` that fit."""
    found = {"recent": RECENT, **settings, "context": context}
    most = context - found["recent"] - bool(found.get("keep_first"))
    found.setdefault("ks", [k for k in KS if k <= max(most, 1)])
    return found


def _window_ids(experiment: RunConfig, batch: Batch, config: MeasureConfig) -> Callable[[np.ndarray], np.ndarray]:
    """The ids of whole windows of ``batch``, as at test; a token keeps its id under every mask of the others."""
    rng = stream(config.seed, "influence", "ids")
    ids = experiment.scheme.for_evaluation().assign(batch.places, experiment.task.levels, rng)[:, : config.context]
    known = {row.tobytes(): own for row, own in zip(_rows(batch.input_ids[:, : config.context]), ids, strict=True)}
    return lambda tokens: np.stack([known[row.tobytes()] for row in _rows(tokens)])


def _rows(tokens: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(tokens, dtype=np.int64)


class LanguageModelResult(Tabular):
    """A trained language model: its losses on held-out text, and the ``folder`` that holds it."""

    def __init__(self, values: dict[str, Any], folder: Path) -> None:
        self.values, self.folder = values, folder

    def table(self) -> Table:
        """Losses on held-out text in nats, within the trained context and at the target."""
        parts = [self.values["held_out"], self.values["at_target"]]
        columns = ("context", "nats per token", "nats per byte", "unigram", "gain of the farther half")
        rows = tuple(
            (
                part["context"], part["nats_per_token"], part["nats_per_byte"], part["unigram_nats_per_token"],
                part["far_half"]["gain"],
            )
            for part in parts[: 2 if parts[1]["context"] > parts[0]["context"] else 1]
        )  # fmt: skip
        return Table(columns, rows)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"folder": str(self.folder), **self.values}


def train_language_model(
    preset: str = "quick",
    *,
    context: int = 128,
    scheme: str = "sequential",
    target: int | None = None,
    tokenizer: str = "bpe",
    text: str | Path | None = None,
    dataset: str | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    progress: ReportTraining | None = None,
    note: Callable[[str], None] = lambda line: None,
) -> LanguageModelResult:
    """Train a small language model and measure its loss on held-out text.

    A finished model is reused and an interrupted one goes on from its last checkpoint, so the same call can always be
    made again.

    Arguments:
        preset: ``"quick"`` or ``"standard"``.
        context: tokens of context in training.
        scheme: position ids in training, ``"sequential"`` or ``"pose"``.
        target: with ``"pose"``, the context that position ids reach to.
        tokenizer: ``"bpe"`` or ``"bytes"``.
        text: a text file or a folder, by default Python's standard library.
        dataset: a Hugging Face data set ``NAME[:CONFIG]``, streamed, instead of ``text``.
        seed: of weights and windows.
        out: the model's folder, by default one in ``runs/lm``.
        progress: called with the part at work, steps done and in all, and the loss in nats per token.
        note: called with a line about each file that is left out.

    Returns: losses, and where the model is.

    Raises: `LengthwiseError` for wrong settings, a folder that holds something else, and text shorter than a window.
    """
    from lengthwise.experiments.provenance import provenance
    from lengthwise.influence.corpus import load_corpus
    from lengthwise.influence.lm import lm_config, train_lm

    config = lm_config(preset, context=context, scheme=scheme, target=target, tokenizer=tokenizer, seed=seed)
    corpus = load_corpus(None if text is None else arguments.path("text", text), dataset)
    folder = Path("runs") / "lm" / f"{preset}-{scheme}-{context}-seed-{seed}" if out is None else Path(out)
    for name in corpus.skipped:
        note(f"skipped, not UTF-8 text: {name}")
    values = train_lm(config, corpus, folder, progress, about=lambda: provenance("cpu"))
    return LanguageModelResult(values, folder)


class LongerContextResult(Tabular):
    """A language model's loss beyond its context, by the way to extend it."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values

    def table(self) -> Table:
        """Nats per token within the trained context and over the last so many tokens of each longer window."""
        context = self.values["context"]
        ends = [multiple * context for multiple in self.values["settings"]["multiples"]]
        columns = ("nats per token", f"first {context} tokens", *(f"tokens {end - context + 1}–{end}" for end in ends))
        found = []
        for method in dict.fromkeys(row["method"] for row in self.values["rows"]):
            rows = [row for row in self.values["rows"] if row["method"] == method]
            found.append((method, rows[-1]["within"], *(row["last"] for row in rows)))
        return Table(columns, tuple(found))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return self.values


def measure_longer_contexts(
    model: str | Path,
    *,
    methods: Sequence[str] | None = None,
    multiples: Sequence[int] = (2, 4, 8),
    windows: int = 64,
    fine_tune: int = 0,
    text: str | Path | None = None,
    dataset: str | None = None,
    note: Callable[[str], None] = lambda line: None,
) -> LongerContextResult:
    """Measure a trained language model's loss beyond its context, under each way to extend it.

    Arguments:
        model: the folder of a model of `train_language_model`.
        methods: ``"none"``, ``"window"``, ``"pi"``, ``"yarn"``, …; by default all.
        multiples: of the trained context.
        windows: windows of held-out text.
        fine_tune: steps of training for PI and DroPE; with 0, only what needs none.
        text: a text file or a folder, by default Python's standard library.
        dataset: a Hugging Face data set ``NAME[:CONFIG]``, streamed, instead of ``text``.
        note: called with a line for each part.

    Returns: the losses.

    Raises: `LengthwiseError` for another folder, unknown methods, and numbers out of range.
    """
    from lengthwise.influence.corpus import load_corpus
    from lengthwise.influence.lm import LongerContexts, measure_longer

    settings = LongerContexts(tuple(multiples), windows, fine_tune, None if methods is None else tuple(methods))
    corpus = load_corpus(None if text is None else arguments.path("text", text), dataset)
    return LongerContextResult(measure_longer(arguments.path("model", model), corpus, settings, note))
