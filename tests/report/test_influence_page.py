"""The pages of influential tokens: every number comes from the result, nothing is loaded, a corpus can't break out."""

from __future__ import annotations

import copy
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from made_up import result as training_result
from made_up_influence import influence_result
from matplotlib.patches import StepPatch
from test_page import Checker

from lengthwise.core.errors import LengthwiseError
from lengthwise.report.figures import Drawing
from lengthwise.report.influence import (
    LEAST_SCALE,
    InfluenceResult,
    colour_scale,
    draw_masks,
    draw_recovered,
    draw_scatter,
    draw_spans,
    findings,
    token_view,
)
from lengthwise.report.page import render, write_report
from lengthwise.report.summary import load


@pytest.fixture(scope="module")
def read() -> InfluenceResult:
    return InfluenceResult.of(influence_result())


def points(svg: str, colour: str, *, filled: bool) -> int:
    """Number of scatter points in a colour."""
    root = ElementTree.fromstring(svg)
    style = f"fill: {colour}" if filled else f"stroke: {colour}"
    return sum(
        style in f"{use.get('style')} {group.get('style')}"
        for whole in root.iter("{http://www.w3.org/2000/svg}g")
        if (whole.get("id") or "").startswith("PathCollection")
        for group in whole.iter("{http://www.w3.org/2000/svg}g")
        for use in group.findall("{http://www.w3.org/2000/svg}use")
    )


def curve(figure: Drawing, label: str) -> list[float]:
    """The values of the line with this label."""
    (line,) = [line for line in figure.axes[0].get_lines() if line.get_label() == label]
    return [float(value) for value in np.asarray(line.get_ydata())]


def test_x_and_y_are_the_differences_of_losses(read: InfluenceResult) -> None:
    values = read.values
    for index, target in enumerate(values["targets"]):
        for k in read.ks:
            wanted = target["short"] - target["chosen"]["greedy"]["losses"][k - 1]
            assert read.gained("greedy", k)[index] == pytest.approx(wanted)
        for rank, position in enumerate(target["chosen"]["greedy"]["order"]):
            # The target stands at position `context`.
            assert read.spans("greedy", 4).reshape(-1, 4)[index, rank] == 16 - position


def test_the_scatter_has_a_point_per_target_and_k_and_its_numbers_come_from_the_summary(read: InfluenceResult) -> None:
    svg = draw_scatter(read).svg()
    assert points(svg, "#0072b2", filled=True) == 24 * 3
    assert points(svg, "#d55e00", filled=False) == 24 * 3
    for k, cell in read.cells["greedy"].items():
        assert f"k = {k}" in svg
        assert f"itself: R = {cell.recovered:.2f}, slope {cell.slope:.2f}" in svg
    assert draw_scatter(read).svg() == svg


def test_figures_do_without_controls_and_with_one_k() -> None:
    values = influence_result(targets=3, ks=(2,), controls=False)
    read = InfluenceResult.of(values)
    assert "other model" not in draw_scatter(read).svg()
    assert "Hollow" not in render([], [read])
    assert curve(draw_recovered(read), "greedy") == pytest.approx([read.cells["greedy"][2].recovered])
    assert "k = 2" in draw_spans(read).svg()


def test_the_recovered_fractions_are_drawn_and_can_be_read(read: InfluenceResult) -> None:
    figure = draw_recovered(read)
    for name, cells in read.cells.items():
        label = {"cross": "greedy by the other model", "null": "null: block of another document",
                 "beyond_null": "greedy, beyond the null"}.get(name, name)  # fmt: skip
        assert curve(figure, label) == pytest.approx([cells[k].recovered for k in read.ks])
        assert f"{label}, k = 4: R = {cells[4].recovered:.2f}" in figure.svg()


def test_the_distances_are_a_density_of_the_chosen_tokens(read: InfluenceResult) -> None:
    steps = [patch for patch in draw_spans(read).axes[0].patches if isinstance(patch, StepPatch)]
    assert len(steps) == 2
    for patch, k in zip(steps, (1, 4), strict=True):
        values, edges, _ = patch.get_data()
        assert float((values * np.diff(edges)).sum()) == pytest.approx(1)
        assert values[0] == pytest.approx(np.mean(read.spans("greedy", k) < edges[1]) / (edges[1] - edges[0]))


