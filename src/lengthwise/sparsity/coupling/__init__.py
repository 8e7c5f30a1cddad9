"""Estimates which tokens depend on which, and searches a position coupling that brings them together."""
