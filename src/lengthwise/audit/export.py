"""Tasks as folders for evaluation harnesses: lm-evaluation-harness and Inspect.

A folder has the problems as JSON lines, a reader that scores as the audit does, and the files that the harness loads.
Every length is a task of its own, so that no result has to mark the lengths that it is not about.
"""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path

from lengthwise.audit.questions import AuditPlan, Question, natural_questions
from lengthwise.core.errors import UnknownNameError, require
from lengthwise.core.files import slug, write_json, write_text

HARNESSES = ("lm-eval", "inspect")
METRICS = ("exact_match", "strict_match")

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
  until: []
  max_gen_toks: {budget}
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
  - metric: strict_match
    aggregation: mean
    higher_is_better: true
"""
GROUP = """group: {name}
task:
{tasks}
aggregate_metric_list:
  - metric: exact_match
    weight_by_size: true
  - metric: strict_match
    weight_by_size: true
"""
INSPECT = '''"""Exact and strict match by length, for Inspect; run `inspect eval {name}.py -T length={length}`."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import Score, accuracy, scorer, stderr
from inspect_ai.solver import generate

# By its path and under a name of its own, since other folders have a reader.py, too.
spec = spec_from_file_location("{name}_reader", Path(__file__).with_name("reader.py"))
reader = module_from_spec(spec)
spec.loader.exec_module(reader)

BUDGETS = {budgets}


@scorer(metrics=[accuracy(), stderr()])
def exact_match():
    async def score(state, target):
        text = state.output.completion
        return Score(value=reader.scores(text, target.text)["exact_match"], answer=text)

    return score


@scorer(metrics=[accuracy(), stderr()])
def strict_match():
    async def score(state, target):
        text = state.output.completion
        return Score(value=reader.scores(text, target.text)["strict_match"], answer=text)

    return score


@task
def {name}(length: int = {length}) -> Task:
    if length not in BUDGETS:
        raise ValueError(f"no problems of length {{length}}; choose from {{sorted(BUDGETS)}}")
    samples = [Sample(input=row["prompt"], target=row["answer"]) for row in reader.rows(length)]
    config = GenerateConfig(temperature=0.0, max_tokens=BUDGETS[length])
    return Task(dataset=samples, solver=generate(), scorer=[exact_match(), strict_match()], config=config)
'''


def task_name(plan: AuditPlan) -> str:
    """The name of a task in a harness: an identifier, whatever the task is called."""
    return "lengthwise_" + re.sub(r"[^A-Za-z0-9]", "_", slug(plan.task.name))


def export(harness: str, plan: AuditPlan, folder: Path) -> list[Path]:
    """Write the folder of ``plan``, asked in the plan's first form, and return its files.

    Arguments:
        harness: one of `HARNESSES`.
        plan: what is asked, and how answers are read.
        folder: where all files go; names in them come from no user.

    Raises:
        LengthwiseError: for an unknown harness, or a folder that holds other files.
    """
    if harness not in HARNESSES:
        raise UnknownNameError("harness", harness, HARNESSES)
    name = task_name(plan)
    by_length = _by_length(plan)
    texts = {f"length_{length}.jsonl": _problems(members) for length, members in by_length.items()}
    budgets = {length: max(question.budget for question in members) for length, members in by_length.items()}
    texts["reader.py"] = files("lengthwise.audit").joinpath("scoring.py").read_text("utf-8")
    if harness == "lm-eval":
        for length in plan.lengths:
            texts[f"{name}_{length}.yaml"] = LENGTH_TASK.format(name=name, length=length, budget=budgets[length])
        tasks = "\n".join(f"  - {name}_{length}" for length in plan.lengths)
        texts[f"{name}.yaml"] = GROUP.format(name=name, tasks=tasks)
    else:
        texts[f"{name}.py"] = INSPECT.format(name=name, length=plan.lengths[0], budgets=budgets)
    settings = "scoring.json"
    known = {*texts, settings}
    strangers = sorted(path.name for path in folder.iterdir() if path.name not in known) if folder.is_dir() else []
    require(not strangers, f"{folder} holds other files ({', '.join(strangers[:3])}); choose another folder")
    for file, text in texts.items():
        write_text(folder / file, text)
    write_json(folder / settings, plan.scoring._asdict())
    return [folder / file for file in sorted(known)]


def _by_length(plan: AuditPlan) -> dict[int, list[Question]]:
    form = plan.prompt_forms[0].name
    found: dict[int, list[Question]] = {length: [] for length in plan.lengths}
    for question in natural_questions(plan):
        if question.form == form:
            found[question.level].append(question)
    return found


def _problems(members: list[Question]) -> str:
    """One problem per line."""
    return "".join(
        json.dumps({
            "prompt": question.prompt, "answer": question.expected, "length": question.level,
            "words_that_matter": question.number, "distance": question.distance,
        }) + "\n"
        for question in members
    )  # fmt: skip
