"""Trains a model further: on other sequences, after a change of its encoding, or on its own labels."""
