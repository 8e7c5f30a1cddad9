"""What is fixed before any training: rules, what rivals look at, and the study of a list of one's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import comparison

import lengthwise as lw

words = lw.experiments.blind.ladder
FIT, FIT_WORDS = lw.experiments.blind.run.FIT, lw.experiments.blind.run.FIT_WORDS
NEEDED = lw.experiments.blind.run.NEEDED
SEEDS = (200, 201, 202, 203, 204)

RULES: dict[str, str] = {
    "ladder": "The same rungs in the same order for every cell. All seeds of a rung are trained for all its steps.",
    "fitted": f"A seed is fitted if at least {FIT} of {FIT_WORDS} words of the training lengths are right, under the "
    "position ids of training. A word is right if the set of symbols and end that may follow is right after every "
    "prefix. A seed whose training diverged is not fitted.",
    "speaks": f"The first rung with at least {NEEDED} of {len(SEEDS)} fitted seeds speaks for the cell. If there is "
    "none, the cell is not fitted and undecided. Long lengths are measured at the rung that speaks; of a cell that is "
    "not fitted they are measured at the last rung, shown, and decide nothing.",
    "words": f"Each bin has {words.SIZE} uniform words and, where there are any, {words.SIZE} adversarial ones, at up "
    f"to {words.LENGTHS} lengths spread evenly over the bin. Adversarial words are pairs that agree on the half of "
    "their length before some place and need different answers at that place. Where a bin has no such pairs only "
    "uniform words are measured. All cells of a language and all seeds have the same words.",
    "score": "The score of a seed is its accuracy on 101-150: the lower one of uniform and adversarial words where "
    "there are both. The score of a cell is the median of its fitted seeds.",
    "decision": f"A cell generalizes if its score is at least {comparison.CUT}. Predicted yes is right if it does, "
    f"predicted no if it does not. The other cuts {list(comparison.CUTS)} are reported beside it, as are uniform words "
    "alone, adversarial words alone, and the other bins.",
    "balanced accuracy": "The mean of two shares among decided cells: generalizing cells that were predicted yes, and "
    "not generalizing ones that were predicted no.",
    "interval": f"{comparison.BOOTSTRAP} bootstrap samples over languages (both cells of a language stay together), "
    "percentiles 2.5 and 97.5.",
    "test": "Exact two-sided McNemar test of our predictor against each rival, on the decided cells that both predict.",
    "undecided": "Undecided cells are counted by predicted class and enter no accuracy. A second count takes them as "
    "wrong for every predictor.",
}


def entry(name: str, task: lw.Task, encodings: Sequence[str], *, expression: str = "") -> dict[str, Any]:
    """One language or task: what is trained, what we predict by encoding, and what rivals look at."""
    known = lw.experiments.blind.study.entry(name, task, encodings, expression=expression)
    dfa = task.automaton() if isinstance(task, lw.tasks.language.Language) else None
    return {**known, "features": {} if dfa is None else features(dfa)}


def features(dfa: lw.languages.automaton.Dfa) -> dict[str, Any]:
    """Numbers and flags of a minimal automaton, as JSON values.

    ``states``: of the complete automaton; ``monoid``: elements of the syntactic monoid; ``star_free``: the monoid is
    aperiodic; ``r_trivial``: no two states reach each other; ``resets``: every symbol keeps all states or sends all
    to one; ``pairs``: in each bin, the lengths tested at which words agree on half their length and need different
    answers after it.
    """
    semigroup = lw.languages.monoid.transition_semigroup(dfa)
    columns = [set(enumerate(column)) for column in zip(*dfa.delta, strict=True)]
    return {
        "states": dfa.size,
        "monoid": semigroup.monoid_size,
        "star_free": semigroup.aperiodic,
        "r_trivial": lw.languages.monoid.is_r_trivial(dfa),
        "resets": all(
            all(source == target for source, target in column) or len({target for _, target in column}) == 1
            for column in columns
        ),
        "pairs": {
            f"{low}-{high}": len(
                words.pair_lengths(dfa, words.spread(lw.languages.sampling.lengths_with_words(dfa, low, high)))
            )
            for low, high in lw.experiments.blind.ladder.BINS
        },
    }


def read_languages(path: Path) -> list[str]:
    """One expression (or published name) a line; empty lines and lines that start with ``#`` are left out.

    Raises `lw.LengthwiseError` if the file can't be read, holds none, or holds one twice.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise lw.LengthwiseError(f"cannot read the list of languages {path}: {reason}; check the path") from None
    found = [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]
    if not found:
        raise lw.LengthwiseError(f"{path} holds no expression; write one regular expression a line")
    for line in sorted({line for line in found if found.count(line) > 1}):
        raise lw.LengthwiseError(f"{path} holds {line!r} twice; leave one")
    return found


def user_study(
    folder: Path, frozen: lw.experiments.blind.study.BlindStudy, tasks: Mapping[str, lw.Task], encodings: Sequence[str]
) -> lw.experiments.blind.study.BlindStudy:
    """A study of these languages or tasks, by name, in ``folder``, with ladder, seeds and rules of the frozen one.

    Raises `lw.LengthwiseError` if ``folder`` holds another study, or a language has no words where they are needed.
    """
    content = lw.experiments.blind.study.listed(frozen, tasks, encodings)
    languages = [entry(name, task, encodings) for name, task in tasks.items()]
    return lw.experiments.blind.study.write_study(folder, {**content, "rules": RULES, "languages": languages})
