"""Predict, explain and extend how far a transformer generalizes beyond the lengths it was trained on."""

__version__ = "0.1.0.dev0"
