"""The evidence table: one row for each system that was trained on a target and measured, from committed results.

`cells` are the runs of all recipes, the cells of the preregistered studies, and what other studies trained as these do
(architectures with attention, training length): what answers count. `others` has the rest: probes, trials of settings,
other mixers, traces, Hugging Face, …

``cells.json`` is written by ``python studies/forecast/evidence.py``, which names what it leaves out (losses of language
models, for which no string is right or wrong; learners of theory); a test compares it with the result files.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lengthwise.core.errors import LengthwiseError

if TYPE_CHECKING:
    import pandas

FILE = Path(str(files("lengthwise.measured"))) / "cells.json"
SHORTEST_TRAINED = 7
"""The least length that any task of `cells` was trained to: on shorter strings other rules are right, too."""
Format = Literal["next", "member", "state", "answer"]
"""What a model is asked: which symbols may come next, membership or the state after every prefix, or an answer."""


@dataclass(frozen=True)
class Test:
    """Accuracy at lengths ``low`` to ``high``: the fraction of strings right in all symbols, one a seed in order.

    ``axes`` are settings of the test beside the length, such as ``k``; ``words`` is how strings were drawn; an accuracy
    is None for a seed that was not measured there.
    """

    __test__ = False  # no test of pytest's

    low: int
    high: int
    accuracy: tuple[float | None, ...]
    axes: Mapping[str, int] = field(default_factory=dict)
    words: str = "uniform"

    def median(self, fitted: tuple[bool, ...]) -> float | None:
        """Median accuracy over the fitted seeds; None if none of them was measured."""
        found = [value for value, fit in zip(self.accuracy, fitted, strict=True) if fit and value is not None]
        return statistics.median(found) if found else None


@dataclass(frozen=True)
class MeasuredCell:
    """One system (position scheme and encoding, with its settings) trained on one target to one length."""

    study: str
    target: str
    """A published name, an expression, or a task's name."""
    task: Mapping[str, Any]
    """The configuration of the task."""
    format: Format
    system: str
    """The system's name in its study."""
    scheme: str
    random_start: bool
    encoding: str
    train: int
    """The longest length in training."""
    seeds: tuple[int, ...]
    fitted: tuple[bool, ...]
    enough: int
    """So many fitted seeds make a fitted cell: four of five under the frozen ladder, elsewhere more than half."""
    tests: tuple[Test, ...]
    settings: Mapping[str, Any]
    commit: str
    variant: str = ""
    """The settings that tell the system from others of its name in its study."""
    name: str = ""
    """What the target is called in its study, where that differs from a task's name."""
    predicted: str = ""
    """The verdict that was written down before training; empty where there was none."""
    rung: int | None = None
    """The rung of the frozen ladder at which the cell was measured; None outside these studies."""
    early: tuple[float, ...] = ()
    """Accuracy at training lengths after half of the first rung's steps, one a seed; empty where not recorded."""
    forecaster: str = ""
    """The forecaster that was fitted on it, ``language`` or ``task``; empty for none."""
    theory: Mapping[str, str] = field(default_factory=dict)
    """By position system, what theory says of its task (`Verdict.short`); empty but for tasks with answers."""

    @property
    def encoding_name(self) -> str:
        """The encoding's name on the command line, where a setting has one of its own."""
        sink = self.settings.get("encoding", {}).get("sink", False)
        return f"{self.encoding}-sink" if sink else self.encoding

    @property
    def fit(self) -> bool:
        """Whether enough seeds fitted."""
        return sum(self.fitted) >= self.enough

    def has_hard_words(self, low: int, high: int) -> bool:
        """Whether a test in a bin of lengths was of hard words."""
        return any(test.words == "adversarial" for test in self.tests if (test.low, test.high) == (low, high))

    def accuracy(self, low: int, high: int) -> float | None:
        """Median over the fitted seeds of the accuracy in a bin of lengths, of each seed on its hardest strings there.

        None where the bin was not measured, or too few seeds fitted.
        """
        tests = [test for test in self.tests if (test.low, test.high) == (low, high)]
        by_seed = zip(self.fitted, *(test.accuracy for test in tests), strict=True)
        measured = ([v for v in values if v is not None] for fit, *values in by_seed if fit)
        found = [min(values) for values in measured if values]
        return statistics.median(found) if found and self.fit else None


