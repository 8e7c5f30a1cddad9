"""The questions of an audit: problems of a task in which one thing at a time varies, and the forms that they take.

Filler before a problem makes the text longer and leaves everything else. The same filler between problem and answer
moves what matters away. A larger problem in place of filler makes more words matter, in a text of the same length.
Other problems, each whole and in a line of its own, in place of the filler before the problem distract, and change
neither length nor distance; nor does prose in its place, which people have written. Every problem has examples, filler,
distractors and prose of its own, so that answers are independent; they are the same in all cells, so that cells can be
compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from lengthwise.audit.scoring import DEFAULT, EXTRACTS, Scoring
from lengthwise.core.batch import Batch
from lengthwise.core.errors import LengthwiseError, UnknownNameError, require
from lengthwise.core.files import read_json
from lengthwise.core.rng import stream
from lengthwise.core.vocab import SEP, SPECIALS
from lengthwise.influence.corpus import from_path
from lengthwise.tasks import TASKS, Task

DEPTHS = (100, 50, 0)
"""Where a problem stands among the filler of long prompts, in percent of it; 100 is at the end."""
SHARES = (0, 50, 100)
"""How much of the filler of long prompts is replaced by distractors or prose, in percent."""
PROSE = re.compile(r"[A-Za-z][A-Za-z',.;:()-]*")
"""A word that stands in prose; one with digits or signs could be a part of a problem."""
SHOWN_SEP = "=>"
"""What stands for ``<sep>`` in text."""
SENTENCES = ("the grass is green", "the sky is blue", "the sun is yellow", "here we go", "there and back again")
"""What filler says, in an order that is drawn."""
FILLER = tuple(word for sentence in SENTENCES for word in sentence.split())
FILLER_LINE = 10
"""Words of one line of filler, the mark included."""
MARK = "#"
"""Begins a line of filler."""
MOST_TEMPLATE = 10_000
"""Characters of each part of a template."""
MOST_OTHERS = 60
"""Other problems that are drawn for the distractors of one problem; a longer text repeats them."""
PASSAGE = 40
"""Words of prose that stand in their order."""

DIGITS = "Digits are separated by blanks, {order} significant first."
BOTH = DIGITS.format(order="least")
INSTRUCTIONS = {
    "addition": "Add the two numbers. " + BOTH,
    "state-scratchpad": "Follow the automaton: after the separator write its state after each symbol of the word.",
    "addition-hinted": "Add the two numbers. Digits are separated by blanks, least significant first, and before each "
    "digit stands the name of its place, such as i35; write the digits of the sum in the same way.",
    "addition-multi": "Add the numbers. " + BOTH,
    "addition-running-sums": "Add the numbers one after the other and write 0 and then every running sum, with > "
    "between them. " + BOTH + " Write all with as many digits as the numbers have.",
    "addition-turing": "Add the two numbers with a scratchpad of whole tapes as in the examples. ' marks the digits "
    "that are read, and behind ( stand the carry and the digits of the sum so far.",
    "bin-majority-interleave": "Streams of bits are interleaved, {period} of them. Write the commonest of each.",
    "binary-addition": "Add the two binary numbers. " + DIGITS.format(order="most"),
    "bitwise-or": "Write the bitwise OR of the two strings of bits.",
    "bucket-sort": "Sort the symbols in ascending order; symbols may repeat.",
    "copy": "Write the same symbols again.",
    "counting": "Count from the first number to the second.",
    "cycle-navigation": "Start at place 0 of a cycle of {size} places; right adds one, left takes one away, stay does "
    "nothing. Write the final place.",
    "duplicate": "Write the symbols twice.",
    "even-pairs": "Write e if the number of neighbours that differ is even, and o if it is odd.",
    "flip-flop": "Behind w stands a bit that is written, behind i one to ignore; r reads. Write the bit written last.",
    "group-words": "Multiply the elements of the group {group} from left to right. Write the product so far after "
    "every element.",
    "histogram": "Write for every symbol how often it occurs in the string.",
    "induction": "The last symbol occurs before, too. Write the symbol that came after it.",
    "lego": "Every clause a + b or a - b says that a equals b or minus b, and a + 1 that a is +. Write the sign, + or "
    "-, of the last variable.",
    "look-back": "Write every symbol that is a multiple of {t} places behind the first one, # not counted.",
    "majority": "Write the most frequent symbol.",
    "minesweeper": "M is a mine and E an empty field of a square board, row by row. Write the board with the number of "
    "mines around each empty field.",
    "missing-duplicate": "A string of bits stands twice, with one bit hidden as ?. Write the hidden bit.",
    "modular-arithmetic": "Compute modulo {modulus}, with times before plus and minus.",
    "modular-arithmetic-brackets": "Compute the expression modulo {modulus}.",
    "mqar": "Pairs of a key and its value, then some keys. Write the values of these keys.",
    "multiplication": "Multiply the two numbers. " + BOTH,
    "multiplication-scratchpad": "Multiply the two numbers with partial products and running sums as in the examples. "
    + BOTH,
    "needle": "Among noise, a key such as k1 is followed by its value or by the next key. Follow the last key to its "
    "value and write it.",
    "odds-first": "Write the symbols at the places 1, 3, 5 and so on, then those at 2, 4, 6 and so on.",
    "parity": "Write e if the number of ones is even, and o if it is odd.",
    "parity-scratchpad": "Write for every bit the parity of the ones up to it, 0 for even and 1 for odd.",
    "parity-scratchpad-offset-one": "Write for every bit the parity of the ones up to it, 0 for even and 1 for odd.",
    "pointer-value-retrieval": "The pointer p0 means the first value, p1 the second. Write the value that it means.",
    "retrieval": "Write the symbol {side} the mark !.",
    "reverse": "Write the symbols backwards.",
    "solve-equation": "Solve the equation modulo {modulus} and write x.",
    "sort": "Sort the symbols in ascending order.",
    "sparse-parity": "Write 1 if the number of ones among the bits marked with * is odd, and 0 if it is even.",
    "square-root": "Write the square root of the binary number, rounded down. " + DIGITS.format(order="most"),
    "stack-manipulation": "Bits are a stack, bottom to top; push0 and push1 put a bit on it, pop takes one away. Write "
    "the stack afterwards, top to bottom, and then #.",
    "subtraction": "Subtract the second number from the first. " + BOTH,
    "successor": "Write the smallest symbol of the list that is larger than the last one.",
    "unique-bigram-copy": "Write the same symbols again.",
    "variable-assignment": "Every line of two words gives the first name the value of the second. Follow the last name "
    "and write the names on the way and the value at its end.",
}
"""What to do, in words, by the name of a task; ``{…}`` is a setting of the task."""
NATURAL = {
    "addition": ("lsd", "lsd"), "addition-multi": ("lsd", "lsd"), "subtraction": ("lsd", "lsd"),
    "multiplication": ("lsd", "lsd"), "binary-addition": ("msd", "msd"),
}  # fmt: skip
"""Tasks whose numbers can be written as people do, and which digit comes first in their operands and answers."""


def check_digits(task: Task, digits: str) -> None:
    """Raises `LengthwiseError` for a way of writing digits that the task doesn't have."""
    require(digits in ("blanks", "natural"), f"digits must be 'blanks' or 'natural', got {digits!r}")
    require(
        digits == "blanks" or TASKS.describe(task)["name"] in NATURAL,
        f"task {task.name!r} has no natural digits; those of {', '.join(NATURAL)} have",
    )


