from crasp import reference
from lengthwise.crasp import library
from lengthwise.crasp.interpreter import trace
from lengthwise.crasp.syntax import parse


def test_a_trace_reads_like_a_table() -> None:
    table = str(trace(parse("alphabet: a b\nd := #a - #b\naccept := #[d < 0] = 0 and d = 0"), "abba"))
    assert table.split("\n") == [
        "i                                     1  2  3   4  5",
        "symbol                            <bos>  a  b   b  a",
        "#a                                    0  1  1   1  2",
        "#b                                    0  0  1   2  2",
        "d := #a - #b                          0  1  0  -1  0",
        "#[d < 0]                              0  0  0   1  1",
        "accept := #[d < 0] = 0 and d = 0      ✓  ·  ✓   ·  ·",
    ]


def test_outputs_and_outcome() -> None:
    program = library.get("parity_scratchpad")
    result = trace(program, ["1", "<sep>"])
    assert result.accepted is None
    assert [row.head for row in result.rows if row.head and row.head.startswith("NEXT")] == [
        "NEXT e",
        "NEXT o",
        'NEXT "<sep>"',
        "NEXT EOS",
    ]
    assert trace(library.get("D-2"), "ab").accepted is True


def test_every_operation_can_be_shown() -> None:
    program, word = library.get("Boolean-3"), "b01"
    rows = trace(program, word, every=True).rows
    assert [list(row.values) for row in rows] == reference.evaluate(program, word)
