"""Tasks, one file each. Every file and folder here is imported, so that a new task is a new file and nothing else."""

from importlib import import_module
from pkgutil import iter_modules

from lengthwise.tasks.base import TASKS as TASKS
from lengthwise.tasks.base import Task as Task

for _file in iter_modules(__path__):
    import_module(f"{__name__}.{_file.name}")
