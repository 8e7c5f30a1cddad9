"""What to do about an explained model: the next command, which tests or trains something, whole as it is typed."""

from __future__ import annotations

import itertools
import json
import math
import shlex
import textwrap
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lengthwise.core.config import changed_fields
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.files import read_json
from lengthwise.core.result_file import RunResult
from lengthwise.core.rng import stream
from lengthwise.experiments.run_config import RunConfig
from lengthwise.explanation.before import changed_lengths
from lengthwise.explanation.failures import Failures
from lengthwise.explanation.faults import faults_of, left_of, letters
from lengthwise.explanation.features import percent
from lengthwise.explanation.kinds import NAMED, NONE, of_kinds, weakest_way
from lengthwise.explanation.model import MOST_ASKED, HuggingFaceNetwork, Subject
from lengthwise.explanation.verdict import Verdict
from lengthwise.forecast.predict import predict
from lengthwise.positions.schemes import Coupled, Sequential
from lengthwise.positions.structure import structure_at
from lengthwise.positions.system import RANDOM_START, named_pair, system_of
from lengthwise.prediction.determined import untold_in_task
from lengthwise.prediction.target import typed_name
from lengthwise.tasks import Task
from lengthwise.tasks.kinds import EDITS, can_make
from lengthwise.tasks.values import INSIDE, spoken

MORE = 4
"""How many times as many strings are advised where it is too close to say."""
HALF_OF, ONE_IN_TEN = (0.5, "one row in two"), (0.1, "one row in ten")
"""How many rows are of a kind, where such are advised."""
DRAWN = 128
"""Random rows of each trained length of which those of a kind are counted."""
SEEDS = 3
"""Of a run, where a seed may be why strings of a kind fail."""
ON = "train a copy of this model further (new optimizer and schedule, as many steps as before)"
STUDIED = "both numbers have leading zeros"
"""The kind of the study."""
MENDED = (
    "Measured: of 10 adders 4 failed so with leading zeros; such rows mended 3 of these, one row in ten 1, as many "
    "steps alone 1. Of all 10, 2 then got fewer long random sums right (by steps alone 0): keep a copy."
)
"""After training on with half of the rows of a kind: studies/explain/half_of_the_rows.md."""
LONGER = (
    "Measured: of 10 adders, trained to 8 digits and then to 12, 8 were right on random sums farther than before and 1 "
    "less far; by as many steps to 8 digits 6 and 0."
)
"""After training on with longer strings: studies/explain/longer_strings.md."""
HALF_AS_LONG = 1.5
"""Of the trained length, the longest strings in that study."""
MOST_SEEN = 0.5
"""Of pairs of tokens, as many at most are near where attention to near ones is advised."""
NEAR = (
    "Measured: of 10 adders 10 were then right on random sums to 61 digits, the longest asked of all, and 9 on such "
    "with leading zeros; of the same that attend to all tokens 2 and 0."
)
"""Trained with attention to near ids alone: studies/attach/near.md."""
SCRATCH = (
    "Measured with leading zeros: of 10 adders 9 were then right on such sums, but 3 lost many longer random ones: "
    "keep a copy."
)
"""After training from scratch with such rows: studies/explain/rows_of_a_kind.md."""
OTHERS = "{} what has the best record on such tasks:"


@dataclass(frozen=True)
class Call:
    """How an explanation was asked for, by `lengthwise.explain` or its command."""

    model: Any = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Those that are not their defaults, by the names of `lengthwise.explain`."""
    code: Sequence[str] = ()
    """What stands before a command that reads the model, as of `code_words`."""
    earlier: str = ""
    """The path of the model before it was trained on, where it is known."""

    @property
    def typed(self) -> bool:
        """Whether a shell can say the same: the model is a path, task and vocabulary are named."""
        task = self.settings.get("task", "")
        named = isinstance(task, str | dict) and not isinstance(self.settings.get("vocab"), Mapping)
        return isinstance(self.model, str | Path) and named

    def after(self, **changes: int) -> str:
        """What explains a copy that was trained on, with other settings, beside this model."""
        if not self.typed:
            return f"lengthwise.explain(copy, …, {''.join(f'{name}={n}, ' for name, n in changes.items())}before=found)"
        return replace(self, model=self.copy).again(**changes, before=str(self.model))

    @property
    def copy(self) -> str:
        """A folder that is not there yet, for a copy that is trained on: the model's name with the next number."""
        whole = str(Path(self.model))  # without a last slash
        name, _, number = whole.rpartition("-")
        stem, first = (name, int(number) + 1) if name and number.isdecimal() else (whole, 2)
        return next(path for n in itertools.count(first) if not Path(path := f"{stem}-{n}").exists())

    def again(self, **changes: Any) -> str:
        """The same with other settings: a command, or what does the same in Python for a model in memory."""
        settings = {**self.settings, **changes}
        if not self.typed:
            words = [
                f"{name}={repr(value) if name not in ('task', 'vocab') or isinstance(value, str) else name}"
                for name, value in settings.items()
            ]
            return f"lengthwise.explain({', '.join(['model', *words])})"
        words = ["lengthwise", *self.code, "explain", str(self.model)]
        for name, value in settings.items():
            if isinstance(value, list | tuple):
                value = ",".join(map(str, value))
            words += [f"--{name}", json.dumps(value) if isinstance(value, dict) else str(value)]
        return shlex.join(words)


