"""Predicts from theory whether a task or language generalizes to longer inputs, per position system."""

from lengthwise.core.lazy import modules_of

__getattr__ = modules_of(__name__)
