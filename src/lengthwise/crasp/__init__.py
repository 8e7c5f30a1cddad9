"""C-RASP[periodic, local]: programs, their parser and interpreter, and the exact decision for regular languages.

Import from the module of the thing: ``program``, ``parser``, ``printer``, ``interpreter``, ``library``, ``decision``.
"""
