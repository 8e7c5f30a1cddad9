"""Fuzzing of everything that users write or that a server answers.

``python tests/fuzz/fuzz.py PARSER COUNT [--own]`` feeds so many inputs: coverage-guided by atheris where it is
installed, else (or with ``--own``) sound inputs with random changes. What a parser may raise for bad input is its own
error in a line; anything else is written to ``finds/PARSER/``, where `test_finds.py` reads it again for ever, and so is
an input that takes over ten seconds. Prints JSON lines, of which the last counts: inputs, how many were refused, what
was found, CPU time and memory.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

FINDS = Path(__file__).with_name("finds")
SECONDS, MEGABYTES = 10, 2048
LONGEST = {"expressions": 64, "decisions": 64, "programs": 512}
"""The most bytes of an input, by default 16,384; work grows with the length, and `test_extremes.py` has long ones."""


def expressions(data: bytes) -> None:
    from lengthwise.languages.automaton import language
    from lengthwise.languages.regex import parse, render

    found = parse(_text(data))
    dfa = language(found, max_states=60)
    assert language(render(found), dfa.alphabet, max_states=200) == dfa, "what is printed is another language"


def decisions(data: bytes) -> None:
    from lengthwise.crasp.decide import Bounds, decide

    bounds = Bounds(
        max_window=2, max_period=3, max_nodes=2000, max_elements=2000, max_total_nodes=4000, max_work=100_000
    )
    decide(_text(data), bounds=bounds)


def programs(data: bytes) -> None:
    from lengthwise.crasp.syntax import parse, to_text

    text = to_text(parse(_text(data)))
    assert to_text(parse(text)) == text, "what is printed is another program"


def automata(data: bytes) -> None:
    from lengthwise.languages.automaton import dfa_from_json, dfa_to_json, minimize, read_dfa

    dfa = read_dfa(_file("dfa.json", data))
    assert minimize(dfa_from_json(dfa_to_json(dfa))) == minimize(dfa), "what is written is another automaton"


def results(data: bytes) -> None:
    from lengthwise.core.files import read_json
    from lengthwise.core.result_file import RunResult, sealed

    values = read_json(_file("result.json", data))
    if isinstance(values, dict) and data[-1:] == b"\n":  # a sound digest, so that what lies behind it is reached
        with contextlib.suppress(ValueError):  # a digest of NaN
            values = sealed(values)
    RunResult.of(values, "result file").to_json()


def vocabularies(data: bytes) -> None:
    from lengthwise.influence.tokenizer import load_tokenizer

    found = load_tokenizer(_file("tokenizer.json", data).parent)
    found.pieces(found.encode("a é"))


def answers(data: bytes) -> None:
    from lengthwise.audit.endpoint import _json_of, reply_of

    reply_of(_json_of(data), 100, 1)


def configurations(data: bytes) -> None:
    from lengthwise.core.files import read_json
    from lengthwise.experiments.run_config import RunConfig

    values = read_json(_file("config.json", data))
    if isinstance(values, dict):
        RunConfig.from_json(values)


def settings(data: bytes) -> None:
    _recipe().edited([_text(data)], None)


PARSERS: dict[str, Callable[[bytes], None]] = {
    parser.__name__: parser
    for parser in (expressions, programs, automata, results, vocabularies, answers, decisions, configurations, settings)
}


def feed(name: str, data: bytes) -> bool:
    """One input; returns whether it was refused, and raises for anything but the parser's own error."""
    try:
        PARSERS[name](data)
    except _refusals() as error:
        lines = 5 if name == "programs" else 1  # an error in a program shows its line and the place in it
        assert str(error).count("\n") < lines, "an error of too many lines"  # noqa: PT017
        return True
    return False


@cache
def _refusals() -> tuple[type[Exception], ...]:
    from lengthwise.audit.model import RequestFailed
    from lengthwise.core.errors import LengthwiseError

    return LengthwiseError, RequestFailed


@cache
def _recipe() -> Any:
    from lengthwise.experiments import recipes as _recipes  # noqa: F401
    from lengthwise.experiments.defaults import recipe_for

    return recipe_for("addition", "quick").selected(["RoPE"], [])


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


