"""What a trained model computes, where it breaks, and why."""

from lengthwise.core.lazy import modules_of

__getattr__ = modules_of(__name__)
