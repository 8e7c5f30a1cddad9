"""Every kind of file that is read, cut short at each KiB and with single bits flipped: refused, or read as it was.

Run: python tests/reliability/damage.py FLIPS [SEED [KIND]]. Prints one JSON line with the counts, by kind of file.
"""

from __future__ import annotations

import dataclasses
import json
import random
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.files import read_json, write_json
from lengthwise.core.result_file import StudyResult, sealed, write_sealed
from lengthwise.crasp import library
from lengthwise.crasp.certificates import certified, check_certificates, write_certificates
from lengthwise.crasp.decide import decide
from lengthwise.experiments.blind.ladder import LADDER
from lengthwise.experiments.blind.study import read_cell, read_study, write_cell, write_study
from lengthwise.experiments.compare import Plan, read_plan, read_tuning, tuning_file
from lengthwise.experiments.defaults import chosen_systems
from lengthwise.experiments.run import run_seed
from lengthwise.experiments.run_config import RunConfig
from lengthwise.experiments.run_directory import claim_run_dir, finished
from lengthwise.explanation.clock import Clock
from lengthwise.explanation.explain import _Stages
from lengthwise.explanation.model import Accuracy, LengthAccuracy
from lengthwise.forecast.probe import STATE, ProbeCell, ProbeSettings, probe
from lengthwise.influence.corpus import Corpus, Document
from lengthwise.influence.lm import LMConfig, load_lm, read_config, train_lm
from lengthwise.languages.automaton import dfa_to_json, language, read_dfa
from lengthwise.models.compile import compile_program
from lengthwise.models.limit import load_theory, save_theory
from lengthwise.tasks import TASKS
from lengthwise.training import checkpoint

EXPERIMENT = RunConfig.from_json(
    {
        "task": {"name": "copy", "symbols": "repeats", "letters": 3},
        "scheme": {"name": "coupled", "max_position": 24},
        "encoding": {"name": "learned"},
        "model": {"layers": 1, "heads": 2, "width": 16, "mlp_ratio": 1},
        "training": {"max_length": 3, "steps": 6, "batch_size": 8, "groups": 2, "probe_every": 2},
        "evaluation": {"lengths": [2], "samples": 8, "fit_samples": 8, "probe_samples": 6, "unfitted_too": True},
    }
)
Read = Callable[[], Any]
"""Reads a file and returns something that equal contents make equal."""


def _weights(tensors: dict[str, torch.Tensor]) -> dict[str, bytes]:
    return {name: tensor.numpy().tobytes() for name, tensor in tensors.items()}


def a_run(folder: Path) -> dict[Path, Read]:
    run_seed(EXPERIMENT, 0, folder, recipe="r", system="s")
    (folder / checkpoint.PREVIOUS).unlink(missing_ok=True)

    def result() -> Any:
        found = finished(folder, EXPERIMENT, 0)
        return found and found.to_json()

    def newest() -> Any:
        found = checkpoint.read(folder)
        return found and (_weights(found[0]), found[1])

    return {
        folder / "result.json": result,
        folder / "config.json": lambda: claim_run_dir(folder, EXPERIMENT, 0),
        folder / checkpoint.FILE: newest,
    }


def a_study(folder: Path) -> dict[Path, Read]:
    path = folder / "study.json"
    head = {"format": 1, "study": "s", "preset": "quick", "seed": 0, "rows": [{"n": n, "x": n / 7} for n in range(60)]}
    write_json(path, sealed({**head, "seconds": 1.0}))

    return {path: lambda: StudyResult.of(read_json(path), "study").to_json()}


def a_language_model(folder: Path) -> dict[Path, Read]:
    config = LMConfig(context=8, vocabulary=280, layers=1, heads=2, width=16, steps=1, batch_tokens=16)
    text = "the cat and the hat and the bat sat on that mat\n"
    corpus = Corpus("cats", (Document("a", text * 20), Document("b", text * 20)), (Document("c", text * 5),))
    train_lm(config, corpus, folder)

    def model() -> Any:
        own, tokenizer = load_lm(folder)
        return tokenizer.encode(text), _weights(own.transformer.state_dict()), read_config(folder)

    again = {folder / "result.json": lambda: train_lm(config, corpus, folder)}
    return again | {folder / name: model for name in ("config.json", "model.safetensors", "tokenizer.json")}


def an_unfinished_language_model(folder: Path) -> dict[Path, Read]:
    a_language_model(folder)
    (folder / checkpoint.PREVIOUS).unlink(missing_ok=True)

    def newest() -> Any:
        found = checkpoint.read(folder)
        return found and (_weights(found[0]), found[1])

    return {folder / checkpoint.FILE: newest}


