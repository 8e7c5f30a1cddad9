"""Accuracy of free-running models by length, stored as counts."""

from lengthwise.core.lazy import modules_of

__getattr__ = modules_of(__name__)
