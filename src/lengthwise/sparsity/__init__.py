"""Planted correlations and sparse functional attention (Golowich et al. 2025, sections 3 and 4). NumPy only."""
