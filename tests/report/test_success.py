"""How sure a success is said to be."""

from __future__ import annotations

import pytest
from made_up import experiment, result, score

from lengthwise.report.answer import ALONE, SURE
from lengthwise.report.success import BY_FORECAST, HARDER, answer_rows
from lengthwise.report.summary import SeedResult, SystemSummary, summarize


def systems(language: str, rates: dict[str, tuple[int, ...]]) -> list[SystemSummary]:
    """Of each system a seed for each number: so many of 200 strings are right at 16; 0 did not fit."""
    task = {"name": "language", "language": language, "alphabet": None, "ask": "next"}
    config = experiment("sequential", "nope") | {"task": task}
    return summarize(
        SeedResult.of(result(name, seed, fitted=right > 0, config=config, scores=scores * (right > 0)))
        for name, seeds in rates.items()
        for seed, right in enumerate(seeds)
        for scores in [[score(8, 200), score(16, right)]]
    )


def sure(some: list[SystemSummary]) -> str:
    return answer_rows(some, len(some)).get(SURE, "")


@pytest.mark.parametrize(
    ("seeds", "says"), [((198,), "0.990 of random words are right at 16 (95 % interval 0.964–0.997), from one seed."),
                        ((198, 196, 200), "With 75 %, the median of all seeds is right on 0.980 to 1.000 of random "
                                          "words at 16 (from 3 seeds)."),
                        ((199, 199), "0.995 of random words are right at 16 in each of 2 seeds; others may differ."),
                        ((100,), "")]
)  # fmt: skip
@pytest.mark.parametrize("others", [{}, {"lost": (0,)}])
def test_a_success_that_nothing_is_compared_with_has_its_share(
    seeds: tuple[int, ...], says: str, others: dict[str, tuple[int, ...]]
) -> None:
    assert sure(systems("(a|b)*a", {"nope": seeds} | others)) == " ".join([says] * bool(says) + [ALONE] * bool(others))


@pytest.mark.parametrize(("language", "says"), [("(aa)*", "is one word"), ("(aaaa)*|(bb)*", "are 2 words")])
def test_of_few_words_no_interval_is_told(language: str, says: str) -> None:
    assert sure(systems(language, {"nope": (200,)})) == (
        f"1.000 of random words are right at 16 (there {says}), from one seed."
    )


@pytest.mark.parametrize(
    ("language", "says"),
    [
        ("(a|b|c)*a(b|c)*", "Random words ask little: the first 8 symbols decide 95 % of those of 16; "),
        ("(a|b|c)*ac*", "These are random words; "),
        ("(a|b)*a", ""), ("a(a|b)*", ""),
    ],
)  # fmt: skip
def test_random_words_are_named_where_others_are_harder(language: str, says: str) -> None:
    said = sure(systems(language, {"nope": (200,)})).partition("from one seed.")[2].strip()
    assert said == f"{says}{HARDER}" * bool(says)
    assert not sure(systems(language, {"nope": (100,)}))


@pytest.mark.parametrize(
    ("right", "hard", "says"),
    [
        ((198,), (194,), "random and hard words, it is right at 16: 0.99 and 0.97 (one seed)."),
        ((200,), (100,), "random and hard words, it is not right at 16: 1.00 and 0.50 (one seed)."),
        ((200,), (), "random words (none is hard; rare ones, as with long runs, were not asked), it is right at 16: "
                     "1.00 (one seed)."),
        ((200,), None, ""),
        ((200, 180, 200), (180, 200, 180),
         "random and hard words, it is not right at 16: 1.00 and 0.90 (medians of 3 seeds)."),
    ],
)  # fmt: skip
def test_a_run_says_whether_the_forecast_came_true(right: tuple[int, ...], hard: tuple[int, ...] | None, says: str):
    """Both kinds of words count, the lower one of each seed, in the finding, too; older results say nothing of it."""
    (plain,) = systems("(a|b|c)*ac*", {"nope": right})
    (some,) = summarize(
        SeedResult.of(one.to_json() | ({} if hard is None else {"hard": [score(16, n) for n in hard[seed : seed + 1]]}))
        for seed, one in enumerate(plain.results)
    )
    assert answer_rows([some], 1).get(BY_FORECAST, "").removeprefix("By the forecast's measure, ") == says
    lowest = [min(n, *(hard or ())[seed : seed + 1], 200) for seed, n in enumerate(right)]
    assert [one.correct["exact_match"] for one in some.cells[-1].scores] == lowest
