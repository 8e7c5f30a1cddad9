"""Reads and writes automata as JSON: an object with `KEYS`.

``alphabet``, ``states`` and ``accepting`` are lists; ``transitions`` maps each state to ``{symbol: state}``; missing
transitions go to a sink. An unknown key, state or symbol is an error.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lengthwise.core.errors import LengthwiseError, UnknownNameError, require
from lengthwise.core.files import read_text
from lengthwise.languages.automata.automaton import Dfa

MOST_STATES = 2_000
"""The most states of an automaton in a file, as many as of an expression."""
KEYS = ("alphabet", "states", "start", "accepting", "transitions")


def read_dfa(path: Path | str) -> Dfa:
    """The automaton in a JSON file; raises `LengthwiseError` for a file that cannot be read or is malformed."""
    text = read_text(Path(path), what="automaton file")
    try:
        value = json.loads(text, object_pairs_hook=_no_duplicates)
    except (ValueError, RecursionError) as error:  # a number of thousands of digits is no JSONDecodeError
        raise LengthwiseError(f"automaton file {str(path)!r} is not JSON: {error}") from None
    return dfa_from_json(value, where=f"automaton file {str(path)!r}")


def dfa_from_json(value: Any, *, where: str = "automaton") -> Dfa:
    """The automaton described by plain JSON values; states may be strings or integers.

    Raises `LengthwiseError` that starts with ``where``.
    """
    require(isinstance(value, dict), f"{where}: expected an object with the keys {', '.join(KEYS)}")
    for key in value:
        if key not in KEYS:
            raise UnknownNameError(f"key of the {where}", key, KEYS)
    for key in KEYS:
        require(key in value, f"{where}: the key {key!r} is missing")
    alphabet = _names(value["alphabet"], where, "alphabet")
    states = [str(state) for state in _names(value["states"], where, "states", numbers=True)]
    require(len(states) <= MOST_STATES, f"{where}: has {len(states)} states; at most {MOST_STATES} are read")
    number = {state: index for index, state in enumerate(states)}
    start = _known(value["start"], number, where, "start")
    accepting = {_known(state, number, where, "accepting") for state in _list(value["accepting"], where, "accepting")}
    require(
        isinstance(value["transitions"], dict), f"{where}: transitions must be an object {{state: {{symbol: state}}}}"
    )
    sink = len(states)
    delta = [[sink] * len(alphabet) for _ in range(sink + 1)]
    for state, row in value["transitions"].items():
        source = _known(state, number, where, "transitions")
        require(isinstance(row, dict), f"{where}: transitions of state {state!r} must be an object {{symbol: state}}")
        for symbol, target in row.items():
            if symbol not in alphabet:
                raise UnknownNameError(f"symbol in the transitions of state {state!r} of the {where}", symbol, alphabet)
            delta[source][alphabet.index(symbol)] = _known(target, number, where, f"transitions of state {state!r}")
    # The start state is number 0 here: swap it with the first state.
    order = [start, *[index for index in range(sink + 1) if index != start]]
    numbered = {old: new for new, old in enumerate(order)}
    rows = tuple(tuple(numbered[target] for target in delta[old]) for old in order)
    return Dfa(tuple(alphabet), rows, tuple(old in accepting for old in order))


def dfa_to_json(dfa: Dfa) -> dict[str, Any]:
    """Plain JSON values that `dfa_from_json` reads back as an automaton for the same language."""
    return {
        "alphabet": list(dfa.alphabet),
        "states": list(range(dfa.size)),
        "start": 0,
        "accepting": [state for state, flag in enumerate(dfa.accepting) if flag],
        "transitions": {str(q): dict(zip(dfa.alphabet, row, strict=True)) for q, row in enumerate(dfa.delta)},
    }


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        require(key not in found, f"automaton file: the key {key!r} occurs twice in one object; name it once")
        found[key] = value
    return found


def _list(value: Any, where: str, key: str) -> list[Any]:
    if not isinstance(value, list):
        raise LengthwiseError(f"{where}: {key} must be a list, got {value!r}")
    return value


def _names(value: Any, where: str, key: str, *, numbers: bool = False) -> list[Any]:
    names = _list(value, where, key)
    require(len(names) > 0, f"{where}: {key} is empty")
    for name in names:
        is_name = (isinstance(name, str) and name != "") or (
            numbers and isinstance(name, int) and not isinstance(name, bool)
        )
        require(
            not isinstance(name, str) or name.isprintable(),
            f"{where}: {key} has {name!r}, which can't be printed; choose another name",
        )
        require(
            is_name, f"{where}: {key} needs {'strings or integers' if numbers else 'non-empty strings'}, got {name!r}"
        )
    texts = [str(name) for name in names]
    require(len(set(texts)) == len(texts), f"{where}: {key} repeats a name; name each once")
    return names


def _known(state: Any, number: dict[str, int], where: str, key: str) -> int:
    usable = isinstance(state, str) or (isinstance(state, int) and not isinstance(state, bool))
    if not usable or str(state) not in number:
        raise UnknownNameError(f"state in {key} of the {where}", state, number)
    return number[str(state)]
