"""`import lengthwise` loads nothing of Hugging Face, and a missing extra is one line that names it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import lengthwise.hf as hf
from fresh_process import ran

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
        "LengthwiseConfig", "LengthwiseForCausalLM", "attach", "decode", "detach", "encode_prompt", "extend",
        "from_run", "language_model", "model_card", "right_answers", "save_with_card", "task_tokenizer",
        "task_windows", "to_run", "token_ids",
    },
    "datasets peft accelerate": {"collate", "dataset", "text_dataset"},
}  # fmt: skip
"""The public names that need the first of some packages; PEFT and accelerate serve models and trainers of others."""


EVERY_NAME = """
import lengthwise.hf as hf
from lengthwise.core.errors import LengthwiseError

for name in hf.__all__:
    try:
        getattr(hf, name)
    except LengthwiseError as error:
        print(error)
"""
AN_OLD_PACKAGE = """
import sys, types
sys.modules["transformers"] = types.ModuleType("transformers")
import lengthwise.hf as hf
from lengthwise.core.errors import LengthwiseError

try:
    hf.LengthwiseConfig
except LengthwiseError as error:
    print(error)
"""
COMMANDS = [
    ("openai", ["audit", "m", "--endpoint", "http://localhost:1/v1"], "lengthwise[audit]"),
    ("transformers", ["audit", "some/model"], "lengthwise[hf]"),
    ("transformers", ["influence", "--model", "some/model"], "lengthwise[lm]"),
]


def without(packages: str, code: str) -> str:
    return f"import sys; sys.modules.update(dict.fromkeys({packages.split()!r}))\n{code}"


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str, str]]:
    """How each program ended, by the program: exit code, output, errors."""
    out = str(tmp_path_factory.mktemp("extras") / "out")
    codes = [*(without(packages, EVERY_NAME) for packages in NEEDS), AN_OLD_PACKAGE]
    codes += [command(package, words, out) for package, words, _ in COMMANDS]
    assert ran(f"import sys; print([name for name in {PACKAGES} if name in sys.modules])").stdout == "[]\n"
    found = {code: ran(code) for code in codes}
    return {code.replace(out, "OUT"): (end.returncode, end.stdout, end.stderr) for code, end in found.items()}


def command(package: str, words: list[str], out: str = "OUT") -> str:
    called = f"from lengthwise.cli.main import main\nsys.exit(main({[*words, '--out', out]!r}))"
    return without(package, called)


@pytest.mark.parametrize("package", NEEDS)
def test_a_missing_extra_is_one_line(package: str, ended: dict[str, tuple[int, str, str]]):
    expected = {
        f"lengthwise.hf.{name} needs the package {package.split()[0]}; run: pip install 'lengthwise[hf]'"
        for name in NEEDS[package]
    }
    status, out, err = ended[without(package, EVERY_NAME)]
    assert status == 0, err
    assert set(out.splitlines()) == expected


def test_an_old_package_is_one_line(ended: dict[str, tuple[int, str, str]]):
    status, out, err = ended[AN_OLD_PACKAGE]
    assert status == 0, err
    assert "needs a newer version of the package transformers" in out
    assert "\n" not in out.strip()


@pytest.mark.parametrize(("package", "words", "extra"), COMMANDS)
def test_a_command_names_the_missing_extra(
    package: str, words: list[str], extra: str, ended: dict[str, tuple[int, str, str]]
):
    status, _, err = ended[command(package, words)]
    assert status == 2
    assert f"needs the package {package}; run: pip install '{extra}'" in err.replace("need the", "needs the")
    assert err.count("\n") == 1


def test_every_public_name_loads():
    assert all(getattr(hf, name) is not None for name in hf.__all__)
    assert set(dir(hf)) == set(hf.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'attatch'"):
        _ = hf.attatch


def test_no_public_name_is_that_of_a_module():
    """Importing a submodule would put it in the place of the name: ``hf.attach`` would not be a function any more."""
    modules = {path.stem for path in Path(hf.__path__[0]).iterdir()}
    assert modules.isdisjoint(hf.__all__)
