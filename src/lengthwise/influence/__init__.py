"""Influential tokens: on how many far tokens does a prediction depend (Golowich et al. 2025, experiment 4)?"""
