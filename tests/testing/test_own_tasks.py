"""No verdict from a broken task: every way to one ends in a line that says what to add."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import lengthwise as lw
from fresh_process import ran
from lengthwise.core.errors import LawError, LengthwiseError
from lengthwise.tasks import TASKS
from lengthwise.testing.laws import shapes_and_labels
from lengthwise.testing.own_tasks import refuse_broken

PARITY = """
from functools import cached_property
from lengthwise.core.config import config
from lengthwise.core.vocab import Vocab
from lengthwise.tasks import Task

@config
class Parity(Task):
    summary = "is the number of ones even?"

    @cached_property
    def vocab(self):
        return Vocab.of(["0", "1", "even", "odd"])

    def write(self, seq, layout, rng):
        bits = rng.integers(2, size=(layout.length, seq.size))
        seq.bos()
        given = [seq.given(bit + self.vocab["0"], place=i + 1) for i, bit in enumerate(bits)]
        seq.sep(place=1)
        seq.predicted(bits.sum(axis=0) % 2 + self.vocab["even"], place=1, parents=list(given{kept}))
        seq.eos(place=1)

    def answer(self, prompt):
        if len(prompt) < 3 or prompt[0] != "<bos>" or prompt[-1] != "<sep>" or not set(prompt[1:-1]) <= {{"0", "1"}}:
            raise ValueError("no bits")
        return ["odd" if prompt.count("1") % 2 else "even", "<eos>"]
"""
SAYS = r"length 2, '(even|odd)': changing token 1 changes the answer, but it is not a parent; add it to parents=\[…\]"
WAYS: dict[str, Callable[[str, Path], object]] = {
    "predict": lambda task, out: lw.predict(task),
    "structure": lambda task, out: lw.structure(task),
    "run": lambda task, out: lw.Experiment(task, steps=1, max_length=3).run(out=out, progress=False),
    "compare": lambda task, out: lw.compare(task, budget="20s", out=out),
    "couple": lambda task, out: lw.couple(task),
    "verify": lambda task, out: lw.verify(task, out=out),
    "audit": lambda task, out: lw.audit_model("nowhere", lw.AuditPlan(task, lengths=(2, 4)), out=out),
    "export": lambda task, out: lw.export_task("lm-eval", lw.AuditPlan(task, lengths=(2, 4)), out),
    "explain": lambda task, out: lw.explain("nowhere", task, train=4, out=out),
}


def written(folder: Path, kept: str) -> str:
    (folder / "parity.py").write_text(PARITY.format(kept=kept))
    return f"{folder / 'parity.py'}:Parity"


RUNNING = """
        for i in range(layout.length):
            seq.predicted(bits[: i + 1].sum(axis=0) % 2 + self.vocab["0"], place=i + 1, parents=[given[i]])
        seq.eos()
"""


def test_a_forgotten_parent_in_the_answer_is_named_where_it_tells_the_token(tmp_path: Path) -> None:
    """Of prefix parities it is the one before; all earlier bits would be parents, too, but ever more."""
    start, end = PARITY.index("        seq.predicted("), PARITY.index("    def answer")
    text = (PARITY[:start] + RUNNING.lstrip("\n") + "\n" + PARITY[end:]).replace("place=1)", "place=0)", 1)
    answers = '[str(prompt[1 : i + 2].count("1") % 2) for i in range(len(prompt) - 2)] + ["<eos>"]'
    text = text.replace('["odd" if prompt.count("1") % 2 else "even", "<eos>"]', answers)
    (tmp_path / "prefix.py").write_text(text.format(kept=""))
    with pytest.raises(LengthwiseError, match="the token before it in the answer decides it, too, but is not a parent"):
        lw.predict(f"{tmp_path / 'prefix.py'}:Parity")


PAIRS = """
        for i in range(layout.length):
            seq.predicted((bits[i] + bits[i - 1] * (i > 0)) % 2 + self.vocab["0"], place=i + 1, parents=[given[i]])
        seq.eos()