def instruction(task: Task, digits: str = "blanks") -> str:
    """What to do, in words: the sentence of a task of the library, else the summary of the task."""
    values = TASKS.describe(task)
    text = INSTRUCTIONS.get(values["name"])
    if text is None:
        return (task.summary or task.name).rstrip(".").capitalize() + "."
    if digits == "natural":
        text = text.split(" Digits are")[0]
        return text.replace("numbers", "binary numbers") if values.get("base") == 2 else text
    if values.get("operands") == "msd_first":
        order = (
            "Digits are separated by blanks, those of the numbers most and those of the answer least significant first."
        )
        text = text.replace(BOTH, order)
    for name, value in values.items():
        text = text.replace("{" + name + "}", str(value))
    return text


def words_of(tokens: Sequence[str]) -> list[str]:
    """The tokens without ``<bos>``, ``<eos>`` and ``<pad>``; ``<sep>`` is ``=>``."""
    return [SHOWN_SEP if token == SEP else token for token in tokens if token == SEP or token not in SPECIALS]


def text_of(task: Task, batch: Batch, row: int, digits: str = "blanks") -> tuple[str, str]:
    """Prompt and answer of one sequence as words with blanks between them, or with ``natural`` digits.

    Raises `LengthwiseError` if the batch has no answer, or scores tokens within its prompt.
    """
    scored = batch.scored[batch.prompt_length :]
    require(
        batch.allowed is None and bool(scored.all()) and len(scored) > 0,
        "a task that scores tokens within its prompt can't be split into prompt and answer; choose another task",
    )
    words = batch.text(row)
    parts = words[: batch.prompt_length], words[batch.prompt_length :]
    prompt, answer = (" ".join(words_of(part)) for part in parts)
    return naturally(task, prompt, answer) if digits == "natural" else (prompt, answer)


