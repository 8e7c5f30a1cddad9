"""Sweeps on a real Ray cluster of three nodes; nodes and drivers die, and the results have the bits of local runs.

Each test starts its own cluster, a head without cores and two workers, and takes a minute or more.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lengthwise.core.errors import LengthwiseError
from lengthwise.experiments.cluster import ClusterOptions, Ray
from lengthwise.experiments.compare import Budget, Plan, default_tests, ranked, run_comparison
from lengthwise.experiments.defaults import chosen_systems
from lengthwise.experiments.engine import SweepUnit, sweep
from lengthwise.experiments.lease import _newest
from lengthwise.experiments.recipe import Job, Recipe
from lengthwise.experiments.run_config import RunConfig
from lengthwise.experiments.run_directory import LEASES, finished, run_directory
from lengthwise.tasks import TASKS

pytestmark = pytest.mark.slow

PATIENCE = 4.0


def experiment(steps: int) -> RunConfig:
    return RunConfig.from_json(
        {
            "task": {"name": "copy", "symbols": "repeats", "letters": 3},
            "scheme": {"name": "coupled", "max_position": 24},
            "encoding": {"name": "learned"},
            "model": {"layers": 1, "heads": 2, "width": 16, "mlp_ratio": 1},
            "training": {
                "max_length": 3, "steps": steps, "batch_size": 8, "groups": 2, "probe_every": 20, "stacked": True,
            },
            "evaluation": {"lengths": [2], "samples": 8, "fit_samples": 8, "probe_samples": 6, "unfitted_too": True},
        }
    )  # fmt: skip


LONG = Recipe("r", "", tuple(Job(name, experiment(1600), (0, 1)).edited([f"training.lr={lr}"], None)
                             for name, lr in (("a", 0.002), ("b", 0.001))))  # fmt: skip

DRIVER = """
import json, sys
from pathlib import Path
from lengthwise.cli.console import err
from lengthwise.api.progress import SweepProgress
from lengthwise.experiments.cluster import ClusterOptions, Ray
from lengthwise.experiments.recipe import Job, Recipe
from lengthwise.experiments.engine import sweep
jobs = tuple(Job.from_json(values) for values in json.loads(sys.argv[2]))
options = ClusterOptions(sys.argv[1], patience=float(sys.argv[4]))
recipe = Recipe("r", "", jobs)
with SweepProgress(err(), recipe) as shown:
    sweep(recipe, Path(sys.argv[3]), on=Ray(options), progress=shown)
"""


@pytest.fixture
def cluster() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        made.add_node(num_cpus=1)
        made.add_node(num_cpus=1)
        made.wait_for_nodes()
        yield made
    finally:
        made.shutdown()


def driver(cluster: Any, recipe: Recipe, out: Path) -> subprocess.Popen[str]:
    jobs = json.dumps([job.to_json() for job in recipe.jobs])
    words = [sys.executable, "-c", DRIVER, cluster.address, jobs, str(out), str(PATIENCE)]
    # Tests that a shell runs in the background inherit that Ctrl-C is ignored.
    heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    return subprocess.Popen(words, stderr=subprocess.PIPE, text=True, preexec_fn=heed)


def bits(recipe: Recipe, out: Path) -> list[dict[str, Any]]:
    """The results without what a clock or a machine says."""
    found = []
    for job in recipe.jobs:
        for seed in job.seeds:
            result = finished(run_directory(out, "r", job.experiment, seed), job.experiment, seed)
            assert result is not None
            values = result.to_json().items()
            found.append({key: value for key, value in values if key not in ("seconds", "time", "machine")})
    return found


def local(recipe: Recipe, out: Path) -> list[dict[str, Any]]:
    sweep(recipe, out)
    return bits(recipe, out)


def pieces(recipe: Recipe, out: Path) -> list[SweepUnit]:
    return [SweepUnit("r", out.resolve(), job) for job in recipe.jobs]


def wait_for_checkpoints(recipe: Recipe, out: Path, seconds: float = 240) -> None:
    """Until every piece has a checkpoint."""
    ends = time.monotonic() + seconds
    for piece in pieces(recipe, out):
        while not ((newest := _newest(piece.leases)) and list(newest.rglob("stack-*/checkpoint.safetensors"))):
            assert time.monotonic() < ends, "no checkpoint in time"
            time.sleep(0.1)


def trained_steps(out: Path) -> list[int]:
    """The probes of every finished run: a step that was probed twice would be there twice."""
    logs = sorted((out / "r").glob("*/log.jsonl"))
    return [json.loads(line)["step"] for log in logs for line in log.read_text().splitlines()]


def ended(process: subprocess.Popen[str], seconds: float = 400) -> str:
    """What the process said on standard error."""
    _, error = process.communicate(timeout=seconds)
    assert process.returncode == 0, error
    return error


def assert_shows(said: str, recipe: Recipe) -> None:
    """One display for the whole sweep: a line for each seed, one of all the time, lines of progress, and no others."""
    line = r"(\w+), (?:seed (\d): (?:not )?fitted, in distribution .*|(?:seed \d|\d seeds), \w+ \d+ of \d+.*)"
    lines = [text for text in said.splitlines() if not re.fullmatch(r"\d+ runs of \d+ systems: about .*", text)]
    assert len(said.splitlines()) - len(lines) <= 1, said
    found = [re.fullmatch(line, text) for text in lines]
    assert None not in found, said
    seeds = [match.groups() for match in found if match is not None and match[2] is not None]
    assert sorted(seeds) == sorted((job.name, str(seed)) for job in recipe.jobs for seed in job.seeds), said


def test_a_killed_node_is_replaced_and_the_bits_stay(cluster: Any, tmp_path: Path) -> None:
    out = tmp_path / "ray"
    process = driver(cluster, LONG, out)
    try:
        wait_for_checkpoints(LONG, out)
        cluster.remove_node(cluster.list_all_nodes()[-1], allow_graceful=False)
        cluster.add_node(num_cpus=1)
        assert_shows(ended(process), LONG)
    finally:
        process.kill()
    assert bits(LONG, out) == local(LONG, tmp_path / "local")
    assert not (out / "r" / LEASES).exists()


def test_a_killed_driver_and_two_at_once(cluster: Any, tmp_path: Path) -> None:
    """The driver dies; two new ones share the work: nothing is trained twice, and nothing is damaged."""
    out = tmp_path / "ray"
    first = driver(cluster, LONG, out)
    wait_for_checkpoints(LONG, out)
    first.send_signal(signal.SIGKILL)
    first.wait()
    both = [driver(cluster, LONG, out) for _ in range(2)]
    try:
        for process in both:
            assert_shows(ended(process), LONG)
    finally:
        for process in both:
            process.kill()
    assert bits(LONG, out) == local(LONG, tmp_path / "local")
    steps = trained_steps(out)
    assert len(steps) == 4 * 80
    assert not (out / "r" / LEASES).exists()


def test_ctrl_c_leaves_a_sweep_that_the_same_command_continues(cluster: Any, tmp_path: Path) -> None:
    out = tmp_path / "ray"
    first = driver(cluster, LONG, out)
    wait_for_checkpoints(LONG, out)
    first.send_signal(signal.SIGINT)
    first.wait(60)
    assert not list((out / "r").glob("*/result.json"))
    assert_shows(ended(driver(cluster, LONG, out)), LONG)
    assert bits(LONG, out) == local(LONG, tmp_path / "local")
    assert len(trained_steps(out)) == 4 * 80


OTHERS = """
import sys
from pathlib import Path
from lengthwise.experiments.cluster import ClusterOptions, Ray
from lengthwise.experiments.compare import Budget, run_comparison
from lengthwise.tasks import TASKS
out = Path(sys.argv[2])
run_comparison(TASKS.build("parity"), out / "compare", systems=["nope", "rope"], budget=Budget(600.0, 1, 1),
               max_length=2, on=Ray(ClusterOptions(sys.argv[1], patience=float(sys.argv[3]))))
