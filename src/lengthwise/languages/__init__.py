"""Formal languages: regular expressions, automata, counter languages, exact counting and uniform sampling."""

from lengthwise.core.lazy import modules_of

__getattr__ = modules_of(__name__)
