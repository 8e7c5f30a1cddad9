"""Classes that every other package uses: errors, configuration, registries, random streams and batches."""

from lengthwise.core.lazy import modules_of

__getattr__ = modules_of(__name__)
