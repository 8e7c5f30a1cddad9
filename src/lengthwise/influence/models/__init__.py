"""Defines the `LanguageModel` interface for ours, those of `transformers`, and exact inference on planted text."""