def advice(subject: Subject, call: Call, failures: Failures, before: Failures | None = None) -> tuple[str, str]:
    """What to do about the first length that breaks, or to find one: in words, and the command, if there is one.

    What was advised ``before`` is not advised again.
    """
    verdict = Verdict(failures.rows, subject.train)
    moved, held, broken, longest = failures.moved, verdict.held, verdict.broken(), failures.rows[-1].length
    coupled = getattr(subject.network.rule, "token_ids", None) is not None
    fails = failures.apart is not None or (verdict.learned and (broken is not None or bool(failures.kinds)))
    if coupled and fails and (near := _near_alone(subject, call, failures)) is not None:
        return near
    if verdict.learned and coupled and any(can_make(subject.task, kind) for kind in _trained(subject, failures)):
        return _with_rows(subject, call, failures, before)
    if failures.apart is not None and subject.experiment is None:
        return _with_rows(subject, call, failures, before)
    trained = verdict.trained
    open_run = broken is not None and subject.experiment is not None and not trained.surely
    run_fails = subject.experiment is not None and _within(subject, failures)
    if subject.experiment is not None and not isinstance(subject.scheme, Coupled) and _falls_at_once(failures, verdict):
        return _others(subject, max(longest, subject.train + 1))
    if not verdict.learned or open_run or run_fails or (broken is not None and broken <= subject.train):
        return _train_longer(subject, call, verdict, failures)
    within = subject.experiment is None and _trained(subject, failures)
    # Where nothing but kinds beyond training fails, neither longer strings nor other positions are asked for.
    rare = broken is None and bool(failures.kinds)
    if rare and subject.experiment is not None:
        return f"What mends it is not known. See whether other seeds of {SEEDS} have it, too.", retrain(
            subject, call, seeds=SEEDS
        )
    if within or rare or (coupled and broken is not None):  # Training is left.
        return _with_rows(subject, call, failures, before)
    if broken is None and held != longest:
        samples = MORE * call.settings.get("samples", 128)
        return "Ask more strings: it is too close to say.", call.again(samples=samples)
    if broken is None:
        room = subject.farthest(max(2 * longest, subject.shown_to(MOST_ASKED)))
        if room >= 1.25 * longest:
            asked = sorted({subject.inside[-1], longest, room})
            if longest < max(call.settings.get("lengths", [0])):  # It was asked, and time ended before.
                more = math.ceil(MORE * subject.clock.seconds)
                return "Give it more time: it ended before the longest strings.", call.again(seconds=more)
            slow = " (it may take minutes)" * (room > 2 * longest)
            return f"Ask longer strings, as of length {room}{slow}.", call.again(lengths=asked)
        more, command = _more_ids(subject, call)
        return f"It has no room beyond length {room}.\nTo go on, train one with more position ids: {more}.", command
    if moved is not None and (moved.to_blame or moved.absolute) and (start := _other_ids(subject, moved.known, call)):
        return start
    if subject.experiment is not None and isinstance(subject.scheme, Coupled):
        return _train_longer(subject, call, verdict, failures)
    return _others(subject, max(longest, subject.train + 1))


def without_program(subject: Subject, failures: Failures) -> str:
    """That theory has no program for a run that breaks beyond training, in a sentence; empty where it is open."""
    run, verdict = subject.experiment, Verdict(failures.rows, subject.train)
    if run is not None and verdict.learned and verdict.broken(subject.train) is not None:
        name = system_of(run.scheme, run.encoding).known_as
        with suppress(LengthwiseError):
            if predict(subject.task, subject.train, failures.rows[-1].length, name)[name].verdict == "no":
                return "Perhaps since no program for such a model does it at every length (theory)."
    return ""


