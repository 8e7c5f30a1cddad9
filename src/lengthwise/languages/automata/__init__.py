"""Regular expressions, automata, and what is computed from them."""
