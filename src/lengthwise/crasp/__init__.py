"""C-RASP[periodic, local]: programs, their text, their runs, the exact decision for regular languages, and synthesis.

Import from the module that defines a name: ``program.program``, ``syntax.parser``, ``decide.decision``.
"""
