"""`explore`: a page that answers for any task or expression, served on this machine alone or written as a file."""

from __future__ import annotations

import json
import shlex
import sys
import webbrowser
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import takewhile
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from lengthwise.api.progress import now_waits
from lengthwise.core import config as arguments
from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.table import rounded
from lengthwise.core.user_code import failure_in_user_code, summary

if TYPE_CHECKING:
    from lengthwise.forecast.answer import SystemForecast
    from lengthwise.forecast.forecasts import Forecasts
    from lengthwise.positions.schemes import PositionScheme
    from lengthwise.positions.structure import Structure
    from lengthwise.prediction.example import Example
    from lengthwise.tasks import Task

TEN = (
    "addition", "copy", "sort", "parity", "parity-scratchpad", "variable-assignment", "induction", "majority",
    "regex:(ab)*", "regex:(aa)*",
)  # fmt: skip
"""The targets that a page suggests, and that a static page has."""
TRAIN, TEST = 40, 200
PORT = 8765
LONGEST_TARGET, LONGEST_TEST, MOST_STATES = 200, 10_000, 128
"""Bounds of a request: characters of a target, the length in question, states of an automaton."""
LONGEST_QUERY = 2_000
MOST_LENGTHS, USUAL = 24, 5
"""Examples of a target, one a length, and the length that is shown first."""
MOST_CURVES = 48
MOST_PERIOD = 6
LOCAL = ("127.0.0.1", "localhost")


def explore(
    *targets: str,
    port: int = PORT,
    browser: bool = True,
    static: str | Path | None = None,
    note: Callable[[str], None] = print,
) -> Path | None:
    """Open a page on how a task depends on its earlier tokens, how likely it extrapolates, and what was measured.

    The page is served to this machine only, until Ctrl-C. It runs no code that a request names: of your own tasks it
    answers for those among ``targets``.

    Arguments:
        targets: what is shown first and suggested, as in `lengthwise.predict`; by default ten tasks and expressions.
        port: of the page's address ``http://127.0.0.1:PORT``; 0 takes any free one.
        browser: whether to open the page in a browser.
        static: a folder; instead of serving, the same page for ``targets`` alone is written to its ``index.html``.
        note: called with the address once the page is there.

    Returns: the file that was written; None where the page was served.

    Raises: `LengthwiseError` for a target that is unknown or broken, and for a port that is taken.
    """
    given = tuple(arguments.text("targets", target) for target in targets)
    answers = {target: answer(target) for target in given or TEN[: None if static else 1]}
    if static is not None:
        from lengthwise.core.files import write_text

        file = arguments.path("static", static) / "index.html"
        write_text(file, page(tuple(answers), answers, live=False))
        return file
    server = serve(given, arguments.whole("port", port), page(given or TEN, answers, live=True).encode())
    address = f"http://{LOCAL[0]}:{server.server_port}"
    now_waits()
    note(f"{address}   (Ctrl-C ends it)")
    if browser:
        # Some browsers run in this terminal and return when they end.
        Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
    return None


def page(targets: Sequence[str], answers: dict[str, Any], *, live: bool) -> str:
    """The page as HTML text; a page that is not ``live`` knows these answers alone."""
    from markupsafe import Markup

    from lengthwise.languages.named import LANGUAGES
    from lengthwise.report.html import render_page
    from lengthwise.tasks import TASKS

    data = {"live": live, "targets": targets, "answers": answers, "first": next(iter(answers))}
    # A "</script>" in a token must not end the element.
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return render_page(
        "explore.html", "explore.js", title="Explore", live=live, targets=targets,
        known=[*TASKS, *LANGUAGES] if live else targets, longest=LONGEST_TARGET,
        most=LONGEST_TEST, train=TRAIN, test=TEST,
        data=Markup(text),
    )  # fmt: skip


