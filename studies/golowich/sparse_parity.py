"""Sparse parity by K_train, k_test and length (after Golowich et al. 2025, Figure 1; lengths and sizes are ours)."""

from __future__ import annotations

import lengthwise as lw

SUMMARY = "parity of k marked bits: does what is learned up to K_train hold for longer strings and other k?"
LONGEST = 50
"""The most bits of a training string."""
WINDOW = 16
"""The largest distance between marked bits where they lie close together."""


@lw.RECIPES.register("sparse-parity", SUMMARY)
def sparse_parity(preset: str) -> lw.Recipe:
    """Train on up to 50 bits with 1 to K_train marked; test to 500 bits, for every k_test.

    ``quick`` has one K_train. The others have five, each with marked bits anywhere and close together, all trained
    alike; and one K_train with RoPE, because a single layer without positions can't tell where a marked bit is.
    """
    if preset == "quick":
        return lw.Recipe("sparse-parity", SUMMARY, (_quick(),))
    jobs = [_job(k_train, span, lw.encodings.NoPESpec()) for k_train in (4, 6, 8, 10, 12) for span in (None, WINDOW)]
    jobs += [_job(8, span, lw.encodings.RoPESpec()) for span in (None, WINDOW)]
    return lw.Recipe("sparse-parity", SUMMARY, tuple(jobs))


def _quick() -> lw.Job:
    task = lw.tasks.parity.SparseParity(k_max=4, k_test=(1, 2, 3, 4, 5, 6))
    return lw.Job("K_train = 4", _experiment(task, lw.encodings.NoPESpec(), steps=1500, stacked=False), tuple(range(5)))


def _job(k_train: int, span: int | None, encoding: lw.encodings.EncodingSpec) -> lw.Job:
    task = lw.tasks.parity.SparseParity(k_max=k_train, k_test=(2, 4, 6, 8, 10, 12), span=span, balanced=True)
    where = "" if span is None else f", marked within {span}"
    positions = "" if isinstance(encoding, lw.encodings.NoPESpec) else ", RoPE"
    # Not stopped at the first fit: how long a seed trains decides how it does on long strings, so all train alike.
    return lw.Job(f"K_train = {k_train}{where}{positions}", _experiment(task, encoding, 3000, True), tuple(range(5)))


def _experiment(
    task: lw.tasks.parity.SparseParity, encoding: lw.encodings.EncodingSpec, steps: int, stacked: bool
) -> lw.RunConfig:
    return lw.RunConfig(
        task,
        lw.schemes.Sequential(),
        encoding,
        lw.ModelConfig(layers=1, heads=4, width=64, bias=True, init="fan_in", log_length=LONGEST),
        lw.TrainingConfig(
            min_length=5, max_length=LONGEST, steps=steps, batch_size=128, weight_decay=0.0, stacked=stacked
        ),
        lw.EvaluationConfig(
            lengths=(50, 100, 200, 500), samples=500, fit_samples=1000, fit_threshold=0.99, probe_samples=400
        ),
    )
