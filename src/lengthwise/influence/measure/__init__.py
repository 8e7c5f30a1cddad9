"""Measures influential tokens: selection rules choose them, masks give their losses, and a summary reports gains."""
