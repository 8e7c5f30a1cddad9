"""Reads results on influential tokens and draws their figures and pages."""