def answer(target: str, train: int = TRAIN, test: int = TEST) -> dict[str, Any]:
    """All that the page shows of a target; raises `LengthwiseError` as `lengthwise.predict` does."""
    from lengthwise.api.theory import predict
    from lengthwise.forecast.answer import ASKED
    from lengthwise.prediction.programs import language_in
    from lengthwise.prediction.target import Expression, parse_target, task_of
    from lengthwise.tasks.base import EXPRESSION

    require(train <= test <= LONGEST_TEST, f"`test` must be in {train}..{LONGEST_TEST}, got {test}")
    parsed = parse_target(target)
    if isinstance(parsed, Expression):
        target = EXPRESSION + parsed.text
    task, regular = task_of(parsed), language_in(parsed)
    if regular is not None and regular[0].size > MOST_STATES:
        raise LengthwiseError(
            f"{target} has an automaton of {regular[0].size} states; this page takes {MOST_STATES} at most, "
            "`lengthwise predict` takes more"
        )
    found = predict(target, train, test)
    best = found.systems[0]
    basis = "No forecast: this was not measured, nor enough that is similar."
    if best.probability is not None:
        basis = (
            f"Forecast by theory and {found.cells} measured cells, for an accuracy of at least {found.cut}; "
            f"asked: {ASKED[found.format]}. Brackets hold 90 % of the forecasts."
        )
    if best.accuracy is not None:
        basis = f"Measured: share of right strings near {round(test / train, 1):g} times the training length."
    if best.base_rate:
        basis = (
            f"No forecast: this was not measured. Counted: {best.alike}s on which theory says the same, trained with "
            f"such ids and tested near {round(test / train, 1):g} times the training length."
        )
    basis += f" Length: {found.meant}." if found.meant else ""
    structure: dict[str, Any] = {"examples": []} if task is None else structure_of(task)
    shown = bool(structure["examples"])
    length = structure["examples"][structure["start"]]["length"] if shown else None
    return {
        "target": target,
        "train": train,
        "test": test,
        "summary": "" if task is None else task.summary,
        "best": _system(best),
        "others": _others(found),
        "instead": _instead(best),
        "systems": [_system(system) for system in found],
        "basis": basis,
        **structure,
        "curves": curves(task, regular),
        "shell": _shell(found, length),
        "python": [
            "import lengthwise as lw",
            f"lw.predict({found.target!r}, train={found.train}, test={found.test})",
            *([] if length is None else [f"lw.show({found.target!r}, length={length}, scheme='coupled').plot()"]),
        ],
    }


def _system(found: SystemForecast) -> dict[str, Any]:
    return {
        "name": found.words,
        "system": found.system,
        "word": found.answer,
        "chance": found.chance,
        "p": found.probability,
        "interval": found.interval,
        "reasons": [
            {"kind": kind, "line": line}
            for kind, line in (("why", found.refusal), ("theory", found.theory), ("measured", found.measured))
            if line
        ],
        "instead": _instead(found),
    }


def _others(found: Forecasts) -> str:
    """The usual encodings beside the best system, in a few words."""
    from lengthwise.forecast.answer import percent
    from lengthwise.positions.system import words

    def number(each: SystemForecast) -> str:
        if each.accuracy is not None:
            return f"{rounded(each.accuracy, 2)}, measured"
        return each.base_rate or f"{percent(each.probability or 0.0)} %"

    usual = (each for each in found if each.system in ("nope", "ape", "rope", "alibi") and each is not found.systems[0])
    return ", ".join(f"{words(each.system)} {number(each)}" for each in usual if each.chance)


def _instead(found: SystemForecast) -> list[dict[str, str]]:
    return [{"line": each.line, "command": each.command} for each in found.instead]


def _shell(found: Forecasts, length: int | None) -> list[str]:
    def command(verb: str, **parameters: int | str) -> str:
        options = (f"--{name} {value}" for name, value in parameters.items())
        return " ".join(["lengthwise", verb, shlex.quote(found.target), *options])

    usual = (found.train, found.test) == (TRAIN, TEST)
    predicted = command("predict", **({} if usual else {"train": found.train, "test": found.test}))
    shown = [] if length is None else [command("show", length=length, scheme="coupled")]
    return [predicted, *shown, *[found.settle] * bool(found.settle)]


