"""Training: data as a pure function of (seed, step), the loss with the only shift by one, and exact resume."""

from lengthwise.core.lazy import modules_of

__getattr__ = modules_of(__name__)
