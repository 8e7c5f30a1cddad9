import random
from pathlib import Path

import pytest

from crasp.random_programs import random_program
from crasp.reference import accepts
from lengthwise.core.errors import LengthwiseError
from lengthwise.crasp.program import Program
from lengthwise.crasp.syntax import CraspSyntaxError, load_program, parse, to_text

HEADER = "alphabet: a b\n"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Q_a ∧ ¬Q_b ∨ ⊤", "Q_a and not Q_b or true"),
        ("Q_a & ~Q_b | ⊥", "Q_a and not Q_b or false"),
        ("#a ≤ #b", "#[Q_a] <= #[j <= i] Q_b"),
        ("∃[j ≤ i, j = i−1] Q_a(j)", "exists[j = i-1] Q_a"),
        ("exists[Q_a]", "1 <= #a"),
        ("#[i-j in {2, 0, 1, 1}] Q_a ≥ 1", "#[i-j <= 2] Q_a >= 1"),
        ("#[i−j ∈ {3}] Q_a = 1", "#[j = i-3] Q_a = 1"),
        ("i ≡ 4 (mod 3)", "i mod 3 = 1"),
        ("i ≡ 1 mod 3", "i mod 3 = 1"),
        ("#a = #b = 2", "#a = #b and #b = 2"),
        ("#a != 2", "not #a = 2"),
        ("#a == 2", "#a = 2"),
        ("2 · #a − 3 + #a ≥ 1", "3 * #a - 3 >= 1"),
        ("-(2 * 3 - 1) * #a < 1 - - 2", "-5 * #a < 3"),
        ("#a - #a + 0 * #b >= 0", "0 * #a + 0 * #b >= 0"),
        ('Q_"a"(i) and #"b" = 1', "Q_a and #b = 1"),
        ("Q_a // and a comment\n  or Q_b", "Q_a or Q_b"),
        ("(Q_a ? 1 : Q_b ? 2 : 3) = 2", "(Q_a ? 1 : (Q_b ? 2 : 3)) = 2"),
        ("BOS or #BOS = 1", "BOS or #[BOS] = 1"),
    ],
)
def test_spellings(one: str, other: str) -> None:
    assert parse(f"{HEADER}accept := {one}") == parse(f"{HEADER}accept := {other}")


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", 1, 1, "starts with its symbols"),
        ("alphabet: a (", 1, 13, "has to be in quotes"),
        ("alphabet: a a", 1, 13, "twice in the alphabet"),
        ('alphabet: "<bos>"', 1, 11, "declare 'bos: true'"),
        ("alphabet:", 1, 10, "the alphabet is empty"),
        (HEADER + "bos: maybe", 2, 6, "expected 'false' or 'true'"),
        (HEADER, 1, 1, "end it with 'accept"),
        (HEADER + "bos: true\nbos: true\naccept := true", 3, 1, "'bos:' is declared twice"),
        (HEADER + "accept := #a <=", 2, 16, "expected an expression .*, found the end of the program"),
        (HEADER + "accept := (Q_a", 2, 15, r"expected '\)'"),
        (HEADER + "accept := Q_a $", 2, 15, "found '\\$'"),
        (HEADER + "accept = Q_a", 2, 8, "expected ':=', found '='"),
        (HEADER + "accept := #a", 2, 11, "a count, but a Boolean is needed"),
        (HEADER + "accept := Q_a + 1 = 2", 2, 11, "a Boolean, but a count is needed"),
        (HEADER + "accept := not\n  #a + (Q_b\n and 3) = 1", 4, 6, "a count, but a Boolean is needed"),
        (HEADER + "accept := Q_c", 2, 11, "'c' is not in the alphabet"),
        (HEADER + "accept := a", 2, 11, "write Q_a for"),
        (HEADER + "accept := #c = 1", 2, 11, "neither a symbol nor defined above"),
        (HEADER + "large := Q_a\naccept := lorge", 3, 11, "Did you mean 'large'"),
        (HEADER + "x := Q_a\nx := Q_b", 3, 1, "'x' is defined twice"),
        (HEADER + "a := Q_a", 2, 1, "is a symbol of the alphabet"),
        (HEADER + "mod := Q_a", 2, 1, "is a word of the language"),
        (HEADER + "x := 3", 1, 1, "the last definition 'x' is a count"),
        (HEADER + "accept := #a * #b = 2", 2, 16, "multiplied by a number"),
        (HEADER + "accept := i mod 3 = 3", 2, 11, "i mod 3 is never 3"),
        (HEADER + "accept := i mod 3 <= 1", 2, 11, "is written i mod 3 = 1"),
        (HEADER + "accept := i ≡ 0 mod 0", 2, 11, "a modulus is at least 1"),
        (HEADER + "accept := #[j >= i] Q_a = 1", 2, 13, "a count looks back"),
        (HEADER + "accept := #[j <= i-1] Q_a = 1", 2, 13, "a window is j = i-1"),
        (HEADER + "accept := #[i-j <= 99999999999] Q_a = 1", 2, 13, "too wide"),
        (HEADER + "accept := exists[j = i-1] Q_a(i)", 2, 30, "the position here is j"),
        (HEADER + "accept := Q_a(j)", 2, 14, "the position here is i"),
        (HEADER + "accept := EOS", 2, 11, "needs the header 'eos: true'"),
        (HEADER + "accept := true\naccept := true", 3, 1, "one 'accept'"),
        (HEADER + "accept := true\nNEXT a := true", 3, 1, "not both"),
        (HEADER + "NEXT a := true\naccept := true", 3, 1, "not both"),
        (HEADER + "NEXT c := true", 2, 1, "'c' is not in the alphabet"),
        (HEADER + "NEXT a := true\nNEXT_a := true", 3, 1, "NEXT 'a' is defined twice"),
        (HEADER + "eos: true\nNEXT a := true", 3, 1, "remove 'eos: true'"),
        (HEADER + f"accept := {'(' * 2000}Q_a{')' * 2000}", 2, 111, "deep; name the inner parts"),
        (HEADER + f"accept := {'not ' * 5000}Q_a", 2, 411, "deep; name the inner parts"),
        (HEADER + f"accept := #a = {'7' * 5000}", 2, 16, "a number of 5000 digits"),
    ],
)
def test_errors_say_where_and_what(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(CraspSyntaxError, match=message) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_the_caret_points_at_the_place() -> None:
    with pytest.raises(CraspSyntaxError) as caught:
        parse(HEADER + "bad := #a - #b\naccept := #[bad < 0] = 0 and bat = 0")
    assert str(caught.value).split("\n") == [
        "line 3, column 30: 'bat' is not defined above. Did you mean 'bad'?",
        "    accept := #[bad < 0] = 0 and bat = 0",
        "                                 ^",
    ]


def test_the_caret_points_into_a_window_of_a_long_line() -> None:
    with pytest.raises(CraspSyntaxError) as caught:
        parse(HEADER + f"accept := {'Q_a and ' * 500}Q_z and Q_a")
    _, excerpt, caret = str(caught.value).split("\n")
    assert excerpt[caret.index("^") :].startswith("Q_z")
    assert len(excerpt) < 120


def test_next_token_programs() -> None:
    program = parse('alphabet: a "<sep>"\nNEXT a := Q_a\nNEXT "<sep>" := not Q_a\nNEXT EOS := false')
    assert [symbol for symbol, _ in program.next_token] == ["a", "<sep>", "<eos>"]


def test_without_accept_the_last_definition_counts() -> None:
    assert parse(HEADER + "x := Q_a\ny := not x") == parse(HEADER + "x := Q_a\ny := not x\naccept := y")


def test_a_name_may_mean_a_number() -> None:
    words = [["a"] * n for n in range(4)]
    named, plain = parse(HEADER + "K := 3\naccept := 2 * K * #a <= K + 4"), parse(HEADER + "accept := 6 * #a <= 7")
    assert [accepts(named, word) for word in words] == [accepts(plain, word) for word in words]


def test_files(tmp_path: Path) -> None:
    good, bad, binary = tmp_path / "good.crasp", tmp_path / "bad.crasp", tmp_path / "binary.crasp"
    good.write_text(HEADER + "accept := Q_a")
    bad.write_text(HEADER + "accept := Q_x")
    binary.write_bytes(b"\xff\xfe\x00")
    assert load_program(good).fragment == "none"
    with pytest.raises(LengthwiseError, match=r"bad\.crasp, line 2, column 11"):
        load_program(bad)
    with pytest.raises(LengthwiseError, match="not UTF-8"):
        load_program(binary)
    with pytest.raises(LengthwiseError, match="no program at"):
        load_program(tmp_path / "none.crasp")
    with pytest.raises(LengthwiseError, match="cannot read"):
        load_program(tmp_path)


PIECES = [
    *"ab01()[]{},.:?+-*=<>\n \t\"\\#$∃¬∧≤−_'/²é\x00\u2028",
    *[":=", "<=", "Q_a", "Q_b", "#a", "#[", "exists", "[j=i-1]", "j", "i", "mod", "and", "or", "not", "true", "false"],
    *["min(", "max(", "BOS", "EOS", "accept", "NEXT", "NEXT a", "alphabet: a b\n", "bos: true\n", "eos: false\n"],
    *["i mod 2 = 1", "//", "9" * 30],
]


def mutated(rng: random.Random) -> str:
    """A random string of pieces of the language, or a program with pieces cut, doubled, moved or put in."""
    if rng.random() < 0.3:
        text = "".join(rng.choice(PIECES) + rng.choice(["", " "]) for _ in range(rng.randrange(25)))
        return text if rng.random() < 0.5 else HEADER + "accept := " + text
    text = to_text(random_program(rng.randrange(2**32), rng.randrange(12)))
    for _ in range(rng.randrange(1, 4)):
        at, to = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        change = rng.randrange(4)
        if change == 0:
            text = text[:at] + rng.choice(PIECES) + text[at:]
        elif change == 1:
            text = text[:at] + text[min(to, at + 8) :]
        elif change == 2:
            text = text[:to] + text[at:]
        else:
            text = text[:at] + rng.choice(PIECES) * rng.randrange(1, 200) + text[at:]
    return text


def assert_survives(text: str) -> bool:
    """Parses to a program that prints and comes back, or to an error with a place in the text; whether it did parse."""
    try:
        program = parse(text)
    except CraspSyntaxError as error:
        lines = text.split("\n")
        in_text = 1 <= error.line <= len(lines) and 1 <= error.column <= len(lines[error.line - 1]) + 1
        if not in_text:
            pytest.fail(f"{error} is not a place in {text!r}")
        return False
    assert isinstance(program, Program)
    assert parse(to_text(program)) == program
    return True


@pytest.mark.parametrize(("seed", "count"), [(0, 1_000), pytest.param(1, 100_000, marks=pytest.mark.slow)])
def test_any_input_gives_a_program_or_an_error_with_a_place(seed: int, count: int) -> None:
    rng = random.Random(seed)
    parsed = sum(assert_survives(mutated(rng)) for _ in range(count))
    assert 0.02 * count < parsed < 0.9 * count
