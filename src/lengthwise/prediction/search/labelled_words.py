"""Builds the labels that a program is learned from: a task, a regular language or labelled examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lengthwise.core.errors import require
from lengthwise.core.rng import stream
from lengthwise.core.vocab import SPECIALS
from lengthwise.crasp.synthesis.examples import labelled, read_examples
from lengthwise.crasp.synthesis.synthesize import MembershipOracle
from lengthwise.languages.automata.automaton import Dfa
from lengthwise.languages.automata.construction import language
from lengthwise.languages.counter_languages import COUNTER_LANGUAGES
from lengthwise.languages.words.counting import lengths_with_words
from lengthwise.languages.words.sampling import sample_words
from lengthwise.prediction.target import (
    AutomatonFile,
    ExamplesFile,
    Expression,
    ProgramFile,
    parse_target,
    regular_language,
    unsuitable,
)
from lengthwise.tasks import Task
from lengthwise.tasks.language import Language

MOST_SYMBOLS = 6
"""The search is exponential in the size, with the number of symbols as its base."""


@dataclass(frozen=True)
class LabelledWords:
    """Labels of words (a function, or a dictionary of the known ones), an alphabet, and the meaning of a yes."""

    labels: MembershipOracle | Mapping[Sequence[str], bool]
    alphabet: tuple[str, ...]
    meaning: str
    answers: tuple[str, ...] = ()
    """All answers of a task, in alphabetical order."""
    members: tuple[tuple[int, ...], ...] = ()
    """Some words with a yes, by symbol number: where all of them are long, no short word is one."""


def labelled_words(text: str, answer: str | None = None) -> LabelledWords:
    """The labels of a target: words of a language, yes-or-no examples, or words on which a task answers ``answer``.

    ``answer`` is by default the first in alphabetical order. Raises `LengthwiseError` for a program, a task whose
    answers have more than one token, or too many symbols for a search.
    """
    target = parse_target(text)
    require(answer is None or isinstance(target, Task), f"--answer is for tasks; {text!r} is not a task")
    match target:
        case ProgramFile():
            raise unsuitable(text, target, "crasp learn", "a task, a language or examples")
        case ExamplesFile(path):
            return _of_examples(path)
        case Expression() | AutomatonFile():
            return _of_language(text)
        case Language(language=name) if name not in COUNTER_LANGUAGES:
            return _of_language(text)
    return words_of_task(target, text, answer)


def _of_language(text: str) -> LabelledWords:
    dfa, name = language(*regular_language(text)), text.removeprefix("regex:")
    _check_alphabet(text, dfa.alphabet)
    return LabelledWords(dfa.accepts, tuple(dfa.alphabet), f"words of {name}", members=tuple(_members(dfa)))


def words_of_task(task: Task, name: str, answer: str | None = None) -> LabelledWords:
    """The words on which the task answers ``answer``; raises `LengthwiseError` as `labelled_words` does."""
    prompts, answers = _samples(task)
    # What all prompts end in is punctuation (a query mark, a separator), not part of the word.
    before, after = _common_prefix(prompts), _common_prefix([prompt[::-1] for prompt in prompts])[::-1]
    before, after = [s for s in before if s in SPECIALS], [s for s in after if s in SPECIALS or s in "?="]
    words = [prompt[len(before) : len(prompt) - len(after)] for prompt in prompts]
    alphabet = tuple(sorted({symbol for word in words for symbol in word}))
    _check_alphabet(name, alphabet)
    known = sorted(set(answers))
    chosen = known[0] if answer is None else answer
    require(chosen in known, f"task {name!r} has the answers {', '.join(known)}, not {chosen!r}")

    def labels(word: tuple[str, ...]) -> bool:
        try:
            return task.solve([*before, *word, *after])[0] == chosen
        except ValueError:
            return False

    return LabelledWords(labels, alphabet, f"words on which the answer of {name} is {chosen}", tuple(known))


def _check_alphabet(name: str, alphabet: Sequence[str]) -> None:
    require(
        len(alphabet) <= MOST_SYMBOLS,
        f"{name!r} has {len(alphabet)} symbols; programs are searched over at most {MOST_SYMBOLS}",
    )


def _members(dfa: Dfa) -> Iterator[tuple[int, ...]]:
    """Uniform words of the shortest lengths that have some, up to twice the number of states and more."""
    lengths = [length for length in lengths_with_words(dfa, 1, 2 * dfa.size + 20) if length > 0]
    for length in lengths[:: max(1, len(lengths) // 20)][:20]:
        words = sample_words(dfa, length, 5, stream(0, "learn", "members", length))
        yield from (tuple(word) for word in words.tolist())


def _samples(task: Task) -> tuple[list[list[str]], list[str]]:
    prompts, answers = [], []
    for length in task.lengths(1, 8):
        batch = task.batch(length, 16, stream(0, "learn", length))
        require(
            batch.allowed is None and int(batch.answer.sum()) == 1 and int(batch.scored.sum()) <= 2,
            f"task {task.name!r} has answers of more than one token; a program tells one answer from the others",
        )
        for row in range(batch.size):
            text = batch.text(row)
            prompts.append(text[: batch.prompt_length])
            answers.append(text[batch.prompt_length])
    return prompts, answers


def _common_prefix(lists: Sequence[Sequence[str]]) -> list[str]:
    prefix = []
    for column in zip(*lists, strict=False):
        if len(set(column)) > 1:
            break
        prefix.append(column[0])
    return prefix


def _of_examples(path: Path) -> LabelledWords:
    labels = labelled(read_examples(path))
    require(labels is not None, f"{path}: a program is learned from answers that are yes or no, true or false, 1 or 0")
    assert labels is not None
    return LabelledWords(
        labels, tuple(sorted({symbol for word in labels for symbol in word})), f"the examples in {path.name}"
    )
