"""Verdicts on a target for every kind of positions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from lengthwise.core.config import fields_of
from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.rng import stream
from lengthwise.core.vocab import Symbols
from lengthwise.crasp.decide import Answer
from lengthwise.crasp.program import Program
from lengthwise.crasp.synthesis import labelled, read_examples, synthesize
from lengthwise.languages.automaton import Dfa, minimize
from lengthwise.positions.encodings import ENCODINGS, LocalBiasSpec
from lengthwise.positions.schemes import PositionScheme, scheme_with_ids
from lengthwise.positions.structure import has_places, places_tell_content, structure_at
from lengthwise.positions.system import SYSTEMS, PositionSystem, contains, position_systems
from lengthwise.prediction.determined import UNTOLD, untold_in_task
from lengthwise.prediction.predicted_ids import certificate, id_rules
from lengthwise.prediction.recurrent import model_verdicts
from lengthwise.prediction.search import search_places, search_programs
from lengthwise.prediction.suites import (
    Evidence,
    evidence,
    evidence_on_format,
    language_evidence,
    program_evidence,
    shape_in_words,
)
from lengthwise.prediction.target import AutomatonFile, ExamplesFile, Expression, ProgramFile, parse_target
from lengthwise.prediction.verdict import Argument, Prediction, StructureRow, Verdict, note_on, with_next_symbols
from lengthwise.sparsity.dependence import dependencies_from_data
from lengthwise.tasks import Task
from lengthwise.tasks.language import Language


def verdicts_of(known: list[Evidence], systems: tuple[PositionSystem, ...], otherwise: str) -> tuple[Verdict, ...]:
    """Verdicts from programs and impossibility alone; ``otherwise`` is the help if no position system has a *yes*."""
    return with_help([verdict_for(s, arguments_from_programs(s, known)) for s in SYSTEMS], systems, otherwise)


def verdict_for(system: PositionSystem, arguments: list[Argument]) -> Verdict:
    """The verdict of one position system from its arguments."""
    modulo = system.scheme == "modulo" and any(argument.answer == "yes" for argument in arguments)
    condition = "the program's period divides m" if modulo else ""
    parts = (system.known_as, system.registered_scheme, system.encoding, system.fragment)
    return Verdict(*parts, tuple(arguments), source=system.theorem, condition=condition)


def arguments_from_programs(system: PositionSystem, known: list[Evidence]) -> list[Argument]:
    """The evidence that covers the fragment of a position system; a system without a theorem has none.

    A *yes* carries over to larger fragments and a *no* to smaller ones. Repeated reasons are given once.
    """
    if system.fragment is None:
        return []
    unique: dict[tuple[str, str], Argument] = {}
    for item in known:
        argument = item.argument
        yes = argument.answer == "yes" and contains(system.fragment, item.fragment)
        if yes or (argument.answer == "no" and contains(item.fragment, system.fragment)):
            basis: Any = system.rests_on(argument.answer, argument.basis)
            unique.setdefault((argument.answer, argument.why), replace(argument, basis=basis))
    return list(unique.values())


def with_help(verdicts: Sequence[Verdict], systems: tuple[PositionSystem, ...], otherwise: str) -> tuple[Verdict, ...]:
    """The verdicts of ``systems``; those that are not *yes* name what would help, given the verdicts of all systems."""
    wanted = {system.known_as for system in systems}
    plain = [v.system for v in verdicts if v.answer == "yes" and v.fragment is not None]
    coupled = [v.system for v in verdicts if v.answer == "yes" and v.scheme in ("coupled", "predictive-coupling")]
    parts = [f"positions for which a program exists: {', '.join(plain)}"] if plain else []
    parts += [f"coupled positions ({', '.join(coupled)}): every dependency is then local"] if coupled else []
    help_ = "; or ".join(parts) or otherwise
    if all(verdict.answer == "yes" for verdict in verdicts if verdict.fragment is not None):
        help_ = ""
    return tuple(v if v.answer == "yes" else replace(v, help=help_) for v in verdicts if v.system in wanted)


COUPLING = "places that bring together the few tokens that each token needs"
"""The help where each token depends on few others."""


MOST_SYMBOLS = 6
FEWEST_EXAMPLES = 20
"""Distinct prompts that a file must have: many small programs agree with fewer."""


def predict_examples(path: Path, systems: tuple[PositionSystem, ...]) -> Prediction:
    """The prediction from a file of examples; its basis is ``evidence``, as examples prove nothing about other strings.

    Raises `LengthwiseError` for a malformed file, and for one with fewer than `FEWEST_EXAMPLES` distinct prompts.
    """
    examples = read_examples(path)
    count = len({prompt for prompt, _ in examples})
    require(
        count >= FEWEST_EXAMPLES,
        f"{path} has {count} distinct prompts; give at least {FEWEST_EXAMPLES}, since many programs agree with fewer",
    )
    found, searched = _automaton(labels) if (labels := labelled(examples)) else ([], "")
    verdicts = verdicts_of(found or _program(labels or {}), systems, "")
    return Prediction(
        path.name, "examples", f"{len(examples)} examples", verdicts, depends=tuple(_dependencies(examples)),
        searched=(searched,) if searched else (),
    )  # fmt: skip


HELD_OUT, FEWEST_OF_AN_ANSWER = 5, 4
"""Every so many-th prompt of an answer is kept from the inference of an automaton, which must be right on it."""


def _automaton(labels: Mapping[Sequence[str], bool]) -> tuple[list[Evidence], str]:
    """What the decision says of an automaton that is inferred from examples, and one line on the inference.

    States are merged as long as all examples agree (RPNI). It counts only if it is right on every held-out prompt, with
    both answers among them; then it agrees with all examples, which proves nothing about other strings.
    """
    from aalpy.learning_algs import run_RPNI

    order = [list(labels)[index] for index in stream(0, "predict", "held out").permutation(len(labels))]
    by_answer = [[word for word in order if labels[word] is answer] for answer in (True, False)]
    if min(map(len, by_answer)) < FEWEST_OF_AN_ANSWER:
        return [], f"no automaton was inferred: fewer than {FEWEST_OF_AN_ANSWER} prompts have one of the answers"
    held = [word for words in by_answer for word in words[::HELD_OUT]]
    shown = [word for words in by_answer for index, word in enumerate(words) if index % HELD_OUT]
    data = [(tuple(word), labels[word]) for word in shown]
    model: Any = run_RPNI(data, "dfa", input_completeness="sink_state", print_info=False)
    model.states.sort(key=lambda state: state is not model.initial_state)
    number = {id(state): index for index, state in enumerate(model.states)}
    alphabet = sorted({symbol for word in shown for symbol in word})
    rows = tuple(tuple(number[id(state.transitions[symbol])] for symbol in alphabet) for state in model.states)
    dfa = minimize(Dfa(tuple(alphabet), rows, tuple(bool(state.is_accepting) for state in model.states)))
    right = sum(set(word) <= set(alphabet) and dfa.accepts(word) == labels[word] for word in held)
    states = f"an automaton of {dfa.size} state{'s' if dfa.size != 1 else ''}, inferred from {len(shown)} prompts"
    if right < len(held):
        return [], f"searched: {states}: right on {right} of {len(held)} others, so it says nothing"
    found = []
    for item in language_evidence(dfa):
        why = f"{states}, is right on all {len(held)} others, which proves nothing about other strings; "
        why += item.argument.why.removeprefix("no guarantee: ")
        found.append(Evidence(item.fragment, replace(item.argument, basis="evidence", why=why)))
    return found, f"searched: {states}: right on all {len(held)} others"


def _program(labels: Mapping[Sequence[str], bool]) -> list[Evidence]:
    """The smallest consistent program, if one is found and the answers are yes or no."""
    alphabet = sorted({symbol for word in labels for symbol in word})
    if len(alphabet) > MOST_SYMBOLS or len(set(labels.values())) < 2:
        return []
    found = synthesize(labels, alphabet, max_size=6)
    if found.program is None:
        return []
    item = program_evidence(found.program, f"found from {len(labels)} examples")
    why = f"{item.argument.why}; consistent with the examples, which proves nothing about other strings"
    return [Evidence(item.fragment, Argument("yes", "evidence", why, item.argument.certificate))]


def _dependencies(examples: list[tuple[Symbols, Symbols | bool]]) -> Iterator[str]:
    """Estimated parents at the most frequent shape (tokens of prompt and answer), if it has at least 50 examples."""
    texts = [(prompt, () if isinstance(answer, bool) else answer) for prompt, answer in examples]
    shape, count = Counter((len(prompt), len(answer)) for prompt, answer in texts).most_common(1)[0]
    if count < 50 or shape[1] == 0:
        return
    rows = [[*p, *a] for p, a in texts if (len(p), len(a)) == shape]
    found = dependencies_from_data(rows, shape[0], shape[0], stream(0, "predict", "examples"))
    for offset, parents in enumerate(found.parents):
        shown = ", ".join(f"token {p}" for p in sorted(parents)) or "nothing"
        if offset in found.unresolved:
            shown = "not found: more than two tokens at once, or too few examples"
        yield f"answer token {offset + 1} ← {shown} (estimated from {count} examples of {shape[0]} + {shape[1]} tokens)"


LENGTHS = (5, 10, 20, 40)
"""The lengths at which sparsity and span are computed; what is equal at all of them counts as constant."""
FEWEST, SPREAD = 3, 4
"""A constant span needs at least this many lengths, and this ratio of the largest to the smallest."""


def structure_row(task: Task, scheme: str | PositionScheme) -> StructureRow:
    """Sparsity and span at `LENGTHS`, or at the nearest lengths of the task.

    A scheme by its name has room for all ids. Raises `LengthwiseError` if the task has no such lengths, or a scheme too
    few ids.
    """
    built = scheme_with_ids(scheme, 1 << 30) if isinstance(scheme, str) else scheme
    lengths = tuple(dict.fromkeys(nearest(task, length) for length in LENGTHS))
    if lengths[-1] < SPREAD * lengths[0]:  # A task with a longest length is asked at shorter ones, too.
        lengths = (*dict.fromkeys((nearest(task, lengths[-1] // SPREAD), *lengths)),)
    found = [structure_at(task, built, length) for length in lengths]
    columns = [(s.parents, s.selectors, s.both) for s in found]
    counts = [tuple(reach.count for reach in column) for column in zip(*columns, strict=True)]
    spans = [tuple(reach.span for reach in column) for column in zip(*columns, strict=True)]
    levels = task.levels.count("position") if built.uses_places else 1
    return StructureRow(built.name, lengths, counts[0], spans[0], counts[1], spans[1], counts[2], spans[2], levels)


def nearest(task: Task, length: int) -> int:
    """The length nearest to ``length`` that has instances; raises `LengthwiseError` if there is none near it."""
    for distance in range(200):
        for candidate in (length + distance, length - distance):
            if candidate >= 0 and task.lengths(candidate, candidate):
                return candidate
    raise LengthwiseError(f"task {task.name!r} has no instances near length {length}; check its lengths")


def asks_for_sets(task: Task) -> bool:
    """Whether several next tokens may be right; then no token has parents, and sparsity is not defined."""
    return task.batch(nearest(task, 10), 1, stream(0, "predict", "allowed")).allowed is not None


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
    if not any(row.sparsity):
        return []  # No token decides anything, so the length does, and the theorems say nothing of it.
    # A span that is equal at few or close lengths may still grow.
    if len(row.lengths) < FEWEST or max(row.lengths) < SPREAD * min(row.lengths):
        return []
    if system.coupled:
        k, span, of, theorem = row.sparsity[0], row.span[0], "parents", "Corollary C"
    else:
        k, span, of, theorem = row.both[0], row.both_span[0], "parents and selectors", "Theorem A"
    ids = ("place" if system.coupled else "id") + "s" * (span != 1)
    needs = f"{k} earlier token{'s' * (k != 1)} (k)"
    away = f"at most {span} {ids} away (span)" if span or not system.coupled else "of the same place (span 0)"
    near = f"under {row.scheme} ids each token needs at most {needs}, {away}"
    why = f"{near}, at every length, counting {of} ({theorem}, docs/sparsity.md)"
    if system.coupled and len(set(row.selectors)) > 1:
        why += f"; to find these takes up to {max(row.selectors)} others, and the ids must tell them"
    return [Argument("yes", "ours", why, {"kind": "structure", **fields_of(row)})]


def beyond_window(system: PositionSystem, span: int) -> str:
    """Why an encoding that attends to near ids alone does not reach a span by default; empty where it does."""
    spec = ENCODINGS.build(system.encoding)
    if not isinstance(spec, LocalBiasSpec) or span <= spec.window:
        return ""
    return (
        f"a token needs others up to {span} ids away, and it attends to ids at most {spec.window} away; "
        f"possible with the setting encoding.window={span}"
    )


def dependencies(task: Task) -> tuple[str, ...]:
    """The lines of one short example: each scored token with its parents and selectors."""
    batch = task.batch(nearest(task, 3), 1, stream(0, "predict", "example"))
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


RULE_ROWS = 16
"""Strings of a length from which the rule of predicted ids is found."""
ON_LANGUAGES = "a scratchpad of the automaton's states, one per symbol, with coupled positions"
"""What helps where no position system has a *yes* for a language."""


def predict_target(
    target: str, systems: list[str] | None = None, note: Callable[[str], None] = lambda line: None
) -> Prediction:
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
    task: Task, systems: tuple[PositionSystem, ...] = SYSTEMS, note: Callable[[str], None] = lambda line: None
) -> Prediction:
    """As `predict_task`; where no program is known or excluded, small ones are searched, and places if none are stated.

    What a search finds is ``evidence``: it agrees with the task where it was tested.
    """
    if evidence(task) or asks_for_sets(task):
        return predict_task(task, systems)
    programs, line = search_programs(task, note)
    places, lines = [], [line]
    if not has_places(task, nearest(task, 10)):
        places, line = search_places(task, note)
        lines.append(line)
    found = predict_task(task, systems, programs=programs, places=places)
    return replace(found, searched=tuple(lines))


def predict_task(
    task: Task,
    systems: tuple[PositionSystem, ...] = SYSTEMS,
    *,
    programs: Sequence[Evidence] = (),
    places: Sequence[Argument] = (),
) -> Prediction:
    """The prediction from the task's structure (sparsity, span, places) and the evidence on programs.

    A `Language` gets the verdicts on what it asks: next symbols, membership or states. ``programs`` and ``places``
    (arguments for coupled positions with given ids) add what a search found.
    """
    known = [*evidence_on_format(task), *programs]
    rows: dict[str, StructureRow] = {}
    if not asks_for_sets(task):
        schemes = ("sequential", "coupled") if has_places(task, nearest(task, 10)) else ("sequential",)
        rows = {name: structure_row(task, name) for name in schemes}

    @cache
    def untold(row: StructureRow) -> str:
        coupled = row.scheme == "coupled"
        span = (row.span if coupled else row.both_span)[0]
        return untold_in_task(task, nearest(task, max(LENGTHS[2], 4 * span)), span, coupled=coupled)

    verdicts = []
    for system in SYSTEMS:
        row = rows.get("coupled" if system.coupled else "sequential")
        local = arguments_from_locality(system, row)
        limit = beyond_window(system, row.span[0]) or untold(row) if local and row is not None else ""
        local = [] if limit else local
        searched = places if system.scheme == "coupled" else ()
        verdict = verdict_for(system, [*arguments_from_programs(system, known), *local, *searched])
        verdict = replace(verdict, limit=limit)
        if verdict.answer == "yes" and searched:
            verdict = replace(verdict, condition=f"{GIVEN}{FOUND_PLACES}")
        elif verdict.answer == "yes" and local and system.coupled and system in systems:
            verdict = _on_condition(verdict, task)
        verdicts.append(verdict)
    told = not any(UNTOLD in v.limit for v in verdicts)  # Places that bring them near do not help.
    combined = with_help(verdicts, systems, _otherwise(rows) * told)
    if isinstance(task, Language) and (dfa := task.automaton()) is not None:
        combined = with_next_symbols(combined, dfa)
    note = note_on(combined)
    summary = ASKED.get(task.ask, task.summary) if isinstance(task, Language) else task.summary
    return Prediction(
        target=task.name,
        kind="task",
        summary=summary + (f"; {note}" if note else ""),
        verdicts=combined,
        structure=tuple(rows.values()),
        depends=dependencies(task) if rows else (),
        models=model_verdicts(task, known),
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
    text, note = source if isinstance(source, str) else name, note_on(verdicts)
    return Prediction(
        name,
        "language",
        f"the regular language {text}, membership read at the last symbol" + (f"; {note}" if note else ""),
        verdicts,
        models=model_verdicts(source),
    )


def predict_program(program: Program, name: str, systems: tuple[PositionSystem, ...] = SYSTEMS) -> Prediction:
    """The prediction from one program, which proves a *yes* for its fragment and every larger one."""
    shape = shape_in_words(program.depth, program.window, program.period)
    verdicts = verdicts_of([program_evidence(program, name)], systems, "")
    summary = f"a program of size {program.size} that {shape}"
    return Prediction(name, "program", summary, verdicts)


ASKED = {
    "member": "strings and a regular or counter language; is it a word after each prefix?",
    "state": "strings and a regular or counter language; the state after each prefix and at an end mark",
}
"""The line of a `Language` that is not asked for next symbols."""


GIVEN = (
    "tokens of one place share an id; in a model of your own, your code gives these, answers included "
    "(docs/howto/position-ids.md)"
)
"""The condition of coupled ids that are not predicted."""
FOUND_PLACES = ", by the places found"
"""And, in addition, of places that a search found."""


def _on_condition(verdict: Verdict, task: Task) -> Verdict:
    """With what Corollary C presupposes: that the ids are given, or the rule by which they are predicted."""
    if verdict.system != "predictive-coupling":
        content = "; those of the prompt it must read off what the prompt says, which may be the task itself"
        return replace(verdict, condition=GIVEN + content * places_tell_content(task))
    lengths = tuple(dict.fromkeys(nearest(task, length) for length in LENGTHS))
    found = id_rules(task, lengths, size=RULE_ROWS)
    arguments = tuple(
        replace(a, certificate={**a.certificate, "id_rule": certificate(found)})
        if a.certificate.get("kind") == "structure"
        else a
        for a in verdict.arguments
    )
    return replace(
        verdict, arguments=arguments, condition=f"the model learns which id comes next, too: {found.sentence}"
    )


def _otherwise(rows: dict[str, StructureRow]) -> str:
    """The help for a task without a *yes* for any position system."""
    if not rows:
        return ""
    coupled = rows.get("coupled")
    if coupled is not None and coupled.levels > 1 and coupled.sparse and coupled.local:
        return f"coupled positions, under which it is local on {coupled.levels} levels; nothing is proved for several"
    if rows["sequential"].sparse:
        return COUPLING
    return "a scratchpad whose steps each depend on few tokens, with coupled positions"
