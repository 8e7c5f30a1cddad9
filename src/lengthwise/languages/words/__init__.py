"""Counts, samples and labels the words of a language, and builds hard test words."""
