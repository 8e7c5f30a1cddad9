"""Trains every sensible position system on one task under one budget, and ranks them by how far each goes."""

from lengthwise.core.lazy import modules_of

__getattr__ = modules_of(__name__)
