"""How many alternations a depth carries: languages L_k by the number of layers (after Yang et al., arXiv 2506.16055).

L_k has k blocks: a⁺b⁺a⁺… . Published: without positions, depth d generalizes on L_k up to k = d + 2, not at d + 3.
"""

from __future__ import annotations

import dataclasses

import lengthwise as lw

SUMMARY = "languages of k alternating blocks by number of layers: depth d should carry k = d + 2 and not d + 3"
DEPTHS = (1, 2, 3, 4)
NEEDED = 4
"""A configuration represents its system if so many of the five seeds fit; otherwise the next one is trained."""
BINS = ((51, 100), (101, 150), (151, 200), (201, 300))


def seeds(preset: str) -> tuple[int, ...]:
    """One seed for ``quick``, and five that no earlier training of this study has used."""
    return (100,) if preset == "quick" else (100, 101, 102, 103, 104)


def alternation(k: int) -> str:
    """The expression of L_k.

    >>> alternation(3)
    'a+b+a+'
    """
    return "".join(f"{'ab'[i % 2]}+" for i in range(k))


@lw.RECIPES.register("alternation-depth", SUMMARY)
def alternation_depth(preset: str) -> lw.Recipe:
    """The frozen ladder of the blind study with its number of layers set to d, for k = d + 2 and d + 3.

    A word of L_k with n symbols is uniform: its k − 1 switches are. After every prefix the model says what may follow,
    which tells whether the prefix is a word.
    """
    quick = preset == "quick"
    jobs = [_job(depth, depth + more, preset) for depth in DEPTHS for more in (2, 3)]
    if preset == "full":
        jobs += [_job(depth, k, preset) for depth in DEPTHS for k in range(3, 9) if k not in (depth + 2, depth + 3)]
    return lw.Recipe("alternation-depth", SUMMARY, tuple(jobs[:1] if quick else jobs))


def _job(depth: int, k: int, preset: str) -> lw.Job:
    quick = preset == "quick"
    rungs = [dataclasses.replace(rung, layers=depth) for rung in lw.experiments.blind.ladder.LADDER]
    if quick:
        rungs = [dataclasses.replace(rungs[0], steps=300)]
    experiments = tuple(_experiment(rung, k, 100 if quick else 1000) for rung in rungs)
    claim = f"depth {depth} carries {depth + 2} blocks" if k <= depth + 2 else f"more blocks than depth {depth} carries"
    return lw.Job(f"d = {depth}, k = {k}", lw.Candidates(experiments, NEEDED), seeds(preset), claim)


def _experiment(rung: lw.experiments.blind.ladder.Rung, k: int, samples: int) -> lw.RunConfig:
    evaluation = lw.EvaluationConfig(
        samples=samples, fit_samples=2 * samples, fit_threshold=0.995, probe_samples=200, bins=BINS, unfitted_too=True
    )
    task = lw.tasks.language.Language(language=alternation(k))
    return lw.RunConfig(
        task,
        lw.schemes.Sequential(),
        lw.encodings.NoPESpec(),
        lw.experiments.blind.ladder.model_config(rung),
        lw.experiments.blind.ladder.training_config(rung),
        evaluation,
    )
