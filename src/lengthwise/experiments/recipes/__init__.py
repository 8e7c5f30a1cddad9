"""The recipes, one file per published figure or table; this page is the list."""

from lengthwise.experiments.recipes import addition as addition
from lengthwise.experiments.recipes import parity_scratchpad as parity_scratchpad
from lengthwise.experiments.recipes import sparse_parity as sparse_parity
from lengthwise.experiments.recipes import variable_assignment as variable_assignment
