"""What became better or worse since an earlier explanation, as of a model before it was trained on."""

from __future__ import annotations

from pathlib import Path

from lengthwise.core.config import config, from_fields
from lengthwise.core.errors import require
from lengthwise.core.files import read_json
from lengthwise.explanation.failures import Failures
from lengthwise.explanation.kinds import TOLD
from lengthwise.explanation.verdict import Verdict

PAGE = "explain-{}"
"""The folder of the explanation of a model, where none is named."""
FILE = "explanation.json"


@config
class Before:
    """An earlier explanation, of a model of the same task."""

    model: str
    task: str
    failures: Failures

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
        require(
            isinstance(parts, dict) and {"model", "task", "failures"} <= {*parts},
            f"{where} is no explanation; name the folder that lengthwise explain made of the earlier model",
        )
        return from_fields(Before, {name: parts[name] for name in ("model", "task", "failures")}, where=where)

    def check(self, task: str) -> None:
        """Raises `LengthwiseError` if it is of another task."""
        require(self.task == task, f"the explanation before is of {self.task}, this one of {task}; name one of {task}")

    def since(self, now: Failures) -> list[str]:
        """To which length random strings were and are right, and what became of the kinds that failed, in sentences."""
        held = [Verdict(each.rows, each.train).of("random").held for each in (self.failures, now)]
        then, far = ("no length" if n is None else f"length {n}" for n in held)
        found = [f"{self.model} was right on random strings to {then}, this one to {far}."]
        asked = {way.how: way for way in now.asked}
        for kind in self.failures.kinds[:TOLD]:
            both = [n for n, share in asked[kind.kind].rows if share.n] if kind.kind in asked else []
            both = [row for row in kind.rows if row.length in both and row.weak]
            if row := max(both, key=lambda row: (row.length == kind.length, row.length), default=None):
                share = asked[kind.kind].at(row.length)
                found.append(f"Where {kind.kind}: {row.share.wrong} wrong at {row.length}, now {share.wrong}.")
        return found
