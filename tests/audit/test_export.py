"""An exported task runs under the real lm-evaluation-harness and gives the counts that our own scoring gives."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.audit.export import reader
from lengthwise.audit.export.folders import export
from lengthwise.audit.outcomes import RIGHT, Reply, judged
from lengthwise.audit.questions import AuditPlan, natural_questions
from lengthwise.cli.main import main
from lengthwise.tasks import TASKS

PLAN = AuditPlan(TASKS.build("parity"), (2, 4), samples=12, shots=2, forms=("lines",))


@given(
    st.lists(st.sampled_from(["1", "2", "12"]), min_size=1, max_size=3),
    st.text(st.sampled_from("12 .\n`O"), max_size=12),
    st.sampled_from(["", "Output: ", "-> "]),
)
def test_the_reader_scores_as_the_audit_does(expected: list[str], text: str, label: str):
    said = label + text
    assert reader.is_right(said, " ".join(expected)) == (judged(Reply(said), expected) == RIGHT)


def test_the_real_harness_gives_our_counts(tmp_path: Path):
    import lm_eval
    from lm_eval.api.model import LM
    from lm_eval.tasks import TaskManager

    export("lm-eval", PLAN, tmp_path)

    class Even(LM):
        """Says that every word has an even number of ones."""

        def generate_until(self, requests: Any, disable_tqdm: bool = False) -> list[str]:
            prompts.extend(request.args[0] for request in requests)
            return [" e" for _ in requests]

        def loglikelihood(self, requests: Any) -> Any:
            raise NotImplementedError

        def loglikelihood_rolling(self, requests: Any) -> Any:
            raise NotImplementedError

    prompts: list[str] = []
    manager = TaskManager(include_path=str(tmp_path), include_defaults=False)
    found = lm_eval.simple_evaluate(Even(), tasks=["lengthwise_parity"], task_manager=manager, bootstrap_iters=0)
    questions = natural_questions(PLAN)
    assert sorted(prompts) == sorted(question.prompt for question in questions)
    for length in PLAN.lengths:
        right = [judged(Reply("e"), question.expected) == RIGHT for question in questions if question.level == length]
        assert found["results"][f"lengthwise_parity_{length}"]["exact_match,none"] == sum(right) / len(right)
        assert 0 < sum(right) < len(right)


def test_the_inspect_file_is_python_and_names_its_task(tmp_path: Path):
    files = export("inspect", PLAN, tmp_path)
    (task,) = [path for path in files if path.name == "lengthwise_parity.py"]
    names = {node.name for node in ast.walk(ast.parse(task.read_text())) if isinstance(node, ast.FunctionDef)}
    assert names == {"exact_match", "lengthwise_parity"}
    assert len((tmp_path / "length_4.jsonl").read_text().splitlines()) == 12


def test_the_command_and_its_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    words = ["export", "lm-eval", "addition", "--lengths", "2,3", "--samples", "2", "--out", str(tmp_path / "a")]
    assert main(words) == 0
    assert "--tasks lengthwise_addition" in capsys.readouterr().err.replace("\n", " ")
    assert main(words) == 0, "writing it again is fine"
    (tmp_path / "a" / "mine.txt").write_text("mine")
    capsys.readouterr()
    for given_words, says in (
        (words, "holds other files (mine.txt)"),
        (["export", "lmeval", "addition", "--out", str(tmp_path / "b")], "Did you mean 'lm-eval'?"),
        (["export", "lm-eval", "additon", "--out", str(tmp_path / "b")], "Did you mean 'addition'?"),
        (["export", "lm-eval", "addition", "--form", "line", "--out", str(tmp_path / "b")], "Did you mean 'lines'?"),
    ):
        assert main(given_words) == 2
        error = capsys.readouterr().err
        assert says in error
        assert error.count("\n") == 1