def naturally(task: Task, prompt: str, answer: str) -> tuple[str, str]:
    """Prompt and answer with numbers as people write them: without blanks, most significant digit first."""
    orders = dict(zip(("prompt", "answer"), NATURAL[TASKS.describe(task)["name"]], strict=True))
    if getattr(task, "operands", "") == "msd_first":
        orders["prompt"] = "msd"

    def number(found: re.Match[str], order: str) -> str:
        digits = found[0].split()
        return "".join(digits if order == "msd" else digits[::-1]).lstrip("0") or "0"

    run = re.compile(r"\d(?: \d)*")
    return (
        run.sub(lambda found: number(found, orders["prompt"]), prompt),
        run.sub(lambda found: number(found, orders["answer"]), answer),
    )


class Relevance(NamedTuple):
    """Counts over the words of a prompt, for the whole answer; a digit is a word, however it is written."""

    number: int
    """Words that the answer depends on, directly or by way of its own words."""
    distance: int
    """From the farthest of them to the first word of the answer, in words; 0 if there is none."""
    words: int
    """Words of the prompt."""


def relevance(batch: Batch, row: int) -> Relevance:
    """The words that the scored tokens of one sequence depend on, through parents and selectors."""
    prompt = batch.prompt_length
    tokens = batch.text(row)
    edges = np.concatenate([batch.parents[row], batch.selectors[row]], axis=1)
    queue = [int(index) for index in np.flatnonzero(batch.scored)]
    seen = set(queue)
    for index in queue:
        new = {int(other) for other in edges[index] if other >= 0} - seen
        seen |= new
        queue += sorted(new)
    relevant = [index for index in sorted(seen) if index < prompt and words_of(tokens[index : index + 1])]
    words = len(words_of(tokens[:prompt]))
    distance = len(words_of(tokens[relevant[0] : prompt])) if relevant else 0
    return Relevance(len(relevant), distance, words)


