"""Regular expressions: their trees and parser."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lengthwise.core.errors import LengthwiseError, shortened

FOREIGN = {
    ".": "would be any symbol elsewhere, here the symbols are named, as in [ab]",
    "^": "would be the start elsewhere, here an expression is about whole words",
    "$": "would be the end elsewhere, here an expression is about whole words",
}
"""Characters with a meaning in other notations but not here, and the error text of each."""
SPECIAL = frozenset("|*+?()[]{}\\ε∅")
ESCAPED = SPECIAL | FOREIGN.keys() | {"-", ","}
"""The characters that may follow a backslash."""
LONGEST = 20_000
"""The most characters of an expression."""
MAX_NESTING = 200  # far below Python's recursion limit


class RegexError(LengthwiseError):
    """A regular expression that cannot be read; ``position`` counts characters from 1."""

    def __init__(self, text: str, position: int, problem: str) -> None:
        self.text, self.position = text, position
        super().__init__(f"regular expression {shortened(text, 60)!r}, character {position}: {problem}")


@dataclass(frozen=True, slots=True)
class Empty:
    """No word at all."""


@dataclass(frozen=True, slots=True)
class Epsilon:
    """The empty word."""


@dataclass(frozen=True, slots=True)
class Literal:
    """One symbol out of ``symbols``."""

    symbols: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Union:
    """A word of one of the parts."""

    parts: tuple[Regex, ...]


@dataclass(frozen=True, slots=True)
class Concat:
    """Words of the parts one after another."""

    parts: tuple[Regex, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """``body*`` (at_least 0, unbounded), ``body+`` (at_least 1, unbounded) or ``body?`` (at_least 0, at most once)."""

    body: Regex
    at_least: int
    unbounded: bool


Regex = Empty | Epsilon | Literal | Union | Concat | Repeat


def parse(text: str) -> Regex:
    """The expression ``text``; raises `RegexError` at the first character that does not fit."""
    if len(text) > LONGEST:
        raise RegexError(text, LONGEST + 1, f"it is longer than {LONGEST} characters; write an automaton to a file")
    parser = _Parser(text)
    expression = parser.union(0)
    if (extra := parser.peek()) is not None:
        parser.fail(f"{extra!r} closes nothing; remove it or open it earlier")
    return expression


def literals(expression: Regex) -> tuple[str, ...]:
    """The symbols that occur in an expression, sorted."""
    return tuple(sorted({symbol for node in nodes(expression) if isinstance(node, Literal) for symbol in node.symbols}))


def nodes(expression: Regex) -> Iterator[Regex]:
    """All subexpressions, the expression itself first."""
    pending = [expression]
    while pending:
        node = pending.pop()
        yield node
        match node:
            case Union(parts) | Concat(parts):
                pending.extend(reversed(parts))
            case Repeat(body):
                pending.append(body)


def render(expression: Regex) -> str:
    """The expression as text; ``parse(render(x))`` has the same language."""
    match expression:
        case Empty():
            return "∅"
        case Epsilon():
            return "ε"
        case Literal(symbols):
            quoted = ["\\" + symbol if symbol in ESCAPED else symbol for symbol in symbols]
            return quoted[0] if len(quoted) == 1 else "[" + "".join(quoted) + "]"
        case Union(parts):
            return "(" + "|".join(render(part) for part in parts) + ")"
        case Concat(parts):
            return "(" + "".join(render(part) for part in parts) + ")"
        case Repeat(body, at_least, unbounded):
            inner = render(body)
            return f"({inner})" + ("?" if not unbounded else "+" if at_least else "*")


class _Parser:
    """Recursive descent over the characters that are not spaces."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.characters = [(number, char) for number, char in enumerate(text, start=1) if not char.isspace()]
        self.next = 0

    def peek(self) -> str | None:
        return self.characters[self.next][1] if self.next < len(self.characters) else None

    def following(self) -> str | None:
        return self.characters[self.next + 1][1] if self.next + 1 < len(self.characters) else None

    def take(self) -> str:
        self.next += 1
        return self.characters[self.next - 1][1]

    def fail(self, problem: str, *, at: int | None = None) -> None:
        position = len(self.text) + 1 if at is None and self.peek() is None else (at or self.characters[self.next][0])
        raise RegexError(self.text, position, problem)

    def union(self, depth: int) -> Regex:
        if depth > MAX_NESTING:
            self.fail(f"more than {MAX_NESTING} nested parentheses; write it flatter")
        parts = [self.concatenation(depth)]
        while self.peek() == "|":
            self.take()
            parts.append(self.concatenation(depth))
        return parts[0] if len(parts) == 1 else Union(tuple(parts))

    def concatenation(self, depth: int) -> Regex:
        parts: list[Regex] = []
        while (character := self.peek()) is not None and character not in "|)":
            parts.append(self.repetition(depth))
        if not parts:
            self.fail("expected an expression here; write ε for the empty word")
        return parts[0] if len(parts) == 1 else Concat(tuple(parts))

    def repetition(self, depth: int) -> Regex:
        expression = self.atom(depth)
        operators = ""
        while (character := self.peek()) is not None and character in "*+?":
            operators += self.take()
        if not operators:
            return expression
        # Several in a row are one: x+? is x*.
        return Repeat(expression, at_least=int(set(operators) == {"+"}), unbounded=set(operators) != {"?"})

    def atom(self, depth: int) -> Regex:
        opened, character = self.characters[self.next]
        match character:
            case "(":
                self.take()
                if self.peek() == ")":
                    self.take()
                    return Epsilon()
                inner = self.union(depth + 1)
                if self.peek() != ")":
                    self.fail(f"'(' of character {opened} is never closed; add ')'", at=opened)
                self.take()
                return inner
            case "[" | "{":
                return self.symbol_set(opened)
            case "ε":
                self.take()
                return Epsilon()
            case "∅":
                self.take()
                return Empty()
            case "*" | "+" | "?":
                self.fail(f"{character!r} has nothing before it to repeat; write \\{character} for the symbol itself")
            case "]" | "}":
                self.fail(f"{character!r} closes nothing; remove it or write \\{character} for the symbol itself")
        return Literal((self.symbol(),))

    def symbol(self) -> str:
        character = self.take()
        if character == "\\":
            if self.peek() is None:
                self.fail("'\\' at the end escapes nothing; remove it")
            if self.peek() not in ESCAPED:
                self.fail(f"\\{self.peek()} is no escape here; write the symbols that it stands for, as in [ab]")
            return self.take()
        if character in FOREIGN:
            self.next -= 1
            self.fail(f"{character!r} {FOREIGN[character]}; write \\{character} for the symbol itself")
        return character

    def symbol_set(self, opened: int) -> Regex:
        after = self.characters[self.next - 1][1] if self.next else None
        opening = self.take()
        closing, separator = {"[": ("]", None), "{": ("}", ",")}[opening]
        symbols: list[str] = []
        while (character := self.peek()) != closing:
            if character is None:
                self.fail(f"{opening!r} of character {opened} is never closed; add {closing!r}", at=opened)
            if separator and symbols:
                if character != separator:
                    self.fail(f"expected {separator!r} or {closing!r} in a set, got {character!r}")
                self.take()
                if self.peek() is None or self.peek() == closing:
                    self.fail(f"expected a symbol after {separator!r}")
            elif character in SPECIAL and character != "\\":
                self.fail(f"{character!r} has a meaning of its own; write \\{character} for the symbol itself")
            if character == "-" and symbols and self.following() not in (closing, None):
                self.fail(
                    "'-' between symbols would be a range elsewhere; list the symbols, or write \\- for the symbol"
                )
            symbols.append(self.symbol())
        if not symbols:
            self.fail("an empty set of symbols; write ∅ for the empty language", at=opened)
        if opening == "{" and len(symbols) == 1 and symbols[0].isdecimal() and after not in (None, "(", "|"):
            self.fail(
                f"{{{symbols[0]}}} would be a count elsewhere; repeat the part, or leave the braces out", at=opened
            )
        self.take()
        return Literal(tuple(dict.fromkeys(symbols)))
