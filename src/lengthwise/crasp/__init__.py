"""C-RASP[periodic, local]: programs, their text, their runs, the exact decision for regular languages, and synthesis.

Import from the module of the thing: ``program.program``, ``syntax.parser``, ``run.interpreter``, ``decide.decision``.
"""
