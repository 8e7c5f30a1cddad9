"""Draw the pictures of the documentation that are figures of the report: ``python docs/report_pictures.py``.

Each is named after its file in ``docs/img``; ``docs/draw.py`` draws the others.
"""

from __future__ import annotations

import json
from pathlib import Path

from draw import IMAGES, RESULTS, as_file

from lengthwise.report.influence import InfluenceResult, draw_masks, draw_recovered, draw_scatter
from lengthwise.report.study_figures import draw_study, sparse_parity_figure
from lengthwise.report.summary import load, summarize


def pictures() -> dict[str, str]:
    """The SVG of each picture by its name."""
    influence = InfluenceResult.of(json.loads((RESULTS / "influence/standard/result.json").read_text("utf-8")))
    found = {
        "influence_masks": draw_masks().svg(),
        "influence_scatter": draw_scatter(influence).svg(),
        "influence_recovered": draw_recovered(influence).svg(),
        "sparse_parity": sparse_parity_figure(summarize(load([RESULTS / "sparse-parity"]))),
    }
    for study in ("idealized-learner", "planted-theory", "positional-products", "regularizer-growth"):
        (path,) = sorted((RESULTS / study).glob("*/study.json"))
        found[study.replace("-", "_")] = draw_study(study, json.loads(path.read_text("utf-8"))["rows"]).svg()
    return found


if __name__ == "__main__":
    for name, svg in pictures().items():
        Path(IMAGES / f"{name}.svg").write_text(as_file(svg), encoding="utf-8")
        print(f"docs/img/{name}.svg")
