"""Tests of regular languages, counting, sampling and adversarial words."""
