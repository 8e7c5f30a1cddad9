"""How many earlier tokens an answer needs as problems grow: few at every length, or ever more."""

import matplotlib.pyplot as plt

import lengthwise as lw

figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
lengths = [2, 4, 8, 16, 32]
for task in ("parity", "multiplication-by-2-digits", "addition", "parity-scratchpad", "copy"):
    ax.plot(lengths, lw.structure(task, lengths=lengths).sparsity, "o-", label=task, alpha=0.8)
ax.set_xscale("log", base=2)
ax.set_yscale("log", base=2)
ax.set(xticks=lengths, xticklabels=lengths, xlabel="length", ylabel="needed tokens, k")
ax.legend(frameon=False)
