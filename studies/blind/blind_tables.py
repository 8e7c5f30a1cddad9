"""Compute the tables of studies/blind/README.md: ``python studies/blind/blind_tables.py`` writes them into the page.

It also writes the table of each study and of the published tasks, and the reliability of verdicts that the package
ships. Each table of the page stands behind a comment with its title. Everything comes from the files in
``studies/blind/results/blind`` and ``studies/blind/results/blind-next``, and from the decision.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

import comparison
from ladder_tables import LADDER, LISTS, cell_row_text, of_list
from table_parts import markdown, results

import lengthwise as lw

STATES = ("decided", "right", "not fitted", "not run")


@cache
def study(folder: str) -> lw.experiments.blind.study.BlindStudy:
    """A committed study."""
    return lw.experiments.blind.study.read_study(results(folder))


@cache
def values(folder: str) -> Mapping[str, Any]:
    """Its table."""
    return comparison.table(study(folder))


@cache
def published() -> Mapping[str, Any]:
    """The published tasks under the ladder of the first study: a table of its own."""
    return comparison.table(study("blind"), "published")


def counts(groups: Mapping[str, Iterable[Mapping[str, Any]]], head: str, right: str = "as predicted") -> str:
    """Cells of each group: in all, decided, right ones under the name ``right``, not fitted, not run."""
    rows = []
    for name, cells in groups.items():
        found = list(cells)
        number = {
            "decided": sum(cell["status"] == "decided" for cell in found),
            "right": sum(cell["right"] is True for cell in found),
            "not fitted": sum(cell["status"] == "not fitted" for cell in found),
            "not run": sum(cell["status"] == "not run" for cell in found),
        }
        rows.append((name, str(len(found)), *(str(number[state]) for state in STATES)))
    return markdown((head, "cells", "decided", right, "not fitted", "not run"), rows)


def by_verdict(found: Mapping[str, Any], right: str = "as predicted") -> str:
    """Cells of a table by position system and verdict."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for cell in found["cells"]:
        groups.setdefault(f"{cell['encoding']}, {cell['predicted']}", []).append(cell)
    return counts({**groups, "all": found["cells"]}, "positions, verdict", right)


def predictors(found: Mapping[str, Any]) -> str:
    """Our predictor and its rivals on the decided cells, the best first."""
    ours = found["ours"]
    rows = [(-(ours["balanced_accuracy"] or 0), ("**ours**", ours, None))]
    for name, rival in found["rival_details"].items():
        rows.append((-(rival["balanced_accuracy"] or 0), (name, rival, rival["mcnemar"])))
    shown = []
    for _, (name, one, test) in sorted(rows, key=lambda row: row[0]):
        interval = one["balanced_accuracy_interval"]
        balanced = "–" if one["balanced_accuracy"] is None else f"{one['balanced_accuracy']:.3f}"
        bounds = "" if interval is None else f" [{interval[0]:.2f}, {interval[1]:.2f}]"
        paired = ("",) * 4
        if test is not None:
            both = (_probability(test["p"]), _probability(test["p_languages"]))
            paired = (str(test["only_ours"]), str(test["only_rival"]), *both)
        shown.append((name, f"{one['right']} of {one['cells']}", balanced + bounds, _area(one), *paired))
    heads = ("predictor", "right", "balanced accuracy [95 %]", "AUC [95 %]", "right: ours only", "it only", "p")
    heads = (*heads, "p, languages")
    return markdown(heads, shown)


def _area(one: Mapping[str, Any]) -> str:
    """The area under the curve; of ours, which only says yes or no, it is the balanced accuracy."""
    if one.get("auc") is None:
        return ""
    low, high = one["auc_interval"]
    return f"{one['auc']:.3f} [{low:.2f}, {high:.2f}]"


def _probability(p: float) -> str:
    return f"{p:.2g}" if p >= 0.0001 else "< 0.0001"


def cuts(folder: str) -> str:
    """Our predictor at other cuts, and where other bins or words decide."""
    found = values(folder)
    rows = [
        (f"101–150, cut {cut}", f"{one['right']} of {one['cells']}", _share(one["balanced_accuracy"]))
        for cut, one in found["cuts"].items()
    ]
    rows += [
        (f"{name.replace('-', '–')} words", f"{one['right']} of {one['cells']}", _share(one["balanced_accuracy"]))
        for name, one in found["by_words"].items()
    ]
    return markdown(("what decides", "right", "balanced accuracy"), rows)


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def every_cell(found: Mapping[str, Any]) -> str:
    """All cells of a table that were run, every seed."""
    return markdown(LADDER, [cell_row_text(row) for row in found["cells"] if row["status"] != "not run"])


