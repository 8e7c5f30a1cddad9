"""How far away the needed tokens are as sums grow: plain ids drift, coupled ids stay."""

import matplotlib.pyplot as plt

import lengthwise as lw

figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
lengths = [2, 5, 10, 20, 40]
for scheme, style in (("sequential", "s--"), ("coupled", "o-")):
    ax.plot(lengths, lw.structure("addition", scheme, lengths).span, style, label=f"{scheme} ids")
ax.set(xlabel="digits", ylabel="ids to the farthest needed token", title="addition")
ax.legend(frameon=False)
