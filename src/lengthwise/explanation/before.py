"""What became better or worse since an earlier explanation, as of a model before it was trained on."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lengthwise.core.batch import Batch
from lengthwise.core.config import config, from_fields
from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.files import read_json
from lengthwise.core.rng import stream
from lengthwise.explanation.common_cause import AGAIN, SURE, right_with
from lengthwise.explanation.failures import Failures
from lengthwise.explanation.faults import RANDOM
from lengthwise.explanation.features import surprise
from lengthwise.explanation.kinds import FRESH, TOLD, WeakKind
from lengthwise.explanation.mistakes import first_wrong
from lengthwise.explanation.model import Subject
from lengthwise.explanation.verdict import Share, Verdict
from lengthwise.tasks.kinds import drawn_of
from lengthwise.tasks.values import spoken, with_values

PAGE = "explain-{}"
"""The folder of the explanation of a model, where none is named."""
FILE = "explanation.json"
MOST_LENGTHS = 4
"""That are named, about."""
GAINED = 0.05
"""By so much at least the probability of a right token is larger, and twice as large, where it is told."""


@config
class Since:
    """What became of some strings since an earlier explanation."""

    strings: str
    """Which, as "random strings" or "the numbers are equal"."""
    then: str
    """How many were wrong, or to which length they were right."""
    now: str
    how: str
    """Better, worse, or neither."""
    fresh: bool = False
    """Whether the counts are of other strings than those of the explanation."""
    more: str = ""
    """What follows, in a sentence."""


@dataclass(frozen=True)
class Before:
    """An earlier explanation, of a model of the same task."""

    model: str
    task: str
    failures: Failures
    subject: Subject | None = None
    """The model itself, where it is there."""

    @staticmethod
    def read(path: Path) -> Before:
        """That of a folder, or the one that the command made of a model's folder.

        Raises `LengthwiseError` where there is none, and for one of another version.
        """
        tried = [path, Path(PAGE.format(path.resolve().name))]
        folder = next((each for each in tried if (each / FILE).exists()), None)
        require(
            folder is not None,
            f"no {FILE} in {tried[0]} or {tried[1]}; explain the earlier model first: lengthwise explain {path}",
        )
        assert folder is not None
        parts, where = read_json(folder / FILE, what="explanation"), str(folder / FILE)
        known = isinstance(parts, dict) and all(isinstance(parts.get(name), str) for name in ("model", "task"))
        require(
            known and isinstance(parts.get("failures"), dict),
            f"{where} is no explanation; name the folder that lengthwise explain made of the earlier model",
        )
        return Before(parts["model"], parts["task"], from_fields(Failures, parts["failures"], where=where))

    def check(self, task: str) -> None:
        """Raises `LengthwiseError` if it is of another task."""
        require(self.task == task, f"the explanation before is of {self.task}, this one of {task}; name one of {task}")

    def since(self, now: Failures, subject: Subject, seed: int) -> list[Since]:
        """What became better or worse.

        To which length random strings were and are right; the worst kind that failed, and the worst values; and which
        others surely changed that failed or fail. Where the earlier model is there, both are asked the same strings.
        """
        found = [self._random(now)]
        both, kept = (self.subject, subject) if self.subject is not None else (), list[Since]()

        def tell(strings: str, shares: Sequence[Share], length: int, always: bool, told: bool, more: str = "") -> None:
            changed = len(shares) == 2 and _differ(shares[0], shares[1])
            if changed or (always and shares):
                better = shares[1].value > shares[0].value
                how = ("better" if better else "worse") if changed else "unsure"
                counts = [f"{share.wrong} at {length}" for share in shares]
                how = "same" if counts[0] == counts[1] else how
                row = Since(strings, counts[0], counts[1], how, not told, more * (not changed))
                (found if changed else kept).append(row)

        for number, kind in enumerate(_each_once([*self.failures.kinds[:TOLD], *now.kinds[:TOLD]])):
            first = number == 0 and bool(self.failures.kinds)
            asked = self._asked(kind, now)
            done = (asked and not first) or not subject.clock.has(kind.length, 2 * FRESH)
            anew, likelier = ([], "") if done else self._anew(kind, both, seed)
            tell(kind.kind, asked or anew, kind.length, first, bool(asked), likelier * first)
        causes = {each.worst.name: each for each in (now.common, self.failures.common) if each is not None}
        for cause in causes.values():
            if not subject.clock.has(cause.trained, 2 * AGAIN):
                continue
            kinds = [kind.kind for kind in self.failures.kinds if kind.kind in subject.task.kinds]
            strings = with_values(cause.what, [cause.worst.name], cause.worst.planted)
            shares = [right_with(cause, of, kinds, seed) for of in both]
            told = [kind.kind for kind in now.kinds if kind.kind in subject.task.kinds][:TOLD]
            same = cause is now.common and kinds[:TOLD] == told
            tell(strings, shares, cause.trained, cause is self.failures.common, same)
        return [*found, *kept]

    def _random(self, now: Failures) -> Since:
        """To which length random strings were and are right, and at which lengths surely more or fewer are."""
        was, told = (Verdict(each.rows, each.train).short for each in (self.failures, now))
        better, worse = changed_lengths(self.failures, now)
        how = "mixed" if better and worse else "better" if better else "worse" if worse else "unsure"
        said = [f"{how} at {_named(some)}" for how, some in (("worse", worse), ("better", better)) if some]
        more = f"Random strings are surely {' and '.join(said)}." * bool(said)
        return Since(RANDOM, was, told, how, more=f"{more} For these, keep {self.model}." if how == "worse" else more)

    def _asked(self, kind: WeakKind, now: Failures) -> list[Share]:
        """Right strings of a kind before and now, if both were asked such."""
        ways = [way for each in (self.failures, now) for way in each.asked if way.how == kind.kind]
        shares = [way.at(kind.length) for way in ways]
        return shares if len(shares) == 2 and all(share.n for share in shares) else []

    @staticmethod
    def _anew(kind: WeakKind, both: Sequence[Subject], seed: int) -> tuple[list[Share], str]:
        """The same of fresh strings, where the earlier model is there; and whether right tokens became likelier."""
        with suppress(LengthwiseError):
            rng = stream(seed, "explain", "before", kind.kind, kind.length)
            some = drawn_of(both[0].task, kind.length, FRESH, kind.kind, rng) if both else None
            if some is not None:
                shares = [Share(int(of.right(some).all(axis=1).sum()), some.size) for of in both]
                return shares, _likelier(some, both)
        return [], ""


def _likelier(batch: Batch, both: Sequence[Subject]) -> str:
    """That right tokens, where both models first go wrong, are clearly likelier by now, in the middle; may be empty."""
    wrong = [first_wrong(of, batch, np.asarray(of.right(batch).all(axis=1))) for of in both]
    alike = sorted({(one.row, one.at) for one in wrong[0]} & {(one.row, one.at) for one in wrong[1]})
    if not alike:
        return ""
    rows, at = (np.array(each) for each in zip(*alike, strict=True))
    due, middle = batch.input_ids[rows, at], list[float]()
    for of in both:
        logits = of.logits(batch)[rows, at - 1]
        parts = np.exp(logits - logits.max(axis=1, keepdims=True))
        middle.append(float(np.median(parts[range(len(rows)), due] / parts.sum(axis=1))))
    if middle[1] < max(2 * middle[0], middle[0] + GAINED):
        return ""
    return (
        f"The right token had a probability of {middle[0]:.2f} in these, and now {middle[1]:.2f} (median), so more "
        "steps may do (not measured)."
    )


def _differ(one: Share, other: Share, tests: int = 1) -> bool:
    """Whether surely more strings are right of one than of the other, as one of so many tests."""
    wrong = [(share.n - share.right, share.n) for share in (one, other)]
    return tests * min(surprise(*first, *second) for first, second in itertools.permutations(wrong)) < SURE


def changed_lengths(before: Failures, now: Failures) -> tuple[list[int], list[int]]:
    """At which lengths surely more random strings are right now, and surely fewer."""
    some, other = (
        dict(each.by_length) | {row.length: row.random for row in each.rows if row.random.n} for each in (before, now)
    )
    both, found = sorted(some.keys() & other.keys()), (list[int](), list[int]())
    for n in both:
        if _differ(some[n], other[n], len(both)):
            found[some[n].value > other[n].value].append(n)
    return found


def _named(lengths: Sequence[int]) -> str:
    """Lengths in few words: all of a few, else the first ones, and how many more."""
    few = len(lengths) if len(lengths) <= MOST_LENGTHS + 1 else MOST_LENGTHS
    more = [f"{len(lengths) - few} longer ones"] if few < len(lengths) else []
    return spoken([*map(str, lengths[:few]), *more])


def _each_once(kinds: Sequence[WeakKind]) -> list[WeakKind]:
    """The first of each name, in this order."""
    found = dict[str, WeakKind]()
    for kind in kinds:
        found.setdefault(kind.kind, kind)
    return [*found.values()]
