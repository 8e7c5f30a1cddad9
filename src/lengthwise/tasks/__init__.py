"""Tasks, one file each. Importing this package registers all of them."""

from lengthwise.tasks import addition as addition
from lengthwise.tasks import arithmetic as arithmetic
from lengthwise.tasks import bin_majority_interleave as bin_majority_interleave
from lengthwise.tasks import binary_addition as binary_addition
from lengthwise.tasks import chomsky as chomsky
from lengthwise.tasks import copy as copy
from lengthwise.tasks import flip_flop as flip_flop
from lengthwise.tasks import huang as huang
from lengthwise.tasks import induction as induction
from lengthwise.tasks import language as language
from lengthwise.tasks import look_back as look_back
from lengthwise.tasks import majority as majority
from lengthwise.tasks import parity as parity
from lengthwise.tasks import parity_scratchpad as parity_scratchpad
from lengthwise.tasks import planted as planted
from lengthwise.tasks import recall as recall
from lengthwise.tasks import recoupled as recoupled
from lengthwise.tasks import retrieval as retrieval
from lengthwise.tasks import reverse as reverse
from lengthwise.tasks import sort as sort
from lengthwise.tasks import sparse_parity as sparse_parity
from lengthwise.tasks import strings as strings
from lengthwise.tasks import variable_assignment as variable_assignment
from lengthwise.tasks.base import TASKS as TASKS
from lengthwise.tasks.base import Task as Task