def a_comparison(folder: Path) -> dict[Path, Read]:
    task = TASKS.build("copy")
    plan = Plan(TASKS.describe(task), chosen_systems(task, ["rope"]), 3, (3, 6), 2, 400)
    plan.write(folder)
    path = tuning_file(folder, plan.systems[0])
    write_sealed(path, {"system": "rope", "in_distribution": [0.5, 0.75], "chosen": 1})
    return {folder / "plan.json": lambda: read_plan(folder), path: lambda: read_tuning(folder, plan, plan.systems[0])}


def a_compiled_program(folder: Path) -> dict[Path, Read]:
    path = folder / "compiled.safetensors"
    save_theory(compile_program(library.get("majority")).required(), path)

    def read() -> Any:
        model = load_theory(path)
        return model.symbols, model.outputs, _weights(model.state_dict())

    return {path: read}


def a_cell_of_a_user_s_study(folder: Path) -> dict[Path, Read]:
    study = write_study(folder, {"title": "one"})
    path = folder / "cells" / "x-nope-rung1.json"
    write_cell(study, path, {"seeds": [{"fit": n / 7, "seed": n} for n in range(5)], "speaks": True})
    return {path: lambda: read_cell(study, path), folder / "preregistration.json": lambda: read_study(folder)}


def an_automaton(folder: Path) -> dict[Path, Read]:
    path = folder / "dfa.json"
    write_json(path, dfa_to_json(language("(ab)*")))
    # It has no digest, and another automaton is another question: only how it ends counts.
    return {path: lambda: read_dfa(path) and None}


def certificates(folder: Path) -> dict[Path, Read]:
    path = folder / "certificates.json"
    write_certificates(path, [certified(text, decide(text)) for text in ("(ab)*", "(aa)*")])

    # What is damaged and still proves its claim is a proof: a claim is expected to be right, not to be the same.
    return {path: lambda: {c.source: {c.answer} for c in check_certificates(path)} and None}


def a_probe(folder: Path) -> dict[Path, Read]:
    rung = dataclasses.replace(LADDER[0], layers=1, width=8, heads=1, batch=4, steps=2)
    settings = ProbeSettings((rung,), (1,), 1, every=2, probe_words=4, fit_words=4, test_words=4)
    cell, state = ProbeCell(TASKS.build("regex:(ab)*"), "nope", 8), folder / STATE

    def done() -> Any:
        found = probe(cell, folder=folder, settings=settings)
        return found.status, found.rungs, found.seeds

    def unfinished() -> Any:
        state.unlink(missing_ok=True)  # what was measured is read where a rung goes on
        return done()

    done()
    return {state: done, folder / "rung-1" / "measured.json": unfinished}


def an_explanation(folder: Path) -> dict[Path, Read]:
    part = Accuracy((LengthAccuracy(3, 8, 7), LengthAccuracy(6, 8, 1)), 3)

    def read() -> Any:
        return _Stages(folder, {"model": 1}, lambda _: None, Clock()).run("accuracy", Accuracy, lambda: part)

    read()
    return {folder / "accuracy.json": read}


def damaged(sound: bytes, flips: int, moves: random.Random) -> Iterator[bytes]:
    """The file cut at each KiB (one larger than 1,000 KiB: at 1,000 places), and with one bit flipped anywhere."""
    for size in range(0, len(sound), max(1024, len(sound) // 1000)):
        yield sound[:size]
    for _ in range(flips):
        copy = bytearray(sound)
        copy[moves.randrange(len(copy))] ^= 1 << moves.randrange(8)
        yield bytes(copy)


MAKERS: tuple[Callable[[Path], dict[Path, Read]], ...] = (
    a_run, a_study, a_language_model, an_unfinished_language_model, an_automaton, certificates, a_comparison,
    a_compiled_program, a_cell_of_a_user_s_study, a_probe, an_explanation,
)  # fmt: skip


def main(flips: int, seed: int = 0, only: str = "") -> dict[str, Any]:
    """Damage every kind of file, or those of one function; returns the counts and all faults."""
    warnings.simplefilter("ignore", checkpoint.CheckpointWarning)
    moves, faults = random.Random(seed), []
    counts: dict[str, dict[str, int]] = {}
    for make in (make for make in MAKERS if only in ("", make.__name__)):
        with tempfile.TemporaryDirectory() as name:
            for path, read in make(Path(name)).items():
                sound, expected = path.read_bytes(), read()
                row = counts[f"{make.__name__}: {path.name}"] = {"files": 0, "refused": 0}
                for number, content in enumerate(damaged(sound, flips, moves)):
                    path.write_bytes(content)
                    row["files"] += 1
                    try:
                        if read() != expected:
                            faults.append(f"{path.name}, {number}: another content was read")
                    except LengthwiseError:
                        row["refused"] += 1
                    except BaseException as error:
                        faults.append(f"{path.name}, {number}: {type(error).__name__}: {str(error)[:120]}")
                path.write_bytes(sound)
    return {"counts": counts, "faults": faults}


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int((sys.argv[2:] or ["0"])[0]), (sys.argv[3:] or [""])[0])))
