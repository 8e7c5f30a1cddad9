"""Tasks as folders for evaluation harnesses: lm-evaluation-harness and Inspect.

A folder has the problems as JSON lines, a reader that scores as the audit does, the files that the harness loads, and
a page that says what is asked and what theory expects. Every cell of the audit is a task of its own in the first, and
a metric of its own in one log of the second.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from lengthwise.audit.model import prompt_ids
from lengthwise.audit.questions import AuditPlan, Question, instruction, natural_questions, sweep_questions
from lengthwise.audit.run import theory_of
from lengthwise.core.errors import UnknownNameError, require
from lengthwise.core.files import slug, write_json, write_text

HARNESSES = ("lm-eval", "inspect")

CELL = """task: {name}_{cell}
tag: {name}_cells
custom_dataset: !function reader.read
dataset_kwargs:
  cell: {cell}
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
INSPECT = '''"""Exact and strict match of every cell in one log, for Inspect; `-T sweep=NAME` takes one sweep alone."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import Score, accuracy, grouped, scorer
from inspect_ai.solver import solver

# By its path and under a name of its own, since other folders have a reader.py, too.
spec = spec_from_file_location("{name}_reader", Path(__file__).with_name("reader.py"))
reader = module_from_spec(spec)
spec.loader.exec_module(reader)

CELLS = {cells}
by_cell = grouped(accuracy(), "cell", all=False)


@scorer(metrics=[by_cell])
def exact_match():
    async def score(state, target):
        text = state.output.completion
        return Score(value=reader.scores(text, target.text)["exact_match"], answer=text)

    return score


@scorer(metrics=[by_cell])
def strict_match():
    async def score(state, target):
        text = state.output.completion
        return Score(value=reader.scores(text, target.text)["strict_match"], answer=text)

    return score


@solver
def answer():
    async def solve(state, generate):
        return await generate(state, max_tokens=state.metadata["budget"])

    return solve


@task
def {name}(sweep: str = "all") -> Task:
    if sweep not in ("all", *CELLS):
        raise ValueError(f"no sweep {{sweep}}; choose from all, {{', '.join(CELLS)}}")
    samples = [
        Sample(input=row["prompt"], target=row["answer"], metadata={{"cell": cell, "budget": row["budget"]}})
        for name, cells in CELLS.items()
        for cell in cells
        for row in (reader.rows(cell) if sweep in ("all", name) else ())
    ]
    config = GenerateConfig(temperature=0.0)
    return Task(dataset=samples, solver=answer(), scorer=[exact_match(), strict_match()], config=config)
'''


def task_name(plan: AuditPlan) -> str:
    """The name of a task in a harness: an identifier, whatever the task is called."""
    return "lengthwise_" + re.sub(r"[^A-Za-z0-9]", "_", slug(plan.task.name))


def export(
    harness: str, plan: AuditPlan, folder: Path, *, sweeps: bool = False, tokenizer: str | None = None
) -> tuple[list[Path], str]:
    """Write the folder of ``plan``, asked in the plan's first form; returns its files and a command that runs it.

    Arguments:
        harness: one of `HARNESSES`.
        plan: what is asked, and how answers are read.
        folder: where all files go; names in them come from no user.
        sweeps: whether the cells in which one thing varies are there, too.
        tokenizer: a folder or hub name whose tokens ``plan.tokens`` counts.

    Raises:
        LengthwiseError: for an unknown harness, a folder that holds other files, and a plan that counts no tokens.
    """
    if harness not in HARNESSES:
        raise UnknownNameError("harness", harness, HARNESSES)
    require(not plan.tokens or sweeps, "tokens are for filler, which only sweeps have; choose `sweeps`")
    require(not plan.tokens or tokenizer is not None, "tokens needs a tokenizer that counts them; give `tokenizer`")
    if tokenizer is not None:
        from lengthwise.influence.huggingface import loaded_tokenizer

        count = loaded_tokenizer(tokenizer, extra="hf")
        plan = replace(plan, count=lambda prompt, amounts: len(prompt_ids(count, prompt)))
    name, form = task_name(plan), plan.prompt_forms[0].name
    cells: dict[str, list[Question]] = {}
    asked = [question for question in natural_questions(plan) if question.form == form]
    for question in [*asked, *(sweep_questions(plan, form) if sweeps else ())]:
        cells.setdefault(f"{question.sweep}_{question.level}", []).append(question)
    by_sweep: dict[str, list[str]] = {}
    for cell, members in cells.items():
        by_sweep.setdefault(members[0].sweep, []).append(cell)
    texts = {f"{cell}.jsonl": _problems(members) for cell, members in cells.items()}
    texts["reader.py"] = files("lengthwise.audit").joinpath("scoring.py").read_text("utf-8")
    if harness == "lm-eval":
        groups = {name if sweep == "problem" else f"{name}_{sweep}": inner for sweep, inner in by_sweep.items()}
        command = f"lm_eval --model hf --model_args pretrained=MODEL --include_path {folder} --tasks {','.join(groups)}"
        for cell, members in cells.items():
            budget = max(question.budget for question in members)
            texts[f"{name}_{cell}.yaml"] = CELL.format(name=name, cell=cell, budget=budget)
        for group, inner in groups.items():
            tasks = "\n".join(f"  - {name}_{cell}" for cell in inner)
            texts[f"{group}.yaml"] = GROUP.format(name=group, tasks=tasks)
    else:
        command = f"inspect eval {folder}/{name}.py --model hf/MODEL"
        texts[f"{name}.py"] = INSPECT.format(name=name, cells=by_sweep)
    texts["README.md"] = _page(plan, command, list(cells))
    settings = "scoring.json"
    known = {*texts, settings}
    strangers = sorted(path.name for path in folder.iterdir() if path.name not in known) if folder.is_dir() else []
    require(not strangers, f"{folder} holds other files ({', '.join(strangers[:3])}); choose another folder")
    for file, text in texts.items():
        write_text(folder / file, text)
    write_json(folder / settings, plan.scoring._asdict())
    return [folder / file for file in sorted(known)], command


def _problems(members: list[Question]) -> str:
    names = ("sweep", "level", "words", "distance", "number", "distractors", "distractor_words", "prose", "budget")
    return "".join(
        json.dumps({"prompt": question.prompt, "answer": question.expected}
                   | {name: getattr(question, name) for name in names}) + "\n"
        for question in members
    )  # fmt: skip


def _page(plan: AuditPlan, command: str, cells: list[str]) -> str:
    """What is asked, how it is run, and what theory says of a transformer with each kind of positions."""
    rows = "\n".join(f"| {each['system']} | {each['shown']} | {each['why']} |" for each in theory_of(plan))
    return (
        f"# {task_name(plan)}\n\n{instruction(plan.task, plan.digits)}\n\n```sh\n{command}\n```\n\n"
        f"{plan.samples} problems of each cell: {', '.join(cells)}. `exact_match` takes an answer out of its wrapping, "
        "`strict_match` does not.\n\nWhat theory says of a transformer that is trained on short problems alone:\n\n"
        f"| positions | generalizes to longer ones? | why |\n| --- | --- | --- |\n{rows}\n"
    )
