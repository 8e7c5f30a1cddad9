"""Figure 1 of Golowich et al. 2025 with settings fixed beforehand: sparse parity by K_train, k_test and length.

Lengths and sizes are ours. All K_train and all position systems are trained alike, with five new seeds.
"""

from __future__ import annotations

from fixed_beforehand import NEEDED, changed, seeds
from sparse_parity import LONGEST, WINDOW

import lengthwise as lw

SUMMARY = "sparse parity with settings fixed beforehand: RoPE + PoSE, no, absolute and rotary positions, five new seeds"
LENGTHS = (50, 100, 200, 500)
K_TRAIN = (4, 6, 8, 10, 12)
_LAST = LENGTHS[-1] + 2
"""The largest position id: ``<bos>``, 500 bits, the query and the answer."""

SYSTEMS: dict[str, tuple[str, lw.schemes.PositionScheme, lw.encodings.EncodingSpec]] = {
    "rope+pose": ("RoPE + PoSE", lw.schemes.PoSE(max_position=_LAST), lw.encodings.RoPESpec()),
    "nope": ("NoPE", lw.schemes.Sequential(), lw.encodings.NoPESpec()),
    "ape": ("APE", lw.schemes.Sequential(max_position=_LAST, random_start=True), lw.encodings.LearnedSpec()),
    "rope": ("RoPE", lw.schemes.Sequential(), lw.encodings.RoPESpec()),
}
"""By the name for ``--encoding``: the paper's main scheme first, then controls."""


@lw.RECIPES.register("golowich-sparse-parity", SUMMARY)
def golowich_sparse_parity(preset: str) -> lw.Recipe:
    """Train on up to 50 bits with 1 to K_train marked; 2,000 strings a cell, and the attention on marked bits."""
    if preset == "quick":
        (job,) = (_job("nope", 4, None, preset),)
        return lw.Recipe("golowich-sparse-parity", SUMMARY, (job,))
    jobs = [_job(system, k, None, preset) for system in SYSTEMS for k in K_TRAIN]
    # Near one another: is it the number of marked bits or their distance? Without positions the two are one problem.
    jobs += [_job("rope+pose", k, WINDOW, preset) for k in K_TRAIN]
    return lw.Recipe("golowich-sparse-parity", SUMMARY, tuple(jobs))


def _job(system: str, k_train: int, span: int | None, preset: str) -> lw.Job:
    """One layer for 3,000 steps; two layers for 6,000 where fewer than four seeds fit."""
    name, scheme, encoding = SYSTEMS[system]
    quick = preset == "quick"
    first = lw.RunConfig(
        lw.tasks.parity.SparseParity(k_max=k_train, k_test=(2, 4, 6, 8, 10, 12), span=span, balanced=True),
        scheme,
        encoding,
        lw.ModelConfig(layers=1, heads=4, width=64, bias=True, init="fan_in", log_length=LONGEST),
        lw.TrainingConfig(
            min_length=5,
            max_length=LONGEST,
            steps=300 if quick else 3000,
            batch_size=128,
            weight_decay=0.0,
            stacked=True,
        ),
        lw.EvaluationConfig(
            lengths=LENGTHS[:2] if quick else LENGTHS,
            samples=100 if quick else 2000,
            fit_samples=200 if quick else 2000,
            fit_threshold=0.99,
            probe_samples=400,
            attention=200,
        ),
    )
    more = changed(first, model={"layers": 2}, training={"steps": 6000})
    near = "" if span is None else f", marked within {span}"
    return lw.Job(
        f"K_train = {k_train}, {name}{near}",
        lw.Candidates((first,) if quick else (first, more), NEEDED),
        seeds(preset),
        positions=system,
    )
