"""Training: data as a pure function of (seed, step), the loss with the only shift by one, and exact resume."""
