"""Right answers in common wrappings are right, and wrong ones in them are wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.audit.endpoint import reply_of
from lengthwise.audit.model import RequestFailed
from lengthwise.audit.questions import AuditPlan
from lengthwise.audit.scoring import Scoring, equal, outcome, settled, strictly_right
from lengthwise.core.errors import LengthwiseError
from lengthwise.tasks import TASKS

WRAPPINGS = [
    "{}", "Output: {}", "<think>\n\n</think>\n\n{}", "<think>first 9, then 9</think>{}", "no opening</think>\n{}",
    "```\n{}\n```", "```text\n{}\n```", "{}<|im_end|>", "{}</s>", "The answer is {}.", "\\boxed{{{}}}",
    "$\\boxed{{{}}}$",
    "**{}**", "`{}`", "The final answer is **{}**.", "**Answer:** {}", "The answer is:\n{}", "Sure:\n\n```\n{}\n```",
    "So the result = {}", "[{}]", "{}\n\nInput: 9 9", "<think>x</think>\n\nThe answer is \\boxed{{{}}}.<|im_end|>",
]  # fmt: skip


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("written", ["8 7 0 1", "8701", "8,7,0,1", "8, 7, 0, 1"])
def test_wrapped_answers(wrapping: str, written: str):
    assert outcome(wrapping.format(written), "8 7 0 1") == "right"
    assert outcome(wrapping.format(written), "8 7 0 2") == "wrong"
    assert outcome(wrapping.format(written) + "5", "8 7 0 1") != "right" or not wrapping.endswith("{}")


def test_strict_is_the_answer_and_nothing_else():
    right = {text for text in WRAPPINGS if strictly_right(text.format("8 7 0 1"), "8 7 0 1")}
    assert right == {"{}", "{}\n\nInput: 9 9", *(text for text in WRAPPINGS if text.endswith("</think>\n\n{}")),
                     "<think>first 9, then 9</think>{}", "no opening</think>\n{}"}  # fmt: skip
    assert not strictly_right("<think>\n\n</think>\n\n8 7 0 1", "8 7 0 1", Scoring(strip_think=False))


@pytest.mark.parametrize(
    ("text", "finished", "becomes"),
    [
        ("<think>8 7", True, "only reasoning"), ("<think>8 7", False, "did not stop"),
        ("<think>8 7</think>", True, "only reasoning"), ("", True, "wrong"), ("8 7 0", False, "did not stop"),
        ("8 7 0 2\nmore", False, "wrong"), ("8 7 0 1", False, "right"),
    ],
)  # fmt: skip
def test_what_has_no_answer(text: str, finished: bool, becomes: str):
    assert outcome(text, "8 7 0 1", finished=finished) == becomes


def test_numbers_and_patterns():
    last = Scoring("last-number")
    assert outcome("12 and 3 make 15, so it's 8,701.", "8701", last) == "right"
    assert outcome("8 7 0 1", "8 7 0 1", last) == outcome("1 + 2\n= 8701", "8 7 0 1", last) == "right"
    assert outcome("8701 or 5", "8701", last) == "wrong"
    assert outcome("#### 12\n#### 34", "34", Scoring("regex", r"#### (\d+)")) == "right"
    assert outcome("#### 12", "34", Scoring("regex", r"#### (\d+)")) == "wrong"
    assert outcome("none", "34", Scoring("regex", r"#### (\d+)")) == "wrong"


PIECES = st.sampled_from([*"12 .\n:`*,\\{}", "\n\n", "1\n\n", "<think>", "</think>", "->", "```"])


@given(st.lists(PIECES, max_size=12), st.text())
def test_more_text_never_changes_what_is_settled(pieces: list[str], more: str):
    text = "".join(pieces)
    if settled(text):
        for answer in ("1", "1 2", "12"):
            assert (outcome(text, answer) == "right") == (outcome(text + more.replace("</", ""), answer) == "right")


def test_equal_words():
    assert equal("12", "12")
    assert not equal("12,3", "123")
    assert not equal("1 2", "12")
    assert equal("6 8' + 4", "6 8' + 4")
    assert outcome("6 8'", "6 8'") == "right"


def test_content_in_chunks_and_reasoning_in_its_own_field():
    def found(**message: object) -> dict[str, object]:
        return {"choices": [{"message": message, "finish_reason": "stop"}]}

    chunks = [{"type": "thinking", "thinking": "9"}, {"type": "text", "text": "8 7"}, {"type": "text", "text": " 0 1"}]
    assert reply_of(found(content=chunks), 99, 0).text == "8 7 0 1"
    assert reply_of(found(content=None, reasoning_content="9 9"), 99, 0).reasoning
    assert reply_of(found(content="1", reasoning="9 9"), 99, 0).text == "1"
    with pytest.raises(RequestFailed, match="text"):
        reply_of(found(content=[7]), 99, 0)


@pytest.mark.parametrize(
    ("task", "scoring", "says"),
    [
        ("parity", Scoring("last-number"), "are no numbers"), ("addition", Scoring("regex"), "needs a pattern"),
        ("addition", Scoring("regex", "("), "no regular expression"), ("addition", Scoring("exact", "x"), "take none"),
        ("addition", Scoring("exct"), "Did you mean 'exact'?"),
    ],
)  # fmt: skip
def test_settings_that_do_not_fit(task: str, scoring: Scoring, says: str):
    with pytest.raises(LengthwiseError, match=says.replace("?", r"\?")):
        AuditPlan(TASKS.build(task), (2, 4), scoring=scoring)