@cache
def _folder() -> Path:
    memory = Path("/dev/shm")
    folder = tempfile.mkdtemp(prefix="fuzz", dir=memory if memory.is_dir() else None)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _file(name: str, data: bytes) -> Path:
    path = _folder() / name
    path.write_bytes(data)
    return path


@cache
def seeds(name: str) -> tuple[bytes, ...]:
    """Sound inputs to begin with."""
    from lengthwise.crasp import library

    score = {"length": 3, "n": 8, "exact_match": 0.5, "correct": {"exact_match": 4}, "first_error_at": [1]}
    experiment = {"task": {"name": "copy"}, "training": {"max_length": 3}}
    message = {"content": [{"type": "text", "text": "a"}], "refusal": None, "reasoning_content": "b"}
    result = {
        "format": 1, "recipe": "r", "system": "s", "experiment": experiment, "seed": 0, "fitted": True,
        "in_distribution": score, "scores": [score, {**score, "length": 5, "axes": {"low": 4, "high": 5},
                                                     "tokens": 9, "tokens_total": 9}], "steps": 10, "seconds": 1.5,
    }  # fmt: skip
    languages = ["(ab)*", "a{2,3}b", "{0,1}*1[01]", "(?:a|b)+c?", "a[^b]", "(?=a)b", "((a|b)(c|a))*", "a*b*c*"]
    found = {
        "expressions": languages,
        "decisions": languages,
        "programs": [library.text(each) for each in library.names()[:12]],
        "automata": [
            json.dumps({"alphabet": ["a", "b"], "states": [0, 1, "s"], "start": 0, "accepting": [1],
                        "transitions": {"0": {"a": 1}, "1": {"a": 0, "b": "s"}, "s": {"b": "s"}}})
        ],
        "results": [json.dumps(result), json.dumps(result) + "\n"],
        "vocabularies": [json.dumps({"kind": "bytes"}), _bpe()] if name == "vocabularies" else [],
        "answers": [
            json.dumps({"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}],
                        "usage": {"prompt_tokens": 3, "completion_tokens": 1}}),
            json.dumps({"choices": [{"message": message, "finish_reason": "content_filter"}]}),
            json.dumps({"choices": [{"text": "a", "finish_reason": "length"}], "usage": {"completion_tokens": 100}}),
        ],
        "configurations": [json.dumps(_recipe().jobs[0].experiment.to_json())] if name == "configurations" else [],
        "settings": ["training.steps=10", "evaluation.lengths=[1,2]", "encoding.name=rope", "model.width=64"],
    }  # fmt: skip
    return tuple(text.encode() for text in found[name])


def _bpe() -> str:
    from lengthwise.influence.tokenizer import train_bpe

    return json.dumps(json.loads(train_bpe(["ab ab abc"], 264).to_json()))


ODD = ["", "\x00", "é", "𝛼", "'", '"', "{", "}", "[", "]", "NaN", "Infinity", "-1", "1e999", "9" * 40, "9" * 5000,
       "null", "\n", "\\", "true", "1.5", "{2,"]  # fmt: skip


def changed(data: bytes, moves: random.Random) -> bytes:
    """A few characters deleted, doubled or replaced, or a value put in place of another."""
    text = _text(data)
    for _ in range(moves.choice([1, 1, 1, 2, 4])):
        place, end = sorted((moves.randrange(len(text) + 1), moves.randrange(len(text) + 1)))
        end = min(end, place + 8)
        kind = moves.randrange(6)
        if kind == 0:
            text = text[:place] + text[end:]
        elif kind == 1:
            text = text[:end] + text[place:end] * moves.choice([1, 2, 30]) + text[end:]
        elif kind == 2:
            text = text[:place] + moves.choice(ODD) + text[end:]
        elif kind == 3 and (values := list(re.finditer(r'"[^"]*"|[\w.]+', text))):
            value = moves.choice(values)
            text = text[: value.start()] + moves.choice([*ODD, moves.choice(values)[0]]) + text[value.end() :]
        elif kind == 4:
            text = text[:place] + chr(moves.choice([moves.randrange(32, 127), moves.randrange(1, 0x2FF)])) + text[end:]
        else:
            text = text[:place] + moves.choice(text or "a") + text[place + 1 :]
    return text.encode("utf-8", "replace")


