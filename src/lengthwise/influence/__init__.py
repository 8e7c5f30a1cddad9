"""Measures on how many distant tokens a language model's prediction depends (Golowich et al. 2025, experiment 4)."""