def test_a_block_that_gains_nothing_is_said_not_drawn(read: InfluenceResult) -> None:
    values = influence_result()
    for row in [*values["summary"]["rules"].values(), values["summary"]["cross"], values["summary"]["null"]]:
        for cell in row.values():
            cell.update(recovered=None, interval=None, slope=None)
    nothing = InfluenceResult.of(values)
    assert "no gain to recover" in draw_scatter(nothing).svg()
    assert "the gain is too small to say" in " ".join(sentence.text for sentence in findings(nothing))
    drawn = draw_recovered(nothing)
    labels = [str(line.get_label()) for line in drawn.axes[0].get_lines()]
    assert [label for label in labels if not label.startswith("_")] == ["greedy, beyond the null"]


def test_the_masks_are_those_of_the_definition() -> None:
    """Dark cells: keys that a visible query may attend to; counted against the definition for a window of 8."""
    svg = draw_masks(10).svg()
    dark = len(re.findall(r"fill: #0072b2; opacity: 0.9", svg))
    picked = len(re.findall(r"fill: #d55e00; opacity: 0.9", svg))
    # L_short: queries 7 and 8 on keys 7 and 8; sparse: these, and keys 2 and 4 for queries 2, 4, 7, 8 from them on.
    assert dark == 3 + 3 + 36
    assert picked == 4 + 3


def test_findings_state_the_numbers(read: InfluenceResult) -> None:
    text = " ".join(f"{sentence.name} {sentence.text}" for sentence in findings(read))
    short, long = (
        np.mean([t["short"] for t in read.values["targets"]]),
        np.mean([t["long"] for t in read.values["targets"]]),
    )
    assert f"from {short:.3f} to {long:.3f} nats" in text
    assert "Chosen by the model itself (greedy), no number of tokens up to 4 of 10 recovers 90 % of the gain." in text


def test_a_small_gain_is_not_divided_by(read: InfluenceResult) -> None:
    values = copy.deepcopy(influence_result())
    for target in values["targets"]:
        target["short"] = target["long"] + 0.001
    text = " ".join(sentence.text for sentence in findings(InfluenceResult.of(values)))
    assert "the gain is too small to say" in text
    assert "recover" not in text


def test_what_choosing_alone_gains_is_taken_off() -> None:
    values = influence_result()
    values["summary"]["rules"]["greedy"]["2"]["recovered"] = 0.95
    found = {sentence.name: sentence.text for sentence in findings(InfluenceResult.of(values))}
    assert found["Chosen by the model itself (greedy),"] == "2 tokens recover at least 90 % of the gain of all 10."
    assert found["Chosen by the other model (another),"].startswith("no number of tokens up to 4 of 10 recovers")
    # 0.3 + 0.2 k
    beyond = found["Beyond what greedy search gains in a block of another document,"]
    assert beyond == "4 tokens recover at least 90 % of the gain of all 10."


def test_a_report_shows_both_kinds_of_results(tmp_path: Path) -> None:
    for name, values in (("a", training_result()), ("b", influence_result())):
        (tmp_path / name).mkdir()
        (tmp_path / name / "result.json").write_text(json.dumps(values))
    assert write_report([tmp_path], tmp_path / "page.html") == 2
    html = (tmp_path / "page.html").read_text()
    checker = Checker()
    checker.feed(html)
    assert checker.open == []
    assert not {"link", "img", "iframe"} & {tag for tag, _ in checker.tags}
    text = " ".join(checker.text.split())
    assert "influence: made-up <model> on made-up text" in text
    assert "0.500 at 40" in text
    assert write_report([tmp_path / "b"], tmp_path / "page.html") == 1
    assert [result.recipe for result in load([tmp_path])] == ["addition"]


