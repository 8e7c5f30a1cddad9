"""Draw the pictures of the documentation from committed results and from the tasks: ``python studies/draw.py``.

`PICTURES` has them by the names of their files in ``docs/img``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from matplotlib.patches import FancyBboxPatch
from table_parts import results
from tables import right_by_digits, runs, score

import lengthwise as lw

# isort: split
# Found once `tables` has put the folders of the studies on the path.
from agreement import CUT
from architectures import design, reach
from architectures import results as architecture_results
from huang_figures import growth_figure, learner_figure, products_figure
from huang_review import seeds_at_the_end
from matrix_tables import method_matrix_picture
from theory_figure import draw_theory

figures = lw.report.figures
ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "img"
YES, NO = "#009e73", "#d55e00"
SYSTEMS = {"nope": "NoPE", "ape": "APE"}


def huang_seeds() -> str:
    """One dot per fitted seed of the 25 tasks, by what theory says and by encoding."""
    cells = seeds_at_the_end(results("huang"))
    groups = [(answer, encoding) for answer in ("yes", "no") for encoding in ("nope", "ape")]
    with figures.new_figure(
        8, 3, alt="Accuracy on lengths 101 to 150 by verdict and encoding, one dot per seed"
    ) as figure:
        plot = figure.subplots()
        for line, (answer, encoding) in enumerate(groups):
            own = [(row, values) for row, values in cells if (row["predicted"], row["encoding"]) == (answer, encoding)]
            values = sorted(value for row, found in own if row["right"] is not None for value in found)
            colour = YES if answer == "yes" else NO
            for value, height in spread(values, line):
                plot.plot(value, height, "o", ms=4, color=colour, alpha=0.75, mew=0, clip_on=False)
            undecided = sum(row["right"] is None for row, _ in own)
            text = f"{len(own) - undecided} cells" + (f", {undecided} undecided" if undecided else "")
            plot.text(1.04, line, text, va="center", color=figures.QUIET, fontsize=9)
        plot.axvline(CUT, color=figures.QUIET, lw=1, ls=":")
        plot.text(CUT, -0.62, f"cut {CUT:.2f}", ha="center", color=figures.QUIET, fontsize=9)
        plot.set_yticks(range(4), [f"theory {answer}, {SYSTEMS[encoding]}" for answer, encoding in groups])
        plot.tick_params(axis="y", labelcolor=figures.INK)
        plot.set_ylim(3.5, -0.75)
        plot.set_xlim(-0.02, 1.02)
        plot.grid(axis="y", visible=False)
        plot.set_xlabel("share of strings of length 101 to 150 that are right, one dot per fitted seed")
        return figure.svg()


def spread(values: list[float], line: float) -> list[tuple[float, float]]:
    """Points of one line of dots; dots that would cover each other move up and down in turns."""
    points: list[tuple[float, float]] = []
    near: list[float] = []
    for value in values:
        near = [other for other in near if value - other < 0.012]
        step = len(near)
        height = line + (0.035 * ((step + 1) // 2) * (1 if step % 2 else -1))
        points.append((value, max(line - 0.42, min(line + 0.42, height))))
        near.append(value)
    return points


def ppc_length() -> str:
    """Variable assignment with 4 chains: exact match against lines for PPC and what it is compared with."""
    labels = {
        "scratchpad + PPC (width 256)": "PPC",
        "scratchpad + RoPE + PoSE (largest id 964)": "RoPE + PoSE",
        "scratchpad + absolute shift (names 416)": "absolute, shifted",
    }
    return against_length("variable-assignment", labels, "chains 4")


def addition_length() -> str:
    """Addition, trained on up to 30 digits: exact match against digits."""
    return against_length(
        "addition", {"local bias, up to 30": "local bias", "coupled, up to 30": "learned table, one seed"}
    )


def huggingface_addition() -> str:
    """A stock Llama on addition, trained on up to 8 digits: right sums against digits, one line for each seed."""
    with figures.new_figure(
        7, 3.4, alt="A stock Llama adds numbers four times as long as those it was trained on, under coupled ids"
    ) as figure:
        plot = figure.subplots()
        for index, ids in enumerate(("coupled", "plain")):
            shares = right_by_digits(f"llama-{ids}")
            for seed in range(3):
                values = [right[seed] / 100 for right in shares.values()]
                plot.plot(
                    list(shares),
                    values,
                    color=figures.COLOURS[index],
                    marker=figures.MARKERS[index],
                    ms=5,
                    clip_on=False,
                )
            where = plot.get_yaxis_transform()
            plot.text(
                1.03, values[-1], f"{ids} ids", color=figures.COLOURS[index], fontsize=11, va="center", transform=where
            )
        plot.axvspan(4, 8, color=figures.QUIET, alpha=0.12, lw=0)
        plot.set_xscale("log")
        plot.set_xticks(list(shares), [str(n) for n in shares])
        plot.minorticks_off()
        plot.set_ylim(0, 1)
        plot.set_xlabel("digits of each number (log scale; grey: trained)")
        plot.set_ylabel("share of right sums")
        return figure.svg()


def sparse_parity() -> str:
    """Sparse parity with marks anywhere and balanced tests: exact match against bits, a panel for each k."""
    names = [f"K_train = {k}" for k in ("6", "8", "8, RoPE", "10", "12")]
    four = "K_train = 4 (shortest training length 5, steps 3000, log-length scaling of attention 1 at length 50)"
    labels = {**dict(zip(names, names, strict=True)), four: "K_train = 4"}
    return against_length("sparse-parity", labels, "min_ones 0", 6.5)


def against_length(recipe: str, labels: Mapping[str, str], layout: str | None = None, height: float = 3.4) -> str:
    """Exact match of these systems against length, under these names."""
    found = lw.results(results(recipe)).only(systems=[*labels], layout=layout)
    return found.plot(figsize=(7, height), labels=labels).svg()  # type: ignore[union-attr]


def coupling_seeds() -> str:
    """Found and hand-made places at 100 symbols, one dot per seed."""
    recipe = "automatic-coupling"
    names = {
        "copy": "copy", "reverse": "reverse", "parity, same id": "parity-scratchpad",
        "parity, offset one": "parity-scratchpad, hand-made, offset one", "addition": "addition",
    }  # fmt: skip
    with figures.new_figure(8, 3, alt="Exact match at 100 symbols with hand-made and found places") as figure:
        plot = figure.subplots()
        for line, (_, system) in enumerate(names.items()):
            hand = system if "hand-made" in system else f"{system}, hand-made"
            found = f"{system.split(', hand')[0]}, found"
            for shift, label, colour in ((-0.16, hand, figures.COLOURS[0]), (0.16, found, figures.COLOURS[1])):
                values = sorted(s.rate() or 0.0 for r in runs(recipe, label) if (s := score(r, 100)))
                for value, height in spread(values, line + shift):
                    plot.plot(value, height, "o", ms=4.5, color=colour, alpha=0.8, mew=0, clip_on=False)
        plot.set_yticks(range(len(names)), list(names))
        plot.tick_params(axis="y", labelcolor=figures.INK)
        plot.set_ylim(len(names) - 0.5, -0.7)
        plot.set_xlim(-0.02, 1.02)
        plot.grid(axis="y", visible=False)
        plot.text(0, -0.55, "hand-made places", color=figures.COLOURS[0], fontsize=9, fontweight="bold")
        plot.text(0.22, -0.55, "found places", color=figures.COLOURS[1], fontsize=9, fontweight="bold")
        plot.set_xlabel("share of strings of 100 symbols that are right, one dot per seed")
        return figure.svg()


def arcs() -> str:
    """Addition of two 3-digit numbers: what each digit of the sum depends on, under plain and under coupled ids."""
    shown = lw.prediction.example.example(lw.task("addition"), lw.schemes.SCHEMES.build("coupled"), 3, 0)
    return figures.draw_dependencies(shown, 7).svg()


def speed() -> str:
    """The ratios of the first table of docs/performance.md, on a logarithmic axis."""
    text = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8").split("## Measure")[0]
    rows = re.findall(r"^\| ([^|]+) \| ([\d.]+) \| ([^|]+) \| [^|]+ \|$", text, re.M)
    with figures.new_figure(9, 4.4, alt="Speed against named alternatives, as ratios") as figure:
        plot = figure.subplots()
        for line, (_, ratio, against) in enumerate(rows):
            colour = figures.COLOURS[len({row[0].split()[0] for row in rows[: line + 1]}) - 1]
            plot.barh(line, float(ratio) - 1, left=1, color=colour, height=0.62)
            plot.text(
                float(ratio) * 1.04,
                line,
                f"{ratio}×  {against.replace('`', '')}",
                va="center",
                fontsize=9,
                color=figures.QUIET,
            )
        plot.set_yticks(range(len(rows)), [name for name, _, _ in rows])
        plot.tick_params(axis="y", labelcolor=figures.INK)
        plot.invert_yaxis()
        plot.grid(axis="y", visible=False)
        plot.set_xscale("log")
        plot.set_xlim(1, 400)
        plot.set_xticks([1, 2, 4, 8, 16, 32, 64], ["1", "2", "4", "8", "16", "32", "64"])
        plot.minorticks_off()
        plot.set_xlabel("times as fast as the alternative (logarithmic axis)")
        return figure.svg()


LANGUAGES = {
    "none": ("(ab)*", "(aabb)*"),
    "local": ("(a|b)*abb(a|b)*", "(a|b)*aaaa(a|b)*"),
    "periodic": ("(aa)*", "(abab)*"),
    "ape": ("((a|b)(a|b))*aa((a|b)(a|b))*", "(a(aa)*b(bb)*)*"),
}
"""Languages of the smallest fragment of that name; `fragments` decides each before it draws."""


def fragments() -> str:
    """The four fragments of C-RASP as overlapping boxes, with their encodings and languages that need them."""
    for key, languages in LANGUAGES.items():
        for language in languages:
            found = {
                name for name in LANGUAGES if lw.crasp.decide.decide(language).verdict(name, "eos").verdict == "yes"
            }
            assert found == {"none": set(LANGUAGES), "ape": {"ape"}}.get(key, {key, "ape"}), (language, found)
    boxes = {
        "ape": (0, 0, 10, 4.6, "periodic and local", "APE with random offsets"),
        "local": (0.3, 0.3, 5.4, 3.1, "local (windows)", "ALiBi"),
        "periodic": (4.3, 0.3, 5.4, 3.1, "periodic", "RoPE, sinusoidal"),
    }
    with figures.new_figure(
        8, 3.9, alt="Fragments of C-RASP, the encodings that they stand for, and languages that need them"
    ) as figure:
        plot = figure.subplots()
        for index, (left, low, width, height, name, encodings) in enumerate(boxes.values()):
            box = FancyBboxPatch((left, low), width, height, boxstyle="round,pad=0,rounding_size=0.2", lw=1.6)
            box.set(facecolor=figures.COLOURS[index], edgecolor=figures.COLOURS[index], alpha=0.12)
            plot.add_patch(box)
            at, side = (left + width - 0.25, "right") if name == "periodic" else (left + 0.25, "left")
            plot.text(
                at, low + height - 0.3, f"C-RASP[{name}]", ha=side, fontweight="bold", color=figures.COLOURS[index]
            )
            plot.text(at, low + height - 0.62, encodings, ha=side, color=figures.QUIET, fontsize=9)
        plot.text(5, 2.35, "C-RASP", ha="center", fontweight="bold", color=figures.INK)
        plot.text(5, 2.03, "NoPE", ha="center", color=figures.QUIET, fontsize=9)
        for key, x, y in (("none", 5, 1.4), ("local", 2.25, 1.4), ("periodic", 7.75, 1.4), ("ape", 5, 4.12)):
            lines = LANGUAGES[key] if key != "ape" else ("      ".join(LANGUAGES[key]),)
            for row, text in enumerate(lines):
                plot.text(
                    x + (1.3 if key == "ape" else 0), y - 0.4 * row, text, ha="center", family="monospace", fontsize=9
                )
        plot.set_xlim(-0.1, 10.1)
        plot.set_ylim(-0.1, 4.7)
        plot.axis("off")
        return figure.svg()


def architectures_reach() -> str:
    """How far each model holds on each task: a dot a seed, filled by how far, a cross where it did not fit."""
    content = design()
    found = architecture_results(content)
    tasks, models = list(content["tasks"]), list(content["models"])
    colours = dict(zip(("0", "1", "2", "4"), ("#ffffff", "#cfe3f2", "#6baed6", "#08519c"), strict=True))
    with figures.new_figure(9, 6, alt="How far each of three seeds holds, by task and model") as figure:
        plot = figure.subplots()
        for (task, model), seeds in found.items():
            for number, seed in enumerate(seeds):
                x, held = models.index(model) + 0.28 * (number - 1), reach(content, seed)
                if held == "×":
                    plot.plot(x, tasks.index(task), "x", ms=5, color=NO, mew=1.2)
                else:
                    plot.plot(x, tasks.index(task), "o", ms=7, mfc=colours[held], mec="#4a4a4a", mew=0.6)
        for held, text in (("0", "not at 1×"), ("1", "to 1×"), ("2", "to 2×"), ("4", "to 4×")):
            plot.plot([], [], "o", ms=7, mfc=colours[held], mec="#4a4a4a", mew=0.6, label=text)
        plot.plot([], [], "x", ms=5, color=NO, mew=1.2, label="did not fit")
        plot.legend(loc="lower center", bbox_to_anchor=(0.45, 1.01), ncols=5, frameon=False, fontsize=9)
        short = [
            name.replace("gated-deltanet-negative", "gated-delta-neg").replace("deltanet", "delta") for name in models
        ]
        short = [name.replace("negative", "neg") for name in short]
        plot.set_xticks(range(len(models)), short, rotation=35, ha="right", fontsize=9)
        plot.set_yticks(range(len(tasks)), tasks, fontsize=9)
        plot.set_ylim(len(tasks) - 0.4, -0.6)
        plot.set_xlim(-0.6, len(models) - 0.4)
        return figure.svg()


def _influence(draw: Callable[[Any], Any]) -> str:
    file = results("influence") / "standard" / "result.json"
    return draw(lw.report.influence.InfluenceResult.of(lw.core.files.read_json(file))).svg()


def _study(recipe: str, draw: Callable[[Any], Any]) -> str:
    (file,) = results(recipe).glob("*/study.json")
    return draw(lw.core.files.read_json(file)["rows"]).svg()


DRAWN = (
    huang_seeds, ppc_length, addition_length, huggingface_addition, sparse_parity, coupling_seeds, arcs, speed,
    fragments, method_matrix_picture, architectures_reach,
)  # fmt: skip
PICTURES: dict[str, Callable[[], str]] = {
    **{picture.__name__: picture for picture in DRAWN},
    "influence_masks": lambda: lw.report.influence.draw_masks().svg(),
    "influence_scatter": lambda: _influence(lw.report.influence.draw_scatter),
    "influence_recovered": lambda: _influence(lw.report.influence.draw_recovered),
    "idealized_learner": lambda: _study("idealized-learner", learner_figure),
    "regularizer_growth": lambda: _study("regularizer-growth", growth_figure),
    "positional_products": lambda: _study("positional-products", products_figure),
    "planted_theory": lambda: _study("planted-theory", draw_theory),
}
"""By the names of their files in ``docs/img``."""


def as_file(svg: str) -> str:
    """A standalone file with a white background, so that it is readable on a dark page, too; ids are short."""
    used = dict.fromkeys(re.findall(r'(?:href="#|url\(#)([^")]+)', svg))
    short = {name: f"i{number}" for number, name in enumerate(used)}
    svg = re.sub(r' id="([^"]*)"', lambda found: f' id="{short[found[1]]}"' if found[1] in short else "", svg)
    svg = re.sub(r'(href="#|url\(#)([^")]+)', lambda found: found[1] + short[found[2]], svg)
    body = svg[svg.index(">") + 1 :]
    return svg[: svg.index(">") + 1] + '\n <rect width="100%" height="100%" fill="white"/>' + body


def main(names: list[str]) -> None:
    """Draw the pictures of these names, or all."""
    for name, picture in PICTURES.items():
        if not names or name in names:
            (IMAGES / f"{name}.svg").write_text(as_file(picture()), encoding="utf-8")
            print(f"docs/img/{name}.svg")


if __name__ == "__main__":
    main(sys.argv[1:])
