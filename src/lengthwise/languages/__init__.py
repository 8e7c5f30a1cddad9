"""Regular expressions, automata, exact counting and sampling. No torch."""
