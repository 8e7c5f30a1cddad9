"""Reads and scores answers, in the audit and in exported tasks alike; needs no other file of `lengthwise`.

`lengthwise export` copies this file as ``reader.py`` into every folder that it writes, so both count the same. There,
the functions at the end read the problems and the settings beside it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

EXTRACTS = ("exact", "last-number", "regex")
RIGHT, WRONG, UNSTOPPED, ONLY_THOUGHT = "right", "wrong", "did not stop", "only reasoning"
MOST = 20_000
"""Characters from the end of a text in which a number or a pattern is looked for."""

THOUGHT_END = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.I)
THOUGHT = re.compile(r"\s*<(?:think|thinking|thought|reasoning)>", re.I)
END_TOKEN = re.compile(r"<\|[a-z0-9_▁]+\|>|</s>|<eos>|<end_of_turn>|<pad>", re.I)
BOXED = re.compile(r"\\boxed\s*\{([^{}]*)\}")
FENCE = re.compile(r"```[a-zA-Z]*[ \t]*\n?(.*?)(?:```|\Z)", re.S)
BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
LABEL = re.compile(r"\**(?:input|output|question|answer)\s*:(?:\*\*(?=\s))?|->|=>", re.I)
LEAD = re.compile(
    r"\**(?:(?:so|thus|hence|therefore)\b,?\s*)?(?:the\s+|my\s+)?(?:final\s+|correct\s+)?"
    r"(?:answer|result|output|solution|sum|product|difference)\s*(?:is\b:?|:|=)(?:\*\*(?=\s))?",
    re.I,
)
NUMBER = re.compile(r"\d+(?:(?:, ?| )\d+)*")


class Scoring(NamedTuple):
    """How an answer is found in what a model wrote.

    ``exact`` takes the first line out of its wrapping, ``last-number`` the last number, digits apart or together, and
    ``regex`` the last match of ``pattern``, its first group if it has one. ``strip_think`` removes reasoning first.
    """

    extract: str = "exact"
    pattern: str | None = None
    strip_think: bool = True


DEFAULT = Scoring()


def outcome(text: str, answer: str, scoring: Scoring = DEFAULT, *, finished: bool = True) -> str:
    """`RIGHT`, `WRONG`, `UNSTOPPED` where the budget ended the text before its answer, or `ONLY_THOUGHT`."""
    rest, open_ = _without_thought(text, scoring)
    if equal(_reading(rest, scoring), answer) or strictly_right(text, answer, scoring):
        return RIGHT
    if open_ or (scoring.strip_think and not rest.strip() and rest != text):
        return ONLY_THOUGHT if finished else UNSTOPPED
    if finished:
        return WRONG
    return WRONG if scoring.extract == "exact" and len(_lines(rest)) > 1 else UNSTOPPED


def strictly_right(text: str, answer: str, scoring: Scoring = DEFAULT) -> bool:
    """Whether the text up to its first blank line is the answer and nothing else; other extractions have one rate."""
    rest, _ = _without_thought(text, scoring)
    if scoring.extract != "exact":
        return equal(_reading(rest, scoring), answer)
    written = BLANK_LINE.split(rest.strip(), maxsplit=1)[0].split()
    expected = answer.split()
    return written == expected or (all(len(word) == 1 for word in expected) and written == ["".join(expected)])


def reading(text: str, scoring: Scoring = DEFAULT) -> str:
    """The answer that is read out of a text, without blanks and commas."""
    return joined(_reading(_without_thought(text, scoring)[0], scoring))


def joined(answer: str) -> str:
    """An answer without blanks and commas, to compare it with another."""
    return re.sub(r"[\s,]", "", answer)


def settled(text: str, scoring: Scoring = DEFAULT) -> bool:
    """Whether nothing that follows ``text`` can change how it is read, so that a model may be stopped."""
    rest, open_ = _without_thought(text, scoring)
    if open_ or scoring.extract != "exact" or not rest.strip() or _thinks_at_first(text, rest):
        return False
    return len(_head(rest)) < len(rest.strip())


def equal(written: str, answer: str) -> bool:
    """Whether two answers have the same words; digits may stand together, and with commas."""
    expected, written = answer.split(), written.strip()
    if written.split() == expected:
        return True
    apart = written.replace(",", " ").split()
    if len(expected) == 1:
        thousands = re.fullmatch(r"\d{1,3}(?:,\d{3})+", written)
        return [written.replace(",", "")] == expected if thousands else apart == expected
    return apart == expected or (all(len(word) == 1 for word in expected) and "".join(apart) == "".join(expected))


def _without_thought(text: str, scoring: Scoring) -> tuple[str, bool]:
    """The text behind its reasoning, and whether the reasoning has no end."""
    if not scoring.strip_think:
        return text, False
    ends = list(THOUGHT_END.finditer(text))
    if ends:
        return text[ends[-1].end() :], False
    return ("", True) if THOUGHT.match(text) else (text, False)


def _thinks_at_first(text: str, rest: str) -> bool:
    """Whether the text may still become the beginning of a block of reasoning."""
    return rest is text and "<think>".startswith(text.strip()[:7].lower())


def _reading(text: str, scoring: Scoring) -> str:
    if scoring.extract == "last-number":
        found = NUMBER.findall(text[-MOST:])
        return found[-1] if found else ""
    if scoring.extract == "regex":
        matches = list(re.finditer(scoring.pattern or "", text[-MOST:]))
        return (matches[-1][1] or "" if matches[-1].re.groups else matches[-1][0]) if matches else ""
    head = END_TOKEN.split(_head(text), maxsplit=1)[0]
    boxed = BOXED.findall(head)
    if boxed:
        return _unwrapped(boxed[-1])
    fence = FENCE.search(head)
    lines = _lines(fence[1] if fence and fence[1].strip() else head)
    if not lines:
        return ""
    # A line that only leads to the answer, such as "The answer is:".
    last = next((i for i, line in enumerate(lines) if not line.rstrip("*_ ").endswith(":")), len(lines) - 1)
    return _unwrapped(lines[last])


def _head(text: str) -> str:
    """The text up to a blank line that doesn't follow a colon and isn't within a code fence."""
    text = text.strip() if text.endswith("\n") and not BLANK_LINE.search(text.lstrip()) else text.lstrip()
    for blank in BLANK_LINE.finditer(text):
        before = text[: blank.start()]
        if before.count("```") % 2 == 0 and not before.rstrip("*_ \r").endswith(":"):
            return before
    return text


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def _unwrapped(line: str) -> str:
    before = None
    while line != before:
        before = line
        line = line.strip().removesuffix(".").strip()
        if len(line) > 1 and line[0] == line[-1] and line[0] in "`\"'*_$":
            line = line[1:-1].strip()
        for opening in (LABEL, LEAD):
            if found := opening.match(line):
                line = line[found.end() :]
        if len(line) > 1 and line[0] + line[-1] in ("[]", "()", "{}") and line[0] not in line[1:]:
            line = line[1:-1]
    return line


# The reader of an exported folder.


def rows(cell: str) -> list[dict[str, Any]]:
    """The problems of one cell: ``prompt``, ``answer``, and how many words matter, how far away."""
    text = (Path(__file__).parent / f"{cell}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def read(cell: str, **_: Any) -> dict[str, Any]:
    """The problems of one cell as a split of a data set, for lm-evaluation-harness."""
    import datasets

    return {"test": datasets.Dataset.from_list(rows(cell))}


def scores(text: str, answer: str) -> dict[str, float]:
    """Both rates of one answer under the settings of the folder."""
    settings = Scoring(**json.loads((Path(__file__).parent / "scoring.json").read_text(encoding="utf-8")))
    return {
        "exact_match": float(outcome(text, answer, settings) == RIGHT),
        "strict_match": float(strictly_right(text, answer, settings)),
    }


def score(doc: dict[str, Any], results: list[str]) -> dict[str, float]:
    """The metrics of one problem, for lm-evaluation-harness."""
    return scores(results[0], doc["answer"])
