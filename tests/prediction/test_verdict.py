"""How arguments join: agreement, disagreement, the strongest basis."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lengthwise.prediction.verdict import CAVEATS, Argument, StructureRow, Verdict


def verdict(*arguments: Argument, fragment: str | None = "ape") -> Verdict:
    return Verdict("ape", "sequential", "learned", fragment, arguments)


YES = Argument("yes", "proved", "a program exists", {"kind": "program"})
NO = Argument("no", "ours", "no guarantee: a bound")


def test_disagreement_is_unknown_and_shows_both() -> None:
    joined = verdict(YES, NO)
    assert (joined.answer, joined.basis) == ("unknown", None)
    assert joined.why.startswith("arguments disagree")
    assert YES.why in joined.why
    assert NO.why in joined.why
    assert [a["answer"] for a in joined.to_json()["arguments"]] == ["yes", "no"]


def test_nothing_known_is_unknown_with_a_reason() -> None:
    assert verdict().answer == "unknown"
    assert "no proof that there is none" in verdict().why
    assert "no theorem" in verdict(fragment=None).why


arguments = st.builds(
    Argument, st.sampled_from(["yes", "no"]), st.sampled_from(["proved", "ours", "cited", "evidence"]), st.just("x")
)


@given(st.lists(arguments, max_size=5))
def test_the_join(found: list[Argument]) -> None:
    joined = verdict(*found)
    kinds = {argument.answer for argument in found}
    assert joined.answer == (kinds.pop() if len(kinds) == 1 else "unknown")
    if joined.answer != "unknown":
        order = ["proved", "cited", "ours", "evidence"]
        assert joined.basis == min((argument.basis for argument in found), key=order.index)
    assert joined == verdict(*found)
    assert verdict(*reversed(found)).answer == joined.answer


def test_json_keys() -> None:
    assert set(verdict(YES).to_json()) == {
        "system", "scheme", "encoding", "fragment", "answer", "basis", "why", "help", "source", "condition",
        "next_symbols", "certificate", "arguments", "limit",
    }  # fmt: skip
    assert verdict(YES).to_json()["certificate"] == {"kind": "program"}


def test_rows_know_whether_they_grow() -> None:
    row = StructureRow("sequential", (5, 10), (2, 2), (5, 10))
    assert row.sparse
    assert not row.local


def test_caveats_name_what_is_not_claimed() -> None:
    text = " ".join(CAVEATS)
    assert "no training length follows" in text
    assert "a given model may still do well" in text
    assert "never a no" in text
