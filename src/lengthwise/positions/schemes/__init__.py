"""Position schemes: which position ids the tokens get. Importing them imports no torch.

Every file of this folder is imported here, so that a new scheme is a new file and nothing else.
"""

from importlib import import_module
from pkgutil import iter_modules

from lengthwise.positions.schemes.base import SCHEMES as SCHEMES
from lengthwise.positions.schemes.base import PositionScheme as PositionScheme

for _file in iter_modules(__path__):
    import_module(f"{__name__}.{_file.name}")
