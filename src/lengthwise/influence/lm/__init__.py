"""Configures, trains, stores and evaluates our own small language models."""
