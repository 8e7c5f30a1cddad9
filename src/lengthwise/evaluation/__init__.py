"""Evaluation: accuracy against length, free-running, as counts."""
