"""Tasks of looking something up, once or several times. Older ones are in the folder above."""

from importlib import import_module
from pkgutil import iter_modules

for _file in iter_modules(__path__):
    import_module(f"{__name__}.{_file.name}")
