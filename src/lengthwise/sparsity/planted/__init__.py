"""Strings with planted correlations: placements, label functions and the distribution."""
