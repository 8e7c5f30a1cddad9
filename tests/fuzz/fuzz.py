"""Coverage-guided fuzzing of the six parsers: expressions, programs, automata, results, vocabularies, HTTP answers.

``python tests/fuzz/fuzz.py PARSER COUNT`` (``pip install atheris``). What a parser may raise for bad input is its own
error; anything else, over ten seconds or two gigabytes ends the run, and the input is written to ``finds/PARSER/``,
where `test_finds.py` reads it again for ever.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

FINDS = Path(__file__).with_name("finds")
SECONDS, MEGABYTES = 10, 2048


def expressions(data: bytes) -> None:
    from lengthwise.languages.automaton import language
    from lengthwise.languages.regex import parse, render

    found = parse(_text(data))
    try:
        dfa = language(found, max_states=200)
    except _refusals():
        return
    assert language(render(found), dfa.alphabet, max_states=400) == dfa, "what is printed is another language"


def programs(data: bytes) -> None:
    from lengthwise.crasp.syntax import parse

    parse(_text(data))


def automata(data: bytes) -> None:
    from lengthwise.languages.automaton import read_dfa

    read_dfa(_file("dfa.json", data))


def results(data: bytes) -> None:
    from lengthwise.core.files import read_json
    from lengthwise.core.result_file import RunResult

    RunResult.of(read_json(_file("result.json", data)), "result file")


def vocabularies(data: bytes) -> None:
    from lengthwise.influence.tokenizer import load_tokenizer

    load_tokenizer(_file("tokenizer.json", data).parent)


def answers(data: bytes) -> None:
    from lengthwise.audit.endpoint import _json_of, reply_of
    from lengthwise.audit.model import RequestFailed

    try:
        reply_of(_json_of(data), 100, 1)
    except RequestFailed as error:
        assert "\n" not in str(error)  # noqa: PT017


PARSERS: dict[str, Callable[[bytes], None]] = {
    parser.__name__: parser for parser in (expressions, programs, automata, results, vocabularies, answers)
}


def feed(name: str, data: bytes) -> None:
    """One input; raises for anything but the parser's own error."""
    try:
        PARSERS[name](data)
    except _refusals() as error:
        lines = 5 if name == "programs" else 1  # an error in a program shows its line and the place in it
        assert str(error).count("\n") < lines, "an error of too many lines"  # noqa: PT017


@cache
def _refusals() -> tuple[type[Exception], ...]:
    from lengthwise.core.errors import LengthwiseError

    return (LengthwiseError,)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="fuzz"))


def _file(name: str, data: bytes) -> Path:
    path = _folder() / name
    path.write_bytes(data)
    return path


def seeds(name: str) -> list[bytes]:
    """Sound inputs to begin with."""
    from lengthwise.crasp import library

    score = {"length": 3, "n": 8, "exact_match": 0.5, "correct": {"exact_match": 4}, "first_error_at": [1]}
    experiment = {"task": {"name": "copy"}, "training": {"max_length": 3}}
    found = {
        "expressions": ["(ab)*", "a{2,3}b", "{0,1}*1[01]", "(?:a|b)+c?", "a[^b]", "(?=a)b"],
        "programs": [library.text(each) for each in library.names()[:6]],
        "automata": [json.dumps({"alphabet": ["a"], "states": [0, 1], "start": 0, "accepting": [1],
                                 "transitions": {"0": {"a": 1}, "1": {"a": 0}}})],
        "results": [json.dumps({"format": 1, "recipe": "r", "system": "s", "experiment": experiment, "seed": 0,
                                "fitted": True, "in_distribution": score, "scores": [score]})],
        "vocabularies": [json.dumps({"kind": "bytes"})],
        "answers": [json.dumps({"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}],
                                "usage": {"prompt_tokens": 3, "completion_tokens": 1}})],
    }  # fmt: skip
    return [text.encode() for text in found[name]]


def main(name: str, count: int) -> None:
    import atheris

    with atheris.instrument_imports(include=["lengthwise"]):
        PARSERS[name](seeds(name)[0])

    def one(data: bytes) -> None:
        try:
            feed(name, data)
        except BaseException:
            folder = FINDS / name
            folder.mkdir(parents=True, exist_ok=True)
            (folder / hashlib.sha256(data).hexdigest()[:12]).write_bytes(data)
            raise

    corpus = _folder() / "corpus"
    corpus.mkdir()
    for number, data in enumerate(seeds(name)):
        (corpus / str(number)).write_bytes(data)
    limits = [f"-timeout={SECONDS}", f"-rss_limit_mb={MEGABYTES}", f"-runs={count}", "-max_len=4096", "-seed=1"]
    atheris.Setup([sys.argv[0], str(corpus), *limits], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
