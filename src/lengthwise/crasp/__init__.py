"""C-RASP[periodic, local]: programs, their text and runs, the exact decision for regular languages, and synthesis."""

from lengthwise.core.lazy import modules_of

__getattr__ = modules_of(__name__)
