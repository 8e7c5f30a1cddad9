"""`to_text` prints a `Program` as text from which `parse` rebuilds the same program, numbering and names included.

The parser numbers operations in the order of the text, operands first. So an unnamed operation is written inside the
one that reads it only where that reproduces its number; every other operation gets a line of its own, under its name
or a temporary one (``_7``) that the parser does not keep.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from lengthwise.core.vocab import BOS, EOS
from lengthwise.crasp.program import operations as op
from lengthwise.crasp.program.program import Program
from lengthwise.crasp.program.spelling import quote

_MOST_NESTED = 12
_WIDTH = 100

# Binding strength of the outermost operator of an expression.
_CHOICE, _OR, _AND, _NOT, _COMPARISON, _SUM, _PRIMARY = range(7)


def to_text(program: Program) -> str:
    """The text of a program; ``parse(to_text(program)) == program``."""
    return _Printer(program).text()


@dataclass(frozen=True)
class Statement:
    """One line of a program's text: its left side (a name, ``accept``, ``NEXT a``), the operation, its expression."""

    head: str
    index: int
    text: str


def statements(program: Program) -> list[Statement]:
    """The definitions and outputs of a program, as `to_text` writes them."""
    return _Printer(program).statements()


def expressions(program: Program) -> list[str]:
    """The expression of every operation, in terms of the operations that have a line of their own."""
    printer = _Printer(program)
    return [printer.body(index)[0] for index in range(len(program.operations))]


