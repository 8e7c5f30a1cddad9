"""Training steps per second with and without a foreign busy process on every core; it starts that load itself.

Run: python benchmarks/busy.py [--steps 40] [--repeats 3]

Each number is the median of processes of their own, in turns over all settings. Say with the numbers under what load
the machine was: the last line has it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

CASES = {"1-1-256": (1, 1), "4-4-256": (4, 4)}
ALONE = ("OMP_NUM_THREADS", "GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
SETTINGS: dict[str, dict[str, str]] = {
    "default flags": {},
    "one thread": {"OMP_NUM_THREADS": "1"},
    "two threads, torch's own waiting": {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": ""},
    **{
        f"two threads, {n} spins": {"OMP_NUM_THREADS": "2", "GOMP_SPINCOUNT": str(n)} for n in (100, 1000, 3000, 10_000)
    },
}
BUSY = "while True: pass"


def child(case: str, steps: int) -> None:
    """Print steps per second of one training, in a process that our command line would own."""
    from lengthwise.training.threads import own_process

    own_process()
    from lengthwise.models.config import ModelConfig
    from lengthwise.positions.encodings import ENCODINGS
    from lengthwise.positions.schemes import SCHEMES
    from lengthwise.tasks import TASKS
    from lengthwise.training.config import TrainingConfig
    from lengthwise.training.data import TaskSetup
    from lengthwise.training.trainer import Trainer

    layers, heads = CASES[case]
    setup = TaskSetup(
        TASKS.build("majority"),
        SCHEMES.build("sequential"),
        ENCODINGS.build("nope"),
        ModelConfig(layers=layers, heads=heads, width=256),
    )
    config = TrainingConfig(max_length=50, steps=steps, warmup=1, probe_every=10**6)
    times = []
    Trainer(setup, config, [0], on_step=lambda *_: times.append(time.perf_counter())).run()
    print((len(times) - 3) / (times[-1] - times[2]))


def measured(case: str, setting: dict[str, str], steps: int) -> float:
    """Steps per second of one process."""
    environment = {**{name: value for name, value in os.environ.items() if name not in ALONE}, **setting}
    words = [sys.executable, __file__, "--child", case, "--steps", str(steps)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    """Measure all settings, without and with the load of our own, and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--child", choices=list(CASES))
    given = parser.parse_args()
    if given.child:
        child(given.child, given.steps)
        return
    load_before = os.getloadavg()[0]
    found: dict[str, dict[str, dict[str, float]]] = {}
    for busy in (0, os.cpu_count() or 1):
        load = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(busy)]
        try:
            for case in given.cases:
                steps = given.steps if case == "1-1-256" else max(5, given.steps // 8)
                rates: dict[str, list[float]] = {name: [] for name in SETTINGS}
                for _ in range(given.repeats):
                    for name, setting in SETTINGS.items():
                        rates[name].append(measured(case, setting, steps))
                for name, values in rates.items():
                    row = found.setdefault(case, {}).setdefault(name, {})
                    row[f"{busy} foreign processes"] = round(statistics.median(values), 2)
        finally:
            for process in load:
                process.kill()
                process.wait()
    about = {"cores": os.cpu_count(), "load_before": load_before, "load_after": os.getloadavg()[0]}
    print(json.dumps({"steps_per_second": found, **about}, indent=1))


if __name__ == "__main__":
    main()