def test_what_a_language_model_says_of_itself_is_no_result(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(json.dumps({"format": 1, "kind": "lm"}))
    with pytest.raises(LengthwiseError, match="no results of runs"):
        write_report([tmp_path], tmp_path / "page.html")


@pytest.mark.parametrize(
    "damage",
    [
        lambda values: values.pop("summary"),
        lambda values: values.update(targets=[]),
        lambda values: values["targets"][3].update(long=float("nan")),
        lambda values: values["targets"][3]["chosen"].pop("greedy"),
        lambda values: values["targets"][3]["chosen"]["greedy"]["losses"].pop(),
        lambda values: values["summary"]["rules"].pop("random"),
        lambda values: values["config"].update(ks=[1, 99]),
    ],
)
def test_a_damaged_result_is_named(damage: Any) -> None:
    values = influence_result()
    damage(values)
    with pytest.raises(LengthwiseError, match="file x is damaged"):
        InfluenceResult.of(values, where="file x")


def test_another_format_is_named() -> None:
    with pytest.raises(LengthwiseError, match="another format"):
        InfluenceResult.of({**influence_result(), "format": 3})


class Tokens(HTMLParser):
    """The text of each token, and the elements of the page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.tokens: dict[int, str] = {}
        self.targets: list[int] = []
        self._inside: list[int | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag != "span":
            return
        values = dict(attrs)
        index = values.get("data-i")
        if index is not None:
            self.tokens[int(index)] = ""
            if "data-target" in values:
                self.targets.append(int(index))
        self._inside.append(int(index) if index is not None else (self._inside[-1] if self._inside else None))

    def handle_endtag(self, tag: str) -> None:
        if tag == "span":
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        if self._inside and self._inside[-1] is not None:
            self.tokens[self._inside[-1]] += data


def test_every_token_is_on_the_page_as_it_is(read: InfluenceResult) -> None:
    html = token_view(read)
    parser = Tokens()
    parser.feed(html)
    (passage,) = read.passages
    shown = [parser.tokens[index].replace("⏎", "") for index in range(len(passage["tokens"]))]
    assert shown == [token or "·" for token in passage["tokens"]]
    assert parser.targets == [16, 18]
    # Markup in the corpus stays text: two scripts are ours, and <b>, <i> are nobody's.
    assert parser.tags.count("script") == 2
    assert {"b", "i"} & set(parser.tags) == {"i"}  # the key's colour patches
    assert "file</i>.py" not in html.replace("&lt;/i&gt;", "")


def test_the_data_of_the_page_is_the_passage(read: InfluenceResult) -> None:
    html = token_view(read)
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html, flags=re.DOTALL)
    data = json.loads(text)
    assert data["passages"] == [copy.deepcopy(dict(passage)) for passage in read.passages]
    assert (data["context"], data["recent"]) == (16, 6)
    assert data["scale"] == pytest.approx(np.quantile([0.2 * i - 0.3 for i in range(2, 10)], 0.98), abs=1e-3)


def test_nothing_is_loaded_and_the_browser_would_refuse(read: InfluenceResult) -> None:
    html = token_view(read)
    assert "default-src 'none'" in html
    assert not re.search(r"""(src|href)=|@import|url\(|fetch\(|https?:""", html)


def test_noise_gets_no_strong_colours() -> None:
    passage = {"targets": [{"influence": [[0, 0.001], [1, -3.0]]}]}
    assert colour_scale([passage]) == LEAST_SCALE
    assert colour_scale([{"targets": []}]) == LEAST_SCALE


@pytest.mark.parametrize(
    "damage",
    [
        lambda passage: passage.pop("tokens"),
        lambda passage: passage["targets"][0].update(at=99),
        lambda passage: passage["targets"][0]["influence"].append([17, 0.1]),
        lambda passage: passage["targets"][0]["influence"].append(["x", 0.1]),
    ],
)
def test_a_damaged_passage_is_named(damage: Any) -> None:
    values = influence_result()
    damage(values["passages"][0])
    with pytest.raises(LengthwiseError, match="passage of the result is damaged"):
        token_view(InfluenceResult.of(values))
    values["passages"] = []
    with pytest.raises(LengthwiseError, match="no passage"):
        token_view(InfluenceResult.of(values))
