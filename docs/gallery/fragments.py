"""Which regular languages are in which fragment of C-RASP: exact decisions, each with a proof."""

import matplotlib.pyplot as plt

import lengthwise as lw

languages = ["(ab)*", "a*b*", "(a|b)*b", "ab(a|b)*", "(aa)*", "(aa|b)*", "(a|b)*abb(a|b)*", "(ab|ba)*"]
fragments = ["nope", "alibi", "rope", "ape"]
colours = {"yes": "#009e73", "no": "#d55e00", "unknown": "#b9c2cc"}
figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
for row, language in enumerate(languages):
    decision = lw.decide(language)
    for column, fragment in enumerate(fragments):
        answer = decision.answer(fragment)
        ax.scatter(column, -row, s=320, marker="s", color=colours[answer])
        ax.annotate(answer, (column, -row), ha="center", va="center", color="white", fontsize=7)
ax.set_xticks(range(len(fragments)), fragments)
ax.set_yticks([-row for row in range(len(languages))], languages, family="monospace")
ax.set(xlim=(-0.6, len(fragments) - 0.4), title="Is there a program at every length?")
