"""Every string of a test has ids, also where strings of one length differ in tokens."""

from __future__ import annotations

from lengthwise.core.rng import stream
from lengthwise.experiments.blind.ladder import position_scheme
from lengthwise.tasks import TASKS
from lengthwise.tasks.addition import BinaryAddition, Operands


def test_there_are_ids_for_the_longest_sum() -> None:
    """A sum of 300 characters has 3 to 299 digits, by how its digits are split; most splits that are drawn are even."""
    task = TASKS.build("binary-addition")
    assert isinstance(task, BinaryAddition)
    longest = Operands(300, first=1, second=297, carry=True)
    tokens = task.batch(300, 4, stream(0, "test"), longest).tokens
    assert position_scheme(task, "ape").max_position >= tokens - 1
    fixed = TASKS.build("parity")
    assert position_scheme(fixed, "ape").max_position == fixed.batch(300, 1, stream(0, "test")).tokens - 1