"""


def rows(out: Path, plan: Plan) -> list[dict[str, Any]]:
    found = ranked(out / "compare", plan)
    return [{**row, "seeds": [{**seed, "seconds": 0} for seed in row["seeds"]]} for row in found]


def test_a_comparison(cluster: Any, tmp_path: Path) -> None:
    """Its plan says 200 steps."""
    task = TASKS.build("parity")
    plan = Plan(TASKS.describe(task), chosen_systems(task, ["nope", "rope"]), 2, default_tests(task, 2), 1, 200)
    for name in ("local", "ray"):
        (tmp_path / name / "compare" / "tuning").mkdir(parents=True)
        plan.write(tmp_path / name / "compare")
    words = [sys.executable, "-c", OTHERS, cluster.address, str(tmp_path / "ray"), str(PATIENCE)]
    ended(subprocess.Popen(words, stderr=subprocess.PIPE, text=True), 500)
    here = tmp_path / "local"
    wanted: dict[str, Any] = {"systems": ["nope", "rope"], "budget": Budget(600.0, 1, 1), "max_length": 2}
    run_comparison(task, here / "compare", **wanted)
    assert rows(tmp_path / "ray", plan) == rows(here, plan)


def test_our_errors_are_not_tried_again(tmp_path: Path) -> None:
    short = experiment(20).edited(["scheme.max_position=1"])
    options = ClusterOptions("local", patience=PATIENCE)
    with pytest.raises(LengthwiseError, match="max_position"):
        sweep(Recipe("r", "", (Job("a", short, (0, 1)),)), tmp_path, on=Ray(options))
    assert not (tmp_path / "r" / LEASES).exists()


def test_an_address_where_nobody_answers(tmp_path: Path) -> None:
    with pytest.raises(LengthwiseError, match=r"no Ray cluster answers at '127\.0\.0\.1:1'"):
        sweep(LONG, tmp_path, on=Ray(ClusterOptions("127.0.0.1:1")))


def test_a_raylet_that_dies(tmp_path: Path) -> None:
    """One line of the command, and the worker ends; the same command would go on from its checkpoint."""
    words = [sys.executable, "-m", "lengthwise", "run", "addition", "--only", "coupled", "--seeds", "1"]
    sizes = ("width=16", "heads=2", "layers=1")
    edits = [f"--set=model.{size}" for size in sizes] + ["--set=training.batch_size=4", "--set=training.steps=100000"]
    out = tmp_path / "out"
    process = subprocess.Popen([*words, *edits, "--ray=local", f"--out={out}"], stderr=subprocess.PIPE, text=True)
    try:
        ends = time.monotonic() + 240
        while not (beats := list(out.rglob("beat.json"))):
            assert time.monotonic() < ends
            assert process.poll() is None
            time.sleep(0.2)
        os.kill(_child_of(process.pid, "raylet"), signal.SIGKILL)
        _, error = process.communicate(timeout=240)
    finally:
        process.kill()
    assert process.returncode == 2, error
    assert "Traceback" not in error
    assert error.splitlines()[-1].startswith("error: the Ray ")
    before = beats[0].read_bytes()
    time.sleep(2 * PATIENCE)  # a beat comes every 3 s
    assert beats[0].read_bytes() == before, "the worker goes on"


def _child_of(parent: int, name: str) -> int:
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            process, _, rest = status.read_text().partition(f" ({name}) ")
            if rest and int(rest.split()[1]) == parent:
                return int(process)
    raise AssertionError(f"no {name}")
