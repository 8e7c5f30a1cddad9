"""The kinds of levels of places and ids, and how the place of a predicted token follows: for tasks and positions."""

from __future__ import annotations

from typing import Literal

LevelKind = Literal["position", "label"]
"""``position``: the scheme gives each place an id. ``label``: the id is the place (first or second name of a line)."""

PlaceRule = Literal["earlier", "next"]
"""How the place of a predicted token follows from the prefix on ``position`` levels.

``earlier``: the place of some earlier token, or 0 ("no place"). Any drawing of ids keeps this. ``next``: the place of
the token just before, or that plus one. A model can then predict ids only if the scheme draws neighbouring places next
to each other.
"""

LABEL_IDS = 16
"""Ids of a ``label`` level are below this."""
