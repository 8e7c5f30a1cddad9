"""`import lengthwise` loads nothing of Hugging Face, and a missing extra is one line that names it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import lengthwise.hf as hf

PACKAGES = (
    "transformers", "tokenizers", "datasets", "peft", "accelerate", "httpx", "openai", "lm_eval", "inspect_ai",
)  # fmt: skip


def run(code: str) -> str:
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240)
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()


def test_nothing_of_it_is_imported_with_lengthwise():
    code = f"import sys, lengthwise, lengthwise.hf\nprint([name for name in {PACKAGES} if name in sys.modules])"
    assert run(code) == "[]"


NEEDS = {
    "transformers": {
        "LengthwiseConfig", "LengthwiseForCausalLM", "attach", "decode", "detach", "encode_prompt", "from_run",
        "language_model", "model_card", "right_answers", "save_with_card", "task_windows", "to_run",
    },
    "datasets": {"collate", "dataset", "text_dataset"},
    "peft accelerate": set(),
}  # fmt: skip
"""The public names that need each package of the extra; PEFT and accelerate serve models and trainers of others."""


@pytest.mark.parametrize("package", NEEDS)
def test_a_missing_extra_is_one_line(package: str):
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({package.split()!r}))\nimport lengthwise.hf as hf\n"
        "from lengthwise.core.errors import LengthwiseError\n"
        "for name in hf.__all__:\n"
        "    try:\n        getattr(hf, name)\n    except LengthwiseError as error:\n        print(error)"
    )
    expected = {
        f"lengthwise.hf.{name} needs the package {package}; run: pip install 'lengthwise[hf]'"
        for name in NEEDS[package]
    }
    assert set(run(code).splitlines()) == expected


def test_an_old_package_is_one_line():
    code = (
        "import sys, types; sys.modules['transformers'] = types.ModuleType('transformers')\n"
        "import lengthwise.hf as hf\nfrom lengthwise.core.errors import LengthwiseError\n"
        "try:\n    hf.LengthwiseConfig\nexcept LengthwiseError as error:\n    print(error)"
    )
    found = run(code)
    assert "needs a newer version of the package transformers" in found
    assert "\n" not in found


@pytest.mark.parametrize(
    ("package", "words", "extra"),
    [
        ("httpx", ["audit", "m", "--endpoint", "http://localhost:1/v1"], "lengthwise[audit]"),
        ("transformers", ["audit", "some/model"], "lengthwise[hf]"),
        ("transformers", ["influence", "--model", "some/model"], "lengthwise[lm]"),
    ],
)
def test_a_command_names_the_missing_extra(package: str, words: list[str], extra: str, tmp_path: Path):
    code = (
        f"import sys; sys.modules[{package!r}] = None\nfrom lengthwise.cli.main import main\n"
        f"sys.exit(main({[*words, '--out', str(tmp_path / 'out')]!r}))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240)
    assert found.returncode == 2
    assert f"needs the package {package}; run: pip install '{extra}'" in found.stderr.replace("need the", "needs the")
    assert found.stderr.count("\n") == 1


def test_every_public_name_loads():
    assert all(getattr(hf, name) is not None for name in hf.__all__)
    assert set(dir(hf)) == set(hf.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'attatch'"):
        _ = hf.attatch


def test_no_public_name_is_that_of_a_module():
    """Importing a submodule would put it in the place of the name: ``hf.attach`` would not be a function any more."""
    modules = {path.stem for path in Path(hf.__path__[0]).iterdir()}
    assert modules.isdisjoint(hf.__all__)
