"""A task from a user's own file, outside the package."""

from __future__ import annotations

from pathlib import Path

import pytest

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.core.user_code import no_new_code
from lengthwise.tasks import TASKS
from lengthwise.testing import check_task
from lengthwise.testing.laws import TASK_LAWS as LAWS

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "my_task.py"


def test_the_example_is_short_and_keeps_every_law() -> None:
    assert len(EXAMPLE.read_text().splitlines()) <= 40
    task = TASKS.build(f"{EXAMPLE}:EverySecond")
    assert len(LAWS) >= 10
    check_task(task)


def test_a_path_relative_to_the_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    task = TASKS.build("examples/my_task.py:EverySecond", base=3)
    batch = task.batch(4, 2, stream(0))
    assert batch.tokens == 1 + 4 + 1 + 2 + 1
    assert TASKS.describe(task) == {"name": "examples/my_task.py:EverySecond", "base": 3}


@pytest.mark.parametrize(
    ("content", "target", "message"),
    [
        (None, "gone.py:Task", r"no file .*gone\.py"),
        ("x = (", "broken.py:Mine", r"broken\.py does not run: SyntaxError"),
        ("1 / 0", "crash.py:Mine", r"crash\.py does not run: ZeroDivisionError"),
        ("raise SystemExit(0)", "ends.py:Mine", r"ends\.py does not run: SystemExit"),
        ("class Mine: pass", "wrong.py:Other", r"unknown class in .*wrong\.py 'Other'"),
        ("class Mine: pass", "wrong.py:Mein", r"Did you mean 'Mine'"),
        ("class Mine: pass", "bare.py", r"lacks the name of its class; write .*bare\.py:Class"),
        ("class Mine: pass", "plain.py:Mine", r"is no Task; derive it from lengthwise\.tasks\.base\.Task"),
    ],
)
def test_mistakes_give_one_clear_line(tmp_path: Path, content: str | None, target: str, message: str) -> None:
    if content is not None:
        (tmp_path / target.partition(":")[0]).write_text(content)
    with pytest.raises(LengthwiseError, match=message) as caught:
        TASKS.build(f"{tmp_path}/{target}")
    assert "\n" not in str(caught.value)


OWN = "import lengthwise as lw\n\n@lw.config\nclass Mine(lw.task('copy').__class__):\n    pass\n"


def test_a_file_with_one_task_needs_no_name_of_a_class(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(OWN + "class Helper: pass\n")
    assert TASKS.build(f"{tmp_path}/one.py") == TASKS.build(f"{tmp_path}/one.py:Mine")
    (tmp_path / "two.py").write_text(OWN + OWN.replace("Mine", "Yours"))
    says = r"lacks the name of its class; write .*two\.py:Mine or .*two\.py:Yours"
    with pytest.raises(LengthwiseError, match=says):
        TASKS.build(f"{tmp_path}/two.py")
    with no_new_code(), pytest.raises(LengthwiseError, match="no file that is read runs code"):
        TASKS.build(f"{tmp_path}/three.py")


def test_the_hint_names_what_a_user_imports(tmp_path: Path) -> None:
    (tmp_path / "bare.py").write_text("import lengthwise as lw\nclass Mine(lw.Task): pass\n")
    with pytest.raises(LengthwiseError, match=r"lacks @config; write @lw\.config above the class") as caught:
        TASKS.build(f"{tmp_path}/bare.py:Mine")
    assert "lengthwise.core" not in str(caught.value)
