"""Strings with planted correlations."""
