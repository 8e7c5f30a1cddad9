"""Certificates of the decision, and a checker that shares no code with it."""