@dataclass(frozen=True)
class PromptForm:
    """One way of asking: a head, what stands before a problem, before its answer, and between words.

    ``{instruction}`` in the head stands for what to do, in words. Each of them may be empty.
    """

    name: str
    head: str = ""
    problem: str = ""
    answer: str = ""
    separator: str = " "

    def prompt(
        self, what: str, shots: Sequence[tuple[str, str]], problem: str, before: str = "", between: str = ""
    ) -> str:
        """Examples, filler ``before``, the problem, filler ``between``, the mark of the answer."""
        parts = [self.head.replace("{instruction}", what)] if self.head else []
        parts += [self._asked(problem_text) + self.completion(answer) for problem_text, answer in shots]
        return "\n\n".join([*parts, before + self._asked(problem, between)])

    def completion(self, answer: str) -> str:
        """What follows a prompt whose answer has these words."""
        return (" " if self.answer else self.separator) + self.written(answer)

    def written(self, text: str) -> str:
        """Words with the separator between them; raises `LengthwiseError` where two would run together."""
        if not self.separator:
            for one, other in pairwise(text.split()):
                require(
                    not (one[-1].isalnum() and other[0].isalnum()) or len(one) == len(other) == 1,
                    f"form {self.name}: {one!r} and {other!r} run together without a separator",
                )
        return text.replace(" ", self.separator)

    def _asked(self, problem: str, between: str = "") -> str:
        mark = f"\n{between}{self.answer}" if between or self.answer else ""
        return self.problem + self.written(problem) + mark


FORMS = {
    form.name: form
    for form in (
        PromptForm("lines", "", "Input: ", "Output:"),
        PromptForm("arrow", answer="->"),
        PromptForm(
            "instruction",
            "{instruction} Write only the answer. Lines that start with # mean nothing.",
            "Question: ",
            "Answer:",
        ),
        PromptForm("bare"),
    )
}
"""Every form by name."""
ASKED = ("lines", "arrow", "instruction")
"""The forms of an audit, unless others are chosen."""


def form_named(name: str) -> PromptForm:
    """A form of `FORMS`, or of a JSON file with some of its texts; raises `LengthwiseError`."""
    if not name.endswith(".json"):
        if name not in FORMS:
            raise UnknownNameError("form", name, FORMS)
        return FORMS[name]
    found = read_json(Path(name), what="template")
    right = isinstance(found, dict) and found and set(found) <= {"head", "problem", "answer", "separator"}
    require(
        bool(right) and all(isinstance(text, str) and len(text) <= MOST_TEMPLATE for text in found.values()),
        f"template {name} needs some of the texts head, problem, answer and separator, as in "
        '{"head": "{instruction}", "problem": "Q: ", "answer": "A:"}',
    )
    require("\n" not in found.get("separator", ""), f"template {name}: a separator is a part of one line")
    return PromptForm(Path(name).stem, **found)


