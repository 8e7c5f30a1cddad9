"""What has to be given with a model; found before anything is loaded that takes seconds."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from lengthwise.core.config import whole
from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.files import read_json
from lengthwise.experiments.run_directory import check_kept
from lengthwise.positions.saved import SAVED
from lengthwise.positions.schemes import SCHEMES
from lengthwise.positions.structure import longest_with_ids
from lengthwise.tasks import TASKS, Task

T = TypeVar("T")


def given(task: T | None, train: int | None) -> tuple[T, int]:
    """Both; raises `LengthwiseError` that names what is missing."""
    known = [
        ("its task, as `task` reverse (lengthwise list names them)", task),
        ("the longest trained length, as `train` 8", train),
    ]
    missing = [way for way, value in known if value is None]
    require(not missing, f"the model does not say how it was trained; say {'; and '.join(missing)}")
    assert task is not None
    return task, whole("train", train, 1)


def same_size(size: int, task: Task, typed: str) -> None:
    """Raises `LengthwiseError` unless the model has as many tokens as the task, so that ids may be the same."""
    tokens = task.vocab.tokens
    require(
        size == len(tokens),
        f"the model has {size} tokens and task {typed} has {len(tokens)} ({tokens_of(task)}); say which is which with "
        "`vocab`, an object or a JSON file with the model's own id of each token that it has, as "
        f'{{"{tokens[-1]}": ID, …}}',
    )


def tokens_of(task: Task) -> str:
    """Its tokens; of many, the first ones."""
    tokens = task.vocab.tokens
    return ", ".join(tokens if len(tokens) <= 12 else (*tokens[:11], "…"))


def same_task(task: Task | None, own: Task | None) -> None:
    """Raises `LengthwiseError` if a model's rule of position ids is one of another task, or settings, than the given.

    Arguments:
        task: the given one, if any.
        own: that of the rule, if it has one.
    """
    if task is None or own is None or TASKS.show(task) == TASKS.show(own):
        return
    names = [repr(each) if task.name == own.name else repr(each.name) for each in (own, task)]
    raise LengthwiseError(
        f"the model's rule of position ids is one of task {names[0]}, and `task` is {names[1]}; leave out `task`, or "
        "name the model of that task"
    )


def title_of(task: Task) -> str:
    """The task, and its language if it is one."""
    return " ".join([task.name, *filter(None, [getattr(task, "language", None)])])


def check_folder(folder: Path, task: Task | None, typed: str, train: int | None, vocab: object) -> None:
    """Raises `LengthwiseError` for what a path, which is no run, lacks: by its configuration alone."""
    require(folder.exists(), f"there is no model at {folder}; name a run directory, a folder or a .safetensors file")
    beside = folder.is_file() and (folder.parent / "config.json").is_file()
    require(not beside, f"{folder} is one file of a model; name its folder, {folder.parent}")
    require(
        folder.is_dir() or folder.suffix == ".safetensors",
        f"{folder} is no model; name a run directory, the folder of a Hugging Face model or a .safetensors file",
    )
    check_kept(folder)
    file = folder / "config.json"
    try:
        settings = read_json(file, what="model configuration") if file.is_file() else {}
    except LengthwiseError:
        raise LengthwiseError(f"{file} is damaged (not JSON); save the model again, or train the run again") from None
    if not isinstance(settings, dict) or "experiment" in settings:
        return
    given(task or settings.get(SAVED), train)
    rule = settings.get(SAVED)
    arguments = (rule.get("arguments") or {}) if isinstance(rule, dict) else {}
    own = None if arguments.get("task") is None else TASKS.build(arguments["task"])
    same_task(task, own)
    if own is not None and "scheme" in arguments and train is not None:
        scheme = SCHEMES.build(arguments["scheme"])
        most = train if scheme.wraps else longest_with_ids(own, scheme)
        require(
            train <= most,
            f"`train` is the longest length that the model was trained on, got {train}, but its position ids suffice "
            f"for strings up to length {most} (`max_position` of its rule is {scheme.max_position})",
        )
    size = settings.get("vocab_size")
    if task is not None and vocab is None and isinstance(size, int) and SAVED not in settings:
        same_size(size, task, typed)
