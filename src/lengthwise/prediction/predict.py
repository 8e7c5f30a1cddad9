"""`predict` joins structure, programs and impossibility results into the prediction for a task, language or program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from lengthwise.crasp.decide.decision import Answer
from lengthwise.crasp.program.program import Program
from lengthwise.languages.automata.automaton import Dfa
from lengthwise.languages.automata.construction import language
from lengthwise.prediction.combine_evidence import arguments_from_programs, verdict_for, verdicts_of, with_help
from lengthwise.prediction.examples import predict_examples
from lengthwise.prediction.knowledge import evidence
from lengthwise.prediction.measured import measured, with_conflicts
from lengthwise.prediction.next_symbols import note_on, with_next_symbols
from lengthwise.prediction.predicted_ids.program import certificate
from lengthwise.prediction.predicted_ids.rule import id_rules
from lengthwise.prediction.reliability import reliability_lines
from lengthwise.prediction.search.places import search_places
from lengthwise.prediction.search.small_program import search_programs
from lengthwise.prediction.suites.arguments import Evidence, language_evidence, program_evidence
from lengthwise.prediction.systems import SYSTEMS, PositionSystem, position_systems
from lengthwise.prediction.target import AutomatonFile, ExamplesFile, Expression, ProgramFile, parse_target
from lengthwise.prediction.task_structure import (
    LENGTHS,
    arguments_from_locality,
    asks_for_sets,
    dependencies,
    has_places,
    nearest,
    structure_row,
)
from lengthwise.prediction.verdict import Argument, Prediction, StructureRow, Verdict
from lengthwise.tasks import TASKS, Task
from lengthwise.tasks.language import Language

RULE_ROWS = 16
"""Strings of a length from which the rule of predicted ids is found."""
ON_LANGUAGES = "a scratchpad of the automaton's states, one per symbol, with coupled positions"
"""What helps where no position system has a *yes* for a language."""


def silent(line: str) -> None:
    """A note to nobody."""


def predict(target: str, systems: list[str] | None = None, note: Callable[[str], None] = silent) -> Prediction:
    """The prediction for a target of `parse_target`; of a task about which nothing is known, after a search.

    ``note`` is called with a line before each part of the search, which takes a few seconds. Raises `LengthwiseError`
    for an unknown target or system.
    """
    wanted = position_systems(systems or [])
    match parse_target(target):
        case Expression(text):
            return predict_language(text, f"regex:{text}", wanted)
        case AutomatonFile(path, dfa):
            return predict_language(dfa, path.name, wanted)
        case ExamplesFile(path):
            return predict_examples(path, wanted)
        case ProgramFile(path, program):
            return predict_program(program, path.name, wanted)
        case Language() as task:
            return replace(predict_task(task, wanted), target=target)
        case task:
            return predict_with_search(task, wanted, note)


def predict_with_search(
    task: Task, systems: tuple[PositionSystem, ...] = SYSTEMS, note: Callable[[str], None] = silent
) -> Prediction:
    """As `predict_task`; where no program is known or excluded, small ones are searched, and places if none are stated.

    What a search finds is ``evidence``: it agrees with the task where it was tested.
    """
    if evidence(task) or asks_for_sets(task):
        return predict_task(task, systems)
    programs, about_programs = search_programs(task, note)
    arguments: list[Argument] = []
    lines = [about_programs]
    if not has_places(task):
        arguments, about_places = search_places(task, note)
        lines.append(about_places)
    found = predict_task(task, systems, Found(tuple(programs), tuple(arguments)))
    return replace(found, searched=tuple(lines))


@dataclass(frozen=True)
class Found:
    """What a search found: programs, and arguments for coupled positions with given ids."""

    programs: tuple[Evidence, ...] = ()
    places: tuple[Argument, ...] = ()


def predict_task(task: Task, systems: tuple[PositionSystem, ...] = SYSTEMS, found: Found | None = None) -> Prediction:
    """The prediction from the task's structure (sparsity, span, places) and the evidence on programs.

    ``found`` adds what a search found.
    """
    found = found or Found()
    known = [*evidence(task), *found.programs]
    rows: dict[str, StructureRow] = {}
    if not asks_for_sets(task):
        schemes = ("sequential", "coupled") if has_places(task) else ("sequential",)
        rows = {name: structure_row(task, name) for name in schemes}
    verdicts = []
    for system in SYSTEMS:
        row = rows.get("coupled" if system.coupled else "sequential")
        local = arguments_from_locality(system, row)
        places = found.places if system.name == "coupled" else ()
        verdict = verdict_for(system, [*arguments_from_programs(system, known), *local, *places])
        if verdict.answer == "yes":
            if places:
                verdict = replace(verdict, condition="the ids are given, by the places found")
            elif local and system.coupled and system in systems:
                verdict = _on_condition(verdict, task)
        verdicts.append(verdict)
    combined = with_help(verdicts, systems, _otherwise(rows))
    if isinstance(task, Language) and (dfa := task.automaton()) is not None:
        combined = with_next_symbols(combined, dfa)
    note, setting = note_on(combined), TASKS.describe(task)
    return Prediction(
        target=task.name,
        kind="task",
        summary=task.summary + (f"; {note}" if note else ""),
        verdicts=with_conflicts(combined, setting),
        structure=tuple(rows.values()),
        depends=dependencies(task) if rows else (),
        communication=next((e.argument.why for e in known if e.fragment == "ape" and e.argument.answer == "no"), ""),
        measured=measured(setting),
        reliability=reliability_lines(combined),
    )


def fragment_answer(task: Task, system: str) -> Answer:
    """The answer of programs and impossibility results alone, which is the prediction of Huang et al. 2025.

    Raises `UnknownNameError` for an unknown position system.
    """
    (wanted,) = position_systems([system])
    return verdict_for(wanted, arguments_from_programs(wanted, evidence(task))).answer


def predict_language(source: str | Dfa, name: str, systems: tuple[PositionSystem, ...] = SYSTEMS) -> Prediction:
    """The prediction from the exact decision, with the last symbol visible (the convention of the published suite)."""
    verdicts = with_next_symbols(verdicts_of(list(language_evidence(source)), systems, ON_LANGUAGES), source)
    text, note, states = source if isinstance(source, str) else name, note_on(verdicts), language(source).size
    setting = {"name": "language", "language": text}
    return Prediction(
        name,
        "language",
        f"the regular language {text}, last symbol visible" + (f"; {note}" if note else ""),
        with_conflicts(verdicts, setting),
        communication=f"at most {states} prefixes are distinguishable at any length: the states of the automaton",
        measured=measured(setting),
        reliability=reliability_lines(verdicts),
    )


def predict_program(program: Program, name: str, systems: tuple[PositionSystem, ...] = SYSTEMS) -> Prediction:
    """The prediction from one program, which proves a *yes* for its fragment and every larger one."""
    known = [program_evidence(program, name)]
    summary = (
        f"a program of size {program.size}, depth {program.depth}, window {program.window}, period {program.period}"
    )
    verdicts = verdicts_of(known, systems, "")
    return Prediction(name, "program", summary, verdicts, reliability=reliability_lines(verdicts))


def _on_condition(verdict: Verdict, task: Task) -> Verdict:
    """With what Corollary C presupposes: that the ids are given, or the rule by which they are predicted."""
    if verdict.system != "predictive-coupling":
        return replace(verdict, condition="the ids are given")
    lengths = tuple(dict.fromkeys(nearest(task, length) for length in LENGTHS))
    found = id_rules(task, lengths, size=RULE_ROWS)
    arguments = tuple(
        replace(a, certificate={**a.certificate, "id_rule": certificate(found)})
        if a.certificate.get("kind") == "structure"
        else a
        for a in verdict.arguments
    )
    return replace(verdict, arguments=arguments, condition=f"the next id is learned: {found.sentence}")


def _otherwise(rows: dict[str, StructureRow]) -> str:
    """The help for a task without a *yes* for any position system."""
    if not rows:
        return ""
    coupled = rows.get("coupled")
    if coupled is not None and coupled.levels > 1 and coupled.sparse and coupled.local:
        return f"coupled positions, under which it is local on {coupled.levels} levels; nothing is proved for several"
    if rows["sequential"].sparse:
        return "few tokens matter but far apart: a coupling that brings them together, or PoSE for the offsets"
    return "many tokens matter at once: a scratchpad whose steps each depend on few tokens, with coupled positions"
