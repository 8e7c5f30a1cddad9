"""Error against length and against k."""
