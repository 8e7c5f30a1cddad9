"""`import lengthwise` loads nothing of Hugging Face, and a missing extra is one line that names it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import lengthwise.hf as hf

PACKAGES = ("transformers", "datasets", "peft", "accelerate", "httpx", "openai")


def run(code: str) -> str:
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()


def test_nothing_of_it_is_imported_with_lengthwise():
    code = f"import sys, lengthwise, lengthwise.hf\nprint([name for name in {PACKAGES} if name in sys.modules])"
    assert run(code) == "[]"


@pytest.mark.parametrize(("name", "package"), [("attach", "transformers"), ("dataset", "datasets")])
def test_a_missing_extra_is_one_line(name: str, package: str):
    code = (
        f"import sys; sys.modules[{package!r}] = None\nimport lengthwise.hf as hf\n"
        "from lengthwise.core.errors import LengthwiseError\n"
        f"try:\n    hf.{name}\nexcept LengthwiseError as error:\n    print(error)"
    )
    assert run(code) == f"lengthwise.hf.{name} needs the package {package}; run: pip install 'lengthwise[hf]'"


def test_every_public_name_loads():
    assert all(getattr(hf, name) is not None for name in hf.__all__)
    assert set(dir(hf)) == set(hf.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'attatch'"):
        _ = hf.attatch
