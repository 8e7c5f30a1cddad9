"""Runs programs: the vectorized interpreter, the slow reference, traces, and generation."""