class _Printer:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.operations = program.operations
        self.names: dict[int, list[str]] = {}
        for name, index in program.names:
            self.names.setdefault(index, []).append(name)
        self.own_line = self._lines()
        self.outputs: dict[int, list[str]] = {}
        for symbol, index in program.next_token:
            bare = "EOS" if symbol == EOS else '"EOS"' if symbol == "EOS" else quote(symbol)
            self.outputs.setdefault(index, []).append(f"NEXT {bare}")
        if program.accept is not None:
            self.outputs[program.accept] = ["accept"]

    def _lines(self) -> set[int]:
        """The operations that get their own line."""
        uses = Counter(operand for operation in self.operations for operand in operation.operands)
        height: list[int] = []
        lines: set[int] = set()
        for index, operation in enumerate(self.operations):
            inner = max((height[operand] for operand in operation.operands), default=0)
            own = index in self.names or uses[index] == 0 or (uses[index] > 1 and not self._is_short(operation))
            own = own or inner >= _MOST_NESTED
            height.append(0 if own else inner + 1)
            if own:
                lines.add(index)
        done = -1
        for index in sorted(lines):
            if self._written(index, done, lines) != list(range(done + 1, index + 1)):
                lines.update(range(done + 1, index + 1))
            done = index
        return lines

    def _is_short(self, operation: op.Operation) -> bool:
        """Whether an operation is repeated rather than named when several others read it."""
        if isinstance(operation, op.Count) and operation.differences is None:
            return isinstance(self.operations[operation.operand], op.Symbol)
        return isinstance(operation, op.Symbol | op.Top | op.Constant | op.Periodic)

    def _written(self, index: int, done: int, lines: set[int]) -> list[int]:
        """The new operations that the parser numbers while it reads the line of ``index``, in its order."""
        order: list[int] = []

        def visit(node: int) -> None:
            for operand in self.operations[node].operands:
                if operand > done and operand not in order and operand not in lines:
                    visit(operand)
            order.append(node)

        visit(index)
        return order

    def text(self) -> str:
        program = self.program
        lines = ["alphabet: " + " ".join(quote(symbol) for symbol in program.alphabet)]
        lines.append(f"bos: {str(program.bos).lower()}")
        if program.eos:
            lines.append("eos: true")
        lines.append("")
        lines += [self._wrapped(statement) for statement in self.statements()]
        return "\n".join(lines) + "\n"

    def statements(self) -> list[Statement]:
        outputs = dict(self.outputs)
        uses = {operand for operation in self.operations for operand in operation.operands}
        found: list[Statement] = []
        for index in sorted(self.own_line):
            heads = list(self.names.get(index, ()))
            if not heads and index not in uses and len(outputs.get(index, ())) == 1:
                heads = outputs.pop(index)
            first, *aliases = heads or [f"_{index}"]
            found.append(Statement(first, index, self.body(index)[0]))
            found += [Statement(alias, index, first) for alias in aliases]
        for index, heads in sorted(outputs.items()):
            found += [Statement(head, index, self._operand(index, _CHOICE)) for head in heads]
        return found

    def _wrapped(self, statement: Statement) -> str:
        """A line, or several where it is long and a conjunction or disjunction."""
        line = f"{statement.head} := {statement.text}"
        operation = self.operations[statement.index]
        if (
            len(line) <= _WIDTH
            or not isinstance(operation, op.And | op.Or)
            or statement.text != self.body(statement.index)[0]
        ):
            return line
        word, level = ("and", _NOT) if isinstance(operation, op.And) else ("or", _AND)
        parts = [self._operand(operand, level) for operand in operation.operands]
        return f"{statement.head} := {parts[0]}" + "".join(f"\n    {word} {part}" for part in parts[1:])

    def _operand(self, index: int, level: int) -> str:
        """An operand by its name, or its expression, in parentheses if it binds less tightly than ``level``."""
        if index in self.names:
            return self.names[index][0]
        if index in self.own_line and not self._is_short(self.operations[index]):
            return f"_{index}"
        text, binding = self.body(index)
        return text if binding >= level else f"({text})"

    def body(self, index: int) -> tuple[str, int]:
        """The expression of an operation and its binding strength."""
        match self.operations[index]:
            case op.Symbol(symbol):
                return {BOS: "BOS", EOS: "EOS"}.get(symbol) or f"Q_{quote(symbol)}", _PRIMARY
            case op.Top():
                return "true", _PRIMARY
            case op.Periodic(residue, modulus):
                return f"i mod {modulus} = {residue}", _PRIMARY
            case op.Not(operand):
                if isinstance(self.operations[operand], op.Top) and operand not in self.names:
                    return "false", _PRIMARY
                return f"not {self._operand(operand, _PRIMARY)}", _NOT
            case op.And(operands):
                return " and ".join(self._operand(operand, _NOT) for operand in operands), _AND
            case op.Or(operands):
                return " or ".join(self._operand(operand, _AND) for operand in operands), _OR
            case op.Compare(left, "<=", right) if self._is_one(left) and self._is_inlined_count(right):
                return f"exists{self._counted(right)}", _PRIMARY
            case op.Compare(left, relation, right):
                return f"{self._operand(left, _SUM)} {relation} {self._operand(right, _SUM)}", _COMPARISON
            case op.Count():
                return self._count(index), _PRIMARY
            case op.Constant(value):
                return str(value), _PRIMARY if value >= 0 else _SUM
            case op.Linear(terms, constant):
                return self._linear(terms, constant), _SUM
            case op.Conditional(condition, then, otherwise):
                parts = (self._operand(condition, _OR), self._operand(then, _OR), self._operand(otherwise, _OR))
                return f"{parts[0]} ? {parts[1]} : {parts[2]}", _CHOICE
            case op.Min(left, right):
                return f"min({self._operand(left, _CHOICE)}, {self._operand(right, _CHOICE)})", _PRIMARY
            case op.Max(left, right):
                return f"max({self._operand(left, _CHOICE)}, {self._operand(right, _CHOICE)})", _PRIMARY
            case operation:
                raise TypeError(f"unknown operation {operation!r}")

    def _is_one(self, index: int) -> bool:
        return self.operations[index] == op.Constant(1) and index not in self.names

    def _is_inlined_count(self, index: int) -> bool:
        return isinstance(self.operations[index], op.Count) and index not in self.own_line

    def _count(self, index: int) -> str:
        operation = self.operations[index]
        assert isinstance(operation, op.Count)
        operand = self.operations[operation.operand]
        if operation.differences is None and isinstance(operand, op.Symbol) and operand.symbol not in (BOS, EOS):
            return f"#{quote(operand.symbol)}"
        return f"#{self._counted(index)}"

    def _counted(self, index: int) -> str:
        """The text after ``#`` or ``exists``: the window and the counted operand."""
        operation = self.operations[index]
        assert isinstance(operation, op.Count)
        if operation.differences is None:
            return f"[{self._operand(operation.operand, _CHOICE)}]"
        return f"[{_window(operation.differences)}] {self._operand(operation.operand, _PRIMARY)}"

    def _linear(self, terms: tuple[tuple[int, int], ...], constant: int) -> str:
        signed = [(factor < 0, self._term(abs(factor), index)) for factor, index in terms]
        if constant:
            slot = 0 if constant > 0 and signed[0][0] else len(signed)  # 3 - #a rather than -#a + 3
            signed.insert(slot, (constant < 0, str(abs(constant))))
        text = ("-" if signed[0][0] else "") + signed[0][1]
        return text + "".join(f" {'-' if negative else '+'} {part}" for negative, part in signed[1:])

    def _term(self, factor: int, index: int) -> str:
        count = self._operand(index, _PRIMARY)
        return count if factor == 1 else f"{factor} * {count}"


def _window(differences: tuple[int, ...]) -> str:
    if len(differences) == 1:
        return f"j = i-{differences[0]}" if differences[0] else "i-j = 0"
    if differences == tuple(range(len(differences))):
        return f"i-j <= {differences[-1]}"
    return f"i-j in {{{', '.join(map(str, differences))}}}"
