"""`predict` joins structure, programs and impossibility results into the prediction for a task, language or program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from lengthwise.core.config import fields_of
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.crasp.decide.decision import Answer
from lengthwise.crasp.program.program import Program
from lengthwise.languages.automata.automaton import Dfa
from lengthwise.languages.automata.construction import language
from lengthwise.positions.schemes import SCHEMES
from lengthwise.positions.structure import structure
from lengthwise.prediction.combine_evidence import arguments_from_programs, verdict_for, verdicts_of, with_help
from lengthwise.prediction.examples import predict_examples
from lengthwise.prediction.knowledge import evidence
from lengthwise.prediction.measured import measured, with_conflicts
from lengthwise.prediction.next_symbols import next_symbol_note
from lengthwise.prediction.predicted_ids.program import certificate
from lengthwise.prediction.predicted_ids.rule import id_rules
from lengthwise.prediction.search.places import search_places
from lengthwise.prediction.search.small_program import search_programs
from lengthwise.prediction.suites.arguments import Evidence, language_evidence, program_evidence
from lengthwise.prediction.systems import SYSTEMS, PositionSystem, position_systems
from lengthwise.prediction.target import AutomatonFile, ExamplesFile, Expression, ProgramFile, parse_target
from lengthwise.prediction.verdict import Argument, Prediction, StructureRow, Verdict
from lengthwise.tasks import TASKS, Task
from lengthwise.tasks.language import Language

LENGTHS = (5, 10, 20, 40)
"""The lengths at which sparsity and span are computed; what is equal at all of them counts as constant."""
FEWEST, SPREAD = 3, 4
"""A constant span needs at least this many lengths, and this ratio of the largest to the smallest."""
ROWS = 32
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
    if evidence(task) or _asks_for_sets(task):
        return predict_task(task, systems)
    programs, about_programs = search_programs(task, note)
    arguments: list[Argument] = []
    lines = [about_programs]
    if not _has_places(task):
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
    if not _asks_for_sets(task):
        schemes = ("sequential", "coupled") if _has_places(task) else ("sequential",)
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
    return Prediction(
        target=task.name,
        kind="task",
        summary=task.summary,
        verdicts=with_conflicts(with_help(verdicts, systems, _otherwise(rows)), TASKS.describe(task)),
        structure=tuple(rows.values()),
        depends=_depends(task) if rows else (),
        communication=next((e.argument.why for e in known if e.fragment == "ape" and e.argument.answer == "no"), ""),
        measured=measured(TASKS.describe(task)),
    )


def fragment_answer(task: Task, system: str) -> Answer:
    """The answer of programs and impossibility results alone, which is the prediction of Huang et al. 2025.

    Raises `UnknownNameError` for an unknown position system.
    """
    (wanted,) = position_systems([system])
    return verdict_for(wanted, arguments_from_programs(wanted, evidence(task))).answer


def predict_language(source: str | Dfa, name: str, systems: tuple[PositionSystem, ...] = SYSTEMS) -> Prediction:
    """The prediction from the exact decision, with the last symbol visible (the convention of the published suite)."""
    known = list(language_evidence(source))
    states = language(source).size
    easier = next_symbol_note(source, systems, {system.fragment for system in systems if _recognizes(system, known)})
    return Prediction(
        name,
        "language",
        f"the regular language {source if isinstance(source, str) else name}, last symbol visible"
        + (f"; {easier}" if easier else ""),
        with_conflicts(verdicts_of(known, systems, ON_LANGUAGES), {"name": "language", "language": str(source)}),
        communication=f"at most {states} prefixes are distinguishable at any length: the states of the automaton",
    )


def _recognizes(system: PositionSystem, known: list[Evidence]) -> bool:
    """Whether the evidence on a language has a program for this system."""
    return any(argument.answer == "yes" for argument in arguments_from_programs(system, known))


def predict_program(program: Program, name: str, systems: tuple[PositionSystem, ...] = SYSTEMS) -> Prediction:
    """The prediction from one program, which proves a *yes* for its fragment and every larger one."""
    known = [program_evidence(program, name)]
    summary = (
        f"a program of size {program.size}, depth {program.depth}, window {program.window}, period {program.period}"
    )
    return Prediction(name, "program", summary, verdicts_of(known, systems, ""))


def structure_row(task: Task, scheme: str) -> StructureRow:
    """Sparsity and span at `LENGTHS`, or at the nearest lengths of the task; raises `LengthwiseError` without any."""
    # Long sequences need more ids than a scheme has by default.
    built = SCHEMES.build(scheme, max_position=1 << 30)
    lengths = tuple(dict.fromkeys(_nearest(task, length) for length in LENGTHS))
    found = [structure(task, built, length, stream(0, "predict", length), size=ROWS) for length in lengths]
    columns = [(s.parents, s.selectors, s.both) for s in found]
    counts = [tuple(reach.count for reach in column) for column in zip(*columns, strict=True)]
    spans = [tuple(reach.span for reach in column) for column in zip(*columns, strict=True)]
    levels = task.levels.count("position") if built.uses_places else 1
    return StructureRow(scheme, lengths, counts[0], spans[0], counts[1], spans[1], counts[2], spans[2], levels)


def _nearest(task: Task, length: int) -> int:
    for distance in range(200):
        for candidate in (length + distance, length - distance):
            if candidate >= 0 and task.lengths(candidate, candidate):
                return candidate
    raise LengthwiseError(f"task {task.name!r} has no instances near length {length}; check its lengths")


def _asks_for_sets(task: Task) -> bool:
    """Whether several next tokens may be right; then no token has parents, and sparsity is not defined."""
    return task.batch(_nearest(task, 10), 1, stream(0, "predict", "allowed")).allowed is not None


def _has_places(task: Task) -> bool:
    """Whether two tokens share a place."""
    batch = task.batch(_nearest(task, 10), 4, stream(0, "predict", "places"))
    row = batch.places[0, batch.places[0, :, 0] > 0, 0]
    return len(np.unique(row)) < len(row)


def arguments_from_locality(system: PositionSystem, row: StructureRow | None) -> list[Argument]:
    """A *yes* by our theorem where the task is sparse and local under the scheme; otherwise no argument.

    Theorem A (plain ids) needs parents and selectors together in a window, since a head of its class finds its tokens
    by what the window holds. Corollary C (coupled ids) needs the parents only: the ids say which tokens they are. It is
    about one level of ids; of several levels nothing is proved.
    """
    if row is None or not (row.sparse and row.local) or not (system.coupled or system.relative) or row.levels > 1:
        return []
    if not system.coupled and not len(set(row.both)) == len(set(row.both_span)) == 1:
        return []
    # A span that is equal at few or close lengths may still grow.
    if len(row.lengths) < FEWEST or max(row.lengths) < SPREAD * min(row.lengths):
        return []
    if system.coupled:
        k, span, of, theorem = row.sparsity[0], row.span[0], "parents", "Corollary C"
    else:
        k, span, of, theorem = row.both[0], row.both_span[0], "parents and selectors", "Theorem A"
    local = f"sparse (k = {k}) and local (span {span} at every length) under {row.scheme} ids"
    why = f"{local}, counting {of} ({theorem}, docs/sparsity.md)"
    return [Argument("yes", "ours", why, {"kind": "structure", **fields_of(row)})]


def _on_condition(verdict: Verdict, task: Task) -> Verdict:
    """With what Corollary C presupposes: that the ids are given, or the rule by which they are predicted."""
    if verdict.system != "predictive-coupling":
        return replace(verdict, condition="the ids are given")
    lengths = tuple(dict.fromkeys(_nearest(task, length) for length in LENGTHS))
    found = id_rules(task, lengths, size=ROWS // 2)
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


def _depends(task: Task) -> tuple[str, ...]:
    """The lines of one short example: each scored token with its parents and selectors."""
    batch = task.batch(_nearest(task, 3), 1, stream(0, "predict", "example"))
    text = batch.text(0)
    lines = [" ".join(text)]
    for t in np.flatnonzero(batch.scored):
        parents = _named(text, batch.parents[0, t]) or "nothing (the layout fixes it)"
        selectors = _named(text, batch.selectors[0, t])
        lines.append(f"{text[t]} ← {parents}" + (f"   chosen by {selectors}" if selectors else ""))
    return tuple(lines)


def _named(text: list[str], positions: np.ndarray) -> str:
    shown = sorted({int(p) for p in positions if p >= 0})
    names = [f"{text[p]}@{p}" for p in shown[:8]]
    return ", ".join(names) + (f", … ({len(shown)} tokens)" if len(shown) > 8 else "")
