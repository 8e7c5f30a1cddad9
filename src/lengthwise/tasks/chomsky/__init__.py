"""The tasks of the Chomsky-hierarchy suite (after Delétang et al. 2023) that have no file elsewhere.

The others are `parity`, `reverse`, `modular-arithmetic`, `modular-arithmetic-brackets`, `solve-equation`,
`binary-addition` and `binary-multiplication`.
"""

from importlib import import_module
from pkgutil import iter_modules

for _file in iter_modules(__path__):
    import_module(f"{__name__}.{_file.name}")
