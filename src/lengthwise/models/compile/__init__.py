"""Compiles C-RASP[periodic, local] programs to Limit Transformers.

``pipeline`` runs the passes ``normalize`` (program to circuit), ``schedule`` (layers), ``allocate`` (coordinates),
``heads`` and ``mlps``; ``verify`` compares the result with the interpreter.
"""
