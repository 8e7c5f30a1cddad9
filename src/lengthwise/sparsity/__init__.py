"""Planted correlations, sparse functional attention and position coupling (Golowich et al. 2025, sections 3 and 4)."""
