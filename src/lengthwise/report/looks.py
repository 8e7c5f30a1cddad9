"""How a position system looks in every figure: one table, so that it looks the same in each, whatever is beside it."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping
from itertools import chain, count
from typing import Any, NamedTuple

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d")
"""The palette of Okabe and Ito (2008), which stays distinguishable under all common forms of colour blindness."""
BLUES = (0, 5)
"""Those that are much alike in a small figure: of few systems, the second of them is taken last."""
MARKERS = ("o", "s", "^", "D", "v", "P", "*")
SIGNS = ("●", "■", "▲", "◆", "▼", "✚", "★")
"""Of the markers, as text. None is a cross, which is the sign of what did not fit."""
DASHES: tuple[tuple[float, ...], ...] = (
    (), (6, 1.5), (6, 1.5, 1, 1.5), (3, 1), (8, 1.5, 1, 1.5, 1, 1.5), (12, 3), (3, 1, 1, 1, 1, 1)
)  # fmt: skip
"""Lengths of dashes and of the gaps between them, in widths of the line; as many as markers, so that marker and dashes
tell systems apart without their colour."""

FAMILIES = (
    ("coupled+learned", "coupled+local-bias-sink", "coupled+local-bias"),
    ("sequential+rope", "pose+rope", "sequential+xpos", "mamba+attention@sequential+rope"),
    ("random-start+learned", "sequential+learned", "sequential+sinusoidal", "mamba"),
    ("sequential+alibi", "sequential+t5", "sequential+kerple", "lstm"),
    ("sequential+fire", "sequential+cope", "deltanet", "deltanet-negative", "gated-deltanet-negative"),
    ("randomized+learned", "predictive-coupling+learned", "modulo+learned", "abacus+learned", "rwkv7"),
    ("nope", "sequential+forgetting", "gated-deltanet-negative+attention@nope"),
)
"""The table: a colour for each family of systems; its members differ in marker and dashes, the first is solid.

Of two members in one figure, and of the two `BLUES` of a figure of few systems, the first keeps the colour.
"""


class Look(NamedTuple):
    """A colour by its index in `COLOURS`, and the place in its family, which decides the marker and the dashes."""

    family: int
    member: int = 0

    @property
    def colour(self) -> str:
        return COLOURS[self.family]

    @property
    def marker(self) -> str:
        return MARKERS[(self.family + self.member) % len(MARKERS)]

    @property
    def dashes(self) -> Any:
        """A line style of matplotlib."""
        found = DASHES[self.member % len(DASHES)]
        return (0, found) if found else "-"

    @property
    def css(self) -> dict[str, str]:
        """The same for a page: the variable of the colour, the sign, and the dashes of a line that is 2 wide."""
        dashes = " ".join(f"{2 * length:g}" for length in DASHES[self.member % len(DASHES)])
        sign = SIGNS[(self.family + self.member) % len(SIGNS)]
        return {"colour": f"c{self.family}", "sign": sign, "dashes": dashes}


class Gray(Look):
    """Of systems that share an entry of a legend; ``family`` is the number of the entry."""

    @property
    def colour(self) -> str:
        return "#a3acb5"

    @property
    def marker(self) -> str:
        return "None"

    @property
    def dashes(self) -> Any:
        """A line style of matplotlib."""
        return ("-", (0, (4, 2)), (0, (5, 1.5, 1, 1.5)))[self.family]


FIRST = Look(0)
LOOKS = {name: Look(family, member) for family, names in enumerate(FAMILIES) for member, name in enumerate(names)}


def distinct(wanted: Mapping[str, Look | None], given: Mapping[str, Look] | None = None) -> dict[str, Look]:
    """Looks that differ, by the names of systems, also in their colours while any is free.

    Each gets the one that it is ``given`` or wants, unless one before it has the colour. Every other, such as a second
    setting, gets a colour that none has, from one on that its name decides; then other markers and dashes, markers that
    none has first.
    """
    found, few = dict(given or {}), len({*wanted, *(given or {})}) < len(COLOURS)
    for name, look in wanted.items():
        taken = {other.family for other in found.values()}
        taken |= {*BLUES} if few and taken & {*BLUES} else set()
        if name not in found and look is not None and look.family not in taken:
            found[name] = look
    for name, look in wanted.items():
        if name not in found:
            found[name] = _free(name, set(found.values()), look)
    return found


def beside(look: Look, taken: Collection[Look]) -> Look:
    """One of the same colour, for the same system once more, with a marker that none has where there is one."""
    markers = {other.marker for other in taken}
    some = sorted((Look(look.family, member) for member in range(len(MARKERS))), key=lambda one: one.marker in markers)
    plenty = (Look(look.family, member) for member in count(len(MARKERS)))
    return next(one for one in chain(some, plenty) if one not in taken)


def _free(name: str, taken: set[Look], like: Look | None) -> Look:
    first, colours = zlib.crc32(name.encode()), {look.family for look in taken}
    families = [(first + step) % len(COLOURS) for step in range(len(COLOURS))]
    markers = {other.marker for other in taken}
    unused = [Look(family) for family in families if family not in colours]
    some = [Look(family, member) for member in range(len(MARKERS)) for family in families]
    plenty = (Look(family, member) for member in count(len(MARKERS)) for family in families)
    blue = bool(colours & {*BLUES})
    kept = [
        sorted(looks, key=lambda look: (blue and look.family in BLUES, look.marker in markers))
        for looks in (unused, some)
    ]
    own = [] if like is None else [like]
    return next(look for look in chain(kept[0], own, kept[1], plenty) if look not in taken)
