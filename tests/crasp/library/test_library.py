"""Every library program against an oracle that knows nothing of C-RASP, on all words up to the stated length."""

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest

from crasp.reference import accepts
from lengthwise.core.errors import UnknownNameError
from lengthwise.crasp import library
from lengthwise.crasp.interpreter import encode, generate, next_tokens, run
from lengthwise.crasp.syntax import parse, to_text


def balanced(word: str, opening: str = "a", closing: str = "b", deepest: float = float("inf")) -> bool:
    depth = 0
    for symbol in word:
        depth += (symbol == opening) - (symbol == closing)
        if not 0 <= depth <= deepest:
            return False
    return depth == 0


def blocks(word: str, letters: str) -> bool:
    """n times each letter, one block after the other."""
    n = len(word) // len(letters)
    return word == "".join(letter * n for letter in letters)


def is_expression(word: str) -> bool:
    """Recursive descent over prefix notation: exactly one expression and nothing after it."""

    def after(start: int) -> int:
        if start >= len(word):
            raise IndexError
        end = start + 1
        for _ in range({"0": 0, "1": 0, "u": 1, "b": 2, "t": 3}[word[start]]):
            end = after(end)
        return end

    try:
        return after(0) == len(word)
    except IndexError:
        return False


def matches(pattern: str) -> Callable[[str], bool]:
    return lambda word: re.fullmatch(pattern, word) is not None


LANGUAGES: dict[str, Callable[[str], bool]] = {
    "bin_majority": lambda word: Counter(word)["1"] > Counter(word)["0"],
    "Dyck-1": balanced,
    **{f"D-{n}": (lambda word, n=n: balanced(word, deepest=n)) for n in (2, 3, 4, 12)},
    "a^n b^n": lambda word: blocks(word, "ab"),
    "a^n b^n c^n": lambda word: blocks(word, "abc"),
    "Shuffle-2": lambda word: balanced(word, "(", ")") and balanced(word, "[", "]"),
    "Boolean-3": is_expression,
    "Tomita-1": matches("1*"),
    "Tomita-2": matches("(10)*"),
    "Tomita-4": lambda word: "000" not in word,
    "Tomita-7": matches("0*1*0*1*"),
    "aa*bb*cc*dd*ee*": matches("a+b+c+d+e+"),
    "{a,b}*d{b,c}*": matches("[ab]*d[bc]*"),
    "(aa)*": matches("(aa)*"),
    "(aaaa)*": matches("(aaaa)*"),
    "(abab)*": matches("(abab)*"),
    "contains_ab": lambda word: "ab" in word,
    "contains_ab_counting": lambda word: "ab" in word,
}


def distinct(longest: int) -> Iterator[str]:
    for n in range(longest + 1):
        yield from map("".join, itertools.permutations("abcdefg", n))


def most_frequent(letters: str, longest: int) -> Iterator[tuple[str, list[str]]]:
    for word in every(letters, longest):
        ranked = Counter(word).most_common(2)
        if len(ranked) == 1 or (ranked and ranked[0][1] > ranked[1][1]):
            yield word, [ranked[0][0]]


def every(letters: Sequence[str], longest: int) -> Iterator[str]:
    for n in range(longest + 1):
        yield from map("".join, itertools.product(letters, repeat=n))


def stream_majorities(word: str) -> list[str]:
    streams = [word[k::3] for k in range(3)]
    return ["1" if 2 * stream.count("1") > len(stream) else "0" for stream in streams]


def parity_trace(word: str) -> list[str]:
    trace = ["e" if k % 2 == 0 else "o" for k in range(word.count("1") + 1)]
    return [*trace, "<sep>", "e" if sum(map(int, word)) % 2 == 0 else "o"]


ANSWERS: dict[str, Callable[[int], Iterator[tuple[str, list[str]]]]] = {
    "majority": lambda n: most_frequent("abcdefghijklmnopqrstuvwxyz", n),
    "majority-3": lambda n: most_frequent("abc", n),
    "unique_copy": lambda n: ((word, list(word)) for word in distinct(n)),
    "unique_reverse": lambda n: ((word, list(word[::-1])) for word in distinct(n)),
    "sort": lambda n: ((word, sorted(word)) for word in distinct(n)),
    "bin_majority_interleave": lambda n: (
        (word, stream_majorities(word)) for word in every("01", n) if len(word) % 3 == 0
    ),
    "parity_scratchpad": lambda n: ((word, parity_trace(word)) for word in every("01", n)),
}


