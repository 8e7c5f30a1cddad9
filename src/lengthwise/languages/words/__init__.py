"""Counting, uniform sampling, and hard test words of a language."""
