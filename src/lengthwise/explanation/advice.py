"""What to do about an explained model: the next command, which tests or trains something, whole as it is typed."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lengthwise.explanation.failures import Failures
from lengthwise.explanation.model import HuggingFaceNetwork, Subject
from lengthwise.explanation.verdict import Verdict
from lengthwise.forecast.predict import typed_name
from lengthwise.positions.schemes import Coupled, Sequential

MORE = 4
"""How many times as many strings are advised where it is too close to say."""
MORE_ROWS = 0.1
"""The share of rows of a kind that is advised where that kind fails."""
WIDTH = 60
"""Columns of a line of Python that is advised."""


@dataclass(frozen=True)
class Call:
    """How an explanation was asked for, by `lengthwise.explain` or its command."""

    model: Any = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Those that are not their defaults, by the names of `lengthwise.explain`."""

    @property
    def typed(self) -> bool:
        """Whether a shell can say the same: the model is a path, task and vocabulary are named."""
        task = self.settings.get("task", "")
        named = isinstance(task, str | dict) and not isinstance(self.settings.get("vocab"), Mapping)
        return isinstance(self.model, str | Path) and named

    def again(self, **changes: Any) -> str:
        """The same with other settings: a command, or what does the same in Python for a model in memory."""
        settings = {**self.settings, **changes}
        if not self.typed:
            words = [
                f"{name}={repr(value) if name not in ('task', 'vocab') or isinstance(value, str) else name}"
                for name, value in settings.items()
            ]
            return f"lengthwise.explain({', '.join(['model', *words])})"
        words = ["lengthwise", "explain", str(self.model)]
        for name, value in settings.items():
            if isinstance(value, list | tuple):
                value = ",".join(map(str, value))
            words += [f"--{name}", json.dumps(value) if isinstance(value, dict) else str(value)]
        return shlex.join(words)


def advice(subject: Subject, call: Call, failures: Failures) -> tuple[str, str]:
    """What to do about the first length that breaks, or to find one: in words, and the command."""
    verdict = Verdict(failures.rows, subject.train)
    moved, held, broken, longest = failures.moved, verdict.held, verdict.broken(), failures.rows[-1].length
    coupled = getattr(subject.network.rule, "token_ids", None) is not None
    if coupled and any(each.kind in subject.task.kinds for each in failures.kinds):
        return _with_rows(subject, call, failures)
    trained = verdict.trained
    open_run = broken is not None and subject.experiment is not None and trained.right < trained.n
    if not verdict.learned or open_run or (broken is not None and broken <= subject.train):
        return _train_longer(subject, call, held, failures)
    if coupled and (failures.kinds or broken is not None):  # The ids suit the task; training is what is left.
        return _with_rows(subject, call, failures)
    if broken is None and held != longest:
        samples = MORE * call.settings.get("samples", 128)
        return "ask more strings, since it is too close to say", call.again(samples=samples)
    if broken is None:
        room = subject.farthest(2 * longest)
        if room >= 1.25 * longest:
            asked = [subject.inside[-1], longest, room]
            return f"ask longer strings, as of length {room}", call.again(lengths=asked)
        more, command = _more_ids(subject, call)
        return f"the model has no room beyond length {room}; train one with more position ids: {more}", command
    if moved is not None and (moved.to_blame or moved.absolute) and (start := _other_ids(subject, moved.known, call)):
        return start
    text = "train small models under other position systems, to see which one carries this task farther"
    return text, _systems(subject)


def _systems(subject: Subject) -> str:
    """What compares position systems on the task."""
    if task := typed_name(subject.task):
        return f"lengthwise compare {shlex.quote(task)} --max-length {subject.train} --budget 10m"
    return f"lengthwise.compare(task, max_length={subject.train}, budget='10m')"


