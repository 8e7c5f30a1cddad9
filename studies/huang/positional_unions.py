"""Unions of a local and a periodic relation as products of learned positions (the last rows of Huang et al. 2025, G.2).

A local relation extrapolates at large width and a periodic one at small, so a union should extrapolate at neither.
"""

from __future__ import annotations

from typing import Any

from positional_products import PairRelation, fitted_relations

import lengthwise as lw

SUMMARY = "products of learned positions: unions of a local and a periodic relation at both widths, five new seeds"
UNIONS = ((1, 3), (10, 3), (1, 5), (12, 5))
"""Distance c and period m of "j = i − c or m divides i − j"."""


def seeds(preset: str) -> tuple[int, ...]:
    """One seed for ``quick``, and five that no earlier training of this study has used."""
    return (100,) if preset == "quick" else (100, 101, 102, 103, 104)


def unions() -> tuple[PairRelation, ...]:
    """The four relations of the published table."""
    return tuple(
        PairRelation(
            f"j = i-{c} or i-j mod {m} = 0",
            "union",
            lambda d, c=c, m=m: (d == c) | (d % m == 0),
            f"j=i-{c} or {m} divides i-j",
        )
        for c, m in UNIONS
    )


def positional_unions(preset: str, seed: int, report: lw.experiments.events.Report) -> dict[str, Any]:
    """One row per relation and width, as in the study ``positional-products``."""
    return fitted_relations(unions(), preset, seed, report)


@lw.RECIPES.register("positional-unions", SUMMARY)
def _recipe(preset: str) -> lw.Recipe:
    work = lw.Study("positional-unions", positional_unions, preset)
    return lw.Recipe("positional-unions", SUMMARY, (lw.Job("positional-unions", work, seeds(preset)),))