"""


def test_a_token_that_decides_only_at_one_length_is_not_named_as_a_parent(tmp_path: Path) -> None:
    """At length 2 the answer before is the bit before, which is what all lengths need."""
    start, end = PARITY.index("        seq.predicted("), PARITY.index("    def answer")
    text = (PARITY[:start] + PAIRS.lstrip("\n") + "\n" + PARITY[end:]).replace("place=1)", "place=0)", 1)
    answers = '[str((int(a) + int(b)) % 2) for a, b in zip(["0", *prompt[1:-2]], prompt[1:-1])] + ["<eos>"]'
    text = text.replace('["odd" if prompt.count("1") % 2 else "even", "<eos>"]', answers)
    (tmp_path / "pairs.py").write_text(text.format(kept=""))
    with pytest.raises(LengthwiseError, match=r"length 2.*changing token 1 changes the answer") as caught:
        lw.predict(f"{tmp_path / 'pairs.py'}:Parity")
    assert "no one token" not in str(caught.value)


def test_where_no_token_decides_at_all_lengths_the_advice_says_so(tmp_path: Path) -> None:
    with pytest.raises(LengthwiseError, match="no one token does at all lengths looked at"):
        lw.predict(written(tmp_path, "[2:]"))


@pytest.mark.parametrize("way", WAYS)
def test_a_forgotten_parent_is_named_before_anything_is_said(tmp_path: Path, way: str) -> None:
    with pytest.raises(LengthwiseError, match=SAYS) as caught:
        WAYS[way](written(tmp_path, "[1:] if layout.length > 1 else given"), tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["predict", "couple", "run", "compare", "verify"])
def test_the_command_line_refuses_it_too(tmp_path: Path, command: str) -> None:
    from typer.testing import CliRunner

    from lengthwise.cli.main import app

    done = CliRunner().invoke(app, [command, written(tmp_path, "[1:] if layout.length > 1 else given")])
    assert done.exit_code != 0
    assert isinstance(done.exception, LengthwiseError)
    assert "changing token 1 changes the answer" in str(done.exception)


def test_it_is_one_line_and_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from lengthwise.cli.main import main

    assert main(["predict", written(tmp_path, "[1:] if layout.length > 1 else given")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "changing token 1 changes the answer" in line


KEPT = """
from functools import cached_property
from lengthwise.core.batch import Layout
from lengthwise.core.config import config
from lengthwise.core.vocab import Vocab
from lengthwise.tasks import Task

@config
class Some(Layout):
    kept: tuple[bool, ...] = ()

@config
class Kept(Task):
    summary = "some of the bits"
    min_length = 2

    @cached_property
    def vocab(self):
        return Vocab.of(["0", "1"])

    def layout(self, length, rng):
        return Some(length, tuple(bool(each) for each in rng.random(length) < 0.75))

    def write(self, seq, layout, rng):
        seq.bos()
        bits = [bit + self.vocab["0"] for bit in rng.integers(2, size=(layout.length, seq.size))]
        given = [seq.given(bit, place=1) for bit in bits]
        seq.sep(place=1)
        for one, bit, stays in zip(given, bits, layout.kept):
            if stays:
                seq.predicted(bit, place=1, parents=[one])
        seq.eos(place=1)

    def answer(self, prompt):
        raise ValueError("which bits are kept is not in the prompt")
"""


def test_a_layout_that_is_drawn_now_and_then_is_met(tmp_path: Path) -> None:
    """One of sixteen layouts of length 2 has an empty answer."""
    (tmp_path / "kept.py").write_text(KEPT)
    task = TASKS.build(f"{tmp_path / 'kept.py'}:Kept")
    with pytest.raises(LawError, match="let `layout` draw none whose answer is empty"):
        shapes_and_labels(task)


def test_a_sound_task_passes_and_is_checked_once(tmp_path: Path) -> None:
    task = TASKS.build(written(tmp_path, ""))
    refuse_broken(task)
    began = time.perf_counter()
    refuse_broken(task)
    assert time.perf_counter() - began < 0.2
    assert lw.predict(f"{tmp_path / 'parity.py'}:Parity").theory.verdicts


def test_a_task_inside_of_a_task_and_other_targets(tmp_path: Path) -> None:
    refuse_broken("copy")
    refuse_broken("regex:(ab)*")


TYPED = (Path(__file__).parents[2] / "examples" / "my_task.py").read_text()


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """The task of a cell of a notebook: no file has it, and nobody registered it."""
    session = ModuleType("session")
    monkeypatch.setitem(sys.modules, "session", session)

    def run(source: str) -> Any:
        exec(source, vars(session))
        return vars(session)["EverySecond"]()

    return run


def test_a_task_that_was_typed_in_goes_by_the_name_of_its_class(typed: Callable[[str], Any]) -> None:
    task = typed(TYPED)
    assert task.name == TASKS.build(task).name == "EverySecond"
    assert "<svg" in lw.show(task)._repr_html_()
    assert lw.structure(task).table().caption.endswith("of EverySecond under sequential ids")
    assert lw.predict(task).target == "EverySecond"
    assert lw.couple(task, lengths=[5]).to_json()["task"] == {"name": "EverySecond", "base": 10}
    with pytest.raises(LengthwiseError, match=r"class EverySecond has no name; write @lw\.register"):
        TASKS.describe(task)


def test_a_cell_that_was_mended_is_checked_again(typed: Callable[[str], Any]) -> None:
    with pytest.raises(LengthwiseError, match="EverySecond"):
        lw.structure(typed(TYPED.replace("parents=[given[i]]", "parents=[given[0]]")))
    assert lw.structure(typed(TYPED)).sparsity[-1] == 1


BARE = """
import lengthwise as lw
for target in TARGETS:
    (broken,) = {one.broken for one in lw.check(target).broken}
    try:
        lw.predict(target)
    except lw.LengthwiseError as error:
        assert broken in str(error) and "\\n" not in str(error), error
    print(broken)