def needs(cell: Mapping[str, Any]) -> str:
    """What a program needs to predict the next symbols of a cell's language: a window, if one does without periods."""
    for entry in study("blind").entries():
        if entry.name == cell["language"]:
            decision = lw.crasp.decide.decide(
                lw.languages.automaton.language(entry.expression, getattr(entry.task, "alphabet", None)),
                ends=[lw.crasp.decide.NEXT],
            )
            local = decision.verdict("local", lw.crasp.decide.NEXT)
            if local.verdict != "yes":
                return "a period"
            window = local.window or 1
            return "counts alone" if window == 1 else "2 or 3 symbols" if window <= 3 else "4 or more symbols"
    raise AssertionError(f"no language {cell['language']}")


def learned_yes() -> str:
    """The cells with learned positions that are predicted *yes*, by what a program needs."""
    names = ("counts alone", "2 or 3 symbols", "4 or more symbols", "a period")
    groups: dict[str, list[Mapping[str, Any]]] = {name: [] for name in names}
    for cell in values("blind")["cells"]:
        if (cell["encoding"], cell["predicted"]) == ("ape", "yes"):
            groups[needs(cell)].append(cell)
    return counts(groups, "a program needs")


def by_next_symbols() -> dict[str, Any]:
    """Accuracies on the first study's cells if the verdict on next symbols stands for that without positions."""
    verdicts = study("blind-next").content["first study, by next symbols, without positions"]
    cells = values("blind")["cells"]
    predicted = {
        comparison.key(cell): (verdicts[cell["language"]] if cell["encoding"] == "nope" else cell["predicted"]) == "yes"
        for cell in cells
    }
    return comparison.accuracies(predicted, comparison.outcomes(cells))


def plain_no() -> str:
    """The cells without positions that are predicted *no*, by the verdict on next symbols."""
    verdicts = study("blind-next").content["first study, by next symbols, without positions"]
    groups: dict[str, list[Mapping[str, Any]]] = {"yes": [], "no": []}
    for cell in values("blind")["cells"]:
        if (cell["encoding"], cell["predicted"]) == ("nope", "no"):
            groups[verdicts[cell["language"]]].append(cell)
    return counts(groups, "next symbols")


def by_class() -> str:
    """The second study's cells by the verdicts on membership and on next symbols."""
    recognized = {entry.name: entry.features["recognition"] for entry in study("blind-next").entries()}
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for cell in values("blind-next")["cells"]:
        membership = "yes" if recognized[cell["language"]] else "no"
        groups.setdefault(f"{membership} / {cell['predicted']}", []).append(cell)
    return counts(dict(sorted(groups.items(), reverse=True)), "membership / next symbols")


def blind() -> dict[str, str]:
    """Every table of the page by title."""
    return {
        "cells by verdict": by_verdict(values("blind")),
        "predictors": predictors(values("blind")),
        "no without positions": plain_no(),
        "yes with learned positions": learned_yes(),
        "cuts": cuts("blind"),
        "every cell": every_cell(values("blind")),
        "published: cells by verdict": by_verdict(published(), "as theory says"),
        "published: predictors": predictors(published()),
        "published: every cell": every_cell(published()),
        "second: cells by verdict": by_verdict(values("blind-next")),
        "second: cells by class": by_class(),
        "second: predictors": predictors(values("blind-next")),
        "second: every cell": every_cell(values("blind-next")),
    }


PAGE = Path(__file__).with_name("README.md")


def updated(text: str, tables: Mapping[str, str]) -> str:
    """The page with each table behind its comment made anew; all other words stay."""
    for title, made in tables.items():
        pattern = rf"(<!-- {re.escape(title)} -->\n)((?:\n|\|.*\n)*)"
        assert len(re.findall(pattern, text)) == 1, f"{PAGE} needs one comment <!-- {title} -->"
        text = re.sub(pattern, lambda found, made=made: f"{found[1]}\n{made}\n\n", text)
    return text.rstrip("\n") + "\n"


if __name__ == "__main__":
    for folder in ("blind", "blind-next"):
        lw.core.files.write_json(results(folder) / "table.json", values(folder))
    lw.core.files.write_json(results("blind") / "published-table.json", published())
    for folder in LISTS:
        lw.core.files.write_json(results(folder) / "study" / "table.json", of_list(folder))
    PAGE.write_text(updated(PAGE.read_text(encoding="utf-8"), blind()), encoding="utf-8")
    print(PAGE)
