"""Sparse functional attention, its learners and its theorem."""
