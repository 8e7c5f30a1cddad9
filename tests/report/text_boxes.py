"""Boxes of the texts in an SVG figure, without a browser: widths are those of matplotlib's own font, which is wide."""

from __future__ import annotations

import functools
import math
import re
import warnings
from dataclasses import dataclass
from itertools import combinations
from xml.etree import ElementTree

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextToPath

ASCENT, DESCENT = 0.76, 0.24
SLACK = 1.0
"""Points by which two boxes may meet, or a box may leave the figure."""


@dataclass(frozen=True)
class Box:
    text: str
    size: float
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        return (
            min(self.right, other.right) - max(self.left, other.left) > SLACK
            and min(self.bottom, other.bottom) - max(self.top, other.top) > SLACK
        )


@functools.cache
def width_of(text: str, size: float, weight: str) -> float:
    """Points that a text takes in one line."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        return TextToPath().get_text_width_height_descent(text, FontProperties(size=size, weight=weight), False)[0]


def text_boxes(svg: str) -> list[Box]:
    found = []
    for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"):
        style, text = element.get("style") or "", "".join(element.itertext())
        if not text.strip():
            continue
        given = re.search(r"font-size: ([\d.]+)px", style) or re.search(r"font: [^;]*?([\d.]+)px", style)
        assert given, style
        size = float(given[1])
        weight = "bold" if re.search(r"font-weight: (bold|700)|font: (bold|700)", style) else "normal"
        width = width_of(text, size, weight)
        anchor = re.search(r"text-anchor: (\w+)", style)
        start = {"middle": -width / 2, "end": -width}.get(anchor[1] if anchor else "start", 0.0)
        x, y, angle = position(element)
        turn = math.radians(angle)
        corners = [
            (x + dx * math.cos(turn) - dy * math.sin(turn), y + dx * math.sin(turn) + dy * math.cos(turn))
            for dx in (start, start + width)
            for dy in (-ASCENT * size, DESCENT * size)
        ]
        xs, ys = zip(*corners, strict=True)
        found.append(Box(text, size, min(xs), min(ys), max(xs), max(ys)))
    return found


def position(element: ElementTree.Element) -> tuple[float, float, float]:
    """x, y and the angle in degrees."""
    transform = element.get("transform") or ""
    moved = re.search(r"translate\(([-\d.]+) ([-\d.]+)\)", transform)
    x, y = (float(element.get(key) or 0) for key in ("x", "y"))
    if moved:
        x, y = x + float(moved[1]), y + float(moved[2])
    rotated = re.search(r"rotate\(([-\d.]+)", transform)
    return x, y, float(rotated[1]) if rotated else 0.0


def problems(svg: str, least: float) -> list[str]:
    """What is wrong with the texts of a figure: too small (points), cut, or overlapping; empty if nothing is."""
    view = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    assert view
    width, height = float(view[1]), float(view[2])
    boxes = text_boxes(svg)
    assert boxes
    wrong = [f"{box.text!r} has {box.size} points" for box in boxes if box.size < least]
    wrong += [
        f"{box.text!r} leaves the figure"
        for box in boxes
        if min(box.left, box.top) < -SLACK or box.right > width + SLACK or box.bottom > height + SLACK
    ]
    wrong += [f"{one.text!r} and {two.text!r} overlap" for one, two in combinations(boxes, 2) if one.meets(two)]
    return wrong