def _falls_at_once(failures: Failures, verdict: Verdict) -> bool:
    """Whether nearly all strings of trained lengths are right, and fewer than half of a length up to twice as long."""
    beyond = (row.random for row in failures.rows if verdict.train < row.length <= 2 * verdict.train and row.random.n)
    return verdict.learned and any(share.value < 0.5 for share in beyond)


def _others(subject: Subject, test: int) -> tuple[str, str]:
    """What a forecast of the task names next; a comparison, where that is what this model had, or nothing."""
    own, run = typed_name(subject.task), subject.experiment
    compared = f"lengthwise.compare(task, max_length={subject.train}, budget='10m')"
    compared = f"lengthwise compare {own} --max-length {subject.train} --budget 10m" if own else compared
    named = ""
    with suppress(LengthwiseError):
        named = predict(subject.task, subject.train, test).settle if own else ""
    same = run is not None and named.startswith(f"lengthwise run {own}") and _system(run) == _named(named)
    if same or not named:
        return "Compare the usual position systems on it:", compared
    return OTHERS.format("Compare" if named.startswith("lengthwise compare") else "Train"), named


def _system(run: RunConfig) -> tuple[str, str]:
    """Scheme and encoding of a run, as commands name them."""
    scheme = run.scheme.name
    return RANDOM_START if getattr(run.scheme, "random_start", False) else scheme, run.encoding.label


def _named(command: str) -> tuple[str, str]:
    """Those that a command trains."""
    words = shlex.split(command)
    given = dict(itertools.pairwise(words))
    return named_pair(given.get("--scheme", "sequential"), given.get("--encoding", "learned"))


def _train_longer(subject: Subject, call: Call, verdict: Verdict, failures: Failures) -> tuple[str, str]:
    """More steps; where trained lengths are right, that it is a trial."""
    run, trained = subject.experiment, verdict.trained
    if run is not None:
        steps, model = run.training.steps, run.model
        if model.layers == 1 and call.typed and _gained_too_little(Path(call.model), run.evaluation.fit_threshold):
            return "Train with two layers: the last half of the steps gained too little.", retrain(
                subject, call, "model.layers=2"
            )
        text = f"Train longer, {2 * steps} steps in place of {steps}."
        if trained.surely and not _within(subject, failures):
            text = f"What helps is not known. Try {2 * steps} steps in place of {steps}."
        wider = f"model.width={2 * model.width} or model.layers={model.layers + 1}"
        return f"{text} If that was done, try {wider}.", retrain(subject, call, f"training.steps={2 * steps}")
    longer = "Train longer, with twice the steps."
    if getattr(subject.network.rule, "token_ids", None) is not None:  # Tokens and ids are those of training.
        near = _near_enough(subject, failures)
        near = f"attend to near ids alone (hf.attach(model, rule, near={near})), or " if near is not None else ""
        return f"{longer} If that was done, {near}take another seed, or twice the width.", ""
    own = typed_name(subject.task)
    if verdict.held is None and trained.value <= 0.5:
        longer = "If your training script counts the example as right, correct vocabulary or offset; else train longer."
    last = next((row.random for row in failures.rows if row.length == subject.train), None)
    if verdict.held is not None and last is not None and last.n and last.value <= NONE:
        text = f"If training ended at length {verdict.held}, say so. Else train longer."
        return text, call.again(train=verdict.held)
    test = max(failures.rows[-1].length, subject.train + 1)
    command = f"lengthwise predict {own} --train {subject.train} --test {test}" if own else ""
    return f"{longer}{' The command says which position ids suit the task.' * bool(command)}", command


def _gained_too_little(folder: Path, wanted: float) -> bool:
    """`RunResult.gained_too_little` of a folder; False where its result is not there."""
    path = folder / "result.json"
    return path.exists() and RunResult.of(read_json(path, what="result"), str(path)).gained_too_little(wanted)


def _within(subject: Subject, failures: Failures) -> bool:
    """Whether strings of trained lengths, or kinds of them, surely fail."""
    lengths = [row.length for row in failures.rows if row.breaks] + [each.length for each in failures.kinds]
    return min(lengths, default=subject.train + 1) <= subject.train


