"""C-RASP[periodic, local]: programs, their parser and interpreter, and the exact decision for regular languages."""
