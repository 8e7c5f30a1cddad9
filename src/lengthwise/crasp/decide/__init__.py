"""Decides whether a regular language is in a fragment of C-RASP, and extracts a program where it is."""
