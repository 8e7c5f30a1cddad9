"""An exported task runs under the real lm-evaluation-harness and gives the counts that our own scoring gives."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from test_served import saved
from transformers import AutoModelForCausalLM, AutoTokenizer

from lengthwise.audit.export import export
from lengthwise.audit.model import LocalModel
from lengthwise.audit.questions import AuditPlan, natural_questions
from lengthwise.audit.scoring import RIGHT, Scoring, outcome, strictly_right
from lengthwise.cli.main import main
from lengthwise.tasks import TASKS

PLAN = AuditPlan(TASKS.build("parity"), (2, 4), samples=12, shots=2, forms=("lines",))


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
        right = [outcome("e", question.expected) == RIGHT for question in questions if question.level == length]
        assert found["results"][f"lengthwise_parity_{length}"]["exact_match,none"] == sum(right) / len(right)
        assert 0 < sum(right) < len(right)


def test_the_real_inspect_gives_our_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Two folders in one process, each with a reader of its own."""
    import inspect_ai
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    monkeypatch.chdir(tmp_path)
    others = AuditPlan(TASKS.build("majority"), (3, 5), samples=8, shots=1, forms=("arrow",))
    for plan in (PLAN, others):
        answer, counts = natural_questions(plan)[0].expected, []
        name = "lengthwise_" + plan.task.name
        export("inspect", plan, Path(name))
        for length in plan.lengths:
            asked: dict[str, int] = {}

            def said(given: Any, tools: Any, choice: Any, config: Any, asked: Any = asked, text: str = answer) -> Any:
                asked[given[-1].text] = config.max_tokens
                output = ModelOutput.from_content("mock", f"Output: {text}")
                output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # else it counts online
                return output

            (log,) = inspect_ai.eval(
                f"{name}/{name}.py", model=get_model("mockllm/model", custom_outputs=said),
                task_args={"length": length}, log_dir="logs", display="none",
            )  # fmt: skip
            questions = [question for question in natural_questions(plan) if question.level == length]
            right = [outcome(answer, question.expected) == RIGHT for question in questions]
            assert log.status == "success", log.error
            assert set(asked) == {question.prompt for question in questions}
            assert set(asked.values()) == {max(question.budget for question in questions)}
            assert [sample.scores["exact_match"].value == 1.0 for sample in log.samples] == right
            assert log.results.scores[0].metrics["accuracy"].value == pytest.approx(sum(right) / len(right))
            counts += right
        assert 0 < sum(counts) < len(counts)


WRITTEN = ["{}", "The answer is {}.", "<think>no</think>\n\n{}", "no", "{}\n\nInput: 1", "```\n{}\n```", "1 {}"]


