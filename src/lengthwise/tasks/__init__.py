"""The tasks, one file each; this page is the list."""

from lengthwise.tasks import addition as addition
from lengthwise.tasks import parity as parity
from lengthwise.tasks import parity_scratchpad as parity_scratchpad
from lengthwise.tasks import sparse_parity as sparse_parity
from lengthwise.tasks import variable_assignment as variable_assignment
from lengthwise.tasks.base import TASKS as TASKS
from lengthwise.tasks.base import Task as Task
