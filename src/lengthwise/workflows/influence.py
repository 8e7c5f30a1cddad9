"""Measures influential tokens of a named model on a named text and writes ``result.json`` and the pages."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lengthwise.core.config import digest, fields_of, from_fields
from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.files import locked, remove_unfinished, write_json, write_text
from lengthwise.core.result_file import sealed
from lengthwise.experiments.events import Report
from lengthwise.workflows.influence_request import Request

if TYPE_CHECKING:
    from lengthwise.experiments.influence import Models
    from lengthwise.influence.corpus import Corpus, Document
    from lengthwise.influence.measure import MeasureConfig
    from lengthwise.influence.models import LanguageModel
    from lengthwise.influence.tokenizer import Tokenizer

RESULT, PAGE, TOKENS = "result.json", "report.html", "tokens.html"
LONG_PARTS = ("targets", "passages")
"""Parts of a result that stay in the file when it is printed."""


def run_influence(request: Request, out: Path, report: Report) -> tuple[Path, dict[str, Any]]:
    """Measure, and write ``out/influence/<hash>/``; returns the result's file and its contents.

    Raises `LengthwiseError` for everything that a user can get wrong, before anything is trained or measured where
    that can be known.
    """
    from lengthwise.experiments.provenance import provenance
    from lengthwise.influence.models import model_type
    from lengthwise.workflows.task_influence import measure_task

    require(not out.exists() or out.is_dir(), f"--out {out} is a file; choose a folder")
    require(request.model is not None or request.chooser is None, "--chooser needs --model; the pair has its own")
    started = time.perf_counter()
    if request.model is not None and model_type(Path(request.model)) == "lengthwise":
        model, config, values = measure_task(request, measure_config, report)
    else:
        model, config, values = _measure_text(request, out, report)
    named = {
        "model": request.model or request.preset, "chooser": request.chooser, "corpus": values["corpus"]["digest"],
        "config": fields_of(config),
    }  # fmt: skip
    path = out / "influence" / digest(named) / RESULT
    result = {
        "format": 1, **values, "seed": config.seed, "seconds": round(time.perf_counter() - started, 2),
        **provenance(_device(model)),
    }  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path.parent):
        remove_unfinished(path.parent)
        write_json(path, sealed(result), dense=True)
        write_pages(path, result)
    return path, result


def _measure_text(request: Request, out: Path, report: Report) -> tuple[LanguageModel, MeasureConfig, dict[str, Any]]:
    """The model, the settings and the result without provenance, of a model that reads text."""
    from lengthwise.experiments.influence import observe
    from lengthwise.experiments.recipes.influence import CONTEXT, RECENT
    from lengthwise.influence.corpus import load_corpus

    own = {"context": CONTEXT, "recent": RECENT} if request.model is None else {}
    config = measure_config(own | {key: value for key, value in (request.settings or {}).items() if value is not None})
    longest = request.max_length
    require(longest is None or longest >= 2, f"--max-length must be at least 2, got {longest}")
    for option, value in (("--length", request.length), ("--answer-token", request.answer_token)):
        require(
            value is None, f"{option} is for the exported model of a task; leave it out, or give its --model FOLDER"
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


def write_pages(path: Path, result: dict[str, Any]) -> tuple[Path, Path]:
    """Draw ``report.html`` and ``tokens.html`` beside a result file; returns where they are."""
    from lengthwise.report.influence import InfluenceResult, token_view
    from lengthwise.report.page import render

    read = InfluenceResult.of(result, where=f"result file {path}")
    page, tokens = path.with_name(PAGE), path.with_name(TOKENS)
    write_text(page, render([], [read]))
    write_text(tokens, token_view(read))
    return page, tokens


def without_long_parts(result: dict[str, Any]) -> dict[str, Any]:
    """A result without the parts that are long: what ``--json`` prints."""
    return {key: value for key, value in result.items() if key not in LONG_PARTS}


def _device(model: LanguageModel) -> str:
    """Our own models are loaded where they were trained, on the processor; others where the environment says."""
    from lengthwise.influence.models import OwnModel
    from lengthwise.models.device import chosen_device

    return "cpu" if isinstance(model, OwnModel) else chosen_device()


def _pair(request: Request, corpus: Corpus, out: Path, report: Report) -> tuple[Models, Sequence[Document]]:
    """The pair of `lengthwise run influence`, in its folder; other text than its own was never trained on."""
    from lengthwise.core.errors import UnknownNameError
    from lengthwise.experiments import recipes as _recipes  # noqa: F401
    from lengthwise.experiments.influence import trained_pair
    from lengthwise.experiments.recipe import RECIPES
    from lengthwise.experiments.recipes.influence import SIZES
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


def _named(request: Request, corpus: Corpus) -> tuple[Models, Sequence[Document]]:
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
        raise LengthwiseError(f"no model at {name}; check --model, or train one with `lengthwise lm train`")
    from lengthwise.influence.huggingface import HuggingFaceModel

    loaded = HuggingFaceModel.load(name, max_length)
    return loaded, loaded.tokenizer, None
