"""Two results beside each other on axes of your own, with names of your own."""

import matplotlib.pyplot as plt

import lengthwise as lw

figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), sharey=True, layout="constrained")
for ax, name in zip(axes, ("golowich/results/parity-scratchpad", "arithmetic/results/addition"), strict=True):
    lw.results(f"studies/{name}").plot(ax=ax)
    ax.set_title(name.rpartition("/")[2])
