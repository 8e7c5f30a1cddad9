"""Draws tables, figures and self-contained pages from result files, without torch."""

from lengthwise.core.lazy import modules_of

__getattr__ = modules_of(__name__)