def _train_longer(subject: Subject, call: Call, held: int | None, failures: Failures) -> tuple[str, str]:
    """The trained lengths are not right, so nothing beyond them says much."""
    run = subject.experiment
    done = "if that was done and did not help"
    if run is not None:
        steps, model = run.training.steps, run.model
        wider = f"then model.width={2 * model.width}, or model.layers={model.layers + 1}, at as many steps"
        text = f"train longer first: {2 * steps} steps, twice the {steps} that it had; {done}, {wider}"
        return text, retrain(subject, call, f"training.steps={2 * steps}")
    longer = "train longer first: twice the steps that it had"
    if held is not None and held < subject.train:
        return f"{longer}; if its training had no longer strings than {held}, ask so", call.again(train=held)
    if getattr(subject.network.rule, "token_ids", None) is not None:  # Tokens and ids are known, so training is open.
        return f"{longer}, and ask again; {done}, twice the width or one more layer", call.again()
    wrong = next((f" ({' '.join(failure.tokens)})" for failure in failures.smallest), "")
    text = (
        "check the vocabulary, the offset and the rule of position ids first: does its training script count the "
        f"shortest failing string{wrong} as right? If it is wrong there, too, more training is needed; else one of the "
        "three is not the training's: correct it in"
    )
    return text, call.again()


def _with_rows(subject: Subject, call: Call, failures: Failures) -> tuple[str, str]:
    """Training goes on, with more rows of the kind that fails most, if one does: the line of Python that makes them."""
    text, done = "train it with twice the steps", "if that was done, another seed, or a larger model"
    if not failures.kinds:
        return f"no cause found, so the default: {text}, and ask again; {done}", call.again()
    # Of kinds that the task names there is a line of Python.
    task, kinds = subject.task, [each.kind for each in failures.kinds]
    kind = next((each for each in kinds if each in task.kinds), kinds[0])
    if kind not in task.kinds:
        return f"{text} and more rows where {kind}, which your data has to make, and ask again; {done}", call.again()
    name, ids = typed_name(task), getattr(subject.network.rule, "token_ids", None)
    own, lines = {token: task.vocab[token] for token in ids or ()}, list[str]()
    if ids and ids != own:
        # An item of the mapping stays whole, whatever is in its token.
        items = (f"{token!r}: {number}".replace(" ", "\0") for token, number in ids.items())
        lines = textwrap.wrap(
            f"token_ids={{{', '.join(items)}}},", WIDTH, break_long_words=False, break_on_hyphens=False
        )
    rows = "\n    ".join([
        f"rows = hf.dataset({repr(name) if name else 'task'}, range({subject.inside[0]}, {subject.train + 1}),",
        *(line.replace("\0", " ") for line in lines),
        f"more={{{kind!r}: {MORE_ROWS}}})",
    ])  # fmt: skip
    text += f" and one row in {round(1 / MORE_ROWS)} where {kind}, and ask again"
    return f"{text}; {done}", f"import lengthwise.hf as hf\n{rows}"


def retrain(subject: Subject, call: Call, *changes: str) -> str:
    """What trains the same run again with other settings."""
    if call.typed:
        words = ["lengthwise", "run", "--config", str(Path(call.model) / "config.json")]
        return shlex.join([*words, *(word for change in changes for word in ("--set", change))])
    return f"lengthwise.Experiment.of(model.experiment.edited({list(changes)})).run()"


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
    text = (
        "train again with ids that start at random, so that training shows the larger ones, too (expect ten times the "
        "steps; it helped 1 of 3 seeds on (aa)*b*)"
    )
    if run is None:
        if not isinstance(subject.network, HuggingFaceNetwork):
            return text, ""
        command = (
            "import lengthwise.hf as hf;\nhf.attach(model, hf.SchemeIds(\n"
            f"    'sequential', random_start=True, max_position={most}))"
        )
        return f"{text}; in the training script, right after the model is made", command
    steps = f"training.steps={10 * run.training.steps}"
    if isinstance(run.scheme, Sequential):
        return text, retrain(subject, call, "scheme.random_start=true", f"scheme.max_position={most}", steps)
    return (text, retrain(subject, call, "scheme.draw=pose", steps)) if isinstance(run.scheme, Coupled) else None
