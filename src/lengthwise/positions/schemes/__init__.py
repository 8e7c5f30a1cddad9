"""Which position ids the tokens get; one file per family, this page is the list. No torch."""

from lengthwise.positions.schemes import coupled as coupled
from lengthwise.positions.schemes import index_schemes as index_schemes
from lengthwise.positions.schemes.base import SCHEMES as SCHEMES
from lengthwise.positions.schemes.base import PositionScheme as PositionScheme
