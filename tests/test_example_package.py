"""A package of somebody else adds a task, a scheme, an encoding and a recipe; the same works by FILE:Class.

The package is installed into a folder of its own, and one process with that folder on its path runs all commands.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lengthwise.cli.main import main
from lengthwise.core.result_file import write_sealed

PACKAGE = Path(__file__).with_name("example_package")
SOURCES = Path(__file__).parents[1] / "src"
SCRIPT = """
import contextlib, io, json, sys
from lengthwise.cli.main import main
done = []
for words in json.load(sys.stdin):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    done.append({"code": code, "out": out.getvalue(), "err": err.getvalue()})
print(json.dumps(done))
"""
TINY = [
    word
    for edit in (
        "training.steps=2", "training.batch_size=4", "training.groups=2", "training.max_length=3", "model.width=16",
        "model.heads=2", "model.layers=1", "evaluation.lengths=[3]", "evaluation.samples=4", "evaluation.fit_samples=4",
        "evaluation.probe_samples=2",
    )
    for word in ("--set", edit)
]  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which pip installed the package."""
    folder = tmp_path_factory.mktemp("package")
    shutil.copytree(PACKAGE, folder / "source")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--target", str(folder / "site")]
    done = subprocess.run([*pip, *options, str(folder / "source")], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder / "site"


@pytest.fixture(scope="module")
def answers(site: Path) -> dict[str, Any]:
    """What every command printed, by a name of ours; ``folder`` is where they ran."""
    file, recipe = site / "lengthwise_example" / "components.py", site / "lengthwise_example" / "recipe.py"
    own = ["--set", f"scheme={file}:Even", "--set", f"encoding={file}:HalfALiBi"]
    first = ["--only", "random-start+learned"]
    commands: dict[str, list[str]] = {
        "list": ["list", "--json"],
        "show": ["show", "caesar", "--length", "3", "--scheme", "even", "--json"],
        "predict": ["predict", "caesar", "--json"],
        "couple": ["couple", "caesar", "--lengths", "5,8", "--json"],
        "check task": ["check", "caesar"],
        "check scheme": ["check", "even"],
        "check encoding": ["check", "half-alibi"],
        "check mixer": ["check", "running-mean"],
        "file check mixer": ["check", f"{file}:Mean"],
        "run mixer": [
            "run",
            "caesar",
            *first,
            *TINY,
            "--set",
            f"model.mixer={file}:Mean+running-mean",
            "--set",
            "model.layers=2",
            "--out",
            "mixer",
            "--json",
        ],
        "run recipe": ["run", "caesar-cipher", "--out", "recipe", "--json"],
        "report recipe": ["report", "recipe", "-o", "recipe.html"],
        "run task": ["run", "caesar", *first, *TINY, "--out", "task", "--json"],
        "config": ["run", "caesar-cipher", "--print-config"],
        "file show": ["show", f"{file}:Caesar", "--length", "3", "--scheme", f"{file}:Even", "--json"],
        "file predict": ["predict", f"{file}:Caesar", "--json"],
        "file couple": ["couple", f"{file}:Caesar", "--lengths", "5,8", "--json"],
        "file check task": ["check", f"{file}:Caesar"],
        "file check scheme": ["check", f"{file}:Even"],
        "file check encoding": ["check", f"{file}:HalfALiBi"],
        "file run recipe": ["run", f"{recipe}:caesar_cipher", "--out", "file-recipe", "--json"],
        "file run task": ["run", f"{file}:Caesar", *first, *TINY, *own, "--out", "file-task", "--json"],
        "file report": ["report", "file-task", "-o", "file.html", "--figures", "figures"],
    }
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCES), str(site)])}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=json.dumps(list(commands.values())),
        capture_output=True, text=True, cwd=site.parent, env=environment, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {**dict(zip(commands, json.loads(done.stdout), strict=True)), "folder": site.parent}


def told(answer: dict[str, Any]) -> Any:
    assert answer["code"] == 0, answer["err"]
    return json.loads(answer["out"])


