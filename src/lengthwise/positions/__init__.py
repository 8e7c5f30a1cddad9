"""Positions: which ids the tokens get (`schemes`), and how attention uses the ids (`encodings`)."""

from lengthwise.core.lazy import modules_of

__getattr__ = modules_of(__name__)
