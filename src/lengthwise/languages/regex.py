"""Regular expressions: their trees and parser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lengthwise.core.errors import LengthwiseError, shortened

FOREIGN = {
    ".": "would be any symbol elsewhere, here the symbols are named, as in [ab]",
    "^": "would be the start or a power elsewhere, here an expression is about whole words, and a{3} repeats",
    "$": "would be the end elsewhere, here an expression is about whole words",
    "∪": "would be a union elsewhere, here it is |",
    "∩": "would be an intersection elsewhere, here there is none",
    "¬": "would be a complement elsewhere, here there is none",
    "∖": "would be a difference elsewhere, here there is none",
    "·": "would join two parts elsewhere, here they are written side by side",
    "⋅": "would join two parts elsewhere, here they are written side by side",
    "∘": "would join two parts elsewhere, here they are written side by side",
    "∗": "would be a star elsewhere, here it is *",
    "λ": "would be the empty word elsewhere, here it is ε",
    "Λ": "would be the empty word elsewhere, here it is ε",
    "ϵ": "would be the empty word elsewhere, here it is ε (U+03B5)",
    "Σ": "would be any symbol elsewhere, here the symbols are named, as in [ab]",
    **dict.fromkeys("⁰¹²³⁴⁵⁶⁷⁸⁹ⁿ⁺", "would be a power elsewhere, here it is a count, as in a{3}"),
}
"""Characters with a meaning in other notations but not here, and the error text of each."""
GROUPS = {
    "=": "lookahead", "!": "negative lookahead", "<=": "lookbehind", "<!": "negative lookbehind", "P<": "a named group",
    "<": "a named group", "P=": "a back reference", "#": "a comment", ">": "an atomic group", "(": "a condition",
    "|": "a branch reset", "R": "a recursion", "&": "a recursion",
}  # fmt: skip
"""What ``(?`` and these characters begin elsewhere; others are flags."""
ESCAPES = {
    **dict.fromkeys("123456789kg", "a back reference"), **dict.fromkeys("bBAZzGyY<>", "a place without a symbol"),
    **dict.fromkeys("dDwWsSlLhHvVpPRXNC", "a class of symbols"), **dict.fromkeys("xuUoc0", "a symbol by its number"),
    **dict.fromkeys("ntrfae", "a control character"), **dict.fromkeys("QEK", "an instruction"),
}  # fmt: skip
"""What a backslash and these characters mean elsewhere."""
SPECIAL = frozenset("|*+?()[]{}\\ε∅")
MERE = frozenset("|*+?(){}")
"""What is a symbol like any other within square brackets."""
ESCAPED = SPECIAL | FOREIGN.keys() | {"-", ","}
"""The characters that may follow a backslash."""
LONGEST = 20_000
"""The most characters of an expression."""
COUNTED = 2_000
"""The most symbols of an expression once its counts are written out."""
MAX_NESTING = 200  # far below Python's recursion limit


class RegexError(LengthwiseError):
    """A regular expression that cannot be read; ``position`` counts characters from 1."""

    def __init__(self, text: str, position: int, problem: str) -> None:
        self.text, self.position = text, position
        # As it was typed, but in one line.
        shown = "".join(symbol if symbol.isprintable() else repr(symbol)[1:-1] for symbol in shortened(text, 60))
        super().__init__(f"regular expression '{shown}', character {position}: {problem}")


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
    stripped = text.strip()
    if len(stripped) > 2 and stripped[0] == stripped[-1] and stripped[0] in "/'\"":
        mark = stripped[0]
        instead = f"leave both out, or write [{mark}] for the symbol"
        raise RegexError(text, 1, f"{mark} around an expression belongs to another notation; {instead}")
    check_brackets(text)
    return _Parser(text).union(0)


CLOSING = {"(": ")", "[": "]", "{": "}"}


def check_brackets(text: str) -> None:
    """Raise `RegexError` at the first bracket that closes nothing, or at one that is never closed.

    It comes before all else: what follows a forgotten bracket looks wrong, too, but is not what to mend.
    """
    opened: list[tuple[int, str]] = []
    before = ""
    for position, character in enumerate(text, start=1):
        inside = opened[-1][1] if opened and opened[-1][1] in "[{" else ""
        if character.isspace():
            continue
        if before == "\\":
            character = ""
        elif inside and character == CLOSING[inside]:
            opened.pop()
        elif character == inside == before:
            return  # `[[` begins something of another notation, and the parser says what.
        elif inside and character == inside:
            break
        elif not inside and character in CLOSING:
            opened.append((position, character))
        elif not inside and character in CLOSING.values():
            if not opened or CLOSING[opened[-1][1]] != character:
                within = f" within the {opened[-1][1]!r} of character {opened[-1][0]}" if opened else ""
                raise RegexError(
                    text, position, f"{character!r} closes nothing{within}; remove it, open it earlier, or write "
                    f"\\{character} for the symbol itself"
                )  # fmt: skip
            opened.pop()
        before = character
    if opened:
        position, character = opened[-1] if opened[-1][1] in "[{" else opened[0]
        raise RegexError(text, position, f"{character!r} is never closed; add {CLOSING[character]!r}, or write "
                         f"\\{character} for the symbol itself")  # fmt: skip


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
        self.digits: bool | None = None
        self.written = 0

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
            left = self.characters[self.next - 1] if self.next else (0, "")
            bar, side = (left[0], "after") if left[1] == "|" else (None, "before")
            self.fail(
                f"'|' has nothing {side} it; write ε for the empty word, or \\| for the symbol itself"
                if bar or self.peek() == "|"
                else "expected an expression here; write ε for the empty word",
                at=bar,
            )
        return parts[0] if len(parts) == 1 else Concat(tuple(parts))

    def repetition(self, depth: int) -> Regex:
        expression = self.atom(depth)
        operators = ""
        while (character := self.peek()) is not None:
            if character == "{" and (bounds := self.count()) is not None:
                if operators:
                    self.fail("a count behind another repetition; write (…) around what it repeats, or [01] for a set")
                return self.counted(expression, *bounds)
            if character not in "*+?":
                break
            if operators and character in "+?":
                kind = "lazy" if character == "?" else "possessive"
                self.fail(
                    f"{operators[-1] + character!r} would be a {kind} repetition elsewhere; here an expression is "
                    f"about whole words: leave {character!r} out, or write (…{operators[-1]}){character} for both"
                )
            operators += self.take()
        if not operators:
            return expression
        # Several in a row are one: x?* is x*.
        return Repeat(expression, at_least=int(set(operators) == {"+"}), unbounded=set(operators) != {"?"})

    def count(self) -> tuple[int, int | None] | None:
        """The bounds of a count such as ``{2,3}`` that comes next; None for a set of symbols such as ``{0,1,2}``."""
        inside = ""
        for _, character in self.characters[self.next + 1 :]:
            if character == "}" or len(inside) > 20:
                break
            inside += character
        found = re.fullmatch(r"([0-9]*)(,?)([0-9]*)", inside)
        if found is None or not (found[1] or found[3]):
            return None
        if self.has_digits():
            self.fail(
                f"{{{inside}}} is a count elsewhere and a set of symbols in textbooks, and digits are symbols here; "
                f"write [{''.join(sorted(set(inside) - {','}))}] for the set, or the part as often as it comes"
            )
        low = int(found[1] or 0)
        high = int(found[3]) if found[3] else None if found[2] else low
        if high is not None and high < low:
            self.fail(f"{{{inside}}} counts from {low} to {high}; write the smaller number first")
        if max(low, high or 0) > COUNTED:
            self.fail(f"{{{inside}}} is more than {COUNTED} times; write an automaton to a file")
        for _ in range(len(inside) + 2):
            self.take()
        if (self.peek() or " ") in "*+?{":
            self.fail(
                f"{self.peek()!r} behind the count {{{inside}}}; write (…{{{inside}}}){self.peek()}, or [01] for a set"
            )
        return low, high

    def has_digits(self) -> bool:
        """Whether a digit stands for itself somewhere, outside of braces that may be counts."""
        if self.digits is None:
            plain = re.sub(r"(?<!\\)\{[0-9]*,?[0-9]*\}", "", "".join(character for _, character in self.characters))
            self.digits = any(character in "0123456789" for character in plain)
        return self.digits

    def counted(self, body: Regex, low: int, high: int | None) -> Regex:
        """The body so many times, written out."""
        times = max(low + 1 if high is None else high, 1)
        self.written += times * sum(1 for node in nodes(body) if isinstance(node, Literal))
        if self.written > COUNTED:
            self.fail(f"the counts written out are more than {COUNTED} symbols; write an automaton to a file")
        rest = (Repeat(body, 0, True),) if high is None else (Repeat(body, 0, False),) * (high - low)
        parts = (body,) * low + rest
        return Epsilon() if not parts else parts[0] if len(parts) == 1 else Concat(parts)

    def atom(self, depth: int) -> Regex:
        opened, character = self.characters[self.next]
        match character:
            case "(":
                self.take()
                if self.peek() == ")":
                    self.take()
                    return Epsilon()
                if self.peek() == "?":
                    self.group_kind()
                if self.peek() == "*":
                    self.fail("'(*' would be an instruction elsewhere; write \\* for the symbol itself")
                inner = self.union(depth + 1)
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
        return Literal((self.symbol(),))

    def group_kind(self) -> None:
        """Pass over ``?:``; whatever else may follow ``(`` and begin with ``?`` is refused by its name."""
        after = "".join(character for _, character in self.characters[self.next + 1 : self.next + 3])
        if after.startswith(":"):
            self.take()
            self.take()
            return
        begins = next((key for key in sorted(GROUPS, key=len, reverse=True) if after.startswith(key)), None)
        name = GROUPS[begins] if begins is not None else "a flag"
        self.fail(
            f"'(?{after[: len(begins or after)]}' would be {name} elsewhere; here there is none, only ( ) and (?: )"
        )

    def symbol(self) -> str:
        character = self.take()
        if character == "\\":
            if self.peek() is None:
                self.fail("'\\' at the end escapes nothing; remove it")
            if self.peek() not in ESCAPED:
                name = ESCAPES.get(self.peek() or "")
                meant = f" (elsewhere {name})" if name else ""
                self.fail(f"\\{self.peek()} is no escape here{meant}; write the symbols that it stands for, as in [ab]")
            return self.take()
        if character in FOREIGN:
            self.next -= 1
            self.fail(f"{character!r} {FOREIGN[character]}; write \\{character} for the symbol itself")
        return character

    def symbol_set(self, opened: int) -> Regex:
        opening = self.take()
        closing, separator = {"[": ("]", None), "{": ("}", ",")}[opening]
        symbols: list[str] = []
        if opening == "[" and self.peek() == "^":
            self.fail(
                "'[^' would be every symbol but these elsewhere; list the symbols, or write \\^ for the symbol itself"
            )
        if opening == "[" and self.peek() == "[":
            self.fail("'[[' would be a named class elsewhere; list the symbols, or write \\[ for the symbol itself")
        while (character := self.peek()) != closing:
            if separator and symbols:
                if character != separator:
                    self.fail(f"expected {separator!r} or {closing!r} in a set, got {character!r}")
                self.take()
                if self.peek() == closing:
                    self.fail(f"expected a symbol after {separator!r}")
            elif character in SPECIAL - {"\\"} - (MERE if opening == "[" else set()):
                self.fail(f"{character!r} has a meaning of its own; write \\{character} for the symbol itself")
            if separator and self.peek() == separator:
                self.fail(f"{separator!r} has no symbol before it; write \\{separator} for the symbol itself")
            if character in ("&", "~") and self.following() == character:
                self.fail(f"{character * 2!r} in a set would be an operation on sets elsewhere; list the symbols")
            if character == "-" and symbols and self.following() not in (closing, None):
                self.fail(
                    "'-' between symbols would be a range elsewhere; list the symbols, or write \\- for the symbol"
                )
            symbols.append(self.symbol())
        if not symbols:
            self.fail("an empty set of symbols; write ∅ for the empty language", at=opened)
        self.take()
        return Literal(tuple(dict.fromkeys(symbols)))
