"""The forecast of every position system that has one: trained to copy 10 letters, right at 40?"""

import matplotlib.pyplot as plt

import lengthwise as lw

known = [system for system in lw.predict("copy", train=10, test=40) if system.interval]
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for row, system in enumerate(reversed(known)):
    ax.plot(system.interval, (row, row), color="C0", linewidth=6, alpha=0.35, solid_capstyle="butt")
    ax.plot(system.probability, row, "|", color="C0", markersize=13, markeredgewidth=2)
ax.set_yticks(range(len(known)), [system.system for system in reversed(known)])
ax.set(xlim=(0, 1), xlabel="probability of an accuracy of at least 0.95, with 90 % interval")
