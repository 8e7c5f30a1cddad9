"""What is fixed before any training: which languages, what is predicted of them, and the file that says so."""

from lengthwise.core.lazy import modules_of

__getattr__ = modules_of(__name__)
