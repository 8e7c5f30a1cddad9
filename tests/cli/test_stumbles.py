"""What newcomers stumbled over, each with the message or the behaviour that it must have now.

Elsewhere: influence figures and small gains (tests/report), own components (tests/test_example_package.py), the
demonstration and budgets (tests/workflows), and the search of `predict` (tests/prediction/test_search.py).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from named_options import commands, options_of
from terminal import TINY_OPTIONS, Terminal

import lengthwise as lw
from fresh_process import ran
from lengthwise.api.progress import ComparisonProgress
from lengthwise.cli.console import again
from lengthwise.cli.options import SAME, same_flag
from lengthwise.core.errors import TooSmallError
from lengthwise.experiments.defaults import folder_name
from lengthwise.experiments.events import Event
from lengthwise.experiments.recipe import RECIPES

EXAMPLE = Path(__file__).parents[2] / "examples" / "my_task.py"
RUN = ["run", "addition", "--only", "coupled", *TINY_OPTIONS]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["decide", "parity"], "'parity' is a task, but `lengthwise decide` takes regular languages"),
        (["verify", "adition"], "unknown target 'adition'. Did you mean 'addition'? A word is written regex:adition"),
        (["predict", "copy", "--max-length", "4"], "No such option: --max-length; here it is --train."),
        (
            ["run", "copy", "--systems", "coupled+local-bias-sink"],
            "No such option: --systems; here it is --scheme coupled --encoding local-bias-sink.",
        ),
        (["compare", "copy", "--scheme", "coupled"], "No such option: --scheme; here it is --systems."),
        (["predict", "aditon"], "Did you mean 'addition'?"),
        (["decide", "-?1+"], "A target that begins with '-' is written 'regex:-?1+'."),
        (["show", "addition", "--scheme", "position-coupling"], "Did you mean 'coupled'?"),
        (["run", "addition", "--set", "encoding.name=rotary"], "unknown encoding 'rotary'. Did you mean 'rope'?"),
        (["run", "addition", "--set", "encoding.name=absolute"], "Did you mean 'learned'?"),
        (["show", "sorting"], "Did you mean 'sort'?"),
        (["run"], "give a recipe, a task or --config FILE, and only one"),
        (["run", "addition", "--config", "x.json"], "give a recipe, a task or --config FILE, and only one"),
        (["run", "addition", "--seed", "1", "--seeds", "2"], "give --seed N for one seed or --seeds N for 0…N−1"),
        (["run", "addition", "--seed", "-1"], "--seed must be at least 0, got -1"),
        (["run", "addition", "--seed", str(2**53)], "seeds must be whole numbers from 0, below 2**53"),
        (["run", "addition", "--log-to", "mlflow"], "unknown service to log to 'mlflow'. Known: tensorboard, wandb."),
        ([*RUN, "--device", "abacus", "--seeds", "1"], "device is 'abacus', which this torch can't use"),
    ],
)
def test_one_line_says_what_to_write(
    terminal: Terminal, words: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LENGTHWISE_DEVICE", "cpu")
    answer = terminal(*words)
    assert (answer.code, answer.out) == (2, "")
    assert says in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize("words", [[], ["crasp"], ["lm"]])
def test_a_bare_command_is_its_help_and_no_mistake(terminal: Terminal, words: list[str]) -> None:
    bare, asked = terminal(*words), terminal(*words, "--help")
    assert (bare.code, bare.err) == (0, "")
    assert bare.out.split() == asked.out.split()


@pytest.mark.parametrize("command", commands())
def test_an_option_of_another_name_is_given_by_its_name_here(terminal: Terminal, command: str) -> None:
    """In every command, flags of the table that it lacks and has under another name."""
    words = command.split()
    has = options_of(words)
    lacks = [(flag, name) for group in SAME for flag in group if flag not in has and (name := same_flag(flag, has))]
    assert all(name in has for _, name in lacks)
    for flag, name in lacks[:2]:
        ended = terminal(*words, "copy", flag, "4")
        assert ended.code == 2
        assert f"No such option: {flag}; here it is {name}. Try 'lengthwise {command} --help'." in ended.err


def test_check_says_first_what_came_of_it_and_a_mistake_once(terminal: Terminal, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(EXAMPLE.read_text().replace("def write(self, seq, layout, rng):", "def write(self, seq, layout):"))
    for file, held, code in ((path, "6 of 16", 1), (EXAMPLE, "16 of 16", 0)):
        answer = terminal("check", f"{file}:EverySecond")
        assert answer.code == code
        assert " ".join(answer.out.split()).startswith(f"{held} task laws hold for {file}:EverySecond")
        assert "holds   " not in answer.out
        assert answer.out.count("to mend: ") == code
        assert ("what to do next: lengthwise predict" in answer.out) == (code == 0)


@pytest.mark.parametrize(
    "one_row",
    [
        "kept = [0, *(i for i in range(1, layout.length) if digits[i] != digits[i - 1])]",
        "many = int(digits[0])",
        "many = range(digits[0])",
        "many = {digits[0]}",
    ],
)
def test_an_if_on_a_column_is_one_fault_with_its_line_and_the_way_out(
    terminal: Terminal, tmp_path: Path, one_row: str
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(EXAMPLE.read_text().replace("seq.bos()", f"{one_row}\n        seq.bos()"))
    line = 1 + next(i for i, text in enumerate(path.read_text().splitlines()) if one_row in text)
    checked, shown = terminal("check", f"{path}:EverySecond", "--why"), terminal("show", f"{path}:EverySecond")
    said = checked.out.splitlines()
    assert re.match(r"[1-9]\d* of \d+ task laws hold", said[0])
    assert sum("holds   " in one for one in said) == 6
    assert "broken  " not in checked.out
    assert "not checked: 10 laws" in checked.out
    for text in (" ".join(checked.out.split()), shown.err):
        assert f"{path}, line {line}, in EverySecond.write" in text
        assert text.count("`write` fills a column for many rows at once") == 1
        assert "docs/howto/own-task.md#answers-of-variable-length" in text
        assert "ambiguous" not in text
    assert (checked.code, shown.code, shown.err.count("\n")) == (1, 2, 1)
    held = [one["holds"] for one in terminal("check", f"{path}:EverySecond", "--json").json()]
    assert (held.count("no"), held.count("not checked"), held.count("yes")) == (0, 10, 6)


def test_a_fault_is_said_once_though_its_numbers_are_of_each_batch(terminal: Terminal, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    broken = "digits[0] + rng.integers(2, size=seq.size + 1)"
    path.write_text(EXAMPLE.read_text().replace("seq.bos()", f"{broken}\n        seq.bos()"))
    checked = terminal("check", f"{path}:EverySecond")
    text = " ".join(checked.out.split())  # how lines break depends on the path
    assert text.count("to mend: ") == 1
    assert text.count("in EverySecond.write") == 1
    assert "not checked: " in checked.out


def test_check_notes_places_that_tell_content(terminal: Terminal) -> None:
    runs = EXAMPLE.parent / "remove_duplicates.py"
    note = "note: places of the prompt depend on what it says: under coupled ids your code must compute them"
    answer = terminal("check", f"{runs}:RemoveDuplicates")
    assert (answer.code, answer.out.count(note)) == (0, 1)
    assert "note: " not in terminal("check", f"{EXAMPLE}:EverySecond").out


@pytest.mark.parametrize(
    "given", [["--seeds", "3", "--budget", "10m"], ["--budget=10m", "--seeds=3"]], ids=["words", "equals"]
)
def test_a_budget_that_is_too_small_ends_in_a_command(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, given: list[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise TooSmallError("budget is too small", {"systems": ["nope", "sequential+rope"]}, ["fire"])

    monkeypatch.setattr("lengthwise.experiments.compare.run_comparison", refuse)
    said = terminal("compare", "parity", "--max-length", "40", *given)
    assert said.code == 2
    assert said.err.strip() == (
        "error: --budget is too small; enough to train all but fire, though no fit is promised: "
        f"lengthwise compare parity --max-length 40 {' '.join(given)} --systems nope,sequential+rope"
    )


@pytest.mark.parametrize("command", ["compare", "run", "predict", "show"])
def test_a_call_in_place_of_a_task_says_where_settings_go(terminal: Terminal, command: str) -> None:
    said = terminal(command, "copy(letters=16)")
    assert said.code == 2
    assert "'copy(letters=16)' looks like a call of task 'copy'" in said.err
    assert "by the option --set, as task.letters=16" in said.err
    assert "lw.task('copy', letters=16)" in said.err


def test_compare_takes_settings_of_the_task(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []

    def refuse(task: Any, folder: Path, **_: object) -> None:
        given.extend([task, folder.name])
        raise TooSmallError("give budget=3m or more, or a smaller max_length", {"budget": "3m"})

    monkeypatch.setattr("lengthwise.experiments.compare.run_comparison", refuse)
    said = terminal("compare", "copy", "--set", "task.letters=16")
    assert (given[0].letters, given[1]) == (16, folder_name(lw.task("copy", letters=16)))
    assert "give --budget 3m or more, or a smaller --max-length; enough" in said.err
    assert said.err.strip().endswith("lengthwise compare copy --set task.letters=16 --budget 3m")
    assert "Did you mean 'task.letters'" in terminal("compare", "copy", "--set", "task.leters=16").err


def test_the_progress_of_a_comparison_names_the_setting(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rich.console import Console

    monkeypatch.setattr("lengthwise.api.progress.QUIET_SECONDS", -1)
    show = ComparisonProgress(Console(), again)
    show(Event("nope", 0, "train", 17, 200, text="setting 2 of 2"))
    show(Event("nope", 0, "test", 1, 4))
    assert capsys.readouterr().out.splitlines() == [
        "nope, seed 0, setting 2 of 2, train 17 of 200",
        "nope, seed 0, test 1 of 4",
    ]


def test_a_bare_expression_is_one(terminal: Terminal) -> None:
    assert terminal("predict", "(ab)*", "--json").json()["kind"] == "language"


def test_text_for_a_token_id_says_what_to_write(terminal: Terminal, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(EXAMPLE.read_text().replace("seq.sep(place=1)", "seq.given('_', place=1)"))
    # In a process of its own: the run-time checks of the tests would refuse the text before we do.
    done = ran(f"import sys; from lengthwise.cli.main import main; sys.exit(main(['show', '{path}:EverySecond']))")
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if ": at work for " not in line]
    assert len(lines) == 1
    assert "a column takes token ids, got the text '_'; write seq.vocab['_']" in lines[0]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (
            "class X(lw.Task):\n    def write(self, seq, layout, rng): ...",
            "lacks the method answer; write `def answer(",
        ),
        (
            "class X(PositionScheme):\n    def assign(self, p, k, r): ...",
            "lacks the field max_position; write `max_pos",
        ),
        (
            "class X(PositionScheme):\n    max_position: int = 9",
            "lacks the method assign; write `def assign(self, places,",
        ),
        ("class X(EncodingSpec):\n    pass", "lacks the method build; write `def build(self, shape)`"),
    ],
)
def test_what_a_class_of_a_file_lacks_is_said(terminal: Terminal, tmp_path: Path, body: str, says: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "import lengthwise as lw\nfrom lengthwise.positions.encodings import EncodingSpec\n"
        f"from lengthwise.positions.schemes import PositionScheme\n@lw.config\n{body}\n"
    )
    answer = terminal("check", f"{path}:X")
    assert (answer.code, answer.out) == (2, "")
    assert says in answer.err
    assert answer.err.count("\n") == 1


def test_the_list_has_every_line_once(terminal: Terminal) -> None:
    listed = terminal("list", "--json").json()
    for kind, entries in listed.items():
        summaries = [entry["summary"] for entry in entries]
        assert len(summaries) == len(set(summaries)), kind
    alias = next(entry for entry in listed["tasks"] if entry["name"] == "repeat_copy")
    assert alias["summary"] == 'alias: copy with symbols="repeats"'


def test_the_shell_completes_commands() -> None:
    words = {"_LENGTHWISE_COMPLETE": "complete_bash", "COMP_WORDS": "lengthwise pre", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "lengthwise"], env={**os.environ, **words}, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split() == ["predict"], done.stderr


@pytest.mark.parametrize("suffix", [".json", ".toml"])
def test_a_printed_configuration_runs_again(terminal: Terminal, tmp_path: Path, suffix: str) -> None:
    printed = terminal(*RUN, "--seed", "3", "--print-config")
    path = tmp_path / f"mine{suffix}"
    path.write_text(printed.out if suffix == ".json" else _toml(printed.json()))
    first = terminal(*RUN, "--seed", "3", "--out", tmp_path / "runs", "--json")
    assert first.json()["systems"][0]["seeds"] == [3]
    again = terminal("run", "--config", path, "--out", tmp_path / "runs", "--json")
    assert "reused" in again.err, "the same run has the same directory"
    assert again.json()["systems"][0]["scores"] == first.json()["systems"][0]["scores"]
    (own,) = (tmp_path / "runs").rglob("config.json")
    (system,) = terminal("run", "--config", own, "--print-config").json()["systems"]
    assert system["name"] == first.json()["systems"][0]["name"], "so that more seeds of it are the same system"
    (other,) = terminal("run", "--config", own, "--scheme", "random-start", "--print-config").json()["systems"]
    assert other["experiment"].pop("scheme")["random_start"]
    assert other["experiment"] == {part: of for part, of in system["experiment"].items() if part != "scheme"}
    assert "rope" in terminal("run", "--config", own, "--scheme", "rope", "--print-config").err


def _toml(values: dict[str, Any]) -> str:
    """The configuration without empty fields as TOML, which has no null."""
    lines = [f"recipe = {json.dumps(values['recipe'])}"]
    for system in values["systems"]:
        lines += ["[[systems]]", f"name = {json.dumps(system['name'])}", f"seeds = {system['seeds']}"]
        for part, fields in system["experiment"].items():
            lines.append(f"[systems.experiment.{part}]")
            lines += [f"{key} = {json.dumps(value)}" for key, value in fields.items() if value is not None]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.json", "{", "a.json is not JSON"),
        ("a.toml", "= 1", "a.toml is not TOML"),
        ("a.json", "[]", "lists no systems; write"),
        ("a.json", '{"systems": [{"name": "x"}]}', "a system has no experiment; write"),
        ("a.json", '{"sistems": [], "systems": [{"experiment": {}}]}', "unknown field of"),
        ("a.json", '{"systems": [{"experiment": {"tusk": 1}}]}', "unknown field of experiment 'tusk'"),
        ("a.json", '{"systems": [{"experiment": {}, "seeds": [-1]}]}', "seeds must be a list of whole numbers from 0"),
        ("a.json", '{"recipe": "../b", "systems": [{"experiment": {}}]}', "recipe must be the name of one folder"),
        ("a.json", '{"systems": [{"experiment": {"task": "adition"}}]}', "Did you mean 'addition'?"),
    ],
)
def test_a_configuration_with_a_mistake(terminal: Terminal, tmp_path: Path, name: str, text: str, says: str) -> None:
    (tmp_path / name).write_text(text)
    answer = terminal("run", "--config", tmp_path / name)
    assert (answer.code, answer.out) == (2, "")
    assert says in answer.err
    assert answer.err.count("\n") == 1


def test_numbers_of_an_unfitted_control_are_shown_in_brackets(terminal: Terminal, tmp_path: Path) -> None:
    answer = terminal(*RUN, "--seeds", "1", "--set", "evaluation.unfitted_too=true", "--out", tmp_path / "runs")
    line = answer.out[answer.out.index("\ncoupled ") :]
    assert "(0.000)" in line
    assert "measured as a control (unfitted_too)" in answer.out
    page = tmp_path / "page.html"
    assert terminal("report", tmp_path / "runs", "-o", page).code == 0
    assert "tested all the same as a control" in page.read_text(encoding="utf-8")


def test_without_unfitted_too_there_is_no_number(terminal: Terminal, tmp_path: Path) -> None:
    answer = terminal(*RUN, "--seeds", "1", "--out", tmp_path)
    assert "not fitted" in answer.out
    assert "control" not in answer.out


def test_control_c_says_that_the_same_command_goes_on(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lengthwise.experiments.engine.sweep", interrupt)
    answer = terminal(*RUN)
    assert answer.err.strip() == "interrupted; give the same command again to go on"


@pytest.mark.parametrize("service", ["wandb", "tensorboard"])
def test_a_service_that_is_not_installed(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, service: str
) -> None:
    monkeypatch.setitem(sys.modules, service, None)
    answer = terminal(*RUN, "--out", tmp_path, "--log-to", service)
    assert answer.code == 2
    assert f"needs the package {service}; run: pip install 'lengthwise[{service}]'" in answer.err


def cpu_seconds(*words: str, enough: float = 0.0) -> float:
    """The least processor time of two starts, or of one that takes less than ``enough``."""
    least = float("inf")
    for _ in range(2):
        if least < enough:
            break
        before = os.times()
        subprocess.run([sys.executable, *words], capture_output=True, check=True, timeout=120)
        after = os.times()
        least = min(least, after.children_user + after.children_system - before.children_user - before.children_system)
    return least


@pytest.mark.parametrize(("words", "seconds"), [(["--help"], 0.4), (["decide", "(aa)*"], 0.7)], ids=["help", "decide"])
def test_commands_start_quickly(words: list[str], seconds: float) -> None:
    """The limits are for an idle machine; beside other processes the same work takes up to twice the processor time."""
    limit = 2.5 * seconds
    assert cpu_seconds("-m", "lengthwise", *words, enough=limit) < limit, "something heavy is imported"


def test_the_import_costs_next_to_nothing() -> None:
    with_import, without = cpu_seconds("-c", "import lengthwise"), cpu_seconds("-c", "pass")
    assert with_import - without < 0.1


def test_the_demonstration_is_a_recipe() -> None:
    assert "demo" in RECIPES.names()


def test_the_example_of_the_readme_is_predicted_and_coupled(terminal: Terminal) -> None:
    target = f"{EXAMPLE}:EverySecond"
    assert "coupled" in terminal("predict", target).out
    assert "ids found that bring" in terminal("couple", target, "--lengths", "5,8").out
