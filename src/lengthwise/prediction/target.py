"""What a verdict is about: a task, an expression, a program, or examples."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lengthwise.core.config import changed_fields
from lengthwise.core.errors import LengthwiseError, did_you_mean
from lengthwise.crasp.program import Program
from lengthwise.crasp.syntax import load_program
from lengthwise.languages.automaton import Dfa, read_dfa
from lengthwise.languages.counter import COUNTER_LANGUAGES
from lengthwise.languages.named import LANGUAGES
from lengthwise.languages.regex import SPECIAL
from lengthwise.tasks import TASKS, Task
from lengthwise.tasks.base import EXPRESSION, named_language
from lengthwise.tasks.language import Language

SYNTAX = "regex:EXPRESSION, FILE.py:Class, FILE.crasp, FILE.jsonl (examples) or FILE.json (an automaton)"
"""The targets that are not names."""


@dataclass(frozen=True)
class Expression:
    """A regular expression, without the prefix ``regex:``."""

    text: str


@dataclass(frozen=True)
class AutomatonFile:
    """A finite automaton and the file that holds it."""

    path: Path
    dfa: Dfa


@dataclass(frozen=True)
class ProgramFile:
    """A C-RASP program and the file that holds it."""

    path: Path
    program: Program


@dataclass(frozen=True)
class ExamplesFile:
    """A file of prompts with answers, which is not read yet."""

    path: Path


Target = Task | Expression | AutomatonFile | ProgramFile | ExamplesFile
KINDS: dict[type, str] = {
    Task: "a task", Expression: "a regular expression", AutomatonFile: "an automaton", ProgramFile: "a program",
    ExamplesFile: "a file of examples",
}  # fmt: skip


def typed_task(configured: Mapping[str, Any]) -> str:
    """What to type for a task, given by its name and the settings that are not the usual ones, as a shell takes it."""
    values = dict(configured)
    name = values.pop("name")
    if name == "language":
        name = values.pop("language", Language.language)
        name = name if name in {*LANGUAGES, *COUNTER_LANGUAGES} else EXPRESSION + name
    return " ".join([shlex.quote(name), *(setting(f"task.{key}", value) for key, value in values.items())])


def settings_of(task: Task) -> dict[str, Any]:
    """The settings of a task that are not the usual ones, but for what its name says of them."""
    if "name" not in vars(type(task)):
        return {}
    return {key: value for key, value in changed_fields(task).items()
            if not (isinstance(task, Language) and key == "language")}  # fmt: skip


def typed_target(text: str) -> str:
    """What was typed as a target, as a shell takes it; an expression that begins as an option does gets its prefix."""
    return shlex.quote(EXPRESSION + text if text.startswith("-") else text)


def typed_name(task: Task) -> str:
    """As `typed_task`; empty for a task that no name stands for."""
    return typed_task({"name": task.name, **changed_fields(task)}) if "name" in vars(type(task)) else ""


def setting(key: str, value: Any) -> str:
    """The option that changes a setting, as a shell takes it."""
    return f"--set {shlex.quote(f'{key}={json.dumps(value)}')}"


def parse_target(text: str) -> Target:
    """The target that ``text`` names.

    A published language, such as Tomita-4, is a `Language` task. A text without prefix is an expression only if it
    contains an operator, so that a mistyped name is never taken for a word. Raises `LengthwiseError` for an unknown
    name, with a suggestion, and for files that are missing or damaged.
    """
    if text.startswith(EXPRESSION):
        return Expression(text.removeprefix(EXPRESSION))
    path = Path(text)
    if text.endswith(".jsonl"):
        return ExamplesFile(path)
    if text.endswith(".json"):
        return AutomatonFile(path, read_dfa(path))
    if text.endswith(".crasp"):
        return ProgramFile(path, load_program(path))
    if text in TASKS or text.endswith(".py") or ".py:" in text:
        return TASKS.build(text)
    if named_language(text) is not None:
        return Expression(text) if SPECIAL & set(text) else TASKS.build(text)
    if near := did_you_mean(text, [*TASKS, *LANGUAGES, *COUNTER_LANGUAGES]):
        raise LengthwiseError(f"unknown target {text!r}. {near} A word is written regex:{text}")
    raise LengthwiseError(
        f"unknown target {text!r}; give a task (`lengthwise list tasks`), {SYNTAX}; a word is written regex:{text}"
    )


def unsuitable(text: str, target: Target, command: str, wanted: str) -> LengthwiseError:
    """The error for a target that ``command`` does not take; ``wanted`` says what it takes."""
    kind = next(name for cls, name in KINDS.items() if isinstance(target, cls))
    return LengthwiseError(f"{text!r} is {kind}, but `lengthwise {command}` takes {wanted}")


def regular_language(text: str) -> tuple[str | Dfa, str | None]:
    """The expression or automaton of a target, and its alphabet where the target fixes one.

    Raises `LengthwiseError` for targets that are not regular languages.
    """
    target = parse_target(text)
    match target:
        case Expression(expression):
            return expression, None
        case AutomatonFile(_, dfa):
            return dfa, None
        case Language(language=name) if name in LANGUAGES:
            return LANGUAGES[name].source, LANGUAGES[name].alphabet
        case Language(language=name, alphabet=alphabet) if name not in COUNTER_LANGUAGES:
            return name, alphabet
    raise unsuitable(text, target, "decide", f"regular languages; `lengthwise predict {text}` gives its verdicts")


def task_named(target: str, command: str) -> Task:
    """The task of a target, or the `Language` of an expression; raises `LengthwiseError` for other targets."""
    parsed = parse_target(target)
    task = task_of(parsed)
    if task is None:
        raise unsuitable(target, parsed, command, "a task or a regular expression")
    return task


def task_of(parsed: Any) -> Task | None:
    """The task that trains on a target; None if it has no strings."""
    if isinstance(parsed, Expression):
        return Language(language=parsed.text)
    return parsed if isinstance(parsed, Task) else None
