"""The same question is asked once, another one anew, and arguments without a hash every time."""

from __future__ import annotations

from typing import Any

from lengthwise.core.once import once


def test_an_answer_is_kept_and_one_for_arguments_without_a_hash_is_not() -> None:
    asked = []

    @once(2)
    def answer(one: Any, other: int = 0) -> tuple[Any, int]:
        asked.append(one)
        return one, other

    assert [answer("a"), answer("a"), answer("a", other=1)] == [("a", 0), ("a", 0), ("a", 1)]
    assert asked == ["a", "a"]
    assert answer([1]) == answer([1]) == ([1], 0)
    assert asked == ["a", "a", [1], [1]]
    answer("b"), answer("a")
    assert asked[4:] == ["b", "a"], "of three, the first is asked again"
