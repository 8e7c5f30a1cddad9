"""What failing strings of a task with answers share: planted mistakes are found by their first wrong token."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

import lengthwise as lw
from lengthwise.explanation.advice import Call, advice
from lengthwise.explanation.explain import Explanation
from lengthwise.explanation.failures import hard_strings
from lengthwise.explanation.model import Subject, subject_of

TASK = lw.task("addition")


def adder(wrong: Callable[[list[str], list[str]], list[str]]) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """A model that knows the right answer to every prompt, and says ``wrong(prompt, answer)`` in its place."""
    vocab, equals = TASK.vocab, TASK.vocab["="]

    def logits(ids: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
        found = torch.zeros(*ids.shape, len(vocab))
        for row, tokens in enumerate(ids.tolist()):
            end = tokens.index(equals) + 1
            prompt = vocab.decode(tokens[:end])
            said = vocab.encode(wrong(prompt, TASK.solve(prompt)))
            for number, token in enumerate(said[: len(tokens) - end + 1]):
                found[row, end - 1 + number, token] = 1
        return found

    return logits


def zeros_lead(prompt: list[str]) -> bool:
    first, _, second = " ".join(prompt[1:-1]).partition(" + ")
    return first.endswith("0") and second.endswith("0")


def stops_early(prompt: list[str], answer: list[str]) -> list[str]:
    """Of two numbers with leading zeros, the sum ends a token too early."""
    return [*answer[:-2], "<eos>", "<eos>"] if zeros_lead(prompt) else answer


def also_slips(prompt: list[str], answer: list[str]) -> list[str]:
    """Beyond ten digits, every second sum has, too, one token that is wrong, in different places."""
    number = sum(map(int, filter(str.isdigit, prompt)))
    if len(prompt) < 2 * 10 + 3 or number % 2:
        return stops_early(prompt, answer)
    at = number % (len(answer) - 2)
    return [*answer[:at], str((int(answer[at]) + 1 + number % 7) % 10), *answer[at + 1 :]]


@pytest.fixture(scope="module")
def explained() -> dict[str, Explanation]:
    settings = {"train": 6, "lengths": [4, 6, 8, 12], "samples": 160, "seconds": 4}
    return {wrong.__name__: lw.explain(adder(wrong), TASK, **settings) for wrong in (stops_early, also_slips)}


def test_a_shared_first_wrong_token_is_the_first_finding(explained) -> None:
    told = explained["stops_early"]
    mistake = told.failures.mistake
    assert mistake is not None
    assert (mistake.expected, mistake.got, mistake.place) == ("0", "<eos>", "last token but one of the answer")
    assert mistake.n == mistake.of == mistake.placed
    assert told.fails_where.startswith(f"stops with <eos> where 0 is due: {mistake.n} of {mistake.n} failing strings")
    # What tells them from right strings is what they follow from there, and the text never says that nothing does.
    feature = told.failures.feature
    assert feature is not None
    assert feature.sentence
    assert "last token but one of the answer" in feature.name
    assert feature.name.endswith("are 0")
    assert "none of these features" not in told.why
    # The model's own words stand beside each failing string.
    first = told.failures.smallest[0]
    assert f"{' '.join(first.tokens)}; after" in " ".join(told.lines)
    assert "the model says <eos>, right is 0" in first.said


def test_edge_cases_are_hard_strings_and_named_where_they_fail(explained) -> None:
    told = explained["stops_early"]
    assert [each.kind for each in told.failures.kinds][:1] == ["all parts end with 0"]
    (worst, *_) = told.failures.kinds
    assert worst.inside.right == worst.beyond.right == 0
    assert f"all parts end with 0, right on 0 of {worst.inside.n}" in told.answer
    assert "all parts end with 0: 0 of" in told.failures.worst
    assert "breaks" not in told.answer  # Of all hard strings they are few.


def test_a_mistake_that_only_short_strings_share_is_told_up_to_their_length(explained) -> None:
    told = explained["also_slips"]
    mistake = told.failures.mistake
    assert mistake is not None
    assert mistake.last < 10
    assert mistake.n == mistake.of
    assert mistake.longer[0] < mistake.longer[1]
    assert told.fails_where.startswith(
        f"up to length {mistake.last} it stops with <eos> where 0 is due: {mistake.n} of"
    )
    assert f"of longer ones {mistake.longer[0]} of {mistake.longer[1]}, the others differ" in told.fails_where


@pytest.mark.parametrize("name", ["addition", "reverse", "copy", "sort", "parity"])
def test_edge_cases_are_instances_of_their_task_and_few(name: str) -> None:
    task = lw.task(name)
    subject = subject_of(lambda ids, _: torch.zeros(*ids.shape, len(task.vocab)), task, train=6)
    length = task.lengths(6, 12)[0]
    found = [(kind, b) for kind, b in hard_strings(subject, length, 16, lw.stream(0), None) if kind.startswith("all")]
    assert sum(batch.size for _, batch in found) <= 4 * 32
    for kind, batch in found:
        token, last = kind.split()[-1], " end with " in kind
        for row in range(batch.size):
            text = batch.text(row)
            prompt = text[: batch.prompt_length]
            assert task.solve(prompt) == text[batch.prompt_length :]
            free = np.flatnonzero(task.batch(length, 64, lw.stream(1)).input_ids[:, : len(prompt)].std(0))
            parts = np.split(free, np.flatnonzero(np.diff(free) > 1) + 1)
            assert all(prompt[part[-1 if last else 0]] == token for part in parts)


def test_a_model_under_coupled_ids_is_trained_on_instead_of_compared(explained) -> None:
    pytest.importorskip("transformers")
    rule = lw.hf.CoupledPlaces("addition", {"name": "coupled", "draw": "pose", "max_position": 20})
    told = explained["also_slips"]
    subject: Subject = subject_of(adder(also_slips), TASK, train=6)
    subject.network.rule, subject.network.positions = rule, 60
    said = advice(subject, Call("my-adder", {"train": 6}), told.accuracy, told.failures)
    assert told.verdict.broken() is not None
    assert "compare" not in said
    assert said.startswith("train it longer, in its training script: twice the steps, and, as a try, more rows like")
    assert "all parts end with 0" in said
    assert "max_position" not in said, "a model was made worse by more ids than it needs"
    assert said.endswith("lengthwise explain my-adder --train 6")
