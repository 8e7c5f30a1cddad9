"""Experiments: a configuration that runs, run directories that resume, and the recipes of the published figures."""

from lengthwise.core.lazy import modules_of

__getattr__ = modules_of(__name__)
