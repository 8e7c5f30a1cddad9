"""Computes curves of error against length and against k, for exact and for trained learners."""
