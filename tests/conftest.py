"""What all tests share: one thread, shapes checked at run time, property tests without deadlines."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings
from jaxtyping import install_import_hook

# Before torch is imported: results must not depend on the number of cores, and the suite shares them.
os.environ.setdefault("OMP_NUM_THREADS", "1")

CHECKED_PACKAGES = (
    "lengthwise.core.batch",
    "lengthwise.nn",
    "lengthwise.tasks",
    "lengthwise.positions",
    "lengthwise.models",
    "lengthwise.training",
    "lengthwise.evaluation",
    "lengthwise.experiments",
    "lengthwise.influence.models.exact_reader",
    "lengthwise.influence.models.huggingface",
    "lengthwise.influence.models.language_model",
    "lengthwise.influence.text.planted_text",
    *(f"lengthwise.influence.measure.{name}" for name in ("scorer", "selection", "summary", "surrogate")),
)
"""The packages that pass arrays around. The pure-Python ones (automata, programs) state no shapes, and checking every
call of their inner loops would cost minutes and find nothing that basedpyright does not."""

# Every annotation such as Int[Tensor, "B T L"] is now checked at each call, by jaxtyping with beartype.
install_import_hook(CHECKED_PACKAGES, "beartype.beartype")

settings.register_profile("lengthwise", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("lengthwise")


def pytest_configure() -> None:
    """One thread for torch: faster on small models, and the same bits everywhere."""
    import torch

    torch.set_num_threads(1)
