"""Tasks by family. Every file here is imported; what is known of a new task goes to `prediction/suites.py`."""

from importlib import import_module
from pkgutil import iter_modules

from lengthwise.tasks.base import TASKS as TASKS
from lengthwise.tasks.base import Task as Task

for _file in iter_modules(__path__):
    import_module(f"{__name__}.{_file.name}")
