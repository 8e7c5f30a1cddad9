"""Models: the decoder-only transformer, generation, and the bridge to C-RASP programs."""

from lengthwise.core.lazy import modules_of

__getattr__ = modules_of(__name__)
