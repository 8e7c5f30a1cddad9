"""Which tokens depend on which, and the search for a position coupling that brings them together."""
