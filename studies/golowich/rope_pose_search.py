"""Which setting of RoPE + PoSE fits variable assignment? Unfitted models prove nothing: the search is a recipe."""

from __future__ import annotations

import lengthwise as lw

SUMMARY = "settings of RoPE + PoSE on variable assignment, in search of one that fits in distribution"

SEPARATED = ("task.separators=true",)
SETTINGS: dict[str, tuple[str, ...]] = {
    "as in variable-assignment": (),
    "separators": SEPARATED,
    "separators, 2 layers": (*SEPARATED, "model.layers=2"),
    "separators, 4 layers": (*SEPARATED, "model.layers=4"),
    "separators, 6 layers": (*SEPARATED, "model.layers=6"),
    "separators, 2 heads": (*SEPARATED, "model.heads=2"),
    "separators, 8 heads": (*SEPARATED, "model.heads=8"),
    "separators, width 256": (*SEPARATED, "model.width=256"),
    "separators, lr 5e-4": (*SEPARATED, "training.lr=0.0005"),
    "separators, lr 2e-3": (*SEPARATED, "training.lr=0.002"),
    "separators, lr 3e-3": (*SEPARATED, "training.lr=0.003"),
    "separators, batch 128": (*SEPARATED, "training.batch_size=128"),
    "separators, base 100": (*SEPARATED, "encoding.base=100.0"),
    "separators, base 1000": (*SEPARATED, "encoding.base=1000.0"),
    "separators, cut anywhere": (*SEPARATED, 'scheme.cut="anywhere"'),
    "separators, 3 chunks": (*SEPARATED, "scheme.chunks=3"),
    "separators, 64 names": (*SEPARATED, "task.names=64"),
    "separators, ids to 204": (*SEPARATED, "scheme.max_position=204"),
    "separators, fan-in start": (*SEPARATED, 'model.init="fan_in"'),
    "separators, no QK-norm": (*SEPARATED, "model.qk_norm=false"),
    "separators, no log-length": (*SEPARATED, "model.log_length=null"),
    "separators, biases": (*SEPARATED, "model.bias=true"),
    "no separators, base 100": ("encoding.base=100.0",),
    "no separators, 6 layers": ("model.layers=6",),
}
"""Name to edits, one thing at a time; without separators a skip hides which of two neighbours is the child."""


@lw.RECIPES.register("rope-pose-search", SUMMARY)
def rope_pose_search(preset: str) -> lw.Recipe:
    """One seed each, for 6,000 steps (``quick``: 1,500) or until fitted."""
    base = lw.experiments.recipes.variable_assignment("quick").jobs[2].experiment
    steps = 1500 if preset == "quick" else 6000
    jobs = tuple(
        lw.Job(name, base.edited(["task.slots=false", f"training.steps={steps}", *edits]), (0,))
        for name, edits in SETTINGS.items()
    )
    return lw.Recipe("rope-pose-search", SUMMARY, jobs)
