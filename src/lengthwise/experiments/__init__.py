"""Experiments: a configuration that runs, run directories that resume, and the recipes of the published figures."""
