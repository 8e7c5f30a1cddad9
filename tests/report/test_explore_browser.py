"""The page of `explore` in a real browser: keys, sliders, a telephone, dark mode, and a server behind it."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import BROWSER, TEXTS
from devtools import Browser

import lengthwise as lw
from lengthwise.api.explore import answer, page, serve

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium")

TARGETS = ("addition", "variable-assignment", "regex:(aa)*")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the static page."""
    file = lw.explore(*TARGETS, static=tmp_path_factory.mktemp("site"))
    assert file is not None
    return file.as_uri()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a server."""
    found = serve((), 0, page(TARGETS, {"addition": answer("addition")}, live=True).encode())
    thread = threading.Thread(target=found.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{found.server_port}/"
    found.shutdown()
    found.server_close()
    thread.join()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture(autouse=True)
def fresh(browser: Browser) -> Iterator[None]:
    """Every test begins with an empty page, and none may leave an error in the console."""
    browser.open("about:blank")
    browser.problems.clear()
    yield
    assert [problem for problem in browser.problems if "favicon" not in problem] == []


def text(browser: Browser, css: str) -> str:
    return browser.value(f"document.querySelector({css!r}).innerText")


def drawn(browser: Browser, css: str) -> list[int]:
    """The positions of the tokens in plain ids that a selector finds."""
    found = f"[...document.querySelectorAll('#plain {css}')].map(g => Number(g.dataset.position))"
    return browser.value(found)


def focus(browser: Browser, css: str) -> None:
    """Press Tab until an element has the focus, as somebody without a mouse does."""
    browser.value("document.activeElement.blur()")
    for _ in range(60):
        browser.press("Tab")
        if browser.value(f"document.activeElement.matches({css!r})"):
            return
    raise AssertionError(f"Tab never reaches {css}")


def ask(browser: Browser, target: str) -> None:
    """Type a target and press Enter."""
    focus(browser, "#target")
    browser.value("document.activeElement.select()")
    browser.write(target)
    browser.press("Enter")


def test_keys_alone_reach_and_move_everything(browser: Browser, site: str) -> None:
    browser.view(1280)
    browser.open(site)
    assert text(browser, "#question") == "addition, trained to 40: right at 200?"
    assert text(browser, "#word") == answer("addition")["best"]["word"]
    focus(browser, "#length")
    browser.press("Home")
    browser.press("ArrowRight", 3)
    assert text(browser, "#length-now") == "4"
    one = next(one for one in answer("addition")["examples"] if one["length"] == 4)
    focus(browser, "#token")
    browser.press("Home")
    browser.press("ArrowRight", 1)
    at = one["scored"][1]
    assert drawn(browser, ".focus") == [at]
    assert drawn(browser, ".at") == [at - 1]
    assert drawn(browser, ".pick") == sorted({*one["parents"][at]} - {at})
    label = browser.value("document.querySelector('#plain svg').getAttribute('aria-label')")
    ids = sorted((at - 1 - parent for parent in one["parents"][at]), reverse=True)
    assert ", ".join(map(str, ids)) in label
    focus(browser, "details.system summary")
    browser.press("Enter")
    assert browser.value("document.querySelector('details.system').open")
    assert answer("addition")["systems"][0]["reasons"][0]["line"] in text(browser, "details.system")
    focus(browser, "#chips button[value='regex:(aa)*']")
    browser.press("Enter")
    assert text(browser, "#question") == "(aa)*, trained to 40: right at 200?"
    assert browser.value("document.activeElement.getAttribute('aria-pressed')") == "true"


def test_all_parts_show_what_the_answer_has(browser: Browser, site: str) -> None:
    """The tokens under each kind of ids, all measured settings, their curves, and the commands, at the shown length."""
    browser.view(1280)
    found = answer("addition")
    browser.open(f"{site}#target=addition")
    focus(browser, "#length")
    browser.press("Home")
    one = found["examples"][0]
    for name in ("plain", "coupled", "modulo"):
        tokens = browser.value(f"document.querySelectorAll('#{name} svg [data-position]').length")
        assert tokens == len(one["tokens"]), name
        assert text(browser, f"#{name} .says") == found["schemes"][name]["says"]
    labels = [browser.value(f"document.querySelector('#{name} svg').getAttribute('aria-label')") for name in
              ("plain", "coupled", "modulo")]  # fmt: skip
    assert len({*labels}) == 3, "other ids, other distances"
    browser.value("document.getElementById('table').open = true")
    assert browser.value("document.querySelectorAll('#cells tr').length") == len(found["curves"])
    assert browser.value("document.querySelectorAll('#chart path, #chart polyline').length") > 0
    for name in ("shell", "python"):
        shown = text(browser, f"#{name}").splitlines()
        wanted = [re.sub(r"(--length |length=)\d+", rf"\g<1>{one['length']}", line) for line in found[name]]
        assert shown == wanted
        assert any(re.search(rf"(--length |length=){one['length']}\b", line) for line in shown)


def test_the_server_answers_what_is_typed(browser: Browser, server: str) -> None:
    browser.view(1280)
    browser.open(server)
    ask(browser, "(ab)*")
    browser.until("document.getElementById('question')?.textContent.startsWith('(ab)*')")
    assert text(browser, "#word") == "LIKELY"
    # What is typed is in the address, so that it can be sent to somebody and survives a reload.
    assert "target=regex" in browser.value("location.hash")
    browser.value("window.before = true")
    browser("Page.reload")
    browser.until("!window.before && document.getElementById('question')?.textContent.startsWith('(ab)*')")
    ask(browser, "(<img src=x onerror=a(1)>)*")  # an expression, by its parentheses
    browser.until("document.getElementById('question').textContent.startsWith('(<img src=x onerror=a(1)>)*')")
    assert browser.value("document.querySelectorAll('img').length") == 0
    before = text(browser, "#answer")
    ask(browser, "additon")
    browser.until("!document.getElementById('problem').hidden")
    assert (
        text(browser, "#problem")
        == "unknown target 'additon'. Did you mean 'addition'? A word is written regex:additon"
    )
    # The answer before stays on the page, whose console tells of the refused request.
    assert text(browser, "#answer") == before
    assert all("400" in problem for problem in browser.problems)
    browser.problems.clear()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("target", TARGETS)
def test_every_text_can_be_read_and_nothing_scrolls_sideways(
    browser: Browser, site: str, target: str, width: int, dark: bool
) -> None:
    browser.view(width, dark=dark)
    browser.open(f"{site}#target={target}")
    browser.value("[...document.querySelectorAll('details')].forEach(part => part.open = true)")
    found: Any = browser.value(f"({TEXTS})(document, window)")
    assert found["scroll"] <= found["width"] == width
    assert (brightness(found["paper"]) < 60) is dark
    assert len(found["texts"]) > 100
    for each in found["texts"]:
        assert each["size"] >= 9, each
        if each["svg"] < 0 and each["behind"].startswith("rgb("):
            assert abs(brightness(each["colour"]) - brightness(each["behind"])) > 60, each
        if not each["scrolls"]:
            assert all(box[0] >= -1 and box[2] <= found["width"] + 1 for box in each["boxes"]), each


def test_wide_pictures_scroll_by_themselves_with_a_cue(browser: Browser, site: str) -> None:
    browser.view(390)
    browser.open(f"{site}#target=addition")
    scrolls = "document.querySelector('#plain .scroll')"
    assert browser.value(f"{scrolls}.scrollWidth > {scrolls}.clientWidth")
    assert browser.value("!document.querySelector('#plain .cue').hidden")
    assert browser.value("document.querySelector('#modulo .cue').hidden")
    browser.view(1280)
    browser.until("document.querySelector('#plain .cue').hidden")


def test_the_arcs_of_a_report_scroll_with_a_cue_on_a_telephone(browser: Browser, tmp_path: Path) -> None:
    """The report's page has the whole width of a telephone, and only the picture of the arcs is wider."""
    from made_up_pages import PAGES

    (tmp_path / "report.html").write_text(PAGES["own task"](tmp_path), encoding="utf-8")
    browser.view(390)
    browser.open((tmp_path / "report.html").as_uri())
    assert browser.value("document.documentElement.scrollWidth") == 390
    cues = "[...document.querySelectorAll('.cue')].map(cue => [cue.offsetHeight > 0, cue.nextElementSibling])"
    found = browser.value(f"{cues}.map(([seen, next]) => [seen, next.scrollWidth > next.clientWidth])")
    assert found
    assert all(seen and wide for seen, wide in found)
    browser.view(1280)
    assert browser.value("[...document.querySelectorAll('.cue')].every(cue => cue.offsetHeight === 0)")


def brightness(colour: str) -> float:
    return sum(float(part) for part in re.findall(r"[\d.]+", colour)[:3]) / 3
