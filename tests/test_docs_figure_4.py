"""The page of settings fixed beforehand: its sentences on ablations and figure 4, computed from the result files."""

from __future__ import annotations

import fixed_tables

from page_text import assert_on

QUOTED, PLAIN = "with quotations", "as it is"


def _rates(cell: str) -> list[float]:
    return [float(word) for word in cell.split() if word != "–"]


def test_ablations() -> None:
    rows = {name: (fitted, _rates(four), _rates(one)) for name, fitted, _, four, one in fixed_tables.ablations()}
    assert {name for name, (fitted, *_) in rows.items() if fitted != "5 of 5"} == {
        "no slot level", "RoPE on coupled ids"
    }  # fmt: skip
    one = {name: f"{min(chain):.2f} to {max(chain):.2f}" for name, (_, _, chain) in rows.items() if chain}
    assert {*rows["3 layers"][1], *rows["3 layers"][2]} == {1.0}
    contiguous = sorted(rows["contiguous ids"][2])
    assert contiguous[1] >= 0.98
    assert min(*rows["as it is"][2]) == 0.98
    assert_on(
        "fixed-beforehand",
        f"With a pointer head one chain is at {one['pointer head']}, without QK-norm at {one['no QK-norm']}, "
        f"without QK-norm and log-length scaling at {one['no QK-norm, no log-length']}, "
        f"with RoPE on coupled ids and a pointer head at {one['RoPE on coupled ids, pointer head']}.",
        f"Contiguous ids lose one seed of five ({contiguous[0]:.2f}).",
        f"with 4 layers one chain is at {one['4 layers']}, though all seeds fit",
    )


def test_figure_4() -> None:
    rows = fixed_tables.figure_4()
    worth = {(seed, text): found for seed, text, found, *_ in rows}
    found = {(seed, text, chosen): [float(cell.split()[0]) for cell in cells] for seed, text, _, chosen, *cells in rows}
    greedy, null, other, attention, random = (
        list(zip(found["100", QUOTED, name], found["101", QUOTED, name], strict=True))
        for name in ("greedy", "greedy, null", "greedy, other model", "attention", "random")
    )
    assert max(abs(rate) for pair in random for rate in pair) < 0.06
    first, second = greedy[0]
    assert_on(
        "fixed-beforehand",
        f"it is worth {worth['100', QUOTED]} and {worth['101', QUOTED]} nats on text with quotations, "
        f"and {worth['100', PLAIN]} and {worth['101', PLAIN]} on text as it is",
        f"recovers {first:.2f} and {second:.2f} with one token of quoted text and "
        f"{greedy[2][0]:.2f} and {greedy[2][1]:.2f} with sixteen.",
        f"it finds {null[0][0]:.2f} and {null[0][1]:.2f} with one and "
        f"{null[2][0]:.2f} and {null[2][1]:.2f} with sixteen",
        f"recovers {other[0][0]:.2f} and {other[0][1]:.2f} with one token, {other[1][0]:.2f} and {other[1][1]:.2f} "
        f"with four, {other[2][0]:.2f} and {other[2][1]:.2f} with sixteen.",
        f"recovers {attention[2][0]:.2f} and {attention[2][1]:.2f} with sixteen tokens",
        f"recovers {other[0][1]:.2f} and {other[0][0]:.2f} of its worth on quoted text, "
        f"four {other[1][1]:.2f} and {other[1][0]:.2f}, sixteen {other[2][1]:.2f} and {other[2][0]:.2f}.",
        f"recovers {second:.2f} and {first:.2f} with one token, and nearly as much from a block of another document "
        f"({null[0][1]:.2f} and {null[0][0]:.2f}).",
    )


def test_the_block_is_worth_more_when_an_induction_head_forms() -> None:
    last = {}
    for seed, step, *_, worth, heads in fixed_tables.gain_while_training():
        score = max(float(head) for head in heads.split())
        assert (score < 0.1) == (float(worth) < 0.05)
        last[seed] = step, worth
    assert_on(
        "fixed-beforehand",
        f"is worth {last['100'][1]} and {last['101'][1]} nats on held-out windows after "
        f"{last['100'][0]} and {last['101'][0]} steps",
    )
