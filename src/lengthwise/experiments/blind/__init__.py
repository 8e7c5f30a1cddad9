"""The blind study: one ladder of configurations for all cells, frozen with languages, seeds and rules beforehand."""

from lengthwise.core.lazy import modules_of

__getattr__ = modules_of(__name__)
