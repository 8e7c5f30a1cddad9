"""The tasks, one file each; this page is the list."""

from lengthwise.tasks import (
    addition as addition,
)
from lengthwise.tasks.base import TASKS as TASKS
from lengthwise.tasks.base import Task as Task