def _trained(subject: Subject, failures: Failures) -> list[str]:
    """Kinds that fail at trained lengths, where more rows of them can help, the worst first; else a way of editing."""
    kinds = [each.kind for each in failures.kinds if each.length <= subject.train]
    broken = next((row for row in failures.rows if row.hard.breaks and row.length <= subject.train), None)
    way = None if kinds or broken is None else weakest_way(failures.ways, broken)
    return kinds if way is None or way.how not in EDITS else [way.how]


def _usual(subject: Subject, made: Sequence[str]) -> str:
    """How many of the rows that a task draws at random, of trained lengths, are of a single kind."""
    if len(made) > 1 or made[0] not in subject.task.kinds:
        return ""
    drawn = [subject.task.batch(n, DRAWN, stream(0, "explain", "usual", n)) for n in subject.inside]
    such = [of_kinds(subject.task, made, batch, row) for batch in drawn for row in range(batch.size)]
    return f" (of random rows, {percent(sum(such), len(such))})"


def _with_rows(subject: Subject, call: Call, failures: Failures, before: Failures | None) -> tuple[str, str]:
    """Train on: with rows of the kinds that fail at trained lengths, else of the values that break it; else longer.

    Where a kind fails still, of which rows were advised ``before``, it is to be trained from scratch with them; where
    values do, with longer strings. What is said was measured: studies/explain/half_of_the_rows.md, rows_with_values.md,
    rows_of_a_kind.md and longer_strings.md.
    """
    common, tried = failures.common, before.common if before is not None else None
    made, values = _rows(subject, failures)
    rows, how = HALF_OF, ON
    better, worse = changed_lengths(before, failures) if before is not None else ([], [])
    if before is not None and worse and not better:
        back = "Go back to the model before, since random strings are right less often now. "
        if before.train < subject.train:
            return f"{back}What helps is not known.", ""
        return _with_longer(subject, replace(call, model=call.earlier or None), back, "it")
    if values and common is not None and before is not None and tried is not None:
        kinds, advised = _rows(subject, before)
        names = [of.name for of in tried.values if of.where == INSIDE] if advised or tried.strings in kinds else []
        if names:
            at, earlier = (next((n for n, share in of.by_length if share.breaks), of.length) for of in (common, tried))
            then = f" (before: {earlier})" * (tried.worst.name == common.worst.name)
            now = f"such strings now first fail at length {at}{then}"
            if common.worst.name not in names:
                now = f"a second round, with {common.worst.name}, is not shown to help"
            return _with_longer(subject, call, f"Rows with {spoken(names, 'or')} were advised before; {now}. ")
    if values and common is not None:
        rows, made = ONE_IN_TEN, [values]
        measured = (
            "Measured: of 10 adders 8 were then right on more of such sums than after as many steps without such rows, "
            "1 on fewer."
        )
    elif made and before is not None and {*made} & {*_trained(subject, before)}:
        if {*made} <= _harmless(subject, failures):
            told = spoken([f"where {each}" for each in made])
            return _with_longer(subject, call, f"Rows {told} were advised before; the number is right in these. ")
        rows, how = ONE_IN_TEN, "train from scratch, since after rows in further training it still fails"
        measured = SCRATCH if made == [STUDIED] else f"Of these rows nothing was measured. {SCRATCH}"
    elif made:
        measured = MENDED if made == [STUDIED] else f"Of these rows nothing was measured. {MENDED}"
    elif Verdict(failures.rows, subject.train).broken() is None and not any(
        can_make(subject.task, each.kind) for each in failures.kinds
    ):
        return "What mends it is not known: no rows of this kind can be made. Keep such strings from it.", ""
    else:
        return _with_longer(subject, call)
    share, count = rows
    which = f"with half of its {common.what}s of these values" if values and common else f"where {made[0]}"
    which = f"of the {len(made)} kinds below, as many of each" if len(made) > 1 else which
    which += _usual(subject, made)
    faults = faults_of(failures, subject.train)
    same = [each.kind for each in faults if each.by_values and common.mends(each.kind)] if values and common else []
    (of, _), (by_it, _), (_, left) = (letters(faults, kinds) for kinds in (made, same, [*made, *same]))
    of += f", and so {by_it}" * bool(by_it)
    anew = how != ON
    if {*made} <= _harmless(subject, failures):
        how = f"where leading zeros matter, {how}"
    first = f"For {of}: {how}" if of else how[0].upper() + how[1:]
    leaves = f" This may leave {left}." * bool(left)
    then = "" if anew else f"\n{call.after()}"
    text = f"{first}, {count} {which}.{leaves}\n{measured}{_elsewhere(subject)}{then}"
    more = {kind: math.floor(1000 * share / len(made)) / 1000 for kind in made}
    return text, _training(subject, call, subject.inside, more, anew=anew)


