import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest

from crasp.reference import accepts, evaluate
from lengthwise.core.errors import LengthwiseError
from lengthwise.crasp.interpreter import encode, run
from lengthwise.crasp.program import Program
from lengthwise.crasp.syntax import parse, to_text
from lengthwise.crasp.synthesis import Enumeration, PrefixTree, synthesize
from lengthwise.prediction.search import labelled_words


def nested(deepest: int) -> Callable[[tuple[str, ...]], bool]:
    def inside(word: tuple[str, ...]) -> bool:
        depth = 0
        for symbol in word:
            depth += 1 if symbol == "a" else -1
            if not 0 <= depth <= deepest:
                return False
        return depth == 0

    return inside


def words_up_to(alphabet: str, longest: int, shortest: int = 0) -> list[tuple[str, ...]]:
    return [word for n in range(shortest, longest + 1) for word in itertools.product(alphabet, repeat=n)]


def programs(most: int, length: int) -> Iterator[tuple[int, Program]]:
    """All programs over a and b with their sizes, smallest first, no two of which agree on all words up to a length."""
    enumeration = Enumeration("ab", PrefixTree(2, length), (), ())
    for size in range(1, most + 1):
        for origin in enumeration.add_level().origins:
            yield size, enumeration.program(origin)


SLOW = pytest.mark.slow
TARGETS = {
    "binary majority": ("01", lambda word: word.count("1") > word.count("0"), 1),
    "contains ab": ("ab", lambda word: "ab" in "".join(word), 3),
    "D_2": ("ab", nested(2), 5),
    "(ab)*": ("ab", nested(1), 7),
}


@pytest.mark.parametrize("name", [*list(TARGETS)[:3], pytest.param("(ab)*", marks=SLOW)])
def test_small_programs_are_found(name: str) -> None:
    alphabet, inside, size = TARGETS[name]
    found = synthesize(inside, alphabet)
    assert found.program is not None
    assert (found.size, found.smallest, found.program.fragment) == (size, True, "none")
    for word in words_up_to(alphabet, 11):
        assert accepts(found.program, word) == inside(word)
    for n in (30, 80):
        for word in (tuple("ab" * n), tuple("aabb" * n), (*"ab" * n, "b", "a"), tuple("a" * n + "b" * n)):
            if set(word) <= set(alphabet):
                assert accepts(found.program, word) == inside(word)
    assert parse(to_text(found.program)) == found.program


def test_no_smaller_program_agrees() -> None:
    """The claim of being smallest: no enumerated program has these values, and every tenth is run to see that."""
    found = synthesize(nested(2), "ab")
    assert found.size == 5
    words = [encode(parse("alphabet: a b\naccept := true"), words_up_to("ab", n, n)) for n in (4, 6)]
    wanted = [[nested(2)(tuple("ab"[symbol] for symbol in word)) for word in batch] for batch in words]
    tree = PrefixTree(2, 6)
    labels = np.array([nested(2)(tuple("ab"[symbol] for symbol in word)) for word in tree.words])
    enumeration = Enumeration("ab", tree, (), ())
    for _ in range(3):
        level = enumeration.add_level()
        assert (tree.unpack(level.rows) != labels).any(axis=1).all()
        for origin in level.origins[::10]:
            program = enumeration.program(origin)
            assert any(run(program, batch).tolist() != right for batch, right in zip(words, wanted, strict=True))
    assert enumeration.total > 5000


def test_counterexamples_refine_the_search() -> None:
    def inside(word: tuple[str, ...]) -> bool:
        return not (word.count("a") >= 3 and word.count("b") >= 3)

    found = synthesize(inside, "abc")
    # On all words of length 5 or less this is always true, so only a longer word shows that more is needed.
    assert found.counterexamples
    assert all(len(word) >= 6 for word in found.counterexamples)
    assert found.size == 3
    assert found.program is not None
    assert all(accepts(found.program, word) == inside(word) for word in words_up_to("abc", 7))


def test_examples_instead_of_a_function() -> None:
    examples: dict[Sequence[str], bool] = {
        "aab": True,
        "ab": False,
        "": False,
        "b": False,
        "a": True,
        "abab": False,
        "aaabb": True,
        "ba": False,
    }
    found = synthesize(examples, "ab")
    assert found.program is not None
    assert found.checked == len(examples)
    assert all(accepts(found.program, word) == label for word, label in examples.items())
    assert found.size == 1


