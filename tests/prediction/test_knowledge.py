"""A yes by a program is a yes by a program that was run: it writes what `Task.answer` wants."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from lengthwise.core.rng import stream
from lengthwise.core.vocab import EOS
from lengthwise.crasp import library
from lengthwise.crasp.interpreter import encode, generate, next_tokens, run
from lengthwise.crasp.program import Program
from lengthwise.crasp.syntax import parse
from lengthwise.languages.automaton import language
from lengthwise.prediction.suites import NAMES, OPEN, SYMBOLS, VALUES, evidence, language_evidence, program_evidence
from lengthwise.prediction.verdict import Argument
from lengthwise.tasks import TASKS, Task
from lengthwise.tasks.copying import BucketSort, Copy, LookBack, Reverse, Sort, UniqueBigramCopy
from lengthwise.tasks.counting import BinMajorityInterleave, Counting, Majority, Successor
from lengthwise.tasks.language import Language
from lengthwise.tasks.parity import Parity, SparseParity
from lengthwise.tasks.planted import PlantedTask
from lengthwise.tasks.recall import Induction, MultiQueryRecall, Needle, Retrieval
from lengthwise.tasks.variable_assignment import VariableAssignment


def program_argument(task: Task) -> Argument:
    """The argument of ``task`` that holds a program."""
    return next(item.argument for item in evidence(task) if item.argument.certificate.get("kind") == "program")


def program_for(task: Task) -> Program:
    return parse(program_argument(task).certificate["program"])


def prompts(task: Task, lengths: list[int], rows: int = 12) -> Iterator[list[str]]:
    for length in lengths:
        batch = task.batch(length, rows, stream(0, "test", length))
        for row in range(rows):
            yield batch.text(row)[: batch.prompt_length]


# Tasks over as many symbols as their program has; the argument says so where that is not the whole task.
GENERATED: dict[str, Task] = {
    "majority": Majority(),
    "majority over 3 letters": Majority(letters=3),
    "copy": Copy(letters=len(SYMBOLS)),
    "reverse": Reverse(letters=len(SYMBOLS)),
    "sort": Sort(letters=len(SYMBOLS)),
    "interleaved": BinMajorityInterleave(),
    "look-back 1": LookBack(t=1, letters=len(SYMBOLS)),
    "look-back 2": LookBack(t=2, letters=len(SYMBOLS)),
    "look-back 3": LookBack(t=3, letters=len(SYMBOLS)),
    "after": Retrieval(side="after", letters=5),
    "before": Retrieval(side="before", letters=5),
    "induction": Induction(letters=len(SYMBOLS)),
    "bucket sort": BucketSort(letters=3),
    "counting": Counting(numbers=7),
    "successor": Successor(letters=4),
    "unique bigrams": UniqueBigramCopy(letters=3),
    "needle": Needle(needles=2, noise=2, keys=3),
    "needle, two hops": Needle(needles=2, hops=2, noise=2, keys=5),
    "recall": MultiQueryRecall(keys=5, queries=2),
    "chains": VariableAssignment(names=len(NAMES), values=len(VALUES)),
    "chains, separators": VariableAssignment(names=len(NAMES), values=len(VALUES), separators=True),
}


@pytest.mark.parametrize("name", GENERATED)
def test_the_program_writes_the_answer(name: str) -> None:
    task, checked = GENERATED[name], 0
    program = program_for(task)
    top = task.max_length() or 9
    for prompt in prompts(task, task.lengths(1, min(top, 9))):
        assert [*generate(program, prompt[1:]), EOS] == task.answer(prompt)
        checked += 1
    assert checked >= 36


@pytest.mark.parametrize("side", ["after", "before"])
def test_all_short_prompts_of_retrieval(side: str) -> None:
    task = Retrieval(side="after" if side == "after" else "before", letters=2)
    program = program_for(task)
    for n in range(2, 8):
        for letters in itertools.product("01" if "0" in task.vocab.tokens else "ab", repeat=n - 1):
            for at in range(n - 1) if side == "after" else range(1, n):
                word = [*letters[:at], "!", *letters[at:]]
                prompt = ["<bos>", *word, "<sep>"]
                assert [*generate(program, prompt[1:]), EOS] == task.answer(prompt)


def test_all_prompts_of_look_back() -> None:
    task = LookBack(t=2, letters=len(SYMBOLS))
    program = program_for(task)
    for n in range(1, 5):
        for word in itertools.permutations(SYMBOLS, n):
            prompt = ["<bos>", "#", *word, "<sep>"]
            assert [*generate(program, prompt[1:]), EOS] == task.answer(prompt)


def test_all_chains_of_two_names() -> None:
    task = VariableAssignment(names=len(NAMES), values=len(VALUES))
    program = program_for(task)
    checked = 0
    for a, b in itertools.permutations(NAMES, 2):
        for first, second in itertools.permutations([(a, b), (b, "2")]):
            for asked in (a, b):
                prompt = ["<bos>", *first, *second, "?", asked]
                assert [*generate(program, prompt[1:]), EOS] == task.answer(prompt)
                checked += 1
    assert checked == 48


@pytest.mark.parametrize(
    "task",
    [SparseParity(), SparseParity(k_max=3, k_test=(7,)), PlantedTask(k=3)],
    ids=["sparse-parity", "more marks in tests", "planted"],
)
def test_marked_ones_are_counted(task: Task) -> None:
    program, seen = program_for(task), set()
    for length in range(7, 15):
        layouts = task.test_layouts(length) or [None]
        for layout in layouts:
            batch = task.batch(length, 40, stream(0, "test", length), layout)
            for row in range(40):
                text = batch.text(row)
                allowed = next_tokens(program, encode(program, [text[1:-1]]))[0, -1]
                columns = dict(zip((*program.alphabet, EOS), allowed, strict=True))
                assert [symbol for symbol, may in columns.items() if may] == [text[-1]]
                seen.add(text[-1])
    assert seen == {"0", "1"}


def test_binary_majority_is_acceptance() -> None:
    task = Majority(letters=2)
    program = program_for(task)
    for n in range(1, 10):
        for word in itertools.product("01", repeat=n):
            if 2 * word.count("1") != n:
                accepted = bool(run(program, encode(program, [word]))[0])
                assert task.answer(["<bos>", *word, "<sep>"])[0] == str(int(accepted))


@pytest.mark.parametrize("task", [Copy(), Sort(), Reverse(), LookBack(), Induction(), VariableAssignment()])
def test_a_program_for_fewer_symbols_says_so(task: Task) -> None:
    argument = program_argument(task)
    assert "the scheme is the same for any alphabet" in argument.why
    assert argument.certificate["note"] in argument.why


def test_separators_make_the_chain_local() -> None:
    assert program_for(VariableAssignment()).fragment == "ape"
    assert program_for(VariableAssignment(separators=True)).fragment == "local"


def test_the_slice_of_parity_is_the_even_words() -> None:
    parity = Parity()
    dfa = language("(0*10*1)*0*")
    answers = {
        dfa.accepts(word): parity.answer(["<bos>", *word, "<sep>"])[0] for word in itertools.product("01", repeat=5)
    }
    for n in range(1, 9):
        for word in itertools.product("01", repeat=n):
            assert parity.answer(["<bos>", *word, "<sep>"])[0] == answers[dfa.accepts(word)]
    assert len(set(answers.values())) == 2


@pytest.mark.parametrize("name", sorted({*TASKS} - {"recoupled"}))
def test_every_task_has_evidence_or_is_said_to_be_open(name: str) -> None:
    task = TASKS.build(name)
    assert bool(evidence(task)) != (type(task) in OPEN)


@pytest.mark.parametrize("name", TASKS)
def test_a_no_is_worded_as_no_guarantee(name: str) -> None:
    for item in evidence(TASKS.build(name)):
        argument = item.argument
        assert ("no guarantee" in argument.why) == (argument.answer == "no")
        assert "cannot" not in argument.why


def test_the_decision_gives_evidence_per_fragment() -> None:
    found = {item.fragment: item.argument for item in language_evidence("(aa)*")}
    assert {fragment: argument.answer for fragment, argument in found.items()} == {
        "none": "no", "local": "no", "periodic": "yes", "ape": "yes",
    }  # fmt: skip
    assert all(argument.certificate["lines"] for argument in found.values())


def test_a_large_automaton_gets_no_certificate_by_hand() -> None:
    items = list(language_evidence("(a|b)*a" + "(a|b)" * 5))
    assert any("too many" in line for item in items for line in item.argument.certificate["lines"])


def test_a_program_is_evidence_for_its_fragment() -> None:
    item = program_evidence(library.get("Tomita-4"), "Tomita-4")
    assert (item.fragment, item.argument.answer, item.argument.basis) == ("local", "yes", "proved")


@pytest.mark.parametrize("name", ["Dyck-1", "a^nb^n", "a^nb^nc^n", "Shuffle-2", "Boolean-3"])
def test_counter_languages_have_their_program(name: str) -> None:
    task = Language(language=name)
    program, batch = program_for(task), task.batch(task.lengths(4, 12)[0], 10, stream(0, "test"))
    for row in range(10):
        # The library spells the operators of Boolean-3 by their arity: unary, binary, ternary.
        spelled = {"~": "u", "+": "b", ">": "t"} if name == "Boolean-3" else {}
        word = [spelled.get(token, token) for token in batch.text(row)[1:] if token != EOS]
        assert run(program, encode(program, [word]))[0]
