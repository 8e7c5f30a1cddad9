"""Accuracy against length of all systems of a folder of results."""

import lengthwise as lw

figure = lw.results("studies/golowich/results/parity-scratchpad").plot(figsize=(7, 4.2))
