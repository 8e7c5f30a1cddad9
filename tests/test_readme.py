"""The README's numbers come from the code; test_documentation.py runs what it shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from lengthwise.core.rng import stream
from lengthwise.positions.schemes import SCHEMES
from lengthwise.positions.structure import structure
from lengthwise.tasks import TASKS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def _row(title: str) -> list[int]:
    line = next(line for line in README.splitlines() if line.startswith(f"| {title}"))
    return [int(cell) for cell in line.strip("|").split("|")[1:]]


def test_thesis_table_is_what_the_code_says():
    lengths = _row("length n")
    for scheme, title in (("sequential", "span in ordinary"), ("coupled", "span in coupled")):
        found = [structure(TASKS.build("addition"), SCHEMES.build(scheme), n, stream(0, "readme")) for n in lengths]
        assert [f.span for f in found] == _row(title)
        assert [f.sparsity for f in found] == _row("sparsity k")


def test_python_block_prints_sparsity_and_span(capsys: pytest.CaptureFixture[str]):
    (block,) = re.findall(r"```python\n(.*?)```", README, flags=re.S)
    namespace: dict[str, object] = {}
    code = compile(block, "README.md", "exec")
    exec(code, namespace)
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [row for row in rows if row[0] in ("5", "20", "100")] == [
        ["5", "5", "12"], ["20", "5", "42"], ["100", "5", "202"], ["5", "5", "1"], ["20", "5", "1"], ["100", "5", "1"],
    ]  # fmt: skip
    assert rows[-1] == ["no"]


def test_the_cpu_wheel_of_torch_is_a_command():
    """Without an index of its own pip takes the wheel for GPUs, which is ten times as large."""
    (block,) = re.findall(r"## Install\n.*?```sh\n(.*?)```", README, flags=re.S)
    commands = [shlex.split(line, comments=True) for line in block.splitlines()]
    assert ["pip", "install", "torch", "--index-url", "https://download.pytorch.org/whl/cpu"] in commands
    assert ["pip", "install", "."] in commands


@pytest.mark.parametrize("term", ["C-RASP", "NoPE", "APE", "PPC"])
def test_terms_of_the_first_screen_are_explained_there(term: str):
    first_screen = README[: README.index("## Two commands")]
    assert re.search(rf"\*{term}\* (is|one with|means) ", " ".join(first_screen.split())) or re.search(
        rf"{term} is \*", first_screen
    )


def test_the_first_screen_has_a_picture_a_command_and_its_output():
    first_screen = README[: README.index("## Two commands")]
    pictures = re.findall(r"!\[[^]]+\]\((\S+)\)", first_screen)
    assert pictures
    assert all((ROOT / picture).read_text(encoding="utf-8").startswith("<svg") for picture in pictures)
    assert first_screen.index("![") < first_screen.index("## Install") < first_screen.index("```console\n$ lengthwise ")
