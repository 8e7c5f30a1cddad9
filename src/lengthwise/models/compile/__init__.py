"""C-RASP[periodic, local] to Limit Transformers, in named passes.

`normalize` (program to circuit), `schedule` (layers), `allocate` (coordinates), `heads`, `mlps`, `readout`; `pipeline`
runs them in order, and `verify` compares the result with the interpreter.
"""
