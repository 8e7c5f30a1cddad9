"""Draw the pictures of the documentation that are figures of the report: ``python studies/report_pictures.py``.

Each is named after its file in ``docs/img``; ``studies/draw.py`` draws the others.
"""

from __future__ import annotations

import json
from pathlib import Path

from draw import IMAGES, as_file
from table_parts import results

import lengthwise as lw


def pictures() -> dict[str, str]:
    """The SVG of each picture by its name."""
    influence = lw.report.influence.InfluenceResult.of(
        json.loads((results("influence") / "standard" / "result.json").read_text("utf-8"))
    )
    found = {
        "influence_masks": lw.report.influence.draw_masks().svg(),
        "influence_scatter": lw.report.influence.draw_scatter(influence).svg(),
        "influence_recovered": lw.report.influence.draw_recovered(influence).svg(),
        "sparse_parity": lw.report.study_figures.sparse_parity_figure(
            lw.report.summary.summarize(lw.report.summary.load([results("sparse-parity")]))
        ),
    }
    for study in ("idealized-learner", "planted-theory", "positional-products", "regularizer-growth"):
        (path,) = sorted((results(study)).glob("*/study.json"))
        found[study.replace("-", "_")] = lw.report.study_figures.draw_study(
            study, json.loads(path.read_text("utf-8"))["rows"]
        ).svg()
    return found


if __name__ == "__main__":
    for name, svg in pictures().items():
        Path(IMAGES / f"{name}.svg").write_text(as_file(svg), encoding="utf-8")
        print(f"docs/img/{name}.svg")
