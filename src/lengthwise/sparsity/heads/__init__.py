"""Sparse functional attention heads, their learners, the setting of Theorem A, and the error bound."""
