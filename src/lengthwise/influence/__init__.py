"""Measures on how many distant tokens a language model's prediction depends (Golowich et al. 2025, experiment 4)."""

from lengthwise.core.lazy import modules_of

__getattr__ = modules_of(__name__)