def test_everything_is_listed_with_where_it_comes_from(answers: dict[str, Any]) -> None:
    listed = told(answers["list"])
    for kind, name in (
        ("tasks", "caesar"),
        ("schemes", "even"),
        ("encodings", "half-alibi"),
        ("mixers", "running-mean"),
    ):
        (entry,) = [entry for entry in listed[kind] if entry["name"] == name]
        assert entry["from"] == "package lengthwise-example"
        assert entry["summary"]
    (entry,) = [entry for entry in listed["recipes"] if entry["name"] == "caesar-cipher"]
    assert entry["summary"] == "a recipe of package lengthwise-example"


@pytest.mark.parametrize("prefix", ["", "file "])
def test_the_task_is_shown_under_the_scheme(answers: dict[str, Any], prefix: str) -> None:
    shown = told(answers[f"{prefix}show"])
    assert [token["ids"] for token in shown["tokens"]] == [[2 * t] for t in range(9)]
    assert shown["structure"]["span"]["coupled"] == [1, 1, 1]


@pytest.mark.parametrize("prefix", ["", "file "])
def test_a_verdict_and_a_coupling(answers: dict[str, Any], prefix: str) -> None:
    verdicts = {v["system"]: v["answer"] for v in told(answers[f"{prefix}predict"])["verdicts"]}
    assert verdicts["coupled+learned"] == verdicts["predictive-coupling"] == "yes"
    found = told(answers[f"{prefix}couple"])
    assert found["holds"]
    assert found["agrees"] == {"5": True, "8": True}


def test_mixers_of_a_file_and_of_the_package_train_in_turns(answers: dict[str, Any]) -> None:
    assert told(answers["run mixer"])


@pytest.mark.parametrize("prefix", ["", "file "])
@pytest.mark.parametrize("kind", ["task", "scheme", "encoding", "mixer"])
def test_the_public_checks_pass(answers: dict[str, Any], prefix: str, kind: str) -> None:
    answer = answers[f"{prefix}check {kind}"]
    assert answer["code"] == 0, answer["out"]
    assert f"{kind} laws hold" in answer["out"]


def test_runs_by_name_and_by_file_have_the_same_numbers(answers: dict[str, Any]) -> None:
    one, other = told(answers["run recipe"]), told(answers["file run recipe"])
    assert one["systems"][0]["scores"] == other["systems"][0]["scores"]
    assert one["recipe"] == "caesar-cipher"
    assert told(answers["run task"])["recipe"] == "caesar"
    assert told(answers["file run task"])["recipe"] == "Caesar"
    config = told(answers["config"])["systems"][0]["experiment"]
    assert [config[part]["name"] for part in ("task", "scheme", "encoding")] == ["caesar", "even", "half-alibi"]


def test_a_page_shows_the_task_where_the_package_is_not_installed(answers: dict[str, Any]) -> None:
    """This process has never seen the package: the example and the structure come from the result files."""
    folder = answers["folder"]
    for runs, title in (("recipe", "caesar"), ("file-task", "Caesar")):
        page = folder / f"{runs}-again.html"
        assert main(["report", str(folder / runs), "-o", str(page)]) == 0
        text = page.read_text(encoding="utf-8")
        assert f"<b>{title}</b>: every digit of a number, moved by a key" in text
        assert "structure of the task" in text
        assert "Dependencies of one example" in text
        assert str(folder) not in text.split("<details>")[0], "titled with its own name, not its path"
    assert not any(name.startswith("lengthwise_example") for name in sys.modules)
    for command in ("report recipe", "file report"):
        assert answers[command]["code"] == 0, answers[command]["err"]
    assert sorted(path.name for path in (folder / "figures").iterdir())


@pytest.mark.parametrize(
    "damage",
    [
        lambda task: task["example"]["tokens"][5].update(parents=[7]),
        lambda task: task["example"].update(tokens=[]),
        lambda task: task["structure"].update(lengths=[1]),
        lambda task: task.update(title=3),
        lambda task: task.pop("summary"),
    ],
)
def test_a_damaged_description_is_one_line(
    answers: dict[str, Any], damage: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (path,) = (answers["folder"] / "recipe").rglob("result.json")
    values = json.loads(path.read_text())
    damage(values["task"])
    del values["digest"]
    write_sealed(tmp_path / "result.json", values)
    capsys.readouterr()
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "page.html")]) == 2
    said = capsys.readouterr().err
    assert "the stored task is damaged; delete the file and run again" in said
    assert said.count("\n") == 1
