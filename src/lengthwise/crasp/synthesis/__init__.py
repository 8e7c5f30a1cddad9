"""Searches for the smallest program that agrees with examples or with a function from words to labels."""
