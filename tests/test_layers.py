"""The layers hold, and what must start quickly does not import torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent

TORCH_FREE = (
    "lengthwise",
    "lengthwise.core.batch",
    "lengthwise.core.config",
    "lengthwise.core.files",
    "lengthwise.core.registry",
    "lengthwise.tasks",
    "lengthwise.positions.schemes",
    "lengthwise.positions.encodings",
    "lengthwise.positions.structure",
    "lengthwise.models.config",
    "lengthwise.training.config",
    "lengthwise.evaluation.config",
    "lengthwise.experiments.run_config",
    "lengthwise.experiments.recipes",
    "lengthwise.experiments.run",
    "lengthwise.languages",
    "lengthwise.crasp",
    "lengthwise.sparsity",
)


def test_import_contracts_hold():
    """`import-linter` reads its contracts from pyproject.toml."""
    run = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert " 0 broken" in run.stdout


def test_specifications_and_what_they_build_import_nothing_heavy():
    """Listing, showing and deciding must start in well under a second; importing torch alone takes longer.

    Registries build specifications from JSON without the modules behind them.
    """
    code = (
        f"import sys, {', '.join(TORCH_FREE)}\n"
        "heavy = {'torch', 'matplotlib', 'safetensors'}\n"
        "assert not heavy & set(sys.modules), 'imported'\n"
        "from lengthwise.experiments.run_directory import run_name\n"
        "components = {'task': 'addition', 'scheme': 'predictive-coupling', 'encoding': 'fire'}\n"
        "run_name(lengthwise.experiments.run_config.RunConfig.from_json(components), 0)\n"
        "assert 'torch' not in sys.modules, 'imported by what is built'"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