def _near_alone(subject: Subject, call: Call, failures: Failures) -> tuple[str, str] | None:
    """To attend to near ids alone; None for a model that does, and where that hides little or what is needed."""
    rule = subject.network.rule
    if (near := _near_enough(subject, failures)) is None:
        return None
    task, scheme = subject.task, replace(rule.scheme, draw="contiguous")
    text = (
        f"Train from scratch with attention to near ids alone: what an answer needs is at most {near} "
        f"id{'s' * (near != 1)} away at every length, and all else can mislead."
    )
    own = ", token_ids=…" * (not rule.token_ids.items() <= task.vocab.ids.items())
    command = "\n".join([
        "import lengthwise.hf as hf", f"rule = hf.CoupledPlaces({_named_task(subject)},",
        f"    {dict(name=scheme.name, **changed_fields(scheme))}{own})", "# model: made anew; then train it as before",
        f"hf.attach(model, rule, near={near})",
        *([f"model.save_pretrained({call.copy!r})"] if call.typed else []),
    ])  # fmt: skip
    return f"{text}\n{NEAR}{_elsewhere(subject)}\n{call.after()}", command


def _near_enough(subject: Subject, failures: Failures) -> int | None:
    """How many ids away what an answer needs is at every length; None where it is farther, or hides little."""
    network, rule = subject.network, subject.network.rule
    if not isinstance(network, HuggingFaceNetwork) or network.near is not None or not isinstance(rule.scheme, Coupled):
        return None
    task, scheme, lengths = (
        subject.task,
        replace(rule.scheme, draw="contiguous"),
        (subject.inside[-1], failures.rows[-1].length),
    )
    near, *farther = {structure_at(task, scheme, n).both.span for n in lengths}
    if farther or untold_in_task(task, lengths[0], near, coupled=True) or _seen(task, lengths[1], near) > MOST_SEEN:
        return None
    return near


def _seen(task: Task, length: int, near: int) -> float:
    """Of pairs of tokens of which both have a place, the share that are at most so many places apart."""
    places = task.batch(length, 1, stream(0, "explain", "seen", length)).places[0, :, 0]
    placed = places[places > 0]
    return float((abs(placed[:, None] - placed) <= near).mean())


def _elsewhere(subject: Subject) -> str:
    """That other tasks, or models that attend to near ids alone, were not measured, in a sentence."""
    near = getattr(subject.network, "near", None) is not None
    what = "this task" if subject.task.name != "addition" else "models that attend to near ids alone" if near else ""
    return f" Of {what} nothing was measured." * bool(what)


def _with_longer(subject: Subject, call: Call, done: str = "", of: str = "this model") -> tuple[str, str]:
    """Train on a copy ``of`` a model with longer strings; ``done`` is a sentence before that."""
    to = subject.farthest(math.ceil(HALF_AS_LONG * subject.train))
    if to <= subject.train:
        return f"{done}What helps is not known: it has no room for longer strings in training.", ""
    text = f"{ON.replace('this model', of).capitalize()} on strings to length {to} in place of {subject.train}."
    lengths = subject.task.lengths(subject.inside[0], to)
    return (
        f"{done}{text}\n{LONGER}{_elsewhere(subject)}\n{call.after(train=to)}",
        _training(subject, call, lengths, {}, anew=False),
    )


def _training(subject: Subject, call: Call, lengths: list[int], more: Mapping[str, float], *, anew: bool) -> str:
    """Rows of these lengths for the reader's own training, with such shares of kinds."""
    every = [*range(lengths[0], lengths[-1] + 1)] == lengths
    asked = f"range({lengths[0]}, {lengths[-1] + 1})" if every else f"{lengths}"
    names, rule = subject.task.vocab.ids, getattr(subject.network.rule, "token_ids", None)
    ids = {name: int(subject.token_ids[at]) for name, at in names.items() if subject.token_ids[at] >= 0}
    said = "hf.token_ids(model)" if rule and ids.items() <= rule.items() else f"{ids}"
    own = f", token_ids={said}" * any(ids[name] != names[name] for name in ids)
    stock = call.typed and isinstance(subject.network, HuggingFaceNetwork)
    saved = [f"model.save_pretrained({call.copy!r})"] if stock and not anew else []
    begin = f"rows = hf.dataset({_named_task(subject)}, {asked}, "
    kinds = [f"{begin}more={{", *(f"    {kind!r}: {share:g}," for kind, share in more.items())] if more else []
    end = f"{'}, ' if more else begin}rows=batch, size=batch * steps, seed=1{own})"
    return "\n".join([
        "import torch, transformers, lengthwise.hf as hf", *_loaded(call, stock=stock, anew=anew),
        "batch, steps = 128, 1000  # put in yours",
        *kinds, *textwrap.wrap(end, 66, subsequent_indent="    ", break_on_hyphens=False),
        "batches = torch.utils.data.DataLoader(", "    rows, batch, collate_fn=hf.collate())",
        "# your training loop, on these rows: for batch in batches: …", *saved,
    ])  # fmt: skip


