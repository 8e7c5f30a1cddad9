"""Ranges of numbers, as types of the fields of configurations; pydantic checks them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

EXACT_IN_JSON = 2**53
"""Whole numbers below it are exact in every reader of JSON; result files hold no larger ones."""
MOST = 2 * 10**9
"""No setting needs a larger whole number, and sizes beyond it can't be computed with."""
AtLeast0 = Annotated[int, Field(ge=0, le=MOST)]
AtLeast1 = Annotated[int, Field(ge=1, le=MOST)]
AtLeast2 = Annotated[int, Field(ge=2, le=MOST)]
MOST_SYMBOLS = 10**6
"""A vocabulary of more symbols of one kind is a mistake, and takes long to build."""
Alphabet1 = Annotated[int, Field(ge=1, le=MOST_SYMBOLS)]
Alphabet2 = Annotated[int, Field(ge=2, le=MOST_SYMBOLS)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
AboveZero = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]
"""From 0 to 1, both included."""
ShareBelow1 = Annotated[float, Field(ge=0, lt=1)]
PositiveShare = Annotated[float, Field(gt=0, le=1)]
Extension = Annotated[float, Field(ge=1, allow_inf_nan=False)]
"""By which factor a context grows."""
DigitBase = Annotated[int, Field(ge=2, le=36)]
"""A base whose digits are 0 to 9 and a to z."""
