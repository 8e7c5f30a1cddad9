"""The tables and counts of the results pages are those of the committed result files."""

from __future__ import annotations

import re
from itertools import combinations
from math import comb
from pathlib import Path
from statistics import mean

import blind_tables
import fixed_tables
import pytest
import tables

from lengthwise.core.files import write_json
from lengthwise.experiments.recipe import RECIPES
from lengthwise.experiments.run_config import RunConfig
from lengthwise.experiments.run_directory import run_directory
from page_text import ROOT


def _page(name: str) -> str:
    (path,) = (ROOT / "docs").rglob(f"{name}.md")
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", tables.PAGES)
def test_every_table_is_on_its_page(name: str) -> None:
    computed, page = tables.PAGES[name](), _page(name)
    assert computed
    for title, table in computed.items():
        assert len(table.splitlines()) > 2, title
        assert table in page, f"{title}: copy it from `python docs/tables.py {name}`"


def test_sentences_on_the_blind_study() -> None:
    """What the page and the README say of the first study in words."""
    values = blind_tables.values("blind")
    assert values["complete"]
    text, readme = (" ".join(words.split()) for words in (_page("blind"), (ROOT / "README.md").read_text("utf-8")))
    ours, rivals = values["ours"], values["rivals"]
    low, high = ours["balanced_accuracy_interval"]
    right = f"{ours['cells']} of 84 cells are decided, {ours['right']} of them as predicted"
    assert f"{right}: balanced accuracy {ours['balanced_accuracy']:.3f} [{low:.2f}, {high:.2f}]" in text
    best = [rivals[name] for name in ("fitted early", "monoid", "R-trivial")]
    assert [rival for rival in sorted(rivals.values(), reverse=True) if rival > ours["balanced_accuracy"]] == best
    assert "has {:.3f}; a small monoid {:.3f} and R-triviality {:.3f}".format(*best) in text
    other = blind_tables.by_next_symbols()
    easier = f"{other['right']} of the {other['cells']} cells would be as predicted, balanced accuracy"
    assert f"{easier} {other['balanced_accuracy']:.3f}" in text
    assert f"before training held in {ours['right']} of {ours['cells']} decided cells" in readme
    assert "(balanced accuracy {:.2f})".format(ours["balanced_accuracy"]) in readme
    assert f"A training to half of the smallest model has {best[0]:.2f}" in readme
    assert "two properties of the automaton have {:.2f} and {:.2f}".format(*sorted(best[1:])) in readme


def test_sentences_on_the_second_study() -> None:
    """What the pages and the README say of the second study in words."""
    values = blind_tables.values("blind-next")
    text = " ".join(_page("blind").split())
    ours, rivals = values["ours"], values["rival_details"]
    low, high = ours["balanced_accuracy_interval"]
    right = f"{ours['right']} of {ours['cells']} decided cells"
    share = f"balanced accuracy {ours['balanced_accuracy']:.3f} [{low:.2f}, {high:.2f}]"
    assert f"{right} as predicted, {share}" in text
    assert f"{ours['cells']} are decided, {ours['right']} of them as predicted, {share}" in text
    unfitted = sum(cell["status"] == "not fitted" for cell in values["cells"])
    assert f"{share}. {unfitted} are not fitted" in text
    membership = rivals["recognition"]
    test = membership["mcnemar"]
    assert f'"recognition", has {membership["balanced_accuracy"]:.3f}' in text
    assert f"{test['only_ours']} are right by ours only, {test['only_rival']} by it only (p = {test['p']:.2g})" in text
    best = sorted(((rival["balanced_accuracy"], name) for name, rival in rivals.items()), reverse=True)[:3]
    assert best[0][0] < ours["balanced_accuracy"]
    p = [rivals[name]["mcnemar"]["p"] for _, name in best]
    named = ", ".join(f'"{name}" {share:.3f}' for share, name in best)
    assert f"{named}), but no paired test" in text
    assert f"(p = {min(p):.2g} to {max(p):.2g})" in text
    for name in ("README", "index"):
        path = ROOT / "README.md" if name == "README" else ROOT / "docs/results/index.md"
        words = " ".join(path.read_text(encoding="utf-8").split())
        assert f"{right}, balanced accuracy {ours['balanced_accuracy']:.2f}" in words
    classes = blind_tables.by_class()
    assert "| no / yes | 8 | 8 | 8 | 0 | 0 |" in classes
    assert "| yes / yes | 8 | 8 | 5 | 0 | 0 |" in classes
    wrong = {cell["language"]: cell["rung"] for cell in values["cells"] if cell["right"] is False}
    assert wrong == {"next-08": 1, "next-17": 1, "next-23": 1}
    features = {entry.name: entry.features for entry in blind_tables.study("blind-next").entries()}
    assert not any(features[name]["no_counting"] for name in wrong)


def test_kinds_of_first_errors() -> None:
    found = tables.runs("variable-assignment", "scratchpad + PPC", width=256)
    kinds = [score.first_error for run in found if (score := tables.score(run, 400, chains=1, depth=400))]
    token, identity = (sum(kind.get(name, 0) for kind in kinds) for name in ("token", "id"))
    text = " ".join(_page("variable-assignment").split())
    assert f"{token} of the {token + identity} first errors are a wrong token" in text
    assert f"and {identity} a wrong id" in text


