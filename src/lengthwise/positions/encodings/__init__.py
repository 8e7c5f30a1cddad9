"""Position encodings: how attention uses the ids of tokens. One file per encoding; importing them imports no torch.

Every file of this folder is imported here. A built-in encoding is its settings here (`kerple.py` is a template), its
formula in `nn/`, and a line in `nn/__init__.py`; an encoding of your own can be one file.
"""

from importlib import import_module
from pkgutil import iter_modules

from lengthwise.positions.encodings.base import ENCODINGS as ENCODINGS
from lengthwise.positions.encodings.base import EncodingSpec as EncodingSpec
from lengthwise.positions.encodings.shape import EncodingShape as EncodingShape

for _file in iter_modules(__path__):
    import_module(f"{__name__}.{_file.name}")
