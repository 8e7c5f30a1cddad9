"""P(right at M), for a system trained to N: features, a fitted model, and the answer in words."""

from lengthwise.core.lazy import modules_of

__getattr__ = modules_of(__name__)