def _named_task(subject: Subject) -> str:
    """The task as it is typed in Python: its name, with the settings that are not its defaults."""
    task = {"name": subject.task.name, **changed_fields(subject.task)}
    return repr(task["name"] if len(task) == 1 else task)


def _rows(subject: Subject, failures: Failures) -> tuple[list[str], str]:
    """Kinds that fail at trained lengths of which rows are advised, the worst first; else values, if any."""
    within, common = _trained(subject, failures), failures.common
    values = common.strings if common is not None and common.worst.where == INSIDE else ""
    wrong = [each for each in within if each not in _harmless(subject, failures)]
    within = wrong if wrong or values else within  # What leaves the number right comes last.
    made = [each for each in within if can_make(subject.task, each)][:NAMED]
    if common is not None and any(n <= subject.train and share.breaks for n, share in common.by_length):
        made = [*filter(None, [values * bool(made)]), *made][:NAMED]
    return made, values * (not within)


def _harmless(subject: Subject, failures: Failures) -> set[str]:
    """Kinds in whose failing strings nearly all numbers are right, but for a leading zero."""
    return {each.kind for each in failures.kinds if subject.task.written and left_of(each.brief)}


def _loaded(call: Call, *, stock: bool, anew: bool) -> list[str]:
    """What loads a copy of a model of transformers from its folder, or that it is the reader's, or to be made anew."""
    if anew:
        return ["# model: made anew, with its rule attached, as in your training"]
    if not stock:
        return ["# model: yours, with its rule attached"]
    return ["model = hf.attach(transformers.AutoModelForCausalLM", f"    .from_pretrained({str(call.model)!r}))"]


def retrain(subject: Subject, call: Call, *changes: str, seeds: int = 0) -> str:
    """What trains the same run again with other settings, or further seeds of it."""
    if call.typed:
        words = ["lengthwise", *call.code, "run", "--config", str(Path(call.model) / "config.json")]
        words += [word for change in changes for word in ("--set", change)]
        return shlex.join([*words, *(["--seeds", str(seeds)] if seeds else [])])
    return f"lengthwise.Experiment.of(model.experiment.edited({list(changes)})).run({seeds or ''})"


def _more_ids(subject: Subject, call: Call) -> tuple[str, str]:
    """Which setting gives more position ids, and the command for a run."""
    if subject.scheme is not None:
        return "twice as many", retrain(subject, call, f"scheme.max_position={2 * subject.scheme.max_position}")
    if subject.network.rule is None:
        return "a larger max_position_embeddings, set in its training script", ""
    scheme = getattr(subject.network.rule, "scheme", None)
    now = "" if scheme is None else f" (now {scheme.max_position})"
    return f"twice the max_position of its rule{now}, set before training", ""


def _other_ids(subject: Subject, known: int, call: Call) -> tuple[str, str] | None:
    """How to train the same under ids of which training shows larger ones, too; None where that is not known."""
    most, run = (subject.network.positions or 4 * known) - 1, subject.experiment
    text = "Train again, for ten times the steps, with position ids that start at random."
    if run is None:
        if not isinstance(subject.network, HuggingFaceNetwork):
            return text, ""
        command = (
            "import lengthwise.hf as hf\nhf.attach(model, hf.SchemeIds(\n"
            f"    'sequential', random_start=True, max_position={most}))"
        )
        return f"{text} Put this into the training script, right after the model is made:", command
    steps = f"training.steps={10 * run.training.steps}"
    if isinstance(run.scheme, Sequential):
        return text, retrain(subject, call, "scheme.random_start=true", f"scheme.max_position={most}", steps)
    return (text, retrain(subject, call, "scheme.draw=pose", steps)) if isinstance(run.scheme, Coupled) else None
