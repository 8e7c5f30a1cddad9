"""What is hashed of the user's code is what runs: every way in which the two could differ."""

from __future__ import annotations

import importlib
import itertools
import json
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fresh_process import ran
from lengthwise.core import code_digest as code
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.user_code import FILES, code_of
from lengthwise.experiments.run_config import RunConfig
from lengthwise.tasks import TASKS

TASK = """
{imports}
from lengthwise.core.config import config
from lengthwise.tasks.copying import Copy

@config
class Mine(Copy):
    def shift(self):
        {body}
        return shift()
"""
NUMBER = itertools.count()


@pytest.fixture(autouse=True)
def _own_path(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(FILES, "")
    before, path = set(sys.modules), list(sys.path)
    yield
    for name in set(sys.modules) - before:
        if not name.startswith(("lengthwise.", "torch", "numpy")):
            sys.modules.pop(name)
    sys.path[:] = path


def folder(tmp_path: Path, imports: str, files: dict[str, str], body: str = "pass") -> Path:
    """A folder of its own with ``task.py`` and other files, on Python's path."""
    found = tmp_path / f"at{next(NUMBER)}"
    for name, text in files.items():
        (found / name).parent.mkdir(parents=True, exist_ok=True)
        (found / name).write_text(text)
    found.mkdir(exist_ok=True)
    (found / "task.py").write_text(TASK.format(imports=imports, body=body))
    sys.path.insert(0, str(found))
    return found


def fresh(at: Path, script: str = "") -> str:
    """The digest that a new process finds."""
    text = (
        f"import sys; sys.path.insert(0, {str(at)!r})\n"
        "from lengthwise.tasks import TASKS\nfrom lengthwise.core.user_code import code_of\n"
        f"task = TASKS.build({str(at / 'task.py') + ':Mine'!r})\n{script}\nprint(code_of(task))"
    )
    run = ran(text)
    return run.stdout.strip() or run.stderr.strip().splitlines()[-1]


CASES = {
    "a module": ("from helper import shift", {"helper.py": "def shift(): return 1"}, "helper.py"),
    "a module of a module": (
        "from helper import shift",
        {"helper.py": "from deeper import shift", "deeper.py": "def shift(): return 1"},
        "deeper.py",
    ),
    "a package": ("from kit import shift", {"kit/__init__.py": "def shift(): return 1"}, "kit/__init__.py"),
    "a relative import": (
        "from kit.main import shift",
        {"kit/__init__.py": "", "kit/main.py": "from .parts import shift", "kit/parts.py": "def shift(): return 1"},
        "kit/parts.py",
    ),
    "from . import": (
        "from kit.main import shift",
        {"kit/__init__.py": "", "kit/main.py": "from . import parts\nshift = parts.shift",
         "kit/parts.py": "def shift(): return 1"},
        "kit/parts.py",
    ),
    "a package without __init__": (
        "from kit.main import shift",
        {"kit/main.py": "def shift(): return 1"},
        "kit/main.py",
    ),
    "the file of a package": (
        "import kit.main; shift = kit.main.shift",
        {"kit/__init__.py": "A = 1", "kit/main.py": "def shift(): return 1"},
        "kit/__init__.py",
    ),
    "a star": (
        "from kit import *\nfrom kit.main import shift",
        {"kit/__init__.py": "__all__ = ['other']", "kit/other.py": "A = 1", "kit/main.py": "def shift(): return 1"},
        "kit/other.py",
    ),
    "a name that is computed": (
        "import importlib\nshift = importlib.import_module('hel' + 'per').shift",
        {"helper.py": "def shift(): return 1"},
        "helper.py",
    ),
    "data beside it": (
        "from pathlib import Path\nstep = (Path(__file__).parent / 'step.txt').read_text()\ndef shift(): return step",
        {"step.txt": "1"},
        "step.txt",
    ),
    "data of a module, in a folder": (
        "from helper import shift",
        {"helper.py": "import pathlib\ndef shift(): return (pathlib.Path(__file__).parent / 'data' / 'n').read_text()",
         "data/n": "1"},
        "data/n",
    ),
    "data under a name that is computed while it loads": (
        "from pathlib import Path\nstep = Path(__file__).with_suffix('.txt').read_text()\ndef shift(): return step",
        {"task.txt": "1"},
        "task.txt",
    ),
    "a file that is run": (
        "import runpy, pathlib\nshift = runpy.run_path(str(pathlib.Path(__file__).with_name('other.py')))['shift']",
        {"other.py": "def shift(): return 1"},
        "other.py",
    ),
    "a condition": (
        "try:\n    from helper import shift\nexcept ImportError:\n    pass",
        {"helper.py": "def shift(): return 1"},
        "helper.py",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_an_edit_of_what_is_imported_is_another_digest(tmp_path: Path, case: str) -> None:
    imports, files, edited = CASES[case]
    at = folder(tmp_path, imports, files)
    before = code_of(TASKS.build(f"{at}/task.py:Mine"))
    assert before == fresh(at)
    (at / edited).write_text((at / edited).read_text() + "\n# edited")
    after = fresh(at)
    assert re.fullmatch("[0-9a-f]{12}", after), after
    assert after != before


def test_a_module_in_an_archive_counts(tmp_path: Path) -> None:
    path = "str(__import__('pathlib').Path(__file__).parent / 'kit.zip')"
    at, found = folder(tmp_path, f"import sys; sys.path.insert(0, {path})\nfrom packed import shift", {}), []
    for number in (1, 2):
        with zipfile.ZipFile(at / "kit.zip", "w") as archive:
            archive.writestr("packed.py", f"def shift(): return {number}")
        found.append(fresh(at))
    assert all(re.fullmatch("[0-9a-f]{12}", digest) for digest in found), found
    assert found[0] != found[1]


def test_an_import_inside_of_a_function_counts_and_runs_the_text_that_was_hashed(tmp_path: Path) -> None:
    at = folder(tmp_path, "", {"later.py": "def shift(): return 1"}, body="from later import shift")
    task = TASKS.build(f"{at}/task.py:Mine")
    before = code_of(task)
    (at / "later.py").write_text("def shift(): return 2")
    assert task.shift() == 1  # what was hashed
    assert code_of(task) == before
    assert fresh(at) != before


def test_a_file_that_is_edited_between_loading_and_hashing(tmp_path: Path) -> None:
    at = folder(tmp_path, "from helper import shift", {"helper.py": "def shift(): return 1"})
    wanted = fresh(at)
    task = TASKS.build(f"{at}/task.py:Mine")
    for name in ("task.py", "helper.py"):
        (at / name).write_text((at / name).read_text() + "\n# edited")
    assert code_of(task) == wanted


def test_bytecode_of_another_text_is_not_run(tmp_path: Path) -> None:
    import os
    import py_compile

    at = folder(tmp_path, "from helper import shift", {"helper.py": "def shift(): return 1"})
    py_compile.compile(str(at / "helper.py"))
    about = (at / "helper.py").stat()
    (at / "helper.py").write_text("def shift(): return 2")
    os.utime(at / "helper.py", ns=(about.st_atime_ns, about.st_mtime_ns))  # Python takes its bytecode for current
    assert TASKS.build(f"{at}/task.py:Mine").shift() == 2


def test_a_link_and_a_copy_have_the_digest_of_the_folder(tmp_path: Path) -> None:
    at = folder(tmp_path, "from helper import shift", {"helper.py": "def shift(): return 1"})
    link = tmp_path / "link"
    link.symlink_to(at)
    assert fresh(link) == fresh(at)
    copied = tmp_path / "copied"
    copied.mkdir()
    for name in ("task.py", "helper.py"):
        (copied / name).write_bytes((at / name).read_bytes())
    assert fresh(copied) == fresh(at)


def test_two_helpers_of_one_name_are_refused(tmp_path: Path) -> None:
    first = folder(tmp_path, "from helper import shift", {"helper.py": "def shift(): return 1"})
    code_of(TASKS.build(f"{first}/task.py:Mine"))
    second = folder(tmp_path, "from helper import shift", {"helper.py": "def shift(): return 2"})
    with pytest.raises(LengthwiseError, match=r"module 'helper' is loaded from .* give the two different names"):
        code_of(TASKS.build(f"{second}/task.py:Mine"))


def test_a_module_that_was_loaded_before_and_edited_since_is_refused(tmp_path: Path) -> None:
    at = folder(tmp_path, "from helper import shift", {"helper.py": "def shift(): return 1"})
    importlib.invalidate_caches()
    finders = [finder for finder in sys.meta_path if isinstance(finder, code._Finder)]
    for finder in finders:
        sys.meta_path.remove(finder)
    try:
        importlib.import_module("helper")
    finally:
        sys.meta_path[:0] = finders
    (at / "helper.py").write_text("def shift(): return 2")
    with pytest.raises(LengthwiseError, match=r"helper\.py was edited after this process loaded it"):
        code_of(TASKS.build(f"{at}/task.py:Mine"))


def test_a_rule_of_the_users_and_a_task_inside_a_task_count(tmp_path: Path) -> None:
    from lengthwise.positions.schemes import SCHEMES

    at = folder(tmp_path, "", {"rule.py": "def ids(places, rng, training): return places"})
    scheme = SCHEMES.build({"name": "own-rule", "function": f"{at}/rule.py:ids"})
    assert code_of(scheme) == code.code_digest(at / "rule.py") is not None
    assert code_of(SCHEMES.build("own-rule")) is None


def test_a_file_alone_has_the_start_of_its_sha256(tmp_path: Path) -> None:
    import hashlib

    at = folder(tmp_path, "def shift(): return 0", {})
    assert fresh(at) == hashlib.sha256((at / "task.py").read_bytes()).hexdigest()[:12]


def test_a_configuration_holds_the_digest_and_is_refused_after_an_edit(tmp_path: Path) -> None:
    at = folder(tmp_path, "from helper import shift", {"helper.py": "def shift(): return 1"})
    task = TASKS.build(f"{at}/task.py:Mine")
    config = RunConfig.from_json(
        {"task": TASKS.describe(task), "scheme": "sequential", "encoding": "nope"}, load_code=True
    )
    values = json.loads(json.dumps(config.to_json()))
    assert values["code"] == {"task": code_of(task)}
    assert config.equals(values)
    assert RunConfig.from_json(values, load_code=True) == config
    values["code"]["task"] = "0" * 12
    assert not config.equals(values)
    with pytest.raises(LengthwiseError, match=r"the code of task .* was edited"):
        RunConfig.from_json(values, load_code=True)