def test_every_program_has_an_oracle() -> None:
    assert set(library.names()) == {*LANGUAGES, *ANSWERS, "induction"}


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_language_on_all_words(name: str) -> None:
    entry, inside = library.entry(name), LANGUAGES[name]
    program, checked, members = entry.program, 0, 0
    for n in range(entry.checked_length + 1):
        words = ["".join(word) for word in itertools.product(program.alphabet, repeat=n)]
        expected = [inside(word) for word in words]
        assert run(program, encode(program, words)).tolist() == expected
        checked, members = checked + len(words), members + sum(expected)
    assert checked >= 2000
    assert 0 < members < checked


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_language_on_long_words(name: str) -> None:
    """Members are rare among long random words, so short members are repeated, and letters of them changed."""
    program, inside = library.get(name), LANGUAGES[name]
    rng = np.random.default_rng(0)
    short = [word for word in every(program.alphabet, 6 if len(program.alphabet) < 5 else 5) if word and inside(word)]
    for _ in range(60):
        word = str(rng.choice(short)) * int(rng.integers(1, 30))
        if rng.random() < 0.5:
            at = int(rng.integers(len(word)))
            word = word[:at] + str(rng.choice(program.alphabet)) + word[at + 1 :]
        assert run(program, encode(program, [word])).tolist() == [inside(word)] == [accepts(program, word)]


@pytest.mark.parametrize("n", [2, 3, 4, 12])
def test_the_depth_of_d_n_is_bounded_exactly(n: int) -> None:
    program = library.get(f"D-{n}")
    for depth in range(2 * n):
        assert accepts(program, "a" * depth + "b" * depth) == (depth <= n)


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_allowed_symbol_by_symbol_on_all_prompts(name: str) -> None:
    """At every position of the answer exactly the right symbol may come next, and at its end only ``<eos>``."""
    entry = library.entry(name)
    program = entry.program
    by_length: dict[tuple[int, int], list[tuple[str, list[str]]]] = {}
    for word, answer in ANSWERS[name](entry.checked_length):
        by_length.setdefault((len(word), len(answer)), []).append((word, answer))
    assert sum(map(len, by_length.values())) >= 2000
    columns = {symbol: column for column, symbol in enumerate((*program.alphabet, "<eos>"))}
    for (n, _), cases in by_length.items():
        allowed = next_tokens(program, encode(program, [[*word, "<sep>", *answer] for word, answer in cases]))
        wanted = np.array([[columns[symbol] for symbol in (*answer, "<eos>")] for _, answer in cases])
        assert (allowed[:, n + 1 :].sum(axis=-1) == 1).all()  # from <sep> on; BOS is at 0, the word at 1..n
        assert (allowed[:, n + 1 :].argmax(axis=-1) == wanted).all()


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_are_generated(name: str) -> None:
    program = library.get(name)
    cases = list(ANSWERS[name](min(library.entry(name).checked_length, 8)))
    for word, answer in cases[:: max(1, len(cases) // 60)]:
        assert generate(program, [*word, "<sep>"]) == answer


def test_parity_by_scratchpad_is_generated_for_all_words() -> None:
    program = library.get("parity_scratchpad")
    for word in every("01", library.entry("parity_scratchpad").checked_length):
        assert generate(program, [*word, "<sep>"]) == parity_trace(word)
    long = "1101" * 100
    assert generate(program, [*long, "<sep>"])[-1] == "e"


def test_induction_allows_what_has_followed_before() -> None:
    entry = library.entry("induction")
    checked = 0
    for n in range(1, entry.checked_length + 1):
        words = ["".join(word) for word in itertools.product("abc", repeat=n)]
        allowed = next_tokens(entry.program, encode(entry.program, words))
        for row, word in enumerate(words):
            for i in range(n):
                seen = {word[j + 1] for j in range(i) if word[j] == word[i]}
                assert {"abc"[column] for column in range(3) if allowed[row, i + 1, column]} == seen
            checked += 1
    assert checked >= 2000


@pytest.mark.parametrize("name", library.names())
def test_printed_programs_come_back(name: str) -> None:
    program = library.get(name)
    assert parse(to_text(program)) == program == parse(library.text(name))


@pytest.mark.parametrize(
    ("name", "fragment", "window", "period"),
    [
        ("majority", "none", 1, 1),
        ("D-12", "none", 1, 1),
        ("parity_scratchpad", "none", 1, 1),
        ("sort", "none", 1, 1),
        ("Tomita-4", "local", 3, 1),
        ("unique_copy", "local", 2, 1),
        ("(aa)*", "periodic", 1, 2),
        ("(abab)*", "periodic", 1, 4),
        ("bin_majority_interleave", "periodic", 1, 3),
    ],
)
def test_fragments_are_those_of_the_paper(name: str, fragment: str, window: int, period: int) -> None:
    program = library.get(name)
    assert (program.fragment, program.window, program.period) == (fragment, window, period)


def test_names_are_forgiving_and_unknown_ones_suggest() -> None:
    assert library.get("tomita 1") is library.get("Tomita-1")
    with pytest.raises(
        UnknownNameError, match=r"unknown program 'majorty'\. Did you mean 'majority' or 'majority-3'\?"
    ):
        library.get("majorty")
