"""The coupling of a task, found from its structure or from examples."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from lengthwise.core.batch import Layout
from lengthwise.core.config import fields_of
from lengthwise.core.deadline import time_budget
from lengthwise.core.errors import LengthwiseError, OutOfTimeError, require
from lengthwise.core.rng import Rng, stream
from lengthwise.core.table import Table, Tabular
from lengthwise.crasp.synthesis import read_examples
from lengthwise.positions.schemes import SCHEMES
from lengthwise.positions.structure import in_all, structure_at
from lengthwise.prediction.determined import ROWS, untold, untold_in_task
from lengthwise.sparsity.coupling import (
    CouplingCheck,
    CouplingRule,
    MoreLengthsError,
    NoCouplingError,
    corrected,
    doubt_of,
    in_one_place,
    not_told_apart,
    propose_coupling,
    same_places,
)
from lengthwise.sparsity.dependence import Dependencies, Sampler, dependencies_from_data, estimate_dependencies
from lengthwise.tasks import TASKS, Task
from lengthwise.tasks.language import called
from lengthwise.tasks.values import spoken

FOUND_FROM = 3
"""The number of lengths from which a rule is found: two determine a line, and a third tests it."""
MORE = (0, 1, 2, 3, 7, 12)
"""Which of the lengths to use where three have no rule, as where the answer has ⌈n/2⌉ symbols; far ones tell more."""
SHORTEST = 4
"""Shorter sequences have too few tokens to determine the parents."""
CHECKED = (5, 10, 20, 40)
SECONDS = 120.0
"""The time budget of a search and its checks, unless another is given."""
EXAMPLES = 20_000
"""Examples per length, if there are no queries; sums of decimal digits need this many."""


@dataclass(frozen=True, repr=False)
class Coupling(Tabular):
    """Places under which every dependency is at most one step away, or the reason why there are none.

    They are those of a task, or of the examples of the file ``name``, which have no ``task``.
    ``rule`` is None if none was found, with the ``reason``. ``sparsity`` is the number of parents by length. ``agrees``
    says by length how the symbols' places agree with those of the task (`same_places`); it is empty without a rule and
    for tasks whose places the length does not determine.
    """

    name: str
    task: Task | None
    from_data: bool
    examples: int
    lengths: tuple[int, ...]
    sparsity: dict[int, int]
    queries: int
    rule: CouplingRule | None = None
    reason: str = ""
    check: CouplingCheck | None = None
    agrees: tuple[tuple[int, str], ...] = ()
    unfinished: str = ""
    """What the time budget did not suffice for; empty where the search came to its end."""
    stated: int | None = None
    """Within how many ids the places that the task states keep all that a token needs, and tell it from others; None
    where they don't."""
    worse: str = ""
    """What is wrong with the places that the task states; empty where nothing is, or it states none."""
    doubt: str = ""
    """What the rule's ids do not tell apart (`doubt_of`)."""
    needed: int | None = None
    """A token of the prompt that all answer tokens need, so that no places bring it near; None without one."""

    @property
    def holds(self) -> bool:
        """Whether a rule was found that meets every requirement."""
        return self.check is not None and self.check.holds

    def table(self) -> Table:
        """One row per checked length."""
        agrees = dict(self.agrees)
        rows = tuple(
            (
                check.length, "" if check.seen else "yes", check.tokens, self.sparsity[check.length],
                check.tokens_per_place, check.places, check.span,
                agrees.get(check.length),
            )
            for check in (self.check.checks if self.check else ())
        )  # fmt: skip
        columns = ("length", "new", "tokens", "parents", "tokens per place", "places", "span", "agrees")
        notes = [] if self.rule is None else self.rule.describe().splitlines()
        notes += [f"no coupling found: {self.reason}"] if self.reason else []
        notes += [f"it does not count: {problem}" for problem in (self.check.problems if self.check else ())]
        notes += [f"doubt: {self.doubt}"] * bool(self.doubt)
        return Table(columns if rows else (), rows, caption=f"coupling of {self.name}", notes=tuple(notes))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; ``rule`` is what the task ``recoupled`` takes."""
        return {
            "task": {"name": self.name} if self.task is None else TASKS.show(self.task),
            "source": "examples" if self.from_data else "queries",
            "examples_per_length": self.examples,
            "found_from": list(self.lengths),
            "sparsity": {str(n): k for n, k in self.sparsity.items()},
            "queries": self.queries,
            "holds": self.holds,
            "reason": self.reason,
            "rule": None if self.rule is None else fields_of(self.rule),
            "text": None if self.rule is None else self.rule.describe().splitlines(),
            "checks": [] if self.check is None else [fields_of(check) for check in self.check.checks],
            "problems": [] if self.check is None else list(self.check.problems),
            "doubt": self.doubt,
            "unfinished": self.unfinished,
            "agrees": {str(n): same.startswith(("yes", "reversed")) for n, same in self.agrees},
        }


def couple(
    task: Task,
    *,
    from_data: bool = False,
    examples: int = EXAMPLES,
    checked: Sequence[int] | None = None,
    seed: int = 0,
    seconds: float | None = SECONDS,
    progress: Callable[[str], None] = lambda step: None,
) -> Coupling:
    """Find places for ``task`` at its first lengths from 4 on, and check them at ``checked`` (5, 10, 20, 40).

    After ``seconds`` (None: never) it ends with what was found until then, and with what is ``unfinished``.
    Three lengths are used, and six where the answer is not affine in the length (⌈n/2⌉ symbols, for example).
    With ``from_data`` the rule is found from ``examples`` examples per length alone. The check always estimates
    dependencies by queries, also at lengths from which the rule was not found. Raises `LengthwiseError` for a task
    without enough lengths, or a check of a length without instances.
    """
    with time_budget(seconds, progress):
        return _couple(task, examples if from_data else 0, checked, seed, progress)


def _couple(
    task: Task, examples: int, checked: Sequence[int] | None, seed: int, progress: Callable[[str], None]
) -> Coupling:
    lengths = tuple(task.lengths(SHORTEST, SHORTEST + 60))
    few = f"task {task.name!r} has {len(lengths)} lengths in 4..64; a rule needs {FOUND_FROM}"
    require(len(lengths) >= FOUND_FROM, few)
    # The default lengths, or the next ones above them that have instances.
    checked = sorted({next(iter(task.lengths(n, n + 60)), n) for n in CHECKED}) if checked is None else checked
    for n in checked:
        task.check_lengths([n])
    found = Coupling(task.name, task, examples > 0, examples, lengths[:FOUND_FROM], {}, 0)
    first = task.batch(lengths[0], 1, stream(seed))
    if first.allowed is not None:
        why = "several symbols may come next, so no token has parents to be near; a scratchpad of states has them"
        return replace(found, name=called(task), examples=0, reason=why)
    _check_answer(task, first.text(0)[: first.prompt_length])

    def estimate(n: int) -> Dependencies:
        progress(f"dependencies at length {n}")
        return _from_examples(task, n, examples, seed) if examples else dependencies(task, n, seed)

    try:
        known, rule, reason = search(lengths, estimate)
    except OutOfTimeError as error:
        return replace(found, reason=str(error), unfinished=str(error))
    sparsity = {n: d.sparsity for n, d in known.items()}
    queries = 0 if examples else sum(d.queries for d in known.values())
    last = known[max(known)]
    needed = min(in_all([*filter(None, last.parents)], last.prompt_length), default=None)
    found = replace(found, lengths=tuple(known), sparsity=sparsity, queries=queries, reason=reason, needed=needed)
    if rule is None:
        bounded = len(set(sparsity.values())) == 1
        near, _ = _stated(task, checked, seed) if bounded else (None, "")
        why = f"none is needed, since the places that the task states keep all that a token needs within {near}; "
        return replace(found, stated=near, reason=reason if near is None else f"{why}beside these, {reason}")
    queried: dict[int, Dependencies] = {} if examples else dict(known)
    unfinished = ""
    for n in sorted(checked):
        if n not in queried:
            progress(f"checking at length {n}")
            try:
                queried[n] = dependencies(task, n, seed)
            except OutOfTimeError as error:
                unfinished = f"the check at length {n}: {error}"
                break
            queries += queried[n].queries
    checked = [n for n in checked if n in queried]
    found = replace(found, queries=queries, reason=unfinished, unfinished=unfinished)
    if not checked:
        return found
    rule, checks = corrected(rule, known | queried, checked)
    longest = queried[checked[-1]]
    stated, worse = _stated(task, checked, seed)
    return replace(
        found,
        doubt=doubt_in(rule, longest) or untold_by(rule, task, longest, _layout(task, longest.length, seed)),
        lengths=rule.lengths,
        sparsity={**sparsity, **{n: queried[n].sparsity for n in checked}},
        rule=rule,
        reason="" if checks.holds else checks.problems[0],
        check=checks,
        agrees=tuple(_agreements(task, rule, queried, checked, seed)),
        stated=stated,
        worse=worse,
    )


def search(
    lengths: Sequence[int], estimate: Callable[[int], Dependencies]
) -> tuple[dict[int, Dependencies], CouplingRule | None, str]:
    """The dependencies that were estimated, and the rule found from them, or why there is none.

    Three lengths determine a rule; where these have none, three longer ones are used, too.
    """
    known = {n: estimate(n) for n in lengths[:FOUND_FROM]}
    try:
        return known, propose_coupling(known), ""
    except MoreLengthsError as error:
        more = [lengths[index] for index in MORE[FOUND_FROM:] if index < len(lengths)]
        if not more:
            return known, None, str(error)
    except NoCouplingError as error:
        return known, None, str(error)
    known |= {n: estimate(n) for n in more}
    try:
        return known, propose_coupling(known), ""
    except NoCouplingError as error:
        return known, None, str(error)


def doubt_in(rule: CouplingRule, found: Dependencies) -> str:
    """What the ids of a rule do not tell apart at one length (`doubt_of`)."""
    lost = not_told_apart(found.parents, rule.places(found.length), found.symbols, found.prompt_length)
    return doubt_of(lost, sum(map(bool, found.parents)))


def untold_by(rule: CouplingRule, task: Task, found: Dependencies, layout: Layout) -> str:
    """Why the ids of a rule and what is near do not tell which places are needed (`untold`)."""
    batch = task.batch(found.length, ROWS, stream(0, "couple", "determined"), layout)
    parents = {found.prompt_length + j: needed for j, needed in enumerate(found.parents)}
    return untold(batch, task.solve, parents, rule.places(found.length)[:, None], 1)


def _check_answer(task: Task, prompt: Sequence[str]) -> None:
    """Raise `LengthwiseError` unless the task answers a prompt of its own."""
    try:
        task.solve(prompt)
    except ValueError as error:
        shown = " ".join(prompt)
        raise LengthwiseError(f"task {task.name!r} does not answer its own prompt {shown!r}: {error}") from error


def dependencies(task: Task, length: int, seed: int = 0) -> Dependencies:
    """The parents at one length, estimated by queries to ``task.answer`` alone."""
    rng = stream(seed, "couple", "queries", length)
    return estimate_dependencies(task.solve, _sampler(task, _layout(task, length, seed)), length, rng)


def _from_examples(task: Task, length: int, examples: int, seed: int) -> Dependencies:
    rng = stream(seed, "couple", "examples", length)
    batch = task.batch(length, examples, rng, _layout(task, length, seed))
    return dependencies_from_data(batch.input_ids, batch.prompt_length, length, rng)


def _layout(task: Task, length: int, seed: int) -> Layout:
    """One layout for all examples of a length, so that they have the same columns."""
    return task.layout(length, stream(seed, "couple", "layout", length))


def _sampler(task: Task, layout: Layout) -> Sampler:
    prompts: list[list[str]] = []

    def sample(length: int, rng: Rng) -> Sequence[str]:
        if not prompts:
            batch = task.batch(length, 256, rng, layout)
            prompts.extend(batch.text(row)[: batch.prompt_length] for row in range(batch.size))
        return prompts.pop()

    return sample


def doubt_in_task(task: Task) -> str:
    """What coupled ids of a task's own places do not tell apart (`doubt_of`), near length 6.

    Tokens with selectors are left out, since these tell; empty for places of several levels.
    """
    near = min(task.lengths(1, 66), key=lambda n: abs(n - 6), default=6)
    batch = task.batch(near, 32, stream(0, "predict", "places"))
    scored = np.flatnonzero(batch.scored)
    if batch.places.shape[-1] > 1:
        return ""
    symbols = [set(column) for column in zip(*map(batch.text, range(batch.size)), strict=True)]
    parents = [[int(p) for p in batch.parents[0, t] if p >= 0] for t in scored]
    told = [needed for t, needed in zip(scored, parents, strict=True) if (batch.selectors[0, t] < 0).all()]
    prompt = int(scored[0]) if len(scored) else 0
    pairs, text = in_one_place(told, batch.places[0, :, 0], symbols, prompt), batch.text(0)
    named = [f"{text[p]!r} at position {p}" for p in pairs[0]] if pairs else []
    example = f", as at length {near} {spoken(named)}" * bool(named)
    return doubt_of(len(pairs), sum(map(bool, parents)), example)


def _stated(task: Task, checked: Sequence[int], seed: int) -> tuple[int | None, str]:
    """`Coupling.stated` and `Coupling.worse`."""
    if not task.states_places:
        return None, ""
    scheme = SCHEMES.build("coupled", max_position=1 << 20)
    found = [structure_at(task, scheme, n, seed).parents for n in checked]
    span, at = found[0].span, f"at lengths {', '.join(map(str, checked))}"
    if len({parents.count for parents in found}) > 1:
        return None, f"a token needs {', '.join(str(parents.count) for parents in found)} others {at}"
    if len({parents.span for parents in found}) > 1:
        return None, f"what a token needs is {', '.join(str(parents.span) for parents in found)} places away {at}"
    worse = doubt_in_task(task) or untold_in_task(task, checked[-1], span, coupled=True)
    return (None, worse.partition("; ")[0]) if worse else (span, "")


def _agreements(
    task: Task, rule: CouplingRule, queried: dict[int, Dependencies], checked: Sequence[int], seed: int
) -> list[tuple[int, str]]:
    """Whether found and stated places agree, by length; empty without stated places of one level that never vary."""
    found = []
    for n in checked:
        places = task.batch(n, 32, stream(seed, "couple", "places", n), _layout(task, n, seed)).places
        if places.shape[2] != 1 or not places.any() or (places != places[0]).any():
            return []
        symbols = np.array(queried[n].varies)
        stated = places[0, :, 0]
        if len(rule.places(n)) != len(stated):
            return [*found, (n, "no")]
        found.append((n, same_places(rule.places(n), stated, queried[n].prompt_length, symbols)))
    return found


FEWEST = 200
"""Examples of one prompt length that are enough to estimate parents among a few symbols."""

TokenRows = Sequence[Sequence[str]]


def couple_examples(path: Path, *, seed: int = 0, progress: Callable[[str], None] = lambda step: None) -> Coupling:
    """Find places from the examples in ``path``, and check them at the longer prompts of the same file.

    Of each prompt length, the examples with the most frequent answer length are used. Raises `LengthwiseError` for a
    malformed file, answers that are yes or no, or fewer than three prompt lengths with 200 examples.
    """
    rows = _rows(path)
    lengths = tuple(sorted(rows))

    def estimate(n: int) -> Dependencies:
        progress(f"dependencies of prompts of {n} tokens")
        return dependencies_from_data(rows[n], n, n, stream(seed, "couple", "file", n))

    known, rule, reason = search(lengths, estimate)
    count = sum(len(rows[n]) for n in lengths) // len(lengths)
    found = Coupling(path.name, None, True, count, tuple(known), {}, 0, reason=reason)
    if rule is not None:
        known |= {n: estimate(n) for n in lengths if n not in known}
        rule, checks = corrected(rule, known, lengths)
        reason = "" if checks.holds else checks.problems[0]
        doubt = doubt_in(rule, known[lengths[-1]])
        found = replace(found, lengths=rule.lengths, rule=rule, reason=reason, check=checks, doubt=doubt)
    return replace(found, sparsity={n: d.sparsity for n, d in known.items()})


def _rows(path: Path) -> dict[int, TokenRows]:
    """Prompt and answer together, by the number of prompt tokens; lengths with too few examples are left out."""
    by_length: dict[int, list[tuple[Sequence[str], Sequence[str]]]] = defaultdict(list)
    for prompt, answer in read_examples(path):
        if isinstance(answer, bool):
            raise LengthwiseError(f"{path}: answers are yes or no; a coupling places the tokens of longer answers")
        by_length[len(prompt)].append((prompt, answer))
    rows: dict[int, TokenRows] = {}
    for n, pairs in by_length.items():
        size, _ = Counter(len(answer) for _, answer in pairs).most_common(1)[0]
        kept = [[*prompt, *answer] for prompt, answer in pairs if len(answer) == size]
        if len(kept) >= FEWEST:
            rows[n] = kept
    require(
        len(rows) >= FOUND_FROM,
        f"{path} has {len(rows)} prompt lengths with {FEWEST} examples or more, and a rule needs {FOUND_FROM}; "
        "give more examples, of a few lengths each",
    )
    return rows
