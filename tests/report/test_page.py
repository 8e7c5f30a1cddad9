"""The page: self-contained, escaped, honest about what did not fit, and it runs nothing that a result file names."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from made_up import experiment, result, score

from lengthwise.report.page import findings, render, write_report
from lengthwise.report.result import Result
from lengthwise.report.summary import summarize

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Checker(HTMLParser):
    """Collects text, tags and links, and fails where tags do not nest."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + " "


def page(*results: dict[str, Any]) -> tuple[str, Checker]:
    html = render([Result.of(values) for values in results])
    checker = Checker()
    checker.feed(html)
    assert checker.open == []
    return html, checker


@pytest.fixture(scope="module")
def mixed() -> tuple[str, Checker]:
    predicted = [score(n, r, exact_match_ids=r, oracle_ids=200) for n, r in ((8, 200), (16, 190), (40, 150))]
    return page(
        *[result("PPC", seed, scores=predicted, config=experiment("predictive-coupling")) for seed in range(3)],
        result("shift", 0, scores=[score(8, 200), score(16, 90), score(40, 0)], config=experiment("sequential")),
        result("RoPE", 0, fitted=False, scores=[score(8, 20)], config=experiment("pose", "rope")),
    )


def test_nothing_is_loaded_from_elsewhere(mixed: tuple[str, Checker]) -> None:
    html, checker = mixed
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in checker.tags}
    for _, attributes in checker.tags:
        for name in ("src", "href", "xlink:href"):
            # Inside a figure, a reference may only point into the figure.
            assert (attributes.get(name) or "#").startswith("#")
    assert "@import" not in html
    assert not re.search(r"url\((?!#)", html)


def test_the_figures_are_well_formed_and_their_ids_do_not_clash(mixed: tuple[str, Checker]) -> None:
    figures = re.findall(r"<svg.*?</svg>", mixed[0], flags=re.DOTALL)
    assert len(figures) == 2
    ids = []
    for figure in figures:
        root = ElementTree.fromstring(figure)
        ids.append(
            {element.get("id") for element in root.iter() if re.fullmatch(r"[mp][0-9a-f]{10}", element.get("id") or "")}
        )
    assert all(ids)
    assert ids[0].isdisjoint(ids[1])


def test_the_page_says_what_the_counts_say(mixed: tuple[str, Checker]) -> None:
    text = " ".join(mixed[1].text.split())
    assert "PPC at length 40 (5 × training): 0.750" in text
    assert "RoPE not fitted in any seed" in text
    assert "3 of 3 seeds fitted" in text
    assert "trained up to 8" in text
    assert "ceiling 1.000" in text
    assert "span under sequential, pose 18 34 82" in text
    assert "0123456789ab" in text
    assert "a processor" in text


def test_an_unfitted_system_shows_no_long_numbers() -> None:
    _, checker = page(result(fitted=False, scores=[score(8, 20), score(40, 13)]))
    text = " ".join(checker.text.split())
    assert "0.065" not in text
    assert "No seed of any system fitted" in text


def test_the_same_results_give_the_same_page() -> None:
    results = [Result.of(result(seed=seed)) for seed in range(2)]
    assert render(results) == render(results)


def test_names_from_a_result_file_are_escaped() -> None:
    evil = "<script>alert(1)</script>"
    values = result(f"a {evil}", recipe=evil)
    values["commit"] = values["machine"]["processor"] = evil
    html, checker = page(values)
    assert "<script" not in html
    assert "script" not in {tag for tag, _ in checker.tags}


def test_a_task_file_named_by_a_result_is_not_run(tmp_path: Path) -> None:
    trap = tmp_path / "trap.py"
    trap.write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')\n")
    config = experiment()
    config["task"] = {"name": f"{trap}:Trap"}
    _, checker = page(result(config=config))
    assert "not run to draw a report" in " ".join(checker.text.split())
    assert not (tmp_path / "sprung").exists()


def test_the_page_is_written_whole_and_counts_its_results(tmp_path: Path) -> None:
    for seed in range(2):
        (tmp_path / str(seed)).mkdir()
        (tmp_path / str(seed) / "result.json").write_text(json.dumps(result(seed=seed)))
    target = tmp_path / "page.html"
    assert write_report([tmp_path], target) == 2
    assert target.read_text().rstrip().endswith("</html>")
    (tmp_path / "ordinary").write_text("")
    assert target.stat().st_mode == (tmp_path / "ordinary").stat().st_mode


def test_findings_name_every_system_once() -> None:
    results = [result("one"), result("two", config=experiment("sequential")), result("three", fitted=False)]
    assert [finding.name for finding in findings(summarize(map(Result.of, results)))] == ["one", "two", "three"]
