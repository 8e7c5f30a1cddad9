"""The recipes, one file per published figure or table; this page is the list."""

from lengthwise.experiments.recipes import addition as addition
from lengthwise.experiments.recipes import addition_jumps as addition_jumps
from lengthwise.experiments.recipes import addition_methods as addition_methods
from lengthwise.experiments.recipes import alternation_depth as alternation_depth
from lengthwise.experiments.recipes import automatic_coupling as automatic_coupling
from lengthwise.experiments.recipes import coupled_arithmetic as coupled_arithmetic
from lengthwise.experiments.recipes import demo as demo
from lengthwise.experiments.recipes import golowich_assignment as golowich_assignment
from lengthwise.experiments.recipes import golowich_parity as golowich_parity
from lengthwise.experiments.recipes import golowich_sparse_parity as golowich_sparse_parity
from lengthwise.experiments.recipes import huang as huang
from lengthwise.experiments.recipes import idealized_learner as idealized_learner
from lengthwise.experiments.recipes import influence as influence
from lengthwise.experiments.recipes import influence_far as influence_far
from lengthwise.experiments.recipes import influence_planted as influence_planted
from lengthwise.experiments.recipes import look_back as look_back
from lengthwise.experiments.recipes import parity_scratchpad as parity_scratchpad
from lengthwise.experiments.recipes import planted_theory as planted_theory
from lengthwise.experiments.recipes import positional_products as positional_products
from lengthwise.experiments.recipes import positional_unions as positional_unions
from lengthwise.experiments.recipes import ppc_ablations as ppc_ablations
from lengthwise.experiments.recipes import regularizer_growth as regularizer_growth
from lengthwise.experiments.recipes import rope_pose_search as rope_pose_search
from lengthwise.experiments.recipes import self_improvement as self_improvement
from lengthwise.experiments.recipes import sparse_parity as sparse_parity
from lengthwise.experiments.recipes import variable_assignment as variable_assignment
