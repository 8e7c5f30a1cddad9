"""Errors for a user's mistakes. Each is one line with the rule, the value and the way out."""

from __future__ import annotations

import difflib
import re
import sys
import traceback
import warnings
from collections.abc import Iterable
from typing import Any

DEBUG = "LENGTHWISE_DEBUG"
"""The environment variable that shows tracebacks."""


class LengthwiseError(Exception):
    """A mistake of the user. The command line prints it as one line and exits with code 2."""


class BusyError(LengthwiseError):
    """Another process is at work where this one wanted to be."""


class TrainingDivergedError(LengthwiseError):
    """A training run whose loss or weights became NaN or infinite. Other runs are not affected."""


class OutOfTimeError(Exception):
    """The time given for training is used up."""


class TooSmallError(LengthwiseError):
    """A budget that does not suffice; with ``instead`` for arguments the same call has enough, ``without`` these."""

    def __init__(self, what: str, instead: dict[str, Any], without: Iterable[str] = ()) -> None:
        left = "all" + f" but {', '.join(without)}" * bool(without)
        self.what, self.instead = f"{what}; enough to train {left}, though no fit is promised", instead
        super().__init__(f"{self.what}: {', '.join(f'{name}={value!r}' for name, value in instead.items())}")


class UnknownNameError(LengthwiseError):
    """A name that is not in a registry, a field that does not exist, a key that is not known."""

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        self.kind, self.name, self.known = kind, name, tuple(known)
        where = "`lengthwise list` has all" if kind in LISTED else ""
        super().__init__(f"unknown {kind} {name!r}. {suggestion(str(name), self.known, where)}")


def one_line_warnings() -> None:
    """Print warnings of this process as one line without the place in the source."""
    warnings.formatwarning = lambda message, *_, **__: f"warning: {harmless(str(message))}\n"


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside this package that called it."""
    frames = [frame for frame, _ in traceback.walk_stack(sys._getframe())]
    ours = [frame.f_globals.get("__name__", "").partition(".")[0] == __name__.partition(".")[0] for frame in frames]
    outermost = max(at for at, own in enumerate(ours) if own)
    warnings.warn(text, category, stacklevel=outermost + 2)


OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that a terminal obeys: control codes, and marks that turn the direction around."""


def harmless(text: str) -> str:
    """The text without characters that are `OBEYED`."""
    return OBEYED.sub("", text)


OTHER_NAMES = {
    "rotary": "rope", "roformer": "rope", "absolute": "learned", "gpt2": "learned", "ape": "learned", "none": "nope",
    "no-positions": "nope", "sine": "sinusoidal", "sinusoid": "sinusoidal", "relative": "t5", "bucketed": "t5",
    "position-coupling": "coupled", "coupling": "coupled", "ppc": "predictive-coupling",
    "absolute-shift": "random-start", "random-offset": "random-start", "sum": "addition", "plus": "addition",
    "sorting": "sort", "reversal": "reverse", "reversing": "reverse", "copying": "copy", "xor": "parity",
    "learning-rate": "lr", "depth": "layers", "dim": "width", "hidden-size": "width",
}  # fmt: skip
"""What the literature also calls a component."""


NEARLY = 0.15
"""How much less alike than the nearest name another may be that is suggested beside it."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``Did you mean 'a', 'b' or 'c'?`` for up to three near misses, or another name of the same; empty without any."""
    names = sorted(set(known))
    other = OTHER_NAMES.get(name.lower().replace("_", "-"))
    same = [each for each in names if _letters(each) == _letters(name)]
    low, lower = name.lower(), {each.lower(): each for each in names}
    near = [lower[each] for each in difflib.get_close_matches(low, lower, n=3, cutoff=0.6)]
    close = [other] if other in names else same or near
    if not close and "." not in name:  # A setting by its last part.
        ends = {each.rpartition(".")[2]: each for each in names if "." in each}
        close = [ends[end] for end in difflib.get_close_matches(name, ends, n=1, cutoff=0.6)]
    prefix = name[: name.rfind(".") + 1]  # that of a setting, such as training.steps
    tail = name.removeprefix(prefix)
    alike = [difflib.SequenceMatcher(None, each.removeprefix(prefix).lower(), tail.lower()).ratio() for each in close]
    *first, last = [repr(each) for each, ratio in zip(close, alike, strict=True) if ratio >= max(alike) - NEARLY] or [
        ""
    ]
    return f"Did you mean {', '.join(first)}{' or ' * bool(first)}{last}?" if last else ""


def _letters(name: str) -> str:
    """Letters and digits alone: Tomita-4 for tomita4."""
    return "".join(character for character in name.lower() if character.isalnum())


LISTED = ("task", "recipe or task", "scheme", "encoding", "mixer", "system", "position system")
"""Kinds of names that `lengthwise list` lists."""
MANY = 12
"""Names of which no more are said where a list has them."""


def suggestion(name: str, known: Iterable[str], where: str = "") -> str:
    """What `did_you_mean` says, else those of which the name is a word, else the list of what is known.

    Of more than `MANY` the nearest three are said, and ``where`` all are, if they are anywhere.
    """
    names = sorted(set(known))
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
    within = [one for one in names if name.strip() and word.search(one)]
    if where and not within and len(names) > MANY and not did_you_mean(name, names):
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.0)
        return f"Nearest: {listed(near)}; {where}."
    said = f"It is part of: {listed(within)}." if within else f"Known: {listed(names)}." if names else "None is known."
    return did_you_mean(name, names) or said


def listed(names: Iterable[str]) -> str:
    """Names with commas between them; with semicolons where a name has a comma."""
    found = list(names)
    return ("; " if any("," in name for name in found) else ", ").join(found)


def spelled(name: str, known: Iterable[str]) -> str:
    """The known name that ``name`` is but for capitals, as rope for RoPE; ``name`` itself where none or several are."""
    names = set(known)
    alike = [other for other in names if other.lower() == name.lower()]
    return alike[0] if len(alike) == 1 and name not in names else name


def shortened(text: str, limit: int = 200) -> str:
    """``text`` of at most ``limit`` characters; of a longer one, its beginning and ``…``."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def require(condition: bool, message: str) -> None:
    """Raise a `LengthwiseError` with ``message`` unless ``condition`` holds."""
    if not condition:
        raise LengthwiseError(message)


def reject(condition: bool, message: str) -> None:
    """Raise a `ValueError` with ``message`` where ``condition`` holds: for one component, whose caller says where."""
    if condition:
        raise ValueError(message)


class LawError(AssertionError):
    """A component breaks a law; the message says how."""
