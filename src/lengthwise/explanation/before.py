"""What became better or worse since an earlier explanation, as of a model before it was trained on."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lengthwise.core.config import from_fields
from lengthwise.core.errors import require
from lengthwise.core.files import read_json
from lengthwise.explanation.common_cause import SURE, right_with
from lengthwise.explanation.failures import Failures
from lengthwise.explanation.features import surprise
from lengthwise.explanation.kinds import TOLD, WeakKind
from lengthwise.explanation.model import Subject
from lengthwise.explanation.verdict import Share, Verdict
from lengthwise.tasks.values import with_values

PAGE = "explain-{}"
"""The folder of the explanation of a model, where none is named."""
FILE = "explanation.json"


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

    def since(self, now: Failures, subject: Subject, seed: int) -> list[str]:
        """What became better or worse, in sentences.

        To which length random strings were and are right; the worst kind that failed; and what surely changed besides:
        of kinds that failed or fail, where most did or do, and of values that fail now, in the same strings.
        """
        held = [Verdict(each.rows, each.train).of("random").held for each in (self.failures, now)]
        right, far = ("no length" if n is None else f"length {n}" for n in held)
        found = [f"{self.model} was right on random strings to {right}, this one to {far}."]
        before, after = ({way.how: dict(way.rows) for way in each.asked} for each in (self.failures, now))
        for kind in _each_once([*self.failures.kinds[:TOLD], *now.kinds[:TOLD]]):
            old, new = before.get(kind.kind, {}), after.get(kind.kind, {})
            both = [row.length for row in kind.rows if row.weak and row.length in old and row.length in new]
            at = max(both, key=lambda n: (n == kind.length, n), default=0)
            if at and (len(found) == 1 or _differ(old[at], new[at])):
                found.append(f"Where {kind.kind}: {old[at].wrong} wrong at {at}, now {new[at].wrong}.")
        if (cause := now.common) is not None and self.subject is not None:
            kinds = [kind.kind for kind in now.kinds if kind.kind in subject.task.kinds]
            then, share = (right_with(cause, of, kinds, seed) for of in (self.subject, subject))
            strings = with_values(cause.what, [cause.worst.name], cause.worst.planted)
            if _differ(then, share):
                found.append(f"Where {strings}: {then.wrong} wrong at {cause.trained}, now {share.wrong}.")
        return found


def _differ(one: Share, other: Share) -> bool:
    """Whether surely more strings are right of one than of the other."""
    wrong = [(share.n - share.right, share.n) for share in (one, other)]
    return min(surprise(*first, *second) for first, second in itertools.permutations(wrong)) < SURE


def _each_once(kinds: Sequence[WeakKind]) -> list[WeakKind]:
    """The first of each name."""
    return [*{kind.kind: kind for kind in reversed(kinds)}.values()][::-1]
