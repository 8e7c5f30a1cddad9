"""The page of the forecast, ``README.md``, from the numbers in ``development.json``.

``python studies/forecast/page.py`` writes it; ``develop.py`` does so at its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import lengthwise as lw

HERE = Path(__file__).parent
MEASURES = ("balanced accuracy", "AUC", "calibration error", "Brier", "log loss")
DECIDING = "101–150"


def table(head: Sequence[Any], rows: Iterable[Sequence[Any]]) -> str:
    """A Markdown table."""
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in (head, ["---"] * len(head), *rows))


def by_cut(found: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """The headings of columns that repeat for each cut."""
    return [f"{name}, cut {cut}" for cut in found for name in names]


def score_table(found: Mapping[str, Any]) -> str:
    """All scores by cut and lengths."""
    rows = [
        [cut, lengths, row.get("cells", ""), row.get("right", ""), *(row[name] for name in MEASURES)]
        for cut, by_lengths in found["cuts"].items()
        for lengths, row in by_lengths.items()
    ]
    return table(["cut", "lengths", "tests", "right", *MEASURES], rows)


def rival_table(found: Mapping[str, Any]) -> str:
    """The forecast and its rivals on the deciding lengths."""
    rivals, names = found["rivals"], ("balanced accuracy", "AUC")
    rows: list[list[Any]] = [["**forecast**"]]
    for cut in rivals:
        rows[0] += [*(found["cuts"][cut][DECIDING][name] for name in names), ""]
    for rival in next(iter(rivals.values())):
        row: list[Any] = [rival]
        for of_cut in rivals.values():
            low, high = of_cut[rival]["ours minus it"]
            row += [*(of_cut[rival][name] for name in names), f"{low:+.3f} to {high:+.3f}"]
        rows.append(row)
    return table(["predictor", *by_cut(rivals, (*names, "ours minus it"))], rows)


def alone_table(found: Mapping[str, Any]) -> str:
    """Each feature alone on the deciding lengths."""
    names = ("balanced accuracy", "AUC")
    features = list(next(iter(found["alone"].values())))
    rows = [[f, *(of_cut[f][name] for of_cut in found["alone"].values() for name in names)] for f in features]
    return table(["feature", *by_cut(found["alone"], names)], rows)


def reliability_table(found: Mapping[str, Any]) -> str:
    """How often each step of the forecast came true."""
    rows = [
        [cut, f"{row['from']}–{row['to']}", row["cells"], row["forecast"], f"{row['right'] / row['cells']:.3f}"]
        for cut, steps in found["reliability"].items()
        for row in steps
    ]
    return table(["cut", "forecast", "tests", "mean forecast", "were right"], rows)


def model_table(models: Mapping[str, Any]) -> str:
    """The weights of all parts."""
    rows = []
    for kind, parts in models.items():
        for part, model in parts.items():
            named = zip([*model["features"], "constant"], model["weights"], strict=True)
            rows.append([f"{kind}: {part}", ", ".join(f"{name} {weight:+.2f}" for name, weight in named)])
    return table(["part", "weights"], rows)


def page(report: Mapping[str, Any]) -> str:
    """The text of the page."""
    language, task = report["language"], report["task"]
    parts = [
        "# The forecast: trained to N, right at M?",
        "Written by `python studies/forecast/develop.py` from the evidence table (`lw.evidence()`: the column "
        "`forecaster` says on which cells).",
        """**Question.** A system is trained to length N. How likely is its accuracy at M at least 0.7, or 0.95? The
forecast is a product: *it fits the training lengths* × *it is right at M, given that it fits*. A cell that did
not fit counts as one that is not right.""",
        f"""**How it is measured.** Ten folds over languages, {report["repeats"]} times, scores averaged. Form and
penalty of each part are chosen by log loss in {report["inner"]} inner folds, so no number chose what it measures.
These are development data all the same: the features were thought of with these cells in view. Only a study with fresh
languages can confirm them. [The third study](third-study.md) tested the coefficients before these, which were fitted
without its cells: they rank well, and were wrong about windows under ALiBi and about states. Its cells are among those
here now, so nothing fresh has tested the present coefficients.""",
        "## Languages under the frozen ladder",
        f"""{language["cells"]} cells (language × encoding) of {language["groups"]} languages, up to the names of
symbols; N = 50, next symbols, and states where the third study asked for them. The lengths 101–150 are those by
which the blind studies decide.""",
        score_table(language),
        "![Reliability](reliability.svg)",
        """Rivals on the same cells, lengths 101–150. The interval is that of our balanced accuracy minus the rival's
(90 %, bootstrap over languages); where it holds 0, the forecast is not shown to be better.""",
        rival_table(language),
        "Each feature alone, in both parts of the model, lengths 101–150:",
        alone_table(language),
        "How often each step of the forecast came true (cross-validated, all lengths):",
        reliability_table(language),
        "The cells on which it is most wrong at 101–150, cut 0.95:",
        table(["language", "system", "forecast", "accuracy"], language["worst"]),
    ]
    if (probed := report.get("language with probe")) is not None:
        parts += [
            "## Languages with a probe",
            f"""{probed["cells"]} of the cells above, of {probed["groups"]} languages, with a probe: the ladder on
lengths up to N/2 until two of three seeds fit, then a test on lengths up to N. The probes are in
studies/forecast/results/forecast/probes, and those of the third study, all of them, in third/probes beside it.
**The first are a selection.** {report["probes"]["all"]} cells were to be probed, in one lease of four minutes of a
machine with a GPU, largest groups first; {report["probes"]["done"]} ended, there or on a processor.
{report["probes"]["two rungs"]} more had trained two of three rungs without fitting and count as not fitted, so *fitted*
means *by rung {report["probes"]["rungs"]}* here. {report["probes"]["missing"]} are missing: not begun, or stopped
before that. Cells that need many rungs are rarer among the probed than among all.""",
            score_table(probed),
            "The forecast without a probe on the same cells:",
            score_table({"cuts": probed["without"]}),
            rival_table(probed),
        ]
    decaying = report["counting"]
    parts += [
        "## Tasks with answers",
        f"""{task["cells"]} cells, {task["groups"]} tasks, each test up to {report["farthest"]:g} × N; folds over tasks.
**This part is weak**: with so few tasks, theory's answer and the structure of a new task leave much open.""",
        score_table(task),
        reliability_table(task),
        "## The fitted models",
        "Each weight may have one sign only; the others are 0 where the data ask for the wrong one.",
        model_table(report["models"]),
        "## What failed",
        f"""- **Counting.** Where a program without positions exists but counts, {decaying["right"]} of
  {decaying["cells"]} cells reach 0.95 at 101–150. These features can't tell which. The margin of the
  program for membership was a candidate in the inner folds; the models above show whether it was chosen.
- **Windows and periods.** A yes that needs them holds in {report["heard"]["right"]} of {report["heard"]["cells"]}
  cells, and no feature here tells which, but for ALiBi.
- All languages have one training length (N = 50), so only M / N enters.
- No format but next symbols was measured for languages. A forecast for states or membership uses the verdict for that
  format in a model of next symbols.
- RoPE and ALiBi have twelve languages each.""",
    ]
    return "\n\n".join(parts) + "\n"


def write() -> None:
    """Write the page."""
    lw.core.files.write_text(HERE / "README.md", page(lw.core.files.read_json(HERE / "development.json")))


if __name__ == "__main__":
    write()
