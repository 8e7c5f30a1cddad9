"""Published accuracies (percent) on 51–100 and 101–150 or their counterparts (Huang et al. 2025, repository files).

Facts to stand beside ours; nothing computes from them. For the languages the published bins differ from language to
language, and the published pipeline has defects: see docs/results/huang.md.
"""

from __future__ import annotations

PUBLISHED: dict[str, dict[str, tuple[float, float]]] = {
    "bin_majority": {"ape": (99.99, 99.96), "nope": (100.0, 100.0)},
    "majority": {"ape": (99.62, 97.81), "nope": (99.86, 98.46)},
    "bin_majority_interleave": {"ape": (96.75, 84.7), "nope": (68.81, 39.47)},
    "sort": {"ape": (99.96, 99.37), "nope": (99.81, 80.6)},
    "unique_copy": {"ape": (99.86, 98.74), "nope": (18.0, 0.0)},
    "repeat_copy": {"ape": (25.55, 0.0), "nope": (28.01, 0.0)},
    "parity": {"ape": (82.95, 62.06), "nope": (74.5, 63.3)},
    "addition": {"ape": (26.78, 0.0), "nope": (27.69, 0.0)},
    "D-2": {"ape": (100.0, 100.0), "nope": (100.0, 100.0)},
    "D-3": {"ape": (100.0, 100.0), "nope": (100.0, 100.0)},
    "D-4": {"ape": (100.0, 100.0), "nope": (100.0, 100.0)},
    "D-12": {"ape": (100.0, 100.0), "nope": (100.0, 100.0)},
    "Tomita 1": {"ape": (100.0, 100.0), "nope": (100.0, 100.0)},
    "Tomita-2": {"ape": (100.0, 100.0), "nope": (100.0, 100.0)},
    "Tomita-4": {"ape": (85.4, 84.4), "nope": (16.45, 0.0)},
    "Tomita-7": {"ape": (94.2, 93.2), "nope": (87.5, 76.2)},
    "aa*bb*cc*dd*ee*": {"ape": (100.0, 100.0), "nope": (100.0, 100.0)},
    "{a,b}*d{b,c}*": {"ape": (99.8, 98.5), "nope": (99.8, 98.5)},
    "{0,1,2}*02*": {"ape": (24.4, 1.2), "nope": (11.2, 0.0)},
    "(aa)*": {"ape": (100.0, 100.0), "nope": (0.0, 0.0)},
    "(aaaa)*": {"ape": (92.3, 86.7), "nope": (0.0, 0.0)},
    "(abab)*": {"ape": (89.4, 82.3), "nope": (0.0, 0.0)},
    "Tomita-3": {"ape": (7.7, 0.0), "nope": (0.0, 0.0)},
    "Tomita-5": {"ape": (0.0, 0.0), "nope": (0.0, 0.0)},
    "Tomita-6": {"ape": (0.0, 0.0), "nope": (0.0, 0.0)},
}
