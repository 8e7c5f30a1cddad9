"""Seconds of whole commands and examples, idle and with a foreign busy process on every core, which it starts itself.

Run: python benchmarks/busy_commands.py [--repeats 3] [--only WORK …]

Every number is of a process of its own, alternating over settings: the least of --repeats, as whatever else runs only
adds to it. Under load, torch's own default is measured once, for at most --limit seconds, and "> limit" is shown where
that does not suffice. Prints one JSON object and a table for docs/operations.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
CORES = os.cpu_count() or 1
BUSY = "while True: pass"
ALONE = ("OMP_NUM_THREADS", "GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "KMP_BLOCKTIME", "LENGTHWISE_THREADS")
DEFAULT, ONE, OWN = "default flags", "one thread", "torch's own default"
# A variable that only other OpenMP libraries read keeps our command line from choosing how threads wait.
SETTINGS = {
    DEFAULT: {}, ONE: {"OMP_NUM_THREADS": "1"}, OWN: {"OMP_NUM_THREADS": str(CORES), "KMP_BLOCKTIME": "200"},
}  # fmt: skip
LONGEST = 300.0
"""Seconds after which any process is ended."""
BUDGET = 45
"""Seconds that `verify` trains; a rung of its ladder takes minutes, so that its speed is steps in this time."""
PLAIN = "import runpy, torch; torch.set_num_threads = lambda count: None; runpy.run_path({!r}, run_name='__main__')"
"""An example without its own choice of threads."""


@dataclass(frozen=True)
class Work:
    """What is run, as arguments of Python that depend on the setting and the folder of the measurement.

    With ``until`` the time ends when this text is in the output; with ``steps`` the output says how many were done in
    `BUDGET` seconds, and the number is seconds for a hundred of them.
    """

    words: Callable[[str, Path], list[str]]
    until: str | None = None
    steps: str | None = None
    settings: tuple[str, ...] = (DEFAULT, ONE, OWN)


def command(*words: str, until: str | None = None, steps: str | None = None) -> Work:
    """A command of ours; ``{out}`` is a new folder and ``{model}`` that of a small language model."""

    def made(setting: str, folder: Path) -> list[str]:
        out = tempfile.mkdtemp(dir=folder)
        return ["-m", "lengthwise", *[word.format(out=out, model=folder / "model") for word in words]]

    return Work(made, until, steps)


def example(name: str) -> Work:
    """A script of ours as it is; under torch's own default without the threads that it sets."""

    def made(setting: str, folder: Path) -> list[str]:
        path = str(ROOT / "examples" / name)
        return ["-c", PLAIN.format(path)] if setting == OWN else [path]

    return Work(made, settings=(DEFAULT, OWN))


def works(scale: float) -> dict[str, Work]:
    """Everything that is measured, by name; ``scale`` makes the work larger or smaller."""
    steps, targets = max(2, round(80 * scale)), max(2, round(10 * scale))
    text = str(ROOT / "src" / "lengthwise" / "influence")
    return {
        "run": command(
            "run", "addition", "--only", "NoPE", "--seeds", "1", f"--set=training.steps={steps}",
            "--set=evaluation.lengths=[10]", "--set=evaluation.samples=20", "--out", "{out}",
        ),
        "verify": command(
            "verify", "(ab)*", "--budget", f"{max(1, round(BUDGET * scale))}s", "--out", "{out}",
            steps=r"used up at step ([\d,]+) of",
        ),
        "influence": command(
            "influence", "--model", "{model}", "--text", text, "--context", "64", "--recent", "32", "-k", "1,4",
            "--targets", str(targets), "--out", "{out}",
        ),
        "lm train": command(
            "lm", "train", "--text", text, "--tokenizer", "bytes", "--out", "{out}/lm", until=" of 900: held-out loss"
        ),
        "train_and_test.py": example("train_and_test.py"),
        "huggingface_addition.py": example("huggingface_addition.py"),
        "ask_for_a_verdict.py": example("ask_for_a_verdict.py"),
    }  # fmt: skip


def environment(setting: str) -> dict[str, str]:
    """The variables of a process of this setting."""
    kept = {name: value for name, value in os.environ.items() if name not in ALONE}
    return {**kept, "COLUMNS": "1000", "HF_HUB_OFFLINE": "1", **SETTINGS[setting]}