def filler(words: int, rng: np.random.Generator, distracting: Sequence[str] = ()) -> str:
    """Lines of ``words`` words in all that have nothing to do with the problem, each line after a ``#``.

    The first lines are those of ``distracting``, as many as fit whole; the others are `SENTENCES` as ``rng`` draws
    them. From equal generators, a shorter filler is the beginning of a longer one, but for its last line.
    """
    drawn = rng.integers(len(SENTENCES), size=words // 3 + 1)
    plain = iter([word for choice in drawn for word in SENTENCES[choice].split()])
    lines = [f"{MARK} {line}\n" for line in fitting(distracting, words)]
    words -= len("".join(lines).split())
    while words > 0:
        # A line of the mark alone counts as a word, too.
        size = min(FILLER_LINE, words)
        lines.append(" ".join([MARK, *islice(plain, size - 1)]) + "\n")
        words -= size
    return "".join(lines)


def fitting(lines: Iterable[str], words: int) -> list[str]:
    """The first of the lines that have this many words in all at most, with a mark before each."""
    found = []
    for line in lines:
        words -= len(line.split()) + 1
        if words < 0:
            break
        found.append(line)
    return found


@cache
def prose_of(path: Path | None = None) -> tuple[str, ...]:
    """The words of a text file or folder, by default of Python's own help texts.

    Raises `LengthwiseError` where there is no text.
    """
    if path is None:
        from pydoc_data.topics import topics

        texts = [text for _, text in sorted(topics.items())]
    else:
        corpus = from_path(path)
        texts = [document.text for document in (*corpus.train, *corpus.held_out)]
    words = tuple(word for text in texts for word in text.split() if PROSE.fullmatch(word))
    require(bool(words), f"{path} has no words of letters; choose another `text`")
    return words


@dataclass(frozen=True)
class Problem:
    """One problem of a task as text, and what its answer depends on."""

    text: str
    answer: str
    relevance: Relevance


class Amounts(NamedTuple):
    """What a prompt is made of: characters without its filler, and words of each kind of filler."""

    characters: int
    filler: int
    distractors: int
    prose: int


Count = Callable[[str, Amounts], int]
"""The tokens of a prompt."""


class Arrangement(NamedTuple):
    """A cell of the audit: problems of one length, and the filler around them."""

    sweep: str
    level: int
    """Task length, tokens, percent or other problems, whichever the sweep goes through."""
    length: int
    """The task length of the problems."""
    words: int = 0
    """Words of filler."""
    tokens: int | None = None
    """Instead of that, the tokens of the whole prompt."""
    behind: float = 0.0
    """The share of the filler between problem and answer."""
    replaced: float = 0.0
    """The share of it that the sweep's own words replace."""
    others: int | None = None
    """Instead of that, the number of other problems in it."""


@dataclass(frozen=True)
class Question:
    """One prompt with its right answer, and the cell of the audit that it belongs to."""

    sweep: str
    form: str
    level: int
    """See `Arrangement`."""
    problem: int
    """The task length of the problem itself."""
    prompt: str
    expected: str
    budget: int
    """Most tokens of the answer."""
    number: int
    """Words that matter."""
    distance: int
    """Words from the farthest that matters to the answer."""
    words: int
    """Words of the problem with its filler, without the examples."""
    amounts: Amounts
    index: int
    """Of the problem among those of its length."""
    others: tuple[str, ...] = ()
    """Right answers of the distractors."""

    @property
    def distractors(self) -> int:
        """Other problems in the filler."""
        return len(self.others)

    @property
    def distractor_words(self) -> int:
        """Their words."""
        return self.amounts.distractors

    @property
    def prose(self) -> int:
        """Words of prose in the filler."""
        return self.amounts.prose

    @property
    def cell(self) -> tuple[str, str, int]:
        """Sweep, form and level."""
        return self.sweep, self.form, self.level


@dataclass(frozen=True)
class AuditPlan:
    """What is asked: a task at some lengths, with examples of the shortest.

    Arguments:
        task: the task, or what `lengthwise.task` takes.
        lengths: task lengths, increasing, two or more.
        samples: problems per length.
        shots: examples before each problem.
        forms: names of `FORMS`, or JSON files of templates.
        seed: of the problems.
        digits: ``blanks`` as the task writes them, or ``natural`` as people do.
        answer_tokens: most tokens of an answer; None for 32, and six for each word or natural digit of the right one.
        scoring: how answers are read.
        tokens: tokens that prompts have, increasing; without them, filler is as long as the problems of ``lengths``.
        depths: with ``tokens``, where the problem stands in the longest prompts, in percent of the filler before it.
        text: with ``tokens``, a file or folder of prose; by default Python's help texts.
        distractors: numbers of other problems in the filler, increasing; by default 0, 1, 2, 4, … as fit, and with
            ``tokens`` as many as fit into none, half and all of the filler.
        trained: the shortest and the longest task length that the model was trained on, if known; only said.
        count: with ``tokens``, how many a prompt has; None for a third of its characters.

    Raises:
        LengthwiseError: for settings that don't fit.
    """

    task: Task
    lengths: tuple[int, ...] = (5, 10, 20, 40)
    samples: int = 40
    shots: int = 4
    forms: tuple[str, ...] = ASKED
    seed: int = 0
    digits: Literal["blanks", "natural"] = "blanks"
    answer_tokens: int | None = None
    scoring: Scoring = DEFAULT
    tokens: tuple[int, ...] = ()
    depths: tuple[int, ...] = DEPTHS
    text: Path | None = None
    distractors: tuple[int, ...] = ()
    trained: tuple[int, int] | None = None
    count: Count | None = field(default=None, compare=False, repr=False)
    _drawn: dict[tuple[str, int], list[Problem]] = field(default_factory=dict, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "task", TASKS.build(cast(Any, self.task)))
        for name, given, example in (("lengths", self.lengths, "5,10,20"), ("tokens", self.tokens, "1000,4000")):
            require(len(given) >= 2 or (not given and name == "tokens"),
                    f"{name} needs two numbers or more, to compare them, such as {example}")  # fmt: skip
            require(list(given) == sorted(set(given)), f"{name} must increase, such as {example}")
        require(
            len(self.depths) >= 2 and len(set(self.depths)) == len(self.depths) and set(self.depths) <= {*range(101)},
            f"depths needs two percentages or more, such as 100,50,0, got {list(self.depths)}",
        )
        require(bool(self.tokens) or (self.text is None and self.depths == DEPTHS), "depths and text need tokens")
        require(
            not self.distractors
            or (
                len(self.distractors) >= 2
                and [*self.distractors] == sorted({*self.distractors})
                and self.distractors[0] == 0
            ),
            f"distractors must increase from 0, such as 0,1,2,4, got {','.join(map(str, self.distractors))}",
        )
        require(
            self.trained is None or (len(self.trained) == 2 and 0 <= self.trained[0] <= self.trained[1]),
            f"trained is the shortest and the longest length of training, such as 3 and 16, got {self.trained}",
        )
        require(self.samples >= 1, f"samples must be 1 or more, got {self.samples}")
        require(self.shots >= 0, f"shots must be 0 or more, got {self.shots}")
        require(bool(self.forms), f"forms needs one name or more of {', '.join(FORMS)}, or a template.json")
        tokens = self.answer_tokens
        require(tokens is None or tokens >= 1, f"answer_tokens must be 1 or more, got {tokens}")
        check_digits(self.task, self.digits)
        if self.text is not None:
            prose_of(self.text)
        for length in self.lengths:
            self.problems(length)
        self._check_scoring()
        names = [form.name for form in self.prompt_forms]
        require(len(set(names)) == len(names), f"two forms have the same name: {', '.join(names)}")

    def _check_scoring(self) -> None:
        how, pattern, _ = self.scoring
        if how not in EXTRACTS:
            raise UnknownNameError("extraction", how, EXTRACTS)
        require((how == "regex") == (pattern is not None), "extract 'regex' needs a pattern, and the others take none")
        try:
            re.compile(pattern or "")
        except (re.error, RecursionError, OverflowError) as error:
            raise LengthwiseError(f"pattern {pattern!r} is no regular expression ({error})") from None
        answer = self.problems(self.lengths[0])[0].answer
        require(
            how != "last-number" or answer.replace(" ", "").isdigit(),
            f"the answers of task {self.task.name!r}, such as {answer!r}, are no numbers; choose extract 'exact'",
        )

    @property
    def prompt_forms(self) -> list[PromptForm]:
        """The forms in their order."""
        return [form_named(form) for form in self.forms]

    @property
    def longest_trained(self) -> int | None:
        """Words of the longest problem that the model was trained on, if its lengths are known."""
        lengths = self.task.lengths(*self.trained) if self.trained else ()
        return max(problem.relevance.words for problem in self.problems(lengths[-1])) if lengths else None

    def problems(self, length: int) -> list[Problem]:
        """The problems of one length; the same in every sweep and form."""
        return self._problems("problems", length, self.samples)

    def examples(self, index: int) -> list[tuple[str, str]]:
        """Problems of the shortest length with their answers, which stand before the problem of this index."""
        found = self._problems("shots", self.lengths[0], self.shots * (index + 1))[self.shots * index :]
        return [(problem.text, problem.answer) for problem in found]

    def replacing(
        self, sweep: str, words: int, index: int, others: int | None = None
    ) -> tuple[list[str], tuple[str, ...]]:
        """Lines that take the place of filler around the problem of this index, and the answers of problems in them.

        They have ``words`` words at most, with their marks. Distractors are other problems of the shortest length, as
        many as fit whole or ``others``, and prose is passages from anywhere in the text.
        """
        if sweep == "prose":
            size, prose = words - -(-words // FILLER_LINE), prose_of(self.text)
            starts = stream(self.seed, "audit", "prose", index).integers(len(prose), size=size // PASSAGE + 1)
            found = [prose[(start + i) % len(prose)] for start in starts for i in range(PASSAGE)][:size]
            step = FILLER_LINE - 1
            return [" ".join(found[i : i + step]) for i in range(0, size, step)], ()
        if sweep != "distractors":
            return [], ()
        lines = fitting(
            (self.other(index, i % MOST_OTHERS).text for i in range(words if others is None else others)), words
        )
        return lines, tuple(self.other(index, i % MOST_OTHERS).answer for i in range(len(lines)))

    def other(self, index: int, number: int) -> Problem:
        """One of the distractors of the problem of this index."""
        return self._problems(f"distractors of {index}", self.lengths[0], number + 1)[number]

    def _problems(self, what: str, length: int, count: int) -> list[Problem]:
        known = self._drawn.setdefault((what, length), [])
        for index in range(len(known), count):
            # Each is drawn alone, so that layouts vary, too.
            batch = self.task.batch(length, 1, stream(self.seed, "audit", what, length, index))
            prompt, answer = text_of(self.task, batch, 0, self.digits)
            require(
                bool(answer), f"task {self.task.name!r} has no answer in words at length {length}; choose another task"
            )
            known.append(Problem(prompt, answer, relevance(batch, 0)))
        return known[:count]


def natural_questions(plan: AuditPlan) -> list[Question]:
    """Problems of every length in every form, without filler."""
    cells = [Arrangement("problem", length, length) for length in plan.lengths]
    return [question for form in plan.prompt_forms for cell in cells for question in questions_of(plan, form, cell)]


def sweep_questions(plan: AuditPlan, form: str) -> list[Question]:
    """Questions in which length, distance, number, distractors and, in long prompts, prose vary, one at a time.

    Distance begins where length ended, and number where distance ended, so that their drops add up. Distractors and
    prose begin where length ended, too. The sweep of the number is missing if no more words matter in a longer problem.

    Raises:
        LengthwiseError: for a prompt with more ``tokens`` than it should have.
    """
    shape = next(one for one in plan.prompt_forms if one.name == form)
    cells = _by_tokens(plan) if plan.tokens else _by_words(plan)
    return [question for cell in cells for question in questions_of(plan, shape, cell)]


def _by_words(plan: AuditPlan) -> list[Arrangement]:
    """Filler such that texts are as long as the problems of ``lengths``."""
    first, last = plan.lengths[0], plan.lengths[-1]
    sizes = {
        length: round(sum(problem.relevance.words for problem in problems) / len(problems))
        for length in plan.lengths
        for problems in [plan.problems(length)]
    }
    most = max(sizes[last] - sizes[first], 0)
    extra = {level: min(max(sizes[level] - sizes[first], 0), most) for level in plan.lengths}
    found = [Arrangement("length", level, first, extra[level]) for level in plan.lengths]
    found += [Arrangement("distance", level, first, most, behind=extra[level] / max(most, 1)) for level in plan.lengths]
    if number_grows(plan):
        found += [Arrangement("number", level, level, most - extra[level], behind=1.0) for level in plan.lengths]
    return found + [Arrangement("distractors", dose, first, most, others=dose) for dose in doses(plan, most)]


def doses(plan: AuditPlan, words: int) -> tuple[int, ...]:
    """Numbers of other problems, as given, or 0, 1, 2, 4, … and the most that fit into the filler of every problem.

    Raises `LengthwiseError` for more than fit.
    """
    most = min(len(plan.replacing("distractors", words, index)[0]) for index in range(plan.samples))
    asked = plan.distractors or tuple(sorted({0, *(1 << i for i in range(most.bit_length())), most}))
    require(
        asked[-1] <= most,
        f"distractors: at most {most} fit into {words} words of filler, got {asked[-1]}; give fewer, or longer lengths",
    )
    return asked if len(asked) > 1 else ()


def _by_tokens(plan: AuditPlan) -> list[Arrangement]:
    """Filler such that prompts have some number of tokens; all but the first sweep have the longest prompts."""
    first, most = plan.lengths[0], plan.tokens[-1]
    # Level 0 is the problem alone.
    found = [Arrangement("length", level, first, tokens=level or None) for level in (0, *plan.tokens)]
    found += [Arrangement("distance", depth, first, tokens=most, behind=1 - depth / 100) for depth in plan.depths]
    if number_grows(plan):
        found += [Arrangement("number", level, level, tokens=most, behind=1.0) for level in plan.lengths]
    found += [Arrangement("distractors", dose, first, tokens=most, others=dose) for dose in plan.distractors]
    for sweep in ("prose",) if plan.distractors else ("distractors", "prose"):
        found += [Arrangement(sweep, share, first, tokens=most, replaced=share / 100) for share in SHARES]
    return found


def number_grows(plan: AuditPlan) -> bool:
    """Whether more words matter in the longest problems than in the shortest."""
    ends = [plan.problems(length) for length in (plan.lengths[0], plan.lengths[-1])]
    low, high = (sum(problem.relevance.number for problem in problems) / len(problems) for problems in ends)
    return high > low + 0.5


def questions_of(plan: AuditPlan, form: PromptForm, cell: Arrangement) -> Iterator[Question]:
    """The questions of one cell, a question for each problem of its length."""
    what, words = instruction(plan.task, plan.digits), cell.words
    for index, problem in enumerate(plan.problems(cell.length)):

        def built(words: int, index: int = index, problem: Problem = problem) -> tuple[str, Amounts, tuple[str, ...]]:
            behind = round(words * cell.behind)
            place = round(words * cell.replaced) if cell.others is None else words
            instead, answers = plan.replacing(cell.sweep, place, index, cell.others)
            first = filler(words - behind, stream(plan.seed, "audit", "filler", index), instead)
            second = filler(behind, stream(plan.seed, "audit", "filler", index))
            prompt = form.prompt(what, plan.examples(index), problem.text, first, second)
            other = len(" ".join(instead).split())
            kinds = (other, 0) if cell.sweep == "distractors" else (0, other)
            return prompt, Amounts(len(prompt) - len(first) - len(second), words - other, *kinds), answers

        if cell.tokens is not None:
            words = _filling(plan, lambda words: built(words)[:2], cell.tokens, words)
        prompt, amounts, others = built(words)
        require(
            cell.others is None or len(others) == cell.others,
            f"distractors: {cell.others} other problems do not fit into {cell.tokens} tokens; give fewer",
        )
        known = problem.relevance
        units = len(problem.answer.split()) if plan.digits == "blanks" else len(problem.answer)
        yield Question(
            cell.sweep, form.name, cell.level, cell.length, prompt, form.written(problem.answer),
            plan.answer_tokens or 32 + 6 * units, known.number, known.distance + round(words * cell.behind),
            known.words + words, amounts, index, tuple(map(form.written, others)),
        )  # fmt: skip


def _filling(plan: AuditPlan, built: Callable[[int], tuple[str, Amounts]], most: int, guess: int) -> int:
    """The most words of filler with which a prompt has ``most`` tokens at most; ``guess`` is where the search begins.

    Raises `LengthwiseError` if it has more without filler.
    """

    def tokens(words: int) -> int:
        prompt, amounts = built(words)
        return -(-len(prompt) // 3) if plan.count is None else plan.count(prompt, amounts)

    bare = tokens(0)
    require(
        bare <= most,
        f"a prompt has {bare:,} tokens without filler, more than {most:,}; raise tokens, or lower lengths or shots",
    )
    fits, fails = 0, 2 * most + 1
    words = guess or (most - bare) * 3 // 4
    while fails - fits > 1:
        words = min(max(words, fits + 1), fails - 1)
        found = tokens(words)
        if found <= most:
            fits = words
        else:
            fails = words
        step = (most - found) * words / max(found - bare, 1)
        words += int(step) if abs(step) >= 1 else (1 if found <= most else -1)
    return fits
