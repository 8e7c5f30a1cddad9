"""What all tests share: one thread, shapes checked at run time, property tests without deadlines."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

from shape_checks import check_modules

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
    """One thread for torch: faster on small models, and the same bits everywhere."""
    import torch

    torch.set_num_threads(1)