def test_periods_and_distances_extend_the_space() -> None:
    even = synthesize(lambda word: "b" not in word and len(word) % 2 == 0, "ab", periods=[2])
    assert even.program is not None
    assert (even.size, even.program.fragment) == (3, "periodic")
    suffix = synthesize(lambda word: "".join(word).endswith("ab"), "ab", distances=[1], max_size=5)
    assert suffix.program is not None
    assert (suffix.size, suffix.program.fragment) == (5, "local")
    for word in words_up_to("ab", 9):
        assert accepts(even.program, word) == ("b" not in word and len(word) % 2 == 0)
        assert accepts(suffix.program, word) == ("".join(word).endswith("ab"))


def test_nothing_found_is_said_with_the_bound() -> None:
    found = synthesize(lambda word: word.count("a") % 2 == 0, "ab", max_size=4)
    assert found.program is None
    assert found.size is None
    assert not found.smallest
    assert found.exhausted_size == 4


def test_mistakes_are_named() -> None:
    with pytest.raises(LengthwiseError, match="has 'c', which is not in the alphabet"):
        synthesize({"ac": True}, "ab")
    with pytest.raises(LengthwiseError, match="has two labels"):
        synthesize({("a",): True, "a": False}, "ab")
    with pytest.raises(LengthwiseError, match="at least one example"):
        synthesize({}, "ab")
    with pytest.raises(LengthwiseError, match="a period has to be at least 1 and at most 10000, got 0"):
        synthesize({"a": True}, "ab", periods=(3, 0))
    with pytest.raises(LengthwiseError, match="a distance has to be at least 1 and at most 10000, got -1"):
        synthesize({"a": True}, "ab", distances=(-1,))
    with pytest.raises(LengthwiseError, match="max_size has to be at least 1"):
        synthesize({"a": True}, "ab", max_size=0)


def test_enumerated_programs_are_distinct_and_do_what_their_row_says() -> None:
    tree = PrefixTree(2, 4)
    enumeration = Enumeration("ab", tree, periods=[2], distances=[1, 2])
    words = [tuple("ab"[symbol] for symbol in word) for word in tree.words]
    behaviours: set[bytes] = set()
    for size in (1, 2, 3):
        level = enumeration.add_level()
        values = tree.unpack(level.rows)
        for place in range(0, len(level.rows), 1 if size < 3 else 37):
            program = enumeration.program(level.origins[place])
            expected = [accepts(program, word) for word in words]
            assert values[place].tolist() == expected, to_text(program)
        behaviours |= {row.tobytes() for row in level.rows}
        assert len(behaviours) == enumeration.total


def test_smaller_sizes_come_first_and_sizes_are_those_of_the_formulas() -> None:
    sizes = []
    for size, program in programs(3, 4):
        sizes.append(size)
        # Symbol counts are free, but every comparison costs one.
        assert sum(type(operation).__name__ == "Compare" for operation in program.operations) <= size
    assert sizes == sorted(sizes)
    assert {1, 2, 3} == set(sizes)


def test_tree_counting_agrees_with_the_interpreter() -> None:
    tree = PrefixTree(2, 3, [(1, 0, 1, 1, 0, 1)])
    values = np.random.default_rng(0).random((1, len(tree))) < 0.5
    counts = tree.count(values)[0]
    for node, word in enumerate(tree.words):
        assert counts[node] == sum(values[0, tree.node[word[:end]]] for end in range(len(word) + 1))
    assert (tree.unpack(tree.pack(values)) == values).all()
    back = tree.before(values, 2)[0]
    assert all(
        back[node] == (len(word) >= 2 and values[0, tree.node[word[:-2]]]) for node, word in enumerate(tree.words)
    )
    program = parse("alphabet: a b\nc := #b\naccept := c = 0")
    assert evaluate(program, "bab")[1] == [0, 1, 1, 2]


def test_a_language_whose_words_are_all_long_is_not_taken_for_the_empty_one() -> None:
    target = labelled_words("regex:(a|b)aaaaaaaaaaaaabbb")
    assert synthesize(target.labels, target.alphabet, max_size=1, members=target.members).program is None
    with pytest.raises(LengthwiseError, match="8 symbols, and programs are searched over at most 6"):
        labelled_words("regex:abcdefgh")
