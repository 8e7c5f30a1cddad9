"""Regular expressions, deterministic automata, their minimization and their transition monoids."""
