"""Search for a small program of a task, and for its places."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lengthwise.core.batch import Layout
from lengthwise.core.config import fields_of
from lengthwise.core.errors import LengthwiseError, OutOfTimeError, require
from lengthwise.core.rng import Rng, stream
from lengthwise.core.vocab import SPECIALS
from lengthwise.crasp.program import Fragment, Program
from lengthwise.crasp.synthesis import MembershipOracle, Synthesis, labelled, read_examples, synthesize
from lengthwise.languages.automaton import Dfa, language
from lengthwise.languages.counter import COUNTER_LANGUAGES
from lengthwise.languages.sampling import lengths_with_words, sample_words
from lengthwise.positions.system import contains
from lengthwise.prediction.couple import FOUND_FROM, SHORTEST, doubt_in, search, untold_by
from lengthwise.prediction.suites import Evidence, program_evidence
from lengthwise.prediction.target import ExamplesFile, ProgramFile, parse_target, regular_language, unsuitable
from lengthwise.prediction.verdict import Argument
from lengthwise.sparsity.coupling import corrected
from lengthwise.sparsity.dependence import Dependencies, estimate_dependencies
from lengthwise.tasks import Task
from lengthwise.tasks.language import Language

SECONDS = 6.0
"""No further length is looked at after this time."""
CHECKED = 4
"""How much longer than the first the sequences are at which the rule is checked."""


def search_places(task: Task, note: Callable[[str], None]) -> tuple[list[Argument], str]:
    """Arguments for coupled positions if a coupling is found, and one line on the extent of the search.

    The coupling is found at the three shortest lengths from 4 on and checked at one longer length, with fewer queries
    than ``lengthwise couple`` takes; so the basis is ``evidence``.
    """
    lengths = task.lengths(SHORTEST, SHORTEST + 60)
    if len(lengths) <= FOUND_FROM:
        return [], "no coupling was searched: the task has fewer than four lengths in 4..64"
    note(f"searching for a coupling at lengths {', '.join(map(str, lengths[:FOUND_FROM]))} (a few seconds)")
    ends = time.monotonic() + SECONDS

    def estimate(n: int) -> Dependencies:
        if time.monotonic() > ends:
            raise OutOfTimeError(f"{STOPPED} {SECONDS:.0f} s; `lengthwise couple {task.name}` takes its time")
        return _dependencies(task, n)

    try:
        known, rule, reason = search(lengths, estimate)
        if rule is None:
            return [], f"{COUPLING_SEARCHED}{reason}"
        longer = lengths[min(len(lengths) - 1, FOUND_FROM - 1 + CHECKED)]
        known[longer] = estimate(longer)
        rule, check = corrected(rule, known, sorted(known))
        if not check.holds:  # A rule from that length, too, needs another one to be checked at.
            between = lengths[FOUND_FROM]
            known[between] = known.get(between) or estimate(between)
            rule, check = corrected(rule, known, sorted(known))
    except (LengthwiseError, OutOfTimeError) as error:
        return [], f"{COUPLING_SEARCHED}{error}"
    except Exception as error:
        return [], f"no coupling was searched: the task fails on a prompt ({type(error).__name__}: {error})"
    if not check.holds:
        return [], f"{COUPLING_SEARCHED}{check.problems[0]}"
    if why := untold_by(rule, task, known[longer], _layout(task, longer)):
        return [], f"{COUPLING_SEARCHED}{why}"
    at = ", ".join(map(str, sorted(known)))
    k = known[longer].sparsity
    parents = "the one parent" if k == 1 else f"all {k} parents"
    why = f"a coupling found by search keeps {parents} within one place at lengths {at} (`lengthwise couple`)"
    doubt = doubt_in(rule, known[longer])
    why += f"; but {doubt}" * bool(doubt)
    facts = {"kind": "coupling", "lines": rule.describe().splitlines(), "lengths": sorted(known)}
    return [Argument("yes", "evidence", why, facts)], f"{COUPLING_SEARCHED}found, checked at lengths {at}"


def _dependencies(task: Task, length: int) -> Dependencies:
    layout = _layout(task, length)

    def sample(n: int, rng: Rng) -> list[str]:
        batch = task.batch(n, 1, rng, layout)
        return batch.text(0)[: batch.prompt_length]

    rng = stream(0, "predict", "queries", length)
    return estimate_dependencies(task.solve, sample, length, rng, bases=60, groups=30, resamples=8)


def _layout(task: Task, length: int) -> Layout:
    return task.layout(length, stream(0, "predict", "coupling", length))


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
    answer: str = ""
    """Of a task: the answer that is a yes."""
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    """Of a task: what stands before and after the word in a prompt."""
    members: tuple[tuple[int, ...], ...] = ()
    """Some words with a yes, by symbol number: where all of them are long, no short word is one."""


def labelled_words(text: str, answer: str | None = None) -> LabelledWords:
    """The labels of a target: words of a language, yes-or-no examples, or words on which a task answers ``answer``.

    ``answer`` is by default the first in alphabetical order. Raises `LengthwiseError` for a program, a task whose
    answers have more than one token, or too many symbols for a search.
    """
    target = parse_target(text)
    require(answer is None or isinstance(target, Task), f"answer is for tasks; {text!r} is not a task")
    match target:
        case ProgramFile():
            raise unsuitable(text, target, "crasp learn", "a task, a language or examples")
        case ExamplesFile(path):
            labels = labelled(read_examples(path))
            if labels is None:
                raise LengthwiseError(
                    f"{path}: a program is learned from answers that are yes or no, true or false, 1 or 0"
                )
            alphabet = tuple(sorted({symbol for word in labels for symbol in word}))
            return LabelledWords(labels, alphabet, f"the examples in {path.name}")
        case Task() if not (isinstance(target, Language) and target.language not in COUNTER_LANGUAGES):
            return words_of_task(target, text, answer)
    dfa = language(*regular_language(text))
    _check_alphabet(text, dfa.alphabet)
    meaning = f"words of {text.removeprefix('regex:')}"
    return LabelledWords(dfa.accepts, tuple(dfa.alphabet), meaning, members=tuple(_members(dfa)))


def words_of_task(task: Task, name: str, answer: str | None = None) -> LabelledWords:
    """The words on which the task answers ``answer``; raises `LengthwiseError` as `labelled_words` does."""
    prompts, answers = _samples(task)
    # What all prompts end in is punctuation (a query mark, a separator), not part of the word.
    before, after = _common_prefix(prompts), _common_prefix([prompt[::-1] for prompt in prompts])[::-1]
    before, after = [s for s in before if s in SPECIALS], [s for s in after if s in SPECIALS or s in "?="]
    words = [prompt[len(before) : len(prompt) - len(after)] for prompt in prompts]
    alphabet = tuple(sorted({symbol for word in words for symbol in word}))
    _check_alphabet(name, alphabet, task)
    known = sorted(set(answers))
    chosen = known[0] if answer is None else answer
    require(chosen in known, f"task {name!r} has the answers {', '.join(known)}, not {chosen!r}")

    def labels(word: tuple[str, ...]) -> bool:
        try:
            return task.solve([*before, *word, *after])[0] == chosen
        except ValueError:
            return False

    meaning = f"words on which the answer of {name} is {chosen}"
    return LabelledWords(labels, alphabet, meaning, tuple(known), chosen, tuple(before), tuple(after))


def _fewer(task: Task | None, number: int) -> str:
    """What fewer symbols or answers would do, and the settings of a task that make them fewer."""
    names = [key for key, value in ({} if task is None else fields_of(task)).items() if value == number]
    return f"with fewer{f', as with {names[0]}={FEW_SYMBOLS},' if names else ''} one may be found"


def _check_alphabet(name: str, alphabet: Sequence[str], task: Task | None = None) -> None:
    require(
        len(alphabet) <= MOST_SYMBOLS,
        f"{name!r} has {len(alphabet)} symbols, and programs are searched over at most {MOST_SYMBOLS}; "
        + _fewer(task, len(alphabet)),
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
            f"task {task.name!r} has answers of more than one token; {ONE_TOKEN}",
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


COUPLING_SEARCHED = "searched: a coupling: "
"""How the line on a coupling begins where one was searched."""
STOPPED = "stopped after"
"""Part of it where the time was up."""
BY_HAND = (
    "write places yourself, place=…, one number for tokens that belong together (docs/howto/own-task.md#places), or "
    "the answer in another order"
)
"""What to do where a search for places found none."""
NOT_SEARCHED = "no program was searched"
"""How the line on the extent of a search begins where there was none."""
ONE_TOKEN = "the search for programs handles one-token answers only"
"""Why none was searched for longer answers, which says nothing of the task."""
LARGEST, MOST = 6, 300_000
"""The largest size of a program, and the most candidates of one size: together a few seconds."""
MOST_ANSWERS, FEW_SYMBOLS = 4, 3
"""The most answers that are tried, and a number of symbols that a search is done with soon."""
SPACES: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (((), ()), ((2,), (1,)))
"""Periods and distances of the programs: none first, then parity of the position and the symbol before."""


def search_programs(task: Task, note: Callable[[str], None]) -> tuple[list[Evidence], str]:
    """Evidence for the fragment of the programs found, and one line on the extent of the search.

    One program is needed for each answer but one. ``note`` is called with a line before the search starts. Words are
    tested, not proved, so the basis is ``evidence``.
    """
    try:
        first = words_of_task(task, task.name)
    except LengthwiseError as error:
        reason = str(error).removeprefix(f"task {task.name!r} has answers of more than one token; ")
        return [], f"{NOT_SEARCHED}: {reason.replace(repr(task.name), 'it', 1)}"
    answers = first.answers[:-1]
    if not 1 <= len(answers) < MOST_ANSWERS:
        few = f"; {_fewer(task, len(first.answers))}" * bool(answers)
        why = f"the task has {len(first.answers)} answers, and 2 to {MOST_ANSWERS} are tried{few}"
        return [], f"{NOT_SEARCHED}: {why}"
    note(f"searching for small C-RASP programs over {len(first.alphabet)} symbols (a few seconds)")
    found: list[Synthesis] = []
    try:
        for periods, distances in SPACES:
            words = [words_of_task(task, task.name, answer) for answer in answers]
            found = [
                synthesize(w.labels, w.alphabet, max_size=LARGEST, periods=periods, distances=distances, most=MOST)
                for w in words
            ]
            programs = [item.program for item in found if item.program is not None]
            if len(programs) == len(answers):
                return [_joined(programs, found)], f"searched: {_extent(found)}: found"
    except Exception as error:
        return [], f"{NOT_SEARCHED}: the task fails on a word ({type(error).__name__}: {error})"
    return [], f"searched: {_extent(found)}: none; larger programs may exist (`lengthwise crasp learn`)"


def _extent(found: list[Synthesis]) -> str:
    size = min(item.size or item.exhausted_size for item in found)
    return f"C-RASP programs up to size {size} ({sum(item.searched for item in found):,} candidates)"


def _joined(programs: list[Program], found: list[Synthesis]) -> Evidence:
    """The evidence of several programs: their common fragment, and the text of the first."""
    pairs = zip(programs, found, strict=True)
    parts = [program_evidence(program, f"size {item.size}, found by search") for program, item in pairs]
    words = min(item.checked for item in found)
    argument = parts[0].argument
    why = f"{argument.why}; it agrees on {words:,} words, which proves nothing about others"
    # The smallest fragment that contains all of them.
    fragments: tuple[Fragment, ...] = ("none", "local", "periodic", "ape")
    fragment: Fragment = next(wide for wide in fragments if all(contains(wide, part.fragment) for part in parts))
    return Evidence(fragment, Argument("yes", "evidence", why, argument.certificate))
