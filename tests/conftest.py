"""What all tests share: one thread, shapes checked at run time, property tests without deadlines."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from shape_checks import check_modules

gc.set_threshold(20_000, 20, 20)
# Before torch is imported: results must not depend on the number of cores, and the suite shares them.
os.environ.setdefault("OMP_NUM_THREADS", "1")

SOURCE = Path(__file__).parents[1] / "src" / "lengthwise"
# What computes the tables of the results pages.
STUDIES = SOURCE.parents[1] / "studies"
sys.path += [str(STUDIES), *(str(folder) for folder in sorted(STUDIES.iterdir()) if folder.is_dir())]
CHECKED_PACKAGES = ("nn", "tasks", "positions", "models", "training", "evaluation", "experiments")
CHECKED_MODULES = [
    "lengthwise.core.batch",
    *(f"lengthwise.influence.{name}" for name in ("huggingface", "measure", "models")),
    *(
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
        for package in CHECKED_PACKAGES
        for path in sorted((SOURCE / package).rglob("*.py"))
        if "from jaxtyping import" in path.read_text()
    ),
]
"""The modules that pass arrays around and state their shapes. In the others basedpyright checks the same before they
run, and checking each call of an inner loop over digits or states would cost minutes and find nothing more."""

check_modules(CHECKED_MODULES)

settings.register_profile("lengthwise", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("lengthwise")


def pytest_configure() -> None:
    """One thread for torch: faster on small models, and the same bits everywhere. And no waiting for the disk."""
    import torch

    torch.set_num_threads(1)
    # No test loses power: those about that watch the steps, or put another function here.
    os.fsync = lambda _: None


def pytest_collection_finish() -> None:
    """What is loaded by now stays, so nobody looks for garbage in it; that and the threshold save 5 % of the suite."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says that pages were not tried in a browser, where there is none."""
    skipped = [one for one in terminalreporter.stats.get("skipped", ()) if "no Chromium" in str(one.longrepr)]
    if skipped:
        terminalreporter.write_line(f"{len(skipped)} tests of pages need a browser: apt-get install chromium")


@pytest.fixture(scope="module", autouse=True)
def _no_code_of_earlier_modules() -> Iterator[None]:
    """What a module registers from files of its own is gone after it: the next one may be any, in any order."""
    from lengthwise.core.user_code import FILES
    from lengthwise.models.mixers import MIXERS
    from lengthwise.positions.encodings import ENCODINGS
    from lengthwise.positions.schemes import SCHEMES
    from lengthwise.tasks import TASKS

    given = os.environ.get(FILES)
    yield
    for registry in (TASKS, SCHEMES, ENCODINGS, MIXERS):
        for name in [name for name in registry._classes if not registry.is_built_in(name)]:
            del registry._classes[name]
    os.environ.pop(FILES, None)
    if given is not None:
        os.environ[FILES] = given
