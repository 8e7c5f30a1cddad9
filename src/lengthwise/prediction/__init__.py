"""Predicts from theory whether a task or language generalizes to longer inputs, per position system."""
