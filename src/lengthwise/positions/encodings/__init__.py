"""How attention hears an id. Importing this page imports no torch: modules are built from specifications, lazily."""

from lengthwise.positions.encodings import specs as specs
from lengthwise.positions.encodings.base import ENCODINGS as ENCODINGS
from lengthwise.positions.encodings.base import EncodingShape as EncodingShape
from lengthwise.positions.encodings.base import EncodingSpec as EncodingSpec
