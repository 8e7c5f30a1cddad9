"""Writes the folder of a task for a harness: problems as JSON lines, a reader, and the files that the harness loads.

Every length is a task of its own, so that no result has to mark the lengths that it is not about.
"""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

from lengthwise.audit.forms import FORMS
from lengthwise.audit.questions import AuditPlan, Question, natural_questions
from lengthwise.audit.run import budget_of
from lengthwise.core.errors import UnknownNameError, require
from lengthwise.core.files import write_text

HARNESSES = ("lm-eval", "inspect")

LENGTH_TASK = """task: {name}_{length}
tag: {name}_lengths
custom_dataset: !function reader.read
dataset_kwargs:
  length: {length}
test_split: test
output_type: generate_until
doc_to_text: "{{{{prompt}}}}"
doc_to_target: "{{{{answer}}}}"
target_delimiter: " "
process_results: !function reader.score
generation_kwargs:
  do_sample: false
  until: ["\\n\\n"]
  max_gen_toks: {budget}
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
"""
GROUP = """group: {name}
task:
{tasks}
aggregate_metric_list:
  - metric: exact_match
    weight_by_size: true
"""
INSPECT = '''"""{name}: exact match by length, for Inspect; run `inspect eval {name}.py -T length={length}`."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import CORRECT, INCORRECT, Score, accuracy, scorer, stderr
from inspect_ai.solver import generate

# By its path and under a name of its own, since other folders have a reader.py, too.
spec = spec_from_file_location("{name}_reader", Path(__file__).with_name("reader.py"))
reader = module_from_spec(spec)
spec.loader.exec_module(reader)

BUDGETS = {budgets}


@scorer(metrics=[accuracy(), stderr()])
def exact_match():
    async def score(state, target):
        said = state.output.completion
        return Score(value=CORRECT if reader.is_right(said, target.text) else INCORRECT, answer=said)

    return score


@task
def {name}(length: int = {length}) -> Task:
    if length not in BUDGETS:
        raise ValueError(f"no problems of length {{length}}; choose from {{sorted(BUDGETS)}}")
    samples = [Sample(input=row["prompt"], target=row["answer"]) for row in reader.rows(length)]
    config = GenerateConfig(temperature=0.0, max_tokens=BUDGETS[length])
    return Task(dataset=samples, solver=generate(), scorer=exact_match(), config=config)
'''


def export(harness: str, plan: AuditPlan, folder: Path) -> list[Path]:
    """Write the folder of ``plan``, asked in the plan's first form, and return its files.

    Raises `LengthwiseError` for an unknown harness, or a folder that holds other files.
    """
    if harness not in HARNESSES:
        raise UnknownNameError("harness", harness, HARNESSES)
    name = "lengthwise_" + plan.task.name.replace("-", "_")
    texts = _problems(plan)
    budgets = {length: max(budget_of(question) for question in members) for length, members in _by_length(plan).items()}
    texts["reader.py"] = files("lengthwise.audit.export").joinpath("reader.py").read_text("utf-8")
    if harness == "lm-eval":
        for length in plan.lengths:
            texts[f"{name}_{length}.yaml"] = LENGTH_TASK.format(name=name, length=length, budget=budgets[length])
        tasks = "\n".join(f"  - {name}_{length}" for length in plan.lengths)
        texts[f"{name}.yaml"] = GROUP.format(name=name, tasks=tasks)
    else:
        texts[f"{name}.py"] = INSPECT.format(name=name, length=plan.lengths[0], budgets=budgets)
    strangers = sorted(path.name for path in folder.iterdir() if path.name not in texts) if folder.is_dir() else []
    require(not strangers, f"{folder} holds other files ({', '.join(strangers[:3])}); choose another --out")
    for file, text in texts.items():
        write_text(folder / file, text)
    return [folder / file for file in texts]


def _by_length(plan: AuditPlan) -> dict[int, list[Question]]:
    form = FORMS[plan.forms[0]].name
    found: dict[int, list[Question]] = {length: [] for length in plan.lengths}
    for question in natural_questions(plan):
        if question.form == form:
            found[question.level].append(question)
    return found


def _problems(plan: AuditPlan) -> dict[str, str]:
    """One file per length, one problem per line."""
    return {
        f"length_{length}.jsonl": "".join(
            json.dumps({
                "prompt": question.prompt, "answer": " ".join(question.expected), "length": length,
                "words_that_matter": question.number, "distance": question.distance,
            }) + "\n"
            for question in members
        )
        for length, members in _by_length(plan).items()
    }  # fmt: skip
