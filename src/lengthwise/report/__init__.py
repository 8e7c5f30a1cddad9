"""Draws tables, figures and self-contained pages from result files, without torch."""
