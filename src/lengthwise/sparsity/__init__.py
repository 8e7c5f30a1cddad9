"""What answers depend on, and the search for position couplings (after Golowich et al. 2025, sections 3 and 4)."""

from lengthwise.core.lazy import modules_of

__getattr__ = modules_of(__name__)
