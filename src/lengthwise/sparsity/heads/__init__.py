"""Sparse functional attention heads, their learners, Theorem A with counterexamples, and the error bound."""
