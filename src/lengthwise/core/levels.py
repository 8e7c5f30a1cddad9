"""The kinds of levels of places and ids, and how the place of a predicted token follows: for tasks and positions."""

from __future__ import annotations

from typing import Literal

LevelKind = Literal["coupled", "fixed"]
"""``coupled``: the scheme draws an id for each place. ``fixed``: the id is the place (such as child and parent)."""

PlaceRule = Literal["earlier", "next"]
"""How the place of a predicted token follows from the prefix on ``coupled`` levels.

``earlier``: the place of some earlier token, or 0 ("no place"). Any drawing of ids keeps this. ``next``: the place of
the token just before, or that plus one. A model can then predict ids only if the scheme draws neighbouring places next
to each other.
"""

FIXED_LEVEL_IDS = 16
"""Ids of a ``fixed`` level are below this."""