@lru_cache(maxsize=1)
def cells() -> tuple[MeasuredCell, ...]:
    """The plain trainings of position systems to their full length, ordered by study, target and system.

    What is counted and shown as measured comes from these; ``forecaster`` says on which of them a fit looked.
    """
    return _read("cells")


@lru_cache
def others(scheme: str = "") -> tuple[MeasuredCell, ...]:
    """All other cells, which no count of answers has; with ``scheme`` those that were trained with it."""
    return _read("others", scheme)


@lru_cache(maxsize=1)
def _content() -> Mapping[str, Any]:
    return json.loads(FILE.read_text(encoding="utf-8"))


def _read(part: str, scheme: str = "") -> tuple[MeasuredCell, ...]:
    content = _content()
    return tuple(_cell(row, content) for row in content[part] if scheme in ("", row["scheme"]))


def _cell(row: Mapping[str, Any], content: Mapping[str, Any]) -> MeasuredCell:
    tests = tuple(Test(low, high, tuple(accuracy), *rest) for low, high, accuracy, *rest in row["tests"])
    lists = {name: tuple(row[name]) for name in ("seeds", "fitted", "early") if name in row}
    once = {name: content[name][row[name]] for name in ("settings", "task")}
    theory = content["theory"][row["task"]]
    return MeasuredCell(**{**row, **lists, **once, "tests": tests, "theory": theory})


def evidence(by_test: bool = False) -> pandas.DataFrame:
    """All measured cells of all studies as a table, each once; needs pandas (the extra ``pandas``).

    Tables and figures of it are those of pandas; in a clone ``lengthwise.results`` reads runs of a study, such as
    ``"studies/golowich/results/variable-assignment"``, with ``wide`` and ``plot``.

    Arguments:
        by_test: One row for each cell and test instead of one for each cell.

    Returns:
        Columns ``study``, ``target``, ``system`` (its name in its study), ``format``, ``scheme``, ``random_start``,
        ``encoding``, ``rung``, ``commit`` (empty where its file has none), ``forecaster`` (the one that was fitted on
        the cell, ``language`` or ``task``; empty for none), ``task`` (the target's configuration), ``settings`` (of the
        training, as far as the study's files have them; a recurrence is the model's ``mixer``), ``tests``: the tests of
        a cell with one accuracy a seed, ``seeds``, ``fitted`` (their numbers), and ``train`` (longest training length).
        With ``by_test``, ``axes``, ``words`` and ``by_seed`` in place of ``tests``, and last ``low``, ``high``
        (lengths) and ``accuracy`` (median over the fitted seeds).

    Raises:
        LengthwiseError: If pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise LengthwiseError("evidence() needs pandas; install lengthwise[pandas]") from error
    same = ("study", "target", "system", "format", "scheme", "random_start", "encoding", "rung", "commit")
    rows: list[dict[str, Any]] = []
    for cell in (*cells(), *others()):
        own = {"forecaster": cell.forecaster, "task": dict(cell.task), "settings": dict(cell.settings)}
        shared = {name: getattr(cell, name) for name in same} | own
        # Printed, a table has its first and last columns.
        counts = {"seeds": len(cell.seeds), "fitted": sum(cell.fitted), "train": cell.train}
        if by_test:
            for t in cell.tests:
                drawn = {"axes": dict(t.axes), "words": t.words, "by_seed": t.accuracy}
                rows.append(shared | drawn | counts | {"low": t.low, "high": t.high, "accuracy": t.median(cell.fitted)})
        else:
            rows.append(shared | {"tests": cell.tests} | counts)
    return pandas.DataFrame(rows)
