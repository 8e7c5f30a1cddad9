"""Library programs that count: majorities and the counter languages, all in C-RASP[∅]."""

from __future__ import annotations

from collections.abc import Sequence

from lengthwise.crasp.library.entry import BHATTAMISHRA, HUANG, OURS, Entry
from lengthwise.crasp.program.spelling import quote

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def majority_text(symbols: Sequence[str]) -> str:
    """After ``<sep>`` the symbol that occurs more often than every other one, then the end."""
    lines = [f'alphabet: {" ".join(map(quote, symbols))} "<sep>"']
    for symbol in symbols:
        others = " and ".join(f"#{quote(other)} < #{quote(symbol)}" for other in symbols if other != symbol)
        lines.append(f'NEXT {quote(symbol)} := Q_"<sep>" and {others}')
    lines.append('NEXT EOS := #"<sep>" = 1 and not Q_"<sep>"')
    return "\n".join(lines)


def bounded_depth_text(depth: int) -> str:
    """D_n: the words of one pair of brackets a, b whose nesting depth never exceeds n."""
    return f"""alphabet: a b
d := #a - #b                        // how many brackets are open
V := d <= -1 or d >= {depth + 1}    // a violation: one too many closed or open
accept := #[V] = 0 and d = 0"""


ENTRIES = (
    Entry("bin_majority", "words over 0, 1 with more 1s than 0s", HUANG, "alphabet: 0 1\naccept := #0 + 1 <= #1", 11),
    Entry(
        "majority",
        "prompt w <sep> over a–z with one most frequent letter; answer: that letter",
        HUANG,
        majority_text(LETTERS),
        3,
    ),
    Entry(
        "majority-3",
        "prompt w <sep> over a, b, c with one most frequent letter; answer: that letter",
        HUANG,
        majority_text("abc"),
        8,
    ),
    Entry(
        "Dyck-1",
        "balanced words of one pair of brackets (a opens, b closes)",
        HUANG,
        """alphabet: a b
V := #a + 1 <= #b      // more closed than opened
accept := #[V] <= 0 and #a = #b""",
        12,
    ),
    *(
        Entry(
            f"D-{depth}",
            f"balanced words of one pair of brackets (a opens, b closes) nested at most {depth} deep",
            HUANG,
            bounded_depth_text(depth),
            # Below length 2 (n + 1) the bound on the depth cannot be seen, so D-12 needs more than D-2.
            12,
        )
        for depth in (2, 3, 4, 12)
    ),
    Entry(
        "a^n b^n",
        "n letters a, then n letters b, n >= 0",
        BHATTAMISHRA,
        """alphabet: a b
bad := Q_a and #b >= 1
accept := #[bad] = 0 and #a = #b""",
        12,
    ),
    Entry(
        "a^n b^n c^n",
        "n letters a, then n letters b, then n letters c, n >= 0",
        HUANG,
        """alphabet: a b c
bad := Q_a and #b + #c >= 1 or Q_b and #c >= 1
accept := #[bad] = 0 and #a = #b = #c""",
        9,
    ),
    Entry(
        "Shuffle-2",
        "interleavings of two balanced words, one of round and one of square brackets",
        BHATTAMISHRA,
        """alphabet: "(" ")" "[" "]"
bad := #"(" < #")" or #"[" < #"]"
accept := #[bad] = 0 and #"(" = #")" and #"[" = #"]\"""",
        8,
    ),
    Entry(
        "Boolean-3",
        "one expression in prefix notation from values 0, 1 and operators u, b, t of one, two and three arguments",
        BHATTAMISHRA,
        """alphabet: 0 1 u b t
missing := 1 + #b + 2 * #t - #0 - #1    // arguments that are still to come
accept := missing = 0 and #[missing <= 0] = 1""",
        6,
    ),
    Entry(
        "parity_scratchpad",
        "prompt w <sep> over 0, 1; trace e o e o … of #1 + 1 symbols, <sep>, its last symbol (e iff #1 is even)",
        "after Huang et al. 2025, section on scratchpads; program: " + OURS,
        """alphabet: 0 1 e o "<sep>"
phase := #"<sep>"                     // 1: in the trace, 2: at the answer
more := #e + #o <= #1                 // the trace ends with #1 + 1 symbols
NEXT e := phase = 1 and more and not Q_e or phase = 2 and Q_"<sep>" and #e > #o
NEXT o := phase = 1 and more and Q_e or phase = 2 and Q_"<sep>" and #e = #o
NEXT "<sep>" := phase = 1 and not more
NEXT EOS := phase = 2 and not Q_"<sep>\"""",
        10,
    ),
)
