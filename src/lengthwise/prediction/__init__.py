"""Predictions: what the theory says of a task or language, and the idealized learner that the theory is about."""
