"""Search for the smallest program that agrees with examples or with a function."""
