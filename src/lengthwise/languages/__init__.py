"""Formal languages: regular expressions, automata, counter languages, exact counting and uniform sampling."""