@pytest.mark.parametrize(
    "scoring", [Scoring(), Scoring(strip_think=False), Scoring("regex", r"is (\w)"), Scoring("regex", "[eo]")], ids=str
)
def test_both_harnesses_and_the_audit_count_the_same_under_every_setting(
    scoring: Scoring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    import inspect_ai
    import lm_eval
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from lm_eval.api.model import LM
    from lm_eval.tasks import TaskManager

    monkeypatch.chdir(tmp_path)
    plan = AuditPlan(TASKS.build("parity"), (5, 7), samples=14, shots=1, forms=("lines",), scoring=scoring)
    export("lm-eval", plan, Path("a"))
    export("inspect", plan, Path("b"))
    questions = natural_questions(plan)
    texts = {
        q.prompt: WRITTEN[i % len(WRITTEN)].format(q.expected)
        for i, q in enumerate({q.prompt: q for q in questions}.values())
    }

    class Planted(LM):
        def generate_until(self, requests: Any, disable_tqdm: bool = False) -> list[str]:
            assert all(request.args[1]["until"] == [] for request in requests), "nothing is cut before it is read"
            return [texts[request.args[0]] for request in requests]

        def loglikelihood(self, requests: Any) -> Any:
            raise NotImplementedError

        def loglikelihood_rolling(self, requests: Any) -> Any:
            raise NotImplementedError

    def said(given: Any, tools: Any, choice: Any, config: Any) -> Any:
        output = ModelOutput.from_content("mock", texts[given[-1].text])
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    manager = TaskManager(include_path="a", include_defaults=False)
    found = lm_eval.simple_evaluate(Planted(), tasks=["lengthwise_parity"], task_manager=manager, bootstrap_iters=0)
    rates_seen: set[float] = set()
    for length in plan.lengths:
        own = [q for q in questions if q.level == length]
        exact = sum(outcome(texts[q.prompt], q.expected, scoring) == RIGHT for q in own) / len(own)
        strict = sum(strictly_right(texts[q.prompt], q.expected, scoring) for q in own) / len(own)
        harness = found["results"][f"lengthwise_parity_{length}"]
        assert (harness["exact_match,none"], harness["strict_match,none"]) == (exact, strict)
        (log,) = inspect_ai.eval(
            "b/lengthwise_parity.py", model=get_model("mockllm/model", custom_outputs=said),
            task_args={"length": length}, log_dir="logs", display="none",
        )  # fmt: skip
        assert log.status == "success", log.error
        rates = {score.name: score.metrics["accuracy"].value for score in log.results.scores}
        assert rates == pytest.approx({"exact_match": exact, "strict_match": strict})
        rates_seen.add(exact)
    assert rates_seen != {0.0}
    assert rates_seen != {1.0}


@pytest.mark.parametrize("name", ["../../evil", "my task: #1 'x'", "examples/my_task.py:EverySecond", "def f(): 1"])
def test_names_of_users_become_plain_names_of_files(name: str, tmp_path: Path):
    import yaml

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_constructor("!function", lambda loader, node: node.value)
    parity = TASKS.build("parity")
    monkey = type(parity)()
    object.__setattr__(monkey, "name", name)
    plan = AuditPlan(monkey, (2, 4), samples=2, shots=0, forms=("lines",))
    for harness in ("lm-eval", "inspect"):
        inner = tmp_path / "deep" / "deeper" / harness
        written = export(harness, plan, inner)
        everything = {path for path in tmp_path.rglob("*") if path.is_file()}
        assert {path for path in everything if harness in path.parts} == set(written)
        assert all(path.parent == inner for path in written)
        for path in written:
            assert path.name.replace(".", "").replace("_", "").isalnum()
            if path.suffix == ".yaml":
                found = yaml.load(path.read_text(), Loader)
                assert path.stem in (found.get("task"), found.get("group"))
            if path.suffix == ".py":
                compile(path.read_text(), path.name, "exec")
    assert everything == {path for path in tmp_path.rglob("*") if path.is_file()}


def test_a_length_that_was_not_exported_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import inspect_ai

    monkeypatch.chdir(tmp_path)
    export("inspect", PLAN, Path("tasks"))
    with pytest.raises(ValueError, match=r"no problems of length 3; choose from \[2, 4\]"):
        inspect_ai.eval(
            "tasks/lengthwise_parity.py", model="mockllm/model", task_args={"length": 3}, display="none", log_dir="logs"
        )


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


def test_a_model_gets_the_same_counts_from_the_harness_and_from_the_audit(tmp_path: Path):
    """A Llama from a folder that answers ``e`` to everything: right where the number of ones is even."""
    import lm_eval
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    model = LocalModel(str(always_says(" e\n", saved(tmp_path / "model"))))
    export("lm-eval", PLAN, tmp_path / "tasks")
    manager = TaskManager(include_path=str(tmp_path / "tasks"), include_defaults=False)
    wrapped = HFLM(pretrained=model.model, tokenizer=model.tokenizer, device="cpu", batch_size=4)
    found = lm_eval.simple_evaluate(wrapped, tasks=["lengthwise_parity"], task_manager=manager, bootstrap_iters=0)
    for length in PLAN.lengths:
        asked = [question for question in natural_questions(PLAN) if question.level == length]
        right = [outcome(model.ask(each.prompt, each.budget).text, each.expected) == RIGHT for each in asked]
        assert found["results"][f"lengthwise_parity_{length}"]["exact_match,none"] == sum(right) / len(right)
        assert 0 < sum(right) < len(right)


def always_says(text: str, folder: Path) -> Path:
    """Rewrite a model so that a prompt's last character, ``:``, is followed by ``text``, one character by the last."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    chain = tokenizer(":" + text)["input_ids"]
    assert len(chain) == len(text) + 1
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        model.model.embed_tokens.weight.zero_()
        model.lm_head.weight.zero_()
        for place, (token, following) in enumerate(pairwise(chain)):
            model.model.embed_tokens.weight[token, place] = 1.0
            model.lm_head.weight[following, place] = 1.0
    model.save_pretrained(folder)
    return folder
