"""Accuracy of free-running models by length, stored as counts."""