def test_permutation_tests_of_automatic_coupling() -> None:
    text = _page("automatic-coupling")
    for first, second in (
        ("addition, hand-made", "addition, found"),
        ("parity-scratchpad, hand-made", "parity-scratchpad, found"),
    ):
        both = [[s.rate() or 0.0 for r in tables.runs("automatic-coupling", name) if (s := tables.score(r, 100))]
                for name in (first, second)]  # fmt: skip
        pooled, size = both[0] + both[1], len(both[0])
        seen = abs(mean(both[0]) - mean(both[1]))
        as_far = sum(
            abs(mean(chosen) - (sum(pooled) - sum(chosen)) / (len(pooled) - size)) >= seen - 1e-12
            for chosen in combinations(pooled, size)
        )
        p = as_far / comb(len(pooled), size)
        assert f"p = {p:.2g}" in text, p


def test_intervals_of_shares() -> None:
    """Clopper and Pearson's interval: at 0 of n and n of n in closed form, and symmetric."""
    low, high = tables.share_interval(0, 20)
    assert low == 0.0
    assert high == pytest.approx(1 - 0.025 ** (1 / 20))
    assert tables.share_interval(20, 20) == pytest.approx((1 - high, 1.0))
    below, above = tables.share_interval(7, 30)
    assert tables.share_interval(23, 30) == pytest.approx((1 - above, 1 - below))


def test_pictures_of_the_pages_exist() -> None:
    for path in (ROOT / "docs").rglob("*.md"):
        for target in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path}: {target}"


def test_the_page_of_fixed_settings_is_what_its_command_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    text = _page("fixed-beforehand")
    assert fixed_tables.updated(text) == text
    made_up = {"queue": "| training | x |\n| --- | --- |", "depth": "| a |\n| --- |\n| 1 |"}
    monkeypatch.setattr(fixed_tables, "fixed_beforehand", lambda: made_up)
    changed = fixed_tables.updated(text)
    assert changed.endswith("### Depth\n\n| a |\n| --- |\n| 1 |\n")
    assert "| training | x |\n| --- | --- |\n\n## Results" in changed
    assert fixed_tables.updated(changed) == changed


def test_a_system_speaks_with_its_first_configuration_that_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made-up results of one system: nothing while a seed is missing; then the rule of choice, and the tables."""
    monkeypatch.setattr(fixed_tables, "RESULTS", tmp_path)
    (job,) = [job for job in RECIPES.make("alternation-depth", "standard").jobs if job.name == "d = 1, k = 3"]
    first, second = (job.experiment, *job.fallbacks)[:2]
    for count, (work, fitted) in enumerate(((first, 3), (second, 4))):
        for place, seed in enumerate(job.seeds):
            assert not list(fixed_tables.speaking("alternation-depth"))
            _write(tmp_path, work, seed, fitted=place < fitted, right=50 + 10 * count + place)
    (system,) = fixed_tables.speaking("alternation-depth")
    assert (system.number, system.head[2]) == (2, "4 of 5")
    ((*_, last),) = fixed_tables.depth()
    assert last == "0.60 0.61 0.62 0.63 0.64"


def _write(folder: Path, work: RunConfig, seed: int, *, fitted: bool, right: int) -> None:
    counts = {"n": 100, "correct": {"exact_match": right}, "tokens": 1, "tokens_total": 1}
    values = {
        "format": 1, "recipe": "alternation-depth", "system": "s", "experiment": work.to_json(), "seed": seed,
        "fitted": fitted, "in_distribution": {"length": 50, "n": 100, "correct": {"exact_match": 99}},
        "scores": [
            {"length": high, "axes": {"low": low, "high": high}, **counts} for low, high in work.evaluation.bins
        ],
    }  # fmt: skip
    write_json(run_directory(folder, "alternation-depth", work, seed) / "result.json", values)


def test_rows_of_figure_4(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A made-up file: the fractions have their intervals, and each probe of the training has a row."""
    monkeypatch.setattr(fixed_tables, "RESULTS", tmp_path)
    by_k = {k: {"recovered": 0.5, "interval": [0.4, 0.6]} for k in ("1", "4", "16")}
    none = {k: {"recovered": None, "interval": None} for k in by_k}
    summary = {
        "rules": {"greedy": by_k, "attention": by_k, "random": none, "last-k": by_k},
        "cross": by_k,
        "null": by_k,
    }
    curve = [{"step": 500, "gain": 0.01, "by_context": {"16": 3.0, "32": 2.5}, "induction": [0.1, 0.9]}]
    values = {
        "rows": [{"seed": 100, "text": "as it is", "gain": 0.2, "summary": summary}],
        "training": {"100": {"curve": curve}},
    }
    (tmp_path / "influence-far" / "x").mkdir(parents=True)
    write_json(tmp_path / "influence-far" / "x" / "study.json", values)
    rows = fixed_tables.figure_4()
    assert [row[3] for row in rows] == [
        "greedy", "attention", "random", "last-k", "greedy, other model", "greedy, null",
    ]  # fmt: skip
    assert rows[0] == ["100", "as it is", "0.200", "greedy", *["0.50 [0.40, 0.60]"] * 3]
    assert rows[2][4:] == ["–"] * 3
    assert fixed_tables.gain_while_training() == [["100", "500", "3.000", "2.500", "–", "–", "–", "0.010", "0.10 0.90"]]
