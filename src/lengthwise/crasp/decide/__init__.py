"""The exact decision whether a regular language is in C-RASP, and the program behind a *yes*."""
