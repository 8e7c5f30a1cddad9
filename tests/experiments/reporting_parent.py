"""Run by `test_workers.py`: a parent of two endless processes, one of which reports, to be killed or interrupted."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from lengthwise.experiments.events import Event, Progress
from lengthwise.experiments.execute import Processes, Unit


@dataclass(frozen=True)
class Endless(Unit):
    """Seed 0 reports a step every few milliseconds, seed 1 one step and then nothing for hours."""

    home: Path
    seed: int

    @property
    def name(self) -> str:
        return f"endless {self.seed}"

    @property
    def leases(self) -> Path:
        return self.home

    def owned(self, folder: Path) -> list[Path]:
        return []

    def compute(self, folder: Path, progress: Progress) -> None:
        step = 0
        while True:
            progress(Event("a", self.seed, "train", step := step + 1, 10**9))
            time.sleep(10_000 if self.seed else 0.002)


def main() -> int:
    def show(event: Event) -> None:
        print(event.seed, flush=True)

    try:
        with closing(Processes(2).run([Endless(Path(), seed) for seed in range(2)], show)) as ended:
            for _ in ended:
                pass
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    # The processes import the unit's class from here; they do not run the script again.
    import reporting_parent

    sys.exit(reporting_parent.main())
