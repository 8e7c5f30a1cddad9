"""Library programs for regular languages: Tomita's, unary and periodic languages, and some that need windows."""

from __future__ import annotations

from lengthwise.crasp.library.entry import HUANG, OURS, Entry

ENTRIES = (
    Entry("Tomita-1", "1*", HUANG, "alphabet: 0 1\naccept := #0 = 0", 11),
    Entry(
        "Tomita-2",
        "(10)*",
        HUANG,
        """alphabet: 0 1
d := #1 - #0
V := d <= -1 or d >= 2
accept := #[V] <= 0 and d = 0""",
        11,
    ),
    Entry(
        "Tomita-4",
        "words over 0, 1 without 000",
        HUANG,
        """alphabet: 0 1
accept := not exists[#[i-j <= 2] Q_0 = 3]    // all of the last three symbols are 0""",
        11,
    ),
    Entry(
        "Tomita-7",
        "0*1*0*1*",
        HUANG,
        """alphabet: 0 1
x := exists[Q_1]          // in the first block of 1s, or later
y := exists[Q_0 and x]    // in the second block of 0s, or later
z := exists[Q_1 and y]    // in the second block of 1s
accept := #[Q_0 and z] = 0""",
        11,
    ),
    Entry(
        "aa*bb*cc*dd*ee*",
        "one or more of each of a, b, c, d, e, in this order",
        HUANG,
        """alphabet: a b c d e
bad := Q_a and #b + #c + #d + #e >= 1 or Q_b and #c + #d + #e >= 1 or Q_c and #d + #e >= 1 or Q_d and #e >= 1
accept := #[bad] = 0 and min(#a, min(#b, min(#c, min(#d, #e)))) >= 1""",
        6,
    ),
    Entry(
        "{a,b}*d{b,c}*",
        "a and b, then one d, then b and c",
        HUANG,
        """alphabet: a b c d
bad := Q_a and #d >= 1 or Q_c and #d = 0
accept := #d = 1 and #[bad] = 0""",
        7,
    ),
    Entry(
        "(aa)*",
        "an even number of a, nothing else",
        HUANG,
        """alphabet: a b
accept := #b = 0 and i mod 2 = 1    // BOS is position 1""",
        11,
    ),
    Entry(
        "(aaaa)*",
        "a number of a divisible by 4, nothing else",
        HUANG,
        """alphabet: a b
accept := #b = 0 and i mod 4 = 1    // BOS is position 1""",
        11,
    ),
    Entry(
        "(abab)*",
        "an even number of times ab",
        HUANG,
        """alphabet: a b
bad := Q_a and i mod 2 = 1 or Q_b and i mod 2 = 0    // the first symbol is at position 2
accept := #[bad] = 0 and i mod 4 = 1""",
        12,
    ),
    Entry(
        "contains_ab",
        "words over a, b with a factor ab, found with a window of two symbols",
        HUANG,
        """alphabet: a b
accept := exists[Q_b and exists[j = i-1] Q_a]""",
        11,
    ),
    Entry(
        "contains_ab_counting",
        "words over a, b with a factor ab, found without positions: some b comes after some a",
        OURS,
        """alphabet: a b
accept := exists[Q_b and exists[Q_a]]""",
        11,
    ),
)
