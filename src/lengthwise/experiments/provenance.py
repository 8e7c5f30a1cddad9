"""Where a number comes from: commit, machine, versions, time."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any

from lengthwise import __version__

PACKAGE = Path(__file__).parents[1]


@lru_cache(maxsize=1)
def commit() -> str:
    """The commit of the source tree, ``+`` appended if it is edited; ``unknown`` outside a checkout."""
    return commit_of(PACKAGE)


def commit_of(package: Path) -> str:
    """The commit of the checkout that tracks the package in this folder, as `commit` says."""

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=package, capture_output=True, text=True, timeout=10, check=True
        ).stdout.strip()

    try:
        # Installed below somebody's own checkout, the package is no part of that.
        git("ls-files", "--error-unmatch", "--", "__init__.py")
        return git("rev-parse", "--short=12", "HEAD") + ("+" if git("status", "--porcelain", "--", ".") else "")
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def now() -> str:
    """The time in UTC, to be written down."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def provenance(device: str) -> dict[str, Any]:
    """Commit, version, machine (kind, never its name), library versions and the time in UTC."""
    import torch

    return {
        "commit": commit(),
        "version": __version__,
        "machine": {
            "processor": processor(),
            "cores": os.cpu_count(),
            "threads": torch.get_num_threads(),
            "device": torch.cuda.get_device_name() if device.startswith("cuda") else device,
            "python": platform.python_version(),
            "torch": torch.__version__,
        },
        "time": now(),
    }


def processor() -> str:
    """The processor's model name."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
