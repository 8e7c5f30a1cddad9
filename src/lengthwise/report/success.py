"""How sure a success is: on how many seeds and strings it rests, and whether these ask more than training showed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lengthwise.core.rank import reach
from lengthwise.core.rng import stream
from lengthwise.core.vocab import SPECIALS
from lengthwise.languages.nearby import decided_nearby, some_are_not
from lengthwise.report.answer import ALONE, SURE
from lengthwise.report.finding import leader
from lengthwise.report.summary import RIGHT, SystemSummary, hardest_of, in_order, median_rates
from lengthwise.tasks.language import Language

WORDS = 256
"""Words of a length that are looked at."""


def with_success(rows: Mapping[str, str], systems: Sequence[SystemSummary], trained: int) -> dict[str, str]:
    """The rows of an answer, with how sure it is that the best of so many ``trained`` systems goes as far as it does.

    Its share of right strings stands there where no other fitted, so that no test compares it.
    """
    tested = [one for one in in_order(systems) if one.cells]
    if len({one.contest for one in tested}) != 1:
        return dict(rows)
    first, alone = leader(tested), len(tested) == 1
    far = reach(median_rates(first))
    said = [rows.get(SURE) or ALONE * (alone and trained > 1)]
    if far > first.max_length:
        said = [_share(first, far) * alone, *said, _near(first, far)]
    sure = " ".join(filter(None, said))
    return {SURE: sure} | {**rows, SURE: sure} if sure else dict(rows)


def _share(system: SystemSummary, length: int) -> str:
    """What its fitted seeds have right at a length, in the hardest layout; of one seed with the interval."""
    cell = hardest_of(cell for cell in system.cells if cell.length == length)
    found, seeds = cell.estimate(), len(cell.scores)
    if seeds == 1:
        interval = f"95 % interval {found.low:.3f}–{found.high:.3f}"
        return f"{found.median:.3f} of the strings are right at {length} ({interval}), from one seed."
    rates = [score.rate() for score in cell.scores]
    return f"{min(rates):.3f} to {max(rates):.3f} of the strings are right at {length}, in {seeds} seeds."


def _near(system: SystemSummary, length: int) -> str:
    """That test words of a language are no harder than those of training, where others are; else empty."""
    task, n = system.known_task, system.max_length
    if not isinstance(task, Language) or (dfa := task.automaton()) is None:
        return ""
    batch, label = task.batch(length, WORDS, stream(0, "success", length)), task.right_by_state(dfa)
    words = batch.input_ids[:, 1 : length + 1] - len(SPECIALS)
    if decided_nearby(dfa, label, words, n).mean() < RIGHT or not some_are_not(dfa, label, n):
        return ""
    return (
        f"Random words ask little: at most {100 * (1 - RIGHT):.0f} % of those of {length} need a symbol that is not "
        f"among their first or last {n}; `lengthwise explain` asks harder ones."
    )