def seconds(work: Work, setting: str, folder: Path, limit: float) -> float:
    """How long the work takes in a process of its own; infinite beyond ``limit``. Raises what its failure says."""
    place = Path(tempfile.mkdtemp(dir=folder))
    words = [sys.executable, *work.words(setting, folder)]
    path = place / "said"
    # A group of its own, and the session of this process: the scheduler shares cores between sessions.
    with path.open("w") as said:
        started = time.perf_counter()
        process = subprocess.Popen(
            words, env=environment(setting), cwd=place, stdout=said, stderr=said, process_group=0
        )  # fmt: skip
        try:
            while process.poll() is None and (taken := time.perf_counter() - started) < limit:
                time.sleep(0.02)
                if work.until is not None and work.until in path.read_text():
                    return taken
            taken = time.perf_counter() - started
        finally:
            ended = process.poll()
            if ended is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    if ended is None:
        return math.inf
    if ended != 0:
        raise RuntimeError(f"{' '.join(words)} ended with {ended}: {path.read_text()[-1000:]}")
    if work.steps is None:
        return taken
    done = sum(int(found.replace(",", "")) for found in re.findall(work.steps, path.read_text()))
    return 100 * BUDGET / done if done else math.inf


def measure(chosen: dict[str, Work], folder: Path, repeats: int, limit: float, *, busy: bool) -> dict[str, dict]:
    """The least seconds, by work and setting. Under load torch's own default runs once, within ``limit``."""
    load = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(CORES if busy else 0)]
    found: dict[str, dict[str, list[float]]] = {name: {s: [] for s in work.settings} for name, work in chosen.items()}
    try:
        for turn in range(repeats):
            for name, work in chosen.items():
                for setting in work.settings:
                    if not busy or setting == DEFAULT:
                        found[name][setting].append(seconds(work, setting, folder, LONGEST))
                    elif setting == OWN and turn == 0:
                        found[name][setting].append(seconds(work, setting, folder, limit))
    finally:
        for process in load:
            process.kill()
            process.wait()
    return {name: {s: round(min(values), 2) for s, values in row.items() if values} for name, row in found.items()}


def table(idle: dict[str, dict], busy: dict[str, dict], limit: float) -> str:
    """The table in markdown; the percentages are of default flags."""

    def shown(value: float | None) -> str:
        return "" if value is None else f"> {limit:.0f}" if math.isinf(value) else f"{value:.1f}"

    columns = [(DEFAULT, idle, "idle"), (DEFAULT, busy, "busy"), (ONE, idle, "idle"), (OWN, idle, "idle"),
               (OWN, busy, "busy")]  # fmt: skip
    names = [f"{setting}, {state}" for setting, _, state in columns]
    lines = [
        f"| seconds | {' | '.join(names)} | kept when busy | lost when idle |",
        f"| --- |{' ---: |' * (len(names) + 2)}",
    ]
    for name, row in idle.items():
        cells = [shown(part[name].get(setting)) for setting, part, _ in columns]
        kept = row[DEFAULT] / busy[name][DEFAULT]
        lost = 1 - min(value for setting, value in row.items() if setting != DEFAULT) / row[DEFAULT]
        lines.append(f"| `{name}` | {' | '.join(cells)} | {kept:.0%} | {max(0.0, lost):.0%} |")
    return "\n".join(lines)


def finite(rows: dict[str, dict]) -> dict[str, dict]:
    """The same for JSON, with None for what was ended at the limit."""
    return {name: {s: None if math.isinf(v) else v for s, v in row.items()} for name, row in rows.items()}


def main() -> None:
    """Measure everything idle, then under load, and print both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=list(works(1)), help="Some of the commands and examples.")
    parser.add_argument("--limit", type=float, default=20.0, help="Seconds for torch's own default under load.")
    parser.add_argument("--scale", type=float, default=1.0, help="Less or more work, for a trial of this script.")
    given = parser.parse_args()
    chosen = {name: work for name, work in works(given.scale).items() if not given.only or name in given.only}
    before, started = os.getloadavg()[0], time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "influence" in chosen:
            small_language_model(folder / "model")
        idle = measure(chosen, folder, given.repeats, given.limit, busy=False)
        busy = measure(chosen, folder, given.repeats, given.limit, busy=True)
    about = {
        "cores": CORES, "repeats": given.repeats, "limit": given.limit, "load_before": before,
        "load_after": os.getloadavg()[0], "took": round(time.perf_counter() - started),
    }  # fmt: skip
    print(json.dumps({"idle": finite(idle), "busy": finite(busy), **about}, indent=1))
    print(table(idle, busy, given.limit))


def small_language_model(folder: Path) -> None:
    """Train a language model of the quick preset's size for a few steps: its speed counts, not what it says."""
    program = (
        "import sys; from pathlib import Path\n"
        "from lengthwise.influence.lm import lm_config\n"
        "from lengthwise.influence.lm import train_lm\n"
        "from lengthwise.influence.corpus import load_corpus\n"
        "train_lm(lm_config('quick', steps=5), load_corpus(Path(sys.argv[1]), None), Path(sys.argv[2]))\n"
    )
    words = [sys.executable, "-c", program, str(ROOT / "src" / "lengthwise" / "influence"), str(folder)]
    subprocess.run(words, env=environment(ONE), check=True, capture_output=True)


if __name__ == "__main__":
    main()
