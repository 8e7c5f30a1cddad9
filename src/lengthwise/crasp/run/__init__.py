"""Running programs: the fast interpreter, the slow reference, traces and generation."""
