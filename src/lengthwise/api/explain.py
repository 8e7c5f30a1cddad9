"""`explain`: what a trained model computes, what its heads do, and where it breaks."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lengthwise.core import config as arguments
from lengthwise.core.errors import require
from lengthwise.core.files import locked, make_folder, read_json
from lengthwise.testing.own_tasks import refuse_broken

if TYPE_CHECKING:
    from lengthwise.explanation.explain import Explanation
    from lengthwise.tasks import Task


MOST_FOLDERS = 4096
"""A folder with more is not searched for a run."""


def explain(
    model: Any,
    task: str | Task | dict[str, Any] | None = None,
    *,
    train: int | None = None,
    vocab: str | Path | Mapping[str, int] | None = None,
    offset: int | Literal["random"] = 0,
    lengths: Sequence[int] | None = None,
    samples: int = 128,
    seconds: float = 240,
    out: str | Path | None = None,
    seed: int = 0,
    before: str | Path | Explanation | None = None,
    note: Callable[[str], None] | None = None,
) -> Explanation:
    """Explain a trained model: to which length it is right, the automaton and the program that it computes, its heads.

    Arguments:
        model: a run directory, or a folder with several, of which the best that fitted is taken; a folder of a causal
            Hugging Face model (safetensors; nothing in it is executed), or such a model in memory (it is put into
            evaluation mode); a compiled program (object or file); what `load` returns; or a function
            ``logits(input_ids, position_ids)`` of two integer tensors ``[B, T]`` that returns logits
            ``[B, T, tokens]``. A rule of `lengthwise.hf.attach` gives the position ids of a model that has one, and
            of a folder that was saved with one.
        task: what the model was trained on, as of `lengthwise.task`; a run knows it, and a rule of coupled places.
        train: the longest training length; a run knows it.
        vocab: a JSON file with the model's id of every token of the task, such as ``{"a": 5, "<bos>": 0, "<eos>": 2}``
            (in Python also that mapping itself). By default the ids of the task.
        offset: the position id of the first token, or ``"random"``, drawn for each string. A run has its own ids.
        lengths: lengths at which everything is measured, with those between them that show where it stops to be right,
            and with the longest trained one; by default up to three times ``train``, and, where training showed
            position ids for longer strings (coupled ids, random starts), as far as these suffice: all of it where that
            is at most twelve times ``train``, else eight times.
        samples: strings of each length.
        seconds: of processor time in all; half of it at most is spent on the search of automaton and program. Lengths
            whose strings take too long for it get fewer, and what time left out is said.
        out: a folder for the parts that are finished (accuracy, automaton, program, heads, failures); the same call
            asks the others alone, with the same bits unless ``seconds`` left something out.
        seed: of all strings that are drawn.
        before: an earlier explanation of the task, its folder, or the folder of its model, as before it was trained on;
            what became better is told, and rows that were advised before are not advised again.
        note: called with a line at every step.

    Returns: ``answer`` (right to which length, and from which it breaks), ``faults`` (what breaks, the worst first,
    each with ``strings``, ``fails``, ``mistakes``, ``why`` and ``example``), ``why`` (their causes, or that they are
    not known), ``next`` (what to do now), ``command`` (the same as it is typed), ``fails_where`` (all findings) and
    ``computes``, each a sentence a line, or empty; ``accuracy``, ``automaton``, ``program``, ``heads``, ``failures``
    and ``forecast`` (how likely it is right at each length beyond training, from what it does within; only for models
    without positions); with ``table()``, ``plot()``, ``html()`` and ``to_json()``. Where the task asks for sets of next
    symbols, an output above 0 says that a symbol may come; elsewhere the largest output is the answer.

    Raises: `LengthwiseError` for a model or tokens that do not fit, for a task of your own that breaks a law, each in
        one line, and for a damaged part in `out`.
    """
    from lengthwise.explanation.given import check_folder, title_of
    from lengthwise.tasks import TASKS

    built = None if task is None else TASKS.build(task)
    if built is not None:
        refuse_broken(built)
    chosen = None if lengths is None else arguments.whole_numbers("lengths", lengths, 1)
    mapping = arguments.path("vocab", vocab) if isinstance(vocab, str) else vocab
    if isinstance(mapping, Path):
        read_json(mapping, what="vocabulary file")
    if isinstance(model, str | Path) and Path(model).is_dir() and not (Path(model) / "config.json").exists():
        inside = [*itertools.islice(os.walk(model), MOST_FOLDERS + 1)]
        require(
            len(inside) <= MOST_FOLDERS,
            f"{model} holds more than {MOST_FOLDERS} folders and is no model; name the folder of a Hugging Face model "
            "or of a run",
        )
        require(
            any("result.json" in files for *_, files in inside),
            f"no config.json and model.safetensors (and no result.json of a run) in {model}; name the folder of a "
            "Hugging Face model or of a run",
        )
        from lengthwise.api.model import run_folder
        from lengthwise.api.result import Result

        runs = Result.of([model])
        kinds = {(run.recipe, run.system): folder for folder, run in runs.files}
        one = next(iter(kinds.values()))
        require(
            len(kinds) == 1, f"{model} holds runs of {len(kinds)} systems; name a run of one of them, such as {one}"
        )
        model = run_folder(runs)
    if isinstance(model, str | Path):
        typed = task if isinstance(task, str) else title_of(built) if built else ""
        check_folder(Path(model), built, typed, train, mapping)
    from lengthwise.core.user_code import code_words
    from lengthwise.explanation.advice import Call
    from lengthwise.explanation.before import Before
    from lengthwise.explanation.explain import explain_subject
    from lengthwise.explanation.model import subject_of
    from lengthwise.positions.system import system_of

    subject = subject_of(model, built, train=train, vocab=mapping, offset=offset)
    asked = {name: value for name, value, usual in (
        ("task", task, None), ("train", train, None), ("vocab", vocab, None), ("offset", offset, 0),
        ("lengths", chosen, None), ("samples", samples, 128), ("seconds", seconds, 240), ("seed", seed, 0),
    ) if value != usual}  # fmt: skip
    earlier, path = None, ""
    if isinstance(before, str | Path):
        earlier = Before.read(Path(before))
        if (Path(before) / "config.json").exists():
            same = subject_of(Path(before), built, train=train, vocab=mapping, offset=offset)
            earlier, path = replace(earlier, subject=same), str(before)
    elif before is not None:
        earlier = Before(before.model, before.task, before.failures)
    code = code_words(subject.experiment.to_json()) if subject.experiment is not None else []
    folder = None if out is None else arguments.path("out", out)
    if folder is not None:
        make_folder(folder)
    with nullcontext() if folder is None else locked(folder):
        of = Path(model) if isinstance(model, str | Path) else None
        name = of.name if of is not None else getattr(model, "__name__", type(model).__name__)
        if (run := subject.experiment) is not None:
            known = read_json(of / "config.json", what="configuration") if of is not None else {}
            which = "" if (n := known.get("seed")) is None else f", seed {n}"
            name = f"{system_of(run.scheme, run.encoding).name}{which} ({name})"
        return explain_subject(
            subject,
            name,
            lengths=chosen,
            samples=arguments.whole("samples", samples, 8),
            seconds=arguments.number("seconds", seconds, 0),
            out=folder,
            seed=arguments.whole("seed", seed, 0),
            note=note or (lambda _: None),
            call=Call(model, asked, code, path),
            before=earlier,
        )
