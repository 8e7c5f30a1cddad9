"""Values in the places of prompts: planted into half of them, taken out, and named in the kind of such rows."""

from __future__ import annotations

import numpy as np
import pytest

import lengthwise as lw
from lengthwise.core.rng import stream
from lengthwise.tasks.kinds import SEEN, can_make, changed, with_more
from lengthwise.tasks.values import ANYWHERE, FIRST, INSIDE, LAST, Values, values_named, with_values

ADDITION = lw.task("addition")


@pytest.mark.parametrize("task", ["addition", "subtraction", "reverse", "copy", "parity"])
@pytest.mark.parametrize("length", [5, 8])
def test_half_of_the_places_get_values_and_lose_them(task: str, length: int) -> None:
    """Law of tasks whose prompts can be changed: planted values stand in at least half of the places, or nowhere."""
    built = lw.task(task)
    drawn = built.batch(length, SEEN, stream(0, "test", "values"))
    values = Values(built, drawn)
    assert len({p for place in values.places for p in place.tolist()}) == sum(map(len, values.places))
    name = sorted(values.named)[0]
    rows: dict[str, np.ndarray] = {}
    for which, change in (("planted", values.planted([name])), ("without", values.without({name: INSIDE}))):
        try:
            rows[which] = changed(built, drawn, change, stream(0, "test", which))[0].input_ids
        except lw.LengthwiseError:
            continue
        has = [[tuple(row[place].tolist()) in values.named[name] for place in values.places] for row in rows[which]]
        counts = np.sum(has, axis=1)
        assert (counts >= len(values.places) / 2).all() if which == "planted" else not counts.any()
    assert rows or not drawn.scored[drawn.prompt_length :].all() or task in ("reverse", "copy")


@pytest.mark.parametrize("where", [ANYWHERE, FIRST, LAST])
def test_the_name_of_such_a_kind_gives_its_rows(where: str) -> None:
    there = {ANYWHERE: slice(None), FIRST: slice(1), LAST: slice(-1, None)}[where]
    for values in (["9 + 9"], ["0 + 0", "9 + 9"], ["0 + 0", "8 + 9", "9 + 9"]):
        kind = with_values("column", values, where)
        assert values_named(kind) == (values, where)
        assert can_make(ADDITION, kind)
        made = with_more(ADDITION, ADDITION.batch(8, 16, stream(0, "test", "rows")), {kind: 1.0}, stream(0, "test"))
        for row in range(16):
            first, _, second = " ".join(made.text(row)[1 : made.prompt_length - 1]).partition(" + ")
            columns = [" + ".join(sorted(both)) for both in zip(first.split(), second.split(), strict=True)]
            assert 2 * sum(column in values for column in columns[there]) >= len(columns[there])
            assert ADDITION.solve(made.text(row)[: made.prompt_length]) == made.text(row)[made.prompt_length :]
    assert not can_make(ADDITION, "half of the columns are x + 9")
    assert values_named("the numbers are equal") == ([], ANYWHERE)
    with pytest.raises(lw.LengthwiseError, match="no strings of lengths"):
        lw.hf.dataset(ADDITION, [8], rows=1, size=1, more={"half of the columns are 9 9": 1.0})
