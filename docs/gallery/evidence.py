"""Every accuracy that was measured beyond training, by position system."""

from collections import defaultdict

import matplotlib.pyplot as plt

import lengthwise as lw

found = defaultdict(list)
for cell in lw.measured.cells():
    for test in cell.tests:
        accuracy = test.median(cell.fitted)
        if accuracy is not None and test.low > cell.train:
            found[f"{cell.scheme}+{cell.encoding}"].append(((test.low + test.high) / 2 / cell.train, accuracy))
most = sorted(found, key=lambda name: len(found[name]), reverse=True)[:6]
figure, axes = plt.subplots(2, 3, figsize=(9, 4.8), sharex=True, sharey=True, layout="constrained")
for ax, name in zip(axes.flat, most, strict=True):
    ax.plot(*zip(*found[name], strict=True), "o", markersize=3, alpha=0.4, rasterized=True)
    ax.set(xscale="log", title=f"{name} ({len(found[name])})")
figure.supxlabel("length as a multiple of the longest training length")
figure.supylabel("accuracy")
