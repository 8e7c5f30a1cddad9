"""Default settings follow from a task's structure, and a task object of a user's file has a name."""

from __future__ import annotations

import dataclasses
import importlib
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

import lengthwise as lw
from lengthwise.api.compare import own_folder
from lengthwise.core.errors import LengthwiseError
from lengthwise.experiments.compare import wanted_plan
from lengthwise.experiments.defaults import draw_for, folder_name
from lengthwise.positions.system import position_systems
from lengthwise.tasks import TASKS, Task

FILE = Path(__file__).parents[2] / "examples" / "my_task.py"


@pytest.fixture
def every_second(monkeypatch: pytest.MonkeyPatch) -> Task:
    """The class as a script imports it, without a name of the registry."""
    monkeypatch.syspath_prepend(FILE.parent)
    monkeypatch.delitem(sys.modules, FILE.stem, raising=False)
    return importlib.import_module(FILE.stem).EverySecond()


@pytest.mark.parametrize(
    ("task", "draw"),
    [("variable-assignment", "sorted"), ("addition", "pose"), ("copy", "pose"), ("sparse-parity", "sorted")],
)
def test_ids_are_blocks_where_a_parent_is_in_a_neighbouring_place(task: str, draw: str) -> None:
    assert draw_for(TASKS.build(task)) == draw


@pytest.mark.parametrize(("draw", "encoding", "warns"), [
    ("pose", "local-bias-sink", True), ("contiguous", "local-bias-sink", False), ("pose", "learned", False),
])  # fmt: skip
def test_ids_that_jump_out_of_sight_are_warned_of_before_training(
    tmp_path: Path, recwarn: pytest.WarningsRecorder, draw: str, encoding: str, warns: bool
) -> None:
    scheme = {"name": "coupled", "draw": draw}
    made = lw.Experiment("addition", scheme, encoding, max_length=3, test_lengths=[6], steps=1)
    made.run(out=tmp_path, progress=False)
    assert any("jump" in str(warning.message) for warning in recwarn) is warns


def test_a_users_task_that_skips_places_gets_blocks(every_second: Task) -> None:
    assert draw_for(every_second) == "pose"


def test_a_class_of_a_file_is_named_after_it(every_second: Task) -> None:
    described = TASKS.describe(TASKS.build(every_second))
    assert described["name"].endswith("my_task.py:EverySecond")
    assert TASKS.build(described).base == 10


def test_a_class_that_was_typed_in_says_what_to_do() -> None:
    class Typed(type(TASKS.build("copy"))):
        pass

    Typed.name = None
    with pytest.raises(LengthwiseError, match="class Typed has no name; write @lw"):
        TASKS.describe(Typed())


def test_tasks_with_other_settings_have_other_folders() -> None:
    assert all(folder_name(TASKS.build(name)) == name for name in ("addition", "multiplication", "language"))
    assert folder_name(TASKS.build(f"{FILE}:EverySecond")) == "EverySecond"
    own = [TASKS.build(f"regex:{each}") for each in ("(aa)*", "(ab)+", "ab")]
    own += [*map(TASKS.build, TASKS), TASKS.build("regex:(ab)*", ask="member"), TASKS.build("addition", base=2)]
    names = {folder_name(task) for task in own}
    assert len(names) == len(set(map(repr, own)))
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+", name) for name in names)


def test_classes_of_one_name_in_two_files_have_folders_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for file in ("one.py", "two.py"):
        shutil.copy(FILE, file)
    one, two = (TASKS.build(f"{file}:EverySecond") for file in ("one.py", "two.py"))
    folder = own_folder(one)
    assert folder == own_folder(two) == Path("runs/compare/EverySecond")  # Nothing is there yet.
    folder.mkdir(parents=True)
    wanted_plan(one, position_systems(["rope"]), 8, 1).write(folder)
    assert own_folder(one) == folder, "what exists stays where it is found"
    other = own_folder(two)
    assert other not in (folder, own_folder(TASKS.build("two.py:EverySecond", base=5)))
    other.mkdir()
    wanted_plan(two, position_systems(["rope"]), 8, 1).write(other)
    assert (own_folder(one), own_folder(two)) == (folder, other)


def test_a_setting_that_a_scheme_names_changes_no_other() -> None:
    """Ids for the longest test, whichever way the scheme is given; what it names stays."""

    def ids(scheme: Any, encoding: str = "learned") -> Any:
        return lw.Experiment("addition", scheme, encoding, max_length=6).configuration.scheme

    for encoding in ("learned", "local-bias"):
        default = ids("coupled", encoding)
        for scheme in (lw.scheme("coupled", draw="permuted"), {"name": "coupled", "draw": "permuted"}):
            assert ids(scheme, encoding) == dataclasses.replace(default, draw="permuted")
        assert ids(lw.scheme("coupled", max_position=512), encoding) == dataclasses.replace(default, max_position=512)
    assert ids(lw.scheme("sequential", random_start=True)) == ids("random-start")
    assert ids(lw.scheme("modulo", m=3)) == lw.scheme("modulo", m=3)
    assert ids(type(ids("coupled"))()).max_position == 512, "an object that was made by its class is taken as it is"
