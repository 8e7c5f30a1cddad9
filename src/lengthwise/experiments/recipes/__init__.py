"""Recipes that a user runs as examples; those of published figures and of our own studies are in ``studies/``."""

from lengthwise.experiments.recipes import addition as addition
from lengthwise.experiments.recipes import demo as demo
from lengthwise.experiments.recipes import influence as influence
from lengthwise.experiments.recipes import variable_assignment as variable_assignment
