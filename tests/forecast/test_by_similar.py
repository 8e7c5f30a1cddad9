"""How often the share of similar tasks and languages was right, each left out in turn, as docs/verdicts.md says."""

from collections import Counter, defaultdict
from pathlib import Path

from lengthwise.forecast import features
from lengthwise.forecast.answer import FEWEST, LIKELY_FROM, PROMISING, UNLIKELY
from lengthwise.forecast.measured import bin_of, of_kind, others_by_name, trained_plainly
from lengthwise.measured.cells import cells
from lengthwise.positions.system import SYSTEMS
from lengthwise.prediction import programs

RATIO, CUT = 5.0, 0.95


def groups() -> dict[tuple[str, ...], dict[str, bool]]:
    """What is similar under a system: tasks, and languages of a kind, by theory's answer; whether each was right."""
    found = defaultdict[tuple[str, ...], dict[str, bool]](dict)
    for system in SYSTEMS:
        for answer in ("yes", "no"):
            found["tasks", system.name, answer] |= others_by_name(system, RATIO, CUT, answer)
        for cell in cells():
            if system.fragment is None or cell.rung is None or not trained_plainly(cell, system):
                continue
            dfa, place = features.language_of(cell.task), bin_of(RATIO, cell)
            if dfa is not None and place is not None:
                answer = programs.verdict(dfa, cell.format, system.fragment).verdict
                of = found["languages", system.name, cell.format, of_kind(dfa, cell.format, system), answer]
                of[str(cell.task["language"])] = (cell.accuracy(*place) or 0.0) >= CUT
    return found


def test_the_share_of_similar_ones_is_right_as_often_as_the_page_says():
    counts = Counter[tuple[str, str, bool]]()
    for (what, *_, answer), found in groups().items():
        for name, right in found.items():
            others = [good for other, good in found.items() if other != name]
            if len(others) >= FEWEST and answer == "yes" and 100 * sum(others) >= LIKELY_FROM * len(others):
                counts[what, PROMISING, right] += 1
            elif len(others) >= FEWEST and answer == "no" and not any(others):
                counts[what, UNLIKELY, not right] += 1
    page = " ".join((Path(__file__).parents[2] / "docs" / "verdicts.md").read_text(encoding="utf-8").split())
    shares = {}
    for word in (PROMISING, UNLIKELY):
        rows = [(counts[what, word, True], counts[what, word, False]) for what in ("tasks", "languages")]
        held, of = sum(held for held, _ in rows), sum(map(sum, rows))
        said = [f"{held} of {held + failed}" for held, failed in rows]
        assert f"| {word} | {' | '.join(said)} | {held} of {of} |" in page, (word, said, held, of)
        shares[word] = held / of
    assert shares[UNLIKELY] >= shares[PROMISING]
