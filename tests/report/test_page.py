"""The page: self-contained, escaped, honest about what did not fit, and it runs nothing that a result file names."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from made_up import experiment, result, score
from table_parts import results

from lengthwise.core.errors import LengthwiseError
from lengthwise.report.page import read_report, render, write_report
from lengthwise.report.summary import SeedResult

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
    html = render([SeedResult.of(values) for values in results])
    checker = Checker()
    checker.feed(html)
    assert checker.open == []
    return html, checker


@pytest.fixture(scope="module")
def mixed() -> tuple[str, Checker]:
    return page(*mixed_values())


def mixed_values() -> list[dict[str, Any]]:
    predicted = [score(n, r, exact_match_ids=r, oracle_ids=200) for n, r in ((8, 200), (16, 190), (40, 150))]
    return [
        *[result("PPC", seed, scores=predicted, config=experiment("predictive-coupling")) for seed in range(3)],
        result("shift", 0, scores=[score(8, 200), score(16, 90), score(40, 0)], config=experiment("sequential")),
        result("RoPE", 0, fitted=False, scores=[score(8, 20)], config=experiment("pose", "rope")),
    ]


def test_what_a_first_reading_does_not_need_is_folded(mixed: tuple[str, Checker]) -> None:
    shown = re.sub(r"<details>(?:(?!<details>).)*?</details>", "", mixed[0], flags=re.DOTALL)
    shown = re.sub(r"<details>.*?</details>", "", shown, flags=re.DOTALL)
    assert all(said in shown for said in ("Trained to 8, ", "How sure: ", "accuracy against length", "first error"))
    folded = "Sparsity k is the largest number", "setting that differs", "time (UTC)"
    assert [said in mixed[0] for said in folded] == [True] * 3
    assert not any(said in shown for said in folded)


def test_nothing_is_loaded_and_no_script_but_ours_may_run(mixed: tuple[str, Checker]) -> None:
    html, checker = mixed
    assert not {"link", "img", "iframe"} & {tag for tag, _ in checker.tags}
    for _, attributes in checker.tags:
        for name in ("src", "href", "xlink:href"):
            # A reference may only point into the page.
            assert (attributes.get(name) or "#").startswith("#")
    assert "@import" not in html
    assert not re.search(r"url\((?!#)", html)
    (script,) = re.findall(r"<script[^>]*>(.*?)</script>", html, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = [a["content"] for tag, a in checker.tags if tag == "meta" and a.get("http-equiv")]
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    assert f"script-src 'sha256-{digest}'" in policy


def test_the_figures_are_well_formed_and_their_ids_do_not_clash(mixed: tuple[str, Checker]) -> None:
    figures = re.findall(r"<svg.*?</svg>", mixed[0], flags=re.DOTALL)
    # The dependencies, and the accuracy in two versions.
    assert len(figures) == 3
    ids = [element.get("id") for figure in figures for element in ElementTree.fromstring(figure).iter()]
    named = [name for name in ids if name]
    assert len(named) == len(set(named)) > 3


def test_the_page_says_what_the_counts_say(mixed: tuple[str, Checker]) -> None:
    text = " ".join(mixed[1].text.split())
    assert "2 of 3 systems fitted their training lengths in at least one seed (4 of 5 runs)." in text
    table = text[text.index("exact match of in distribution") :]
    for name in ("PPC", "shift", "RoPE"):
        assert f" {name} " in table
    assert "not fitted" in table
    assert "trained up to 8" in text
    assert "ceiling 1.000" in text
    assert re.search(r"span under [a-z, -]*\bsequential\b[a-z, -]* 18 34 82", text)
    assert "0123456789ab" in text
    assert "a processor" in text
    assert "A dash (–) means not measured" in text


def test_selectors_have_their_number_and_their_span_where_a_task_has_them(mixed: tuple[str, Checker]) -> None:
    assert "selectors under" not in mixed[1].text
    html, found = page(result(config=experiment(task="variable-assignment")))
    rows = re.findall(r"<tr>.*?</tr>", html, flags=re.DOTALL)
    text = [" ".join(re.sub(r"<[^>]*>", " ", row).split()) for row in rows]
    assert "selectors 2 2 2" in text
    assert "parents and selectors 3 3 3" in text
    assert any(re.search(r"^span of selectors under .*\bcoupled\b.* 0 0 0$", row) for row in text)
    assert any(re.search(r"^span of selectors under .*\bsequential\b", row) for row in text)
    assert any(re.search(r"^span of parents and selectors under .*\bsequential\b", row) for row in text)
    assert "choose the parents by their content" in found.text


def test_the_finding_and_the_curve_stand_first_and_the_task_below(mixed: tuple[str, Checker]) -> None:
    text = " ".join(mixed[1].text.split())
    order = ("accuracy against length", "the task and an example", "configuration")
    where = [text.index(f"addition: {part}") for part in order]
    assert where == sorted(where)
    assert where[1] < text.index("two numbers of n digits") < text.index("<bos>") < where[2]
    finding = mixed[0].index("PPC is ≥ 95 % right in tests up to 16 in ")
    assert finding < mixed[0].index("<svg") < mixed[0].index("addition: accuracy against length")
    headings = re.findall(r"<(?:h[123]|summary)>(.*?)</", mixed[0])
    assert len(headings) == len(set(headings)) > 6


def test_theory_and_measurement_are_set_against_each_other_in_words() -> None:
    good, bad = [score(8, 200), score(40, 199)], [score(8, 200), score(40, 3)]
    _, found = page(
        result("coupled+learned", config=experiment(), scores=bad),
        result("rope", config=experiment("sequential", "rope"), scores=good),
    )
    text = " ".join(found.text.split())
    assert re.search(
        r"coupled\+learned: theory has yes \(.*\), yet the models are right on 0\.015 of the strings", text
    )
    assert re.search(r"rope: theory has no guarantee \(.*\), yet the models are right on 0\.995 of the strings", text)
    # Of several layouts of the longest length, the one with the fewest right strings counts.
    layouts = [score(40, right, axes={"chains": chains}) for chains, right in ((4, 110), (1, 3), (2, 150))]
    _, found = page(result("coupled+learned", config=experiment(), scores=[score(8, 200), *layouts]))
    text = " ".join(found.text.split())
    assert "yet the models are right on 0.015 of the strings of length 40 with chains 1." in text
    assert "is not ≥ 95 % right at the next test (0.015 at 40 with chains 1)." in text
    _, found = page(result("coupled+learned", config=experiment(), scores=good))
    assert "theory against measurement" not in found.text


def test_a_figure_that_scrolls_on_a_telephone_has_a_cue_there(mixed: tuple[str, Checker]) -> None:
    assert '<p class="cue">Swipe or scroll sideways to see all of it →</p><div class="scroll"><svg' in mixed[0]
    assert ".narrow, .cue { display:none; }" in mixed[0]
    assert ".narrow, .cue { display:block; }" in mixed[0]


def test_the_title_names_the_task() -> None:
    html, _ = page(result(recipe="my-recipe"))
    assert "<h1>Report on my-recipe (addition)</h1>" in html


def test_the_values_of_the_curve_are_in_the_figure(mixed: tuple[str, Checker]) -> None:
    assert "<title>shift, length 16: 0.450, 0.383 to 0.519</title>" in mixed[0]
    assert mixed[0].count("<title>PPC, length 40: 0.750") == 2


def test_colours_follow_the_scheme_of_the_reader(mixed: tuple[str, Checker]) -> None:
    html = mixed[0]
    assert "@media (prefers-color-scheme:dark)" in html
    figures = " ".join(re.findall(r"<svg.*?</svg>", html, flags=re.DOTALL))
    colours = re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", figures)
    assert colours == [], "every colour is a variable of the style sheet"


def test_an_unfitted_system_shows_no_long_numbers() -> None:
    _, checker = page(result(fitted=False, scores=[score(8, 20), score(40, 13)]))
    text = " ".join(checker.text.split())
    assert "0.065" not in text
    assert "No seed of any system fitted" in text


def test_the_same_results_give_the_same_page(mixed: tuple[str, Checker]) -> None:
    assert page(*mixed_values())[0] == mixed[0]


def test_names_from_a_result_file_are_escaped() -> None:
    evil = "<script>alert(1)</script>"
    values = result(f"a {evil}", recipe=evil)
    values["commit"] = values["machine"]["processor"] = evil
    html, checker = page(values)
    assert html.count("<script") == 1
    assert [tag for tag, _ in checker.tags].count("script") == 1


def test_a_task_file_named_by_a_result_is_not_run(tmp_path: Path) -> None:
    trap = tmp_path / "trap.py"
    trap.write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')\n")
    config = experiment()
    config["task"] = {"name": f"{trap}:Trap"}
    _, checker = page(result(config=config))
    assert "not run to draw a page" in " ".join(checker.text.split())
    assert not (tmp_path / "sprung").exists()


def test_the_page_is_written_whole_and_counts_its_results(tmp_path: Path) -> None:
    for seed in range(2):
        (tmp_path / str(seed)).mkdir()
        (tmp_path / str(seed) / "result.json").write_text(json.dumps(result(seed=seed)))
    target = tmp_path / "page.html"
    assert write_report([tmp_path], target, tmp_path / "figures") == 2
    written = sorted(path.name for path in (tmp_path / "figures").iterdir())
    names = ("addition-accuracy", "addition-dependencies")
    assert written == sorted(f"{name}.{kind}" for name in names for kind in ("svg", "pdf", "png"))
    assert target.read_text().rstrip().endswith("</html>")
    (tmp_path / "ordinary").write_text("")
    assert target.stat().st_mode == (tmp_path / "ordinary").stat().st_mode


def test_studies_are_drawn_beside_runs(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(json.dumps(result()))
    for name in ("planted-theory", "influence-planted"):
        (tmp_path / f"{name}.json").write_bytes((results(name) / "quick" / "study.json").read_bytes())
    found = read_report([tmp_path, *(tmp_path / f"{name}.json" for name in ("planted-theory", "influence-planted"))])
    assert found.files == 3
    assert [study["title"] for study in found.studies] == ["planted-theory", "influence-planted"]
    html = found.html()
    assert '<td class="l">parity</td>' in html
    assert read_report([results("planted-theory")]).files == 1


@pytest.mark.parametrize("rows", [[], "x", [1]])
def test_a_damaged_study_is_named(rows: Any, tmp_path: Path) -> None:
    values = {"format": 1, "study": "idealized-learner", "preset": "quick", "seed": 0, "seconds": 1.0, "rows": rows}
    (tmp_path / "study.json").write_text(json.dumps(values))
    with pytest.raises(LengthwiseError, match=r"study result .*study\.json is damaged"):
        read_report([tmp_path])
