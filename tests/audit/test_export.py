"""An exported task runs under the real lm-evaluation-harness and gives the counts that our own scoring gives."""

from __future__ import annotations

import json
import runpy
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from test_served import saved
from transformers import AutoModelForCausalLM, AutoTokenizer

from lengthwise.audit.export import export
from lengthwise.audit.model import LocalModel
from lengthwise.audit.questions import AuditPlan, natural_questions, sweep_questions
from lengthwise.audit.scoring import RIGHT, Scoring, outcome, strictly_right
from lengthwise.cli.main import main
from lengthwise.core.errors import LengthwiseError
from lengthwise.tasks import TASKS

PLAN = AuditPlan(TASKS.build("parity"), (2, 4), samples=12, shots=2, forms=("lines",))

DESCRIBE_NOTHING = lambda results: None  # noqa: E731
"""The harness asks pip and the processor about the machine, which takes a second and a half each time."""
WRITTEN = ["{}", "The answer is {}.", "<think>no</think>\n\n{}", "no", "{}\n\nInput: 1", "```\n{}\n```", "1 {}"]


@pytest.mark.parametrize(
    ("scoring", "sweeps"),
    [(Scoring(), True), (Scoring(strip_think=False), False), (Scoring("regex", r"is (\w)"), False),
     (Scoring("regex", "[eo]"), False)],
    ids=str,
)  # fmt: skip
def test_both_harnesses_and_the_audit_count_the_same_in_every_cell(
    scoring: Scoring, sweeps: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Two folders of Inspect in one process, each with a reader of its own."""
    import inspect_ai
    import lm_eval
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from lm_eval.api.model import LM
    from lm_eval.tasks import TaskManager

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("lm_eval.evaluator.add_env_info", DESCRIBE_NOTHING)
    plan = AuditPlan(
        TASKS.build("parity"), (5, 14 if sweeps else 7), samples=8, shots=1, forms=("lines", "arrow"), scoring=scoring
    )
    _, command = export("lm-eval", plan, Path("a"), sweeps=sweeps)
    export("inspect", plan, Path("b"), sweeps=sweeps)
    export("inspect", AuditPlan(TASKS.build("majority"), (3, 5), samples=2, shots=0), Path("c"))
    questions = [question for question in natural_questions(plan) if question.form == "lines"]
    questions += sweep_questions(plan, "lines") if sweeps else []
    cells: dict[str, list[Any]] = {}
    for question in questions:
        cells.setdefault(f"{question.sweep}_{question.level}", []).append(question)
    texts = {
        q.prompt: WRITTEN[i % len(WRITTEN)].format(q.expected)
        for i, q in enumerate({q.prompt: q for q in questions}.values())
    }
    budgets: dict[str, int] = {}
    asked: list[str] = []

    class Planted(LM):
        def generate_until(self, requests: Any, disable_tqdm: bool = False) -> list[str]:
            assert all(request.args[1]["until"] == [] for request in requests), "nothing is cut before it is read"
            return [texts[request.args[0]] for request in requests]

        def loglikelihood(self, requests: Any) -> Any:
            raise NotImplementedError

        def loglikelihood_rolling(self, requests: Any) -> Any:
            raise NotImplementedError

    def said(given: Any, tools: Any, choice: Any, config: Any) -> Any:
        budgets[given[-1].text] = config.max_tokens
        asked.append(given[-1].text)
        output = ModelOutput.from_content("mock", texts[given[-1].text])
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # else it counts online
        return output

    manager = TaskManager(include_path="a", include_defaults=False)
    groups = command.split("--tasks ")[1].split(",")
    assert len(groups) == (5 if sweeps else 1)
    found = lm_eval.simple_evaluate(Planted(), tasks=groups, task_manager=manager, bootstrap_iters=0)
    loaded = {
        name: runpy.run_path(f"{name}/lengthwise_{task}.py") for name, task in (("c", "majority"), ("b", "parity"))
    }
    (log,) = inspect_ai.eval(
        loaded["b"]["lengthwise_parity"](), model=get_model("mockllm/model", custom_outputs=said), log_dir="logs",
        display="none",
    )  # fmt: skip
    assert log.status == "success", log.error
    read = {score.name: {name: found.value for name, found in score.metrics.items()} for score in log.results.scores}
    assert set(read["exact_match"]) == set(cells)
    assert sorted(asked) == sorted(q.prompt for q in questions)
    rates_seen: set[float] = set()
    for cell, own in cells.items():
        exact = sum(outcome(texts[q.prompt], q.expected, scoring) == RIGHT for q in own) / len(own)
        strict = sum(strictly_right(texts[q.prompt], q.expected, scoring) for q in own) / len(own)
        harness = found["results"][f"lengthwise_parity_{cell}"]
        assert (harness["exact_match,none"], harness["strict_match,none"]) == (exact, strict)
        rates_seen.add(exact)
        assert (read["exact_match"][cell], read["strict_match"][cell]) == pytest.approx((exact, strict))
    assert rates_seen != {0.0}
    assert rates_seen != {1.0}
    assert all(budgets[q.prompt] == q.budget for q in questions)


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
        written, _ = export(harness, plan, inner)
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


def test_a_sweep_is_a_part_and_one_that_was_not_exported_is_named(tmp_path: Path):
    export("inspect", PLAN, tmp_path, sweeps=True)
    made = runpy.run_path(str(tmp_path / "lengthwise_parity.py"))["lengthwise_parity"]
    assert {sample.metadata["cell"] for sample in made(sweep="length").dataset} == {"length_2", "length_4"}
    with pytest.raises(ValueError, match="no sweep tokens; choose from all, problem, length"):
        made(sweep="tokens")


def test_sweeps_by_tokens_need_a_tokenizer_and_have_its_tokens(tmp_path: Path):
    plan = AuditPlan(TASKS.build("parity"), (2, 4), samples=2, shots=1, forms=("lines",), tokens=(200, 400))
    with pytest.raises(LengthwiseError, match="give `tokenizer`"):
        export("lm-eval", plan, tmp_path / "a", sweeps=True)
    with pytest.raises(LengthwiseError, match="choose `sweeps`"):
        export("lm-eval", plan, tmp_path / "a")
    folder = saved(tmp_path / "model")
    export("lm-eval", plan, tmp_path / "a", sweeps=True, tokenizer=str(folder))
    count = LocalModel(str(folder)).tokens
    for name, most in (("length_200", 200), ("length_400", 400), ("prose_100", 400), ("distance_0", 400)):
        for line in (tmp_path / "a" / f"{name}.jsonl").read_text().splitlines():
            assert most - 14 < count(json.loads(line)["prompt"]) <= most
    page = (tmp_path / "a" / "README.md").read_text()
    assert "| rope |" in page
    assert "Write e if the number of ones is even" in page


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
        (["export", "lm-eval", "addition", "--tokens", "1k,2k", "--out", str(tmp_path / "b")], "choose --sweeps"),
        (["export", "lm-eval", "addition", "--form", "line", "--out", str(tmp_path / "b")], "Did you mean 'lines'?"),
    ):
        assert main(given_words) == 2
        error = capsys.readouterr().err
        assert says in error
        assert error.count("\n") == 1


def test_a_model_gets_the_same_counts_from_the_harness_and_from_the_audit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A Llama from a folder that answers ``e`` to everything: right where the number of ones is even."""
    import lm_eval
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    monkeypatch.setattr("lm_eval.evaluator.add_env_info", DESCRIBE_NOTHING)
    model = LocalModel(str(always_says(" e\n", saved(tmp_path / "model"))))
    export("lm-eval", PLAN, tmp_path / "tasks")
    manager = TaskManager(include_path=str(tmp_path / "tasks"), include_defaults=False)
    wrapped = HFLM(pretrained=model.model, tokenizer=model.tokenizer, device="cpu", batch_size=4)
    found = lm_eval.simple_evaluate(wrapped, tasks=["lengthwise_parity"], task_manager=manager, bootstrap_iters=0)
    for length in PLAN.lengths:
        asked = [question for question in natural_questions(PLAN) if question.level == length]
        right = [outcome(model.ask(each.prompt, each.budget).text, each.expected) == RIGHT for each in asked]
        assert found["results"][f"lengthwise_parity_problem_{length}"]["exact_match,none"] == sum(right) / len(right)
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