"""


def test_a_bare_position_as_parents_is_one_line_with_its_place(tmp_path: Path) -> None:
    """Said once, although it stops nine laws; in a process without the checks of types that tests have."""
    targets, lines = [], []
    for name, changed in (("one", "parents=given[i]"), ("two", "selectors=given[0]"), ("three", "parents=None")):
        path = tmp_path / f"{name}.py"
        path.write_text(TYPED.replace("parents=[given[i]]", changed))
        lines.append(1 + next(i for i, text in enumerate(path.read_text().splitlines()) if "predicted(" in text))
        targets.append(f"{path}:EverySecond")
    done = ran(BARE.replace("TARGETS", repr(targets)))
    assert done.returncode == 0, done.stderr
    for target, line, said in zip(targets, lines, done.stdout.splitlines(), strict=True):
        place = f"{target.rpartition(':')[0]}, line {line}, in EverySecond.write"
        assert said.startswith(f"{place}: parents and selectors are lists of positions, such as parents=[given[i]]")


SORT = """
import numpy as np
import lengthwise as lw
from lengthwise.tasks.copying import BucketSort


@lw.config
class Mine(BucketSort):
    def write(self, seq, layout, rng):
        raw = rng.integers(self.letters, size=(layout.length, seq.size)) + self.vocab["a"]
        seq.bos()
        given = [seq.given(x) for x in raw]
        seq.sep()
        for at in np.argsort(raw, axis=0, kind="stable"):
            seq.predicted(raw[at, np.arange(seq.size)], parents=PARENTS, selectors=given)
        seq.eos()
"""


def test_a_task_whose_selectors_lack_their_parents_is_told_what_selectors_are(tmp_path: Path) -> None:
    """With the parents that the page says, an array with one position for each string, all laws hold."""
    for name, parents in (("without", "[]"), ("with", "[at + given[0]]")):
        (tmp_path / f"{name}.py").write_text(SORT.replace("PARENTS", parents))
    broken = " ".join(str(each.broken) for each in lw.check(f"{tmp_path / 'without.py'}:Mine").broken)
    assert "selectors only say which tokens the parents are: name these, one position for each string" in broken
    assert not lw.check(f"{tmp_path / 'with.py'}:Mine").broken


EXAMPLE = (Path(__file__).parents[2] / "examples" / "my_task.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("written", "meant"),
    [("gues = 0.5", "guess"), ("parants = 1", "parents"), ("min_lenght = 3", "min_length"), ("kind = {}", "kinds"),
     ("letters = 7", ""), ("length: int = 4\n    other = lambda self: self.length", "")],
)  # fmt: skip
def test_a_misspelt_field_is_named_and_own_ones_are_free(tmp_path: Path, written: str, meant: str) -> None:
    (tmp_path / "mine.py").write_text(EXAMPLE.replace("    base: int", f"    {written}\n    base: int"))
    found = lw.check(f"{tmp_path / 'mine.py'}:EverySecond")
    assert [f"Did you mean {meant!r}?" in law.broken for law in found.broken] == [True] * bool(meant)
    if meant:
        with pytest.raises(LengthwiseError, match=f"nothing is said of it: .*Did you mean {meant!r}"):
            lw.predict(f"{tmp_path / 'mine.py'}:EverySecond")


def test_a_misspelt_argument_is_named(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(EXAMPLE.replace("parents=", "parants="))
    (broken,) = lw.check(f"{tmp_path / 'mine.py'}:EverySecond").broken
    assert re.search(r"mine.py, line \d+, .*seq.predicted has no 'parants'. Did you mean 'parents'\?", broken.broken)


@pytest.mark.parametrize(
    ("kinds", "says"),
    [
        ('{"it begins with 7": lambda prompt: prompt[1] == "7"}', "kind 'it begins with 7' holds of none of"),
        ('{"it is a word": lambda prompt: True}', "kind 'it is a word' holds of every prompt, such as '<bos> "),
        (
            '{"it is odd": lambda prompt: prompt[99]}',
            "kind 'it is odd' of task .* .IndexError: list index out of range",
        ),
        (
            '{"it is 1": (lambda prompt: "0" not in prompt, lambda prompt, rng: ["<bos>"])}',
            "kind 'it is 1' makes no prompt",
        ),
        ('{"it has a 1": lambda prompt: "1" in prompt}', ""),
    ],
)
def test_a_kind_of_one_s_own_that_is_none_is_refused_in_one_line(tmp_path: Path, kinds: str, says: str) -> None:
    name = written(tmp_path, "")
    file = tmp_path / "parity.py"
    file.write_text(file.read_text().replace("    def write", f"    kinds = {kinds}\n\n    def write"))
    if not says:
        lw.testing.check_task(name)
        return
    with pytest.raises((LengthwiseError, lw.testing.LawError), match=says) as caught:
        lw.testing.check_task(name)
    assert "\n" not in str(caught.value)