class SlowError(BaseException):
    """An input took longer than `SECONDS` of CPU time."""


class Count:
    """Feeds inputs, keeps those that were found, and says at the end what there was."""

    def __init__(self, name: str, count: int) -> None:
        self.name, self.count, self.fed, self.refused = name, count, 0, 0
        self.found: dict[str, str] = {}
        self.began = time.process_time()
        self.slowest = 0.0
        signal.signal(signal.SIGVTALRM, _too_slow)

    def one(self, data: bytes) -> None:
        """One input; what is found is kept once for each kind of fault."""
        began = time.process_time()
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        try:
            self.refused += feed(self.name, data)
        except BaseException as error:
            what = f"{type(error).__name__}: {str(error)[:60]}"
            if re.sub(r"\W.*|\d", "", what) not in self.found:
                folder = FINDS / self.name
                folder.mkdir(parents=True, exist_ok=True)
                (folder / hashlib.sha256(data).hexdigest()[:12]).write_bytes(data)
                self.found[re.sub(r"\W.*|\d", "", what)] = what
            if isinstance(error, KeyboardInterrupt):
                raise
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        self.slowest = max(self.slowest, time.process_time() - began)
        self.fed += 1
        if self.fed % max(1, self.count // 10) == 0:  # now and then, for a run that is ended early
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            seconds = round(time.process_time() - self.began, 1)
            row = {"parser": self.name, "fed": self.fed, "refused": self.refused, "found": list(self.found.values()),
                   "cpu_seconds": seconds, "slowest": round(self.slowest, 3), "peak_mib": peak}  # fmt: skip
            print(json.dumps(row), flush=True)


def _too_slow(*_: object) -> None:
    raise SlowError


def run_own(name: str, count: int, seed: int = 0) -> Count:
    """Sound inputs with random changes, and now and then changes of what was read well."""
    moves, work = random.Random(f"{name} {seed}"), Count(name, count)
    pool = list(seeds(name))
    for _ in range(count):
        data, refused = changed(moves.choice(pool), moves), work.refused
        work.one(data)
        if work.refused == refused and len(pool) < 200 and moves.random() < 0.1:
            pool.append(data)
    return work


def run_atheris(name: str, count: int) -> None:
    """Inputs that reach new places in our code; does not return."""
    import atheris

    with atheris.instrument_imports(include=["lengthwise"]):
        feed(name, seeds(name)[0])
    corpus, words = _folder() / "corpus", set()
    corpus.mkdir()
    for number, data in enumerate(seeds(name)):
        (corpus / str(number)).write_bytes(data)
        words |= set(re.findall(r"[\w.]{2,24}", _text(data)))
    dictionary = _folder() / "words"
    quoted = [f'"{word}"' for word in sorted(words)[:400] if word.isascii()]
    dictionary.write_text("\n".join([*quoted, '"\\":"', '"NaN"', '"1e999"', '"null"', '"[]"', '"{}"']) + "\n")
    longest = LONGEST.get(name, 16_384)
    limits = [f"-rss_limit_mb={MEGABYTES}", f"-runs={count}", f"-max_len={longest}", "-seed=1", "-verbosity=0"]

    def mutated(data: bytes, most: int, seed: int) -> bytes:
        """Every other time by the values in a text, since nearly all changed bytes end in an error of the grammar."""
        return changed(data, random.Random(seed))[:most] if seed % 2 else atheris.Mutate(data, most)

    words_and_limits = [sys.argv[0], str(corpus), f"-dict={dictionary}", *limits]
    atheris.Setup(words_and_limits, Count(name, count).one, custom_mutator=mutated)
    atheris.Fuzz()


def main(name: str, count: int, engine: str = "") -> None:
    try:
        import atheris as _atheris  # noqa: F401
    except ImportError:
        engine = "--own"
    run_own(name, count) if engine == "--own" else run_atheris(name, count)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:4])