def structure_of(task: Task) -> dict[str, Any]:
    """One example a length with its ids under each scheme, and what becomes of each scheme as lengths grow."""
    from lengthwise.positions.schemes import SCHEMES as REGISTERED
    from lengthwise.positions.structure import structure_at
    from lengthwise.prediction.example import MOST_TOKENS, example

    plain = REGISTERED.build("sequential")
    shown = (example(task, plain, length, 0) for length in task.lengths(1, 4 * MOST_TOKENS)[:MOST_LENGTHS])
    drawn = list(takewhile(lambda one: len(one.tokens) <= MOST_TOKENS, shown))
    period = _period(task, drawn)
    schemes: dict[str, PositionScheme] = {
        "plain": plain,
        # At test, a block of ids from 1: the place itself, which is easier to read than a random subset.
        "coupled": REGISTERED.build("coupled", draw="contiguous").for_evaluation(),
        "modulo": REGISTERED.build("modulo", m=period),
    }
    allowed: dict[tuple[str, ...], int] = {}
    found: list[dict[str, Any]] = []
    for one in drawn:
        by_scheme = {name: example(task, scheme, one.length, 0).tokens for name, scheme in schemes.items()}
        found.append({
            "length": one.length,
            "tokens": [token.text for token in one.tokens],
            "scored": [token.position for token in one.scored],
            "parents": {token.position: token.parents for token in one.scored if token.parents},
            "selectors": {token.position: token.selectors for token in one.scored if token.selectors},
            "allowed": [allowed.setdefault(token.allowed, len(allowed)) for token in one.tokens],
            "ids": {name: [token.ids for token in tokens] for name, tokens in by_scheme.items()},
        })  # fmt: skip
    few = [found[i] for i in sorted({0, len(found) // 2, len(found) - 1})] if found else []
    reached = {
        name: [(at["length"], structure_at(task, scheme, at["length"]), _shared(at, name)) for at in few]
        for name, scheme in schemes.items()
    }
    placeless = not any(any(ids) for one in found for ids in one["ids"]["coupled"])
    sets = [list(each) for each in allowed]
    colours = any(sets)
    return {
        "examples": found,
        "start": min(range(len(found)), key=lambda i: abs(found[i]["length"] - USUAL), default=0),
        "allowed": sets if colours else [],
        "sparsity": _sparsity(reached["plain"]),
        "period": period,
        "schemes": {
            name: _fate_of_language(name, drawn, period) if colours else _fate(name, reached[name], placeless)
            for name in schemes
        },
    }


Reached = Sequence[tuple[int, "Structure", int]]
"""At a few lengths in order: the length, the structure under a scheme, and the most tokens that share an id."""


def _period(task: Task, drawn: Sequence[Example]) -> int:
    """The m of ids modulo m: the smallest that says what may come next, else the period of theory's program, else 2."""
    from lengthwise.prediction.programs import period_of

    asks = any(token.allowed for one in drawn for token in one.tokens)
    says = (m for m in range(2, MOST_PERIOD + 1) if asks and _says(drawn, m))
    return next(says, period_of(task))


def _says(drawn: Sequence[Example], m: int) -> bool:
    """Whether the position modulo m alone says what may come next, in all of these words."""
    known = {(token.position % m, token.allowed) for one in drawn for token in one.tokens[:-1]}
    return len(drawn[-1].tokens) > 2 * m and len(known) == len({residue for residue, _ in known})


def _shared(one: dict[str, Any], scheme: str) -> int:
    """The most tokens that share an id; those without a place, with the id 0 under coupled ids, where they matter."""
    matter = {parent for parents in one["parents"].values() for parent in parents} | {*one["parents"]}
    kept = [ids for at, ids in enumerate(one["ids"][scheme]) if scheme != "coupled" or any(ids) or at in matter]
    return max(Counter(kept).values(), default=1)


def _sparsity(reached: Reached) -> str:
    from lengthwise.forecast.answer import counted

    counts = [structure.sparsity for _, structure, _ in reached]
    if not any(counts):
        return "What may come next depends on all earlier symbols, not on a few of them."
    if counts[-1] > counts[len(counts) // 2]:
        return (
            f"One answer token needs ever more earlier tokens: {counts[0]} at length {reached[0][0]}, "
            f"{counts[-1]} at length {reached[-1][0]}."
        )
    return f"One answer token needs at most {counted(max(counts), 'earlier token')}, at lengths up to {reached[-1][0]}."


def _fate(name: str, reached: Reached, placeless: bool) -> dict[str, str]:
    """What becomes of a scheme as lengths grow: a word (good, bad or open) and a sentence."""
    from lengthwise.forecast.answer import counted

    if not reached:
        return {"word": "open", "says": ""}
    if name == "coupled" and placeless:
        says = "This task states no places, so coupled ids tell nothing apart; `lengthwise couple` looks for places."
        return {"word": "open", "says": says}
    (first, start, alone), (_, middle, shared), (last, end, crowded) = (reached[i] for i in (0, len(reached) // 2, -1))
    unit = "place" if name == "coupled" else "id"
    if end.span > middle.span:
        far = counted(start.span, unit)
        says = f"What is needed drifts away: {far} at length {first}, {end.span} at length {last}."
        return {"word": "bad", "says": says + " Short training never shows such distances." * (name == "plain")}
    if crowded > shared:
        says = f"Near, but ever more tokens share an id: {alone} at length {first}, {crowded} at length {last}."
        return {"word": "bad", "says": says}
    span, share = max(structure.span for _, structure, _ in reached), max(count for _, _, count in reached)
    near = f"at most {counted(span, unit)} away" if span else "at the same id"
    apart = f"at most {share} tokens share an id" if share > 1 else "no two tokens share an id"
    return {"word": "good", "says": f"What is needed is {near} at lengths up to {last}, and {apart}."}


def _fate_of_language(name: str, drawn: Sequence[Example], period: int) -> dict[str, str]:
    """The same where symbols that may come next are asked: whether an id says which."""
    if name == "coupled":
        return {"word": "open", "says": "A word has no places beside its order, so coupled ids are plain ids here."}
    if name == "plain":
        return {"word": "open", "says": "Each symbol has its own id; longer words have ids that training never showed."}
    if _says(drawn, period):
        return {
            "word": "good",
            "says": f"The id alone says what may come next: each column has one colour (m = {period}).",
        }
    return {"word": "open", "says": f"The id alone does not say what may come next (m = {period})."}


def curves(task: Task | None, regular: Any) -> list[dict[str, Any]]:
    """What was measured of this target: accuracy by length, one curve a setting, of `lengthwise.evidence`'s cells."""
    from lengthwise.forecast.features import language_of
    from lengthwise.measured.cells import cells
    from lengthwise.positions.system import RANDOM_START, PositionSystem
    from lengthwise.report.looks import LOOKS, distinct

    found = []
    for cell in cells():
        # A counter language is a task by the name of all languages, and none of them was measured.
        if regular is None and (task is None or cell.task["name"] != task.name or task.name == "language"):
            continue
        if regular is not None and (cell.format != regular[1] or language_of(cell.task) != regular[0]):
            continue
        places = sorted({(test.low, test.high) for test in cell.tests if not test.axes})
        points = [
            [(low + high) / 2 / cell.train, value, low, high]
            for low, high in places
            if (value := cell.accuracy(low, high)) is not None
        ]
        system = PositionSystem(RANDOM_START if cell.random_start else cell.scheme, cell.encoding)
        found.append({
            "system": system.known_as, "positions": system.name, "label": cell.system, "study": cell.study,
            "train": cell.train, "fitted": sum(cell.fitted), "seeds": len(cell.seeds), "commit": cell.commit,
            "points": points,
        })  # fmt: skip
    shown = sorted(found, key=lambda curve: (-len(curve["points"]), curve["system"]))[:MOST_CURVES]
    looks = distinct({curve["positions"]: LOOKS.get(curve["positions"]) for curve in shown})
    return [curve | {"look": looks[curve["positions"]].css} for curve in shown]


def known(target: str, given: Sequence[str]) -> str:
    """A target of a request as a registered name or an expression, or one that was given; nothing else is read."""
    from lengthwise.languages.counter import COUNTER_LANGUAGES
    from lengthwise.languages.named import LANGUAGES
    from lengthwise.languages.regex import SPECIAL
    from lengthwise.prediction.target import parse_target
    from lengthwise.tasks import TASKS
    from lengthwise.tasks.base import EXPRESSION

    require(len(target) <= LONGEST_TARGET, f"a target has at most {LONGEST_TARGET} characters, got {len(target)}")
    if target in given or target in TASKS or target in LANGUAGES or target in COUNTER_LANGUAGES:
        return target
    if target.startswith(EXPRESSION):
        return target
    if target.endswith((".py", ".json", ".jsonl", ".crasp")) or ".py:" in target:
        raise LengthwiseError(
            f"this page reads no file that a request names; start it as `lengthwise explore {target}`"
        )
    if SPECIAL & set(target):
        return EXPRESSION + target
    require(bool(target), "write a task or an expression, such as addition or (ab)*")
    parse_target(target)  # says what is near it
    return target


def serve(given: Sequence[str], port: int, html: bytes) -> ThreadingHTTPServer:
    """A server of the page and its answers on this machine; raises `LengthwiseError` for a port that is taken."""
    require(0 <= port < 65_536, f"`port` must be in 0..65535, got {port}")
    computing = Lock()
    cached = lru_cache(maxsize=256)(answer)

    def ask(query: dict[str, list[str]]) -> dict[str, Any]:
        values = {name: texts[0] for name, texts in query.items()}
        numbers = []
        for name, usual in (("train", TRAIN), ("test", TEST)):
            text = values.get(name, str(usual))
            require(
                text.isascii() and text.isdigit() and len(text) < 9, f"{name} must be a whole number, got {text[:20]!r}"
            )
            numbers.append(int(text))
        target = known(" ".join(values.get("target", "").split()), given)
        with computing:
            return cached(target, *numbers)

    try:
        return Server((LOCAL[0], port), partial(Handler, html, ask))
    except OSError as error:
        raise LengthwiseError(
            f"port {port} can't be used ({error.strerror}); choose another `port`, 0 for any"
        ) from error


class Server(ThreadingHTTPServer):
    """A page that is left before its answer is no error."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a connection that the browser closed."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """``/`` is the page, ``/answer?target=…&train=…&test=…`` an answer as JSON; to this machine's own pages only."""

    server_version, sys_version = "lengthwise", ""
    timeout = 30

    def __init__(self, html: bytes, ask: Callable[[dict[str, list[str]]], dict[str, Any]], *rest: Any) -> None:
        self.html, self.ask = html, ask
        super().__init__(*rest)

    def do_GET(self) -> None:
        """Answer one request."""
        port = self.connection.getsockname()[1]
        url = urlsplit(self.path)
        if self.headers.get("Host") not in [f"{name}:{port}" for name in LOCAL]:
            # Another site's name that leads to this address would make its scripts part of this page.
            self._fail(HTTPStatus.FORBIDDEN, f"open http://{LOCAL[0]}:{port}")
        elif self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin") and url.path != "/":
            self._fail(HTTPStatus.FORBIDDEN, "other sites get no answers")
        elif len(url.query) > LONGEST_QUERY:
            self._fail(HTTPStatus.BAD_REQUEST, f"a request has at most {LONGEST_QUERY} characters")
        elif url.path == "/":
            self._send(HTTPStatus.OK, "text/html", self.html)
        elif url.path == "/answer":
            self._answer(url.query)
        else:
            self._fail(HTTPStatus.NOT_FOUND, "no such page; open /")

    def _answer(self, query: str) -> None:
        try:
            found = self.ask(parse_qs(query, keep_blank_values=True, max_num_fields=8))
        except (LengthwiseError, ValueError, RecursionError, MemoryError) as error:
            self._fail(HTTPStatus.BAD_REQUEST, " ".join(str(error).split()) or type(error).__name__)
        except Exception as error:
            line = failure_in_user_code(error) or f"a fault of ours, please report it: {summary(error)}"
            self._fail(HTTPStatus.INTERNAL_SERVER_ERROR, line)
        else:
            self._send(HTTPStatus.OK, "application/json", json.dumps(found, allow_nan=False).encode())

    def _fail(self, status: HTTPStatus, line: str) -> None:
        self._send(status, "application/json", json.dumps({"error": line}).encode())

    def _send(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        for name, value in (
            ("Content-Type", f"{kind}; charset=utf-8"), ("Content-Length", str(len(content))),
            ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"),
            ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Resource-Policy", "same-origin"),
        ):  # fmt: skip
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged."""
