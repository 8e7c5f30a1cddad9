"""Numbers in the sentences of two results pages (arithmetic, longer contexts) are those of the files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

import extension_tables
import tables

from lengthwise.core.files import read_json
from lengthwise.core.result_file import result_files
from lengthwise.experiments.recipes.addition_methods import addition_methods
from lengthwise.experiments.recipes.coupled_arithmetic import coupled_arithmetic
from lengthwise.report.summary import SeedResult
from page_text import assert_on


def _rates(results: Iterable[SeedResult], length: int, **axes: int) -> list[float]:
    """Exact match of the seeds that were measured at a length."""
    found = [tables.score(result, length, **axes) for result in results]
    return [score.rate() or 0.0 for score in found if score]


def _errors(results: Iterable[SeedResult], length: int, **axes: int) -> Counter[str]:
    """Kinds of first errors at a length, of all seeds."""
    found = [tables.score(result, length, **axes) for result in results]
    return sum((Counter(score.first_error) for score in found if score), Counter())


def _seconds(recipe: str, *systems: str) -> list[float]:
    """What each seed of these systems took, in order."""
    files = [read_json(path) for path in result_files(tables.RESULTS / recipe)]
    return sorted(values["seconds"] for values in files if values["system"] in systems)


def _minutes(seconds: Sequence[float], digits: int = 0) -> str:
    """The shortest and the longest time."""
    low, high = (f"{value / 60:.{digits}f}" for value in (min(seconds), max(seconds)))
    return f"{low} to {high} minutes"


def _digits(values: Iterable[float], digits: int = 2) -> list[str]:
    return [f"{value:.{digits}f}" for value in values]


def test_sentences_on_arithmetic() -> None:
    """Addition under a local bias, from 30 and from 10 digits."""
    to_30, to_10 = (tables.runs("addition", f"local bias, up to {n}") for n in (30, 10))
    assert len(to_30) == len(to_10) == 8
    at_200, at_500 = _rates(to_30, 200), _rates(to_30, 500)
    time = _minutes(_seconds("addition", "local bias, up to 30"), 1)
    training = to_30[0].experiment["training"]
    trained = f"{training['steps']:,} steps of {training['batch_size']} strings"
    assert_on(
        "arithmetic",
        f"Trained on up to 30 digits for {trained}, all 8 seeds have {min(at_200):.3f} or more at 200 digits "
        f"(median {median(at_200):.3f}) and {min(at_500):.3f} or more at 500 (median {median(at_500):.3f}). "
        f"A seed took {time} on a shared core.",
        f"Settings: {trained}, learning rate {training['lr']} with cosine decay to 0, no log-length scaling",
    )
    assert (training["decay"], training["final_lr"], to_30[0].experiment["model"]["log_length"]) == ("cosine", 0, None)
    far, farthest = _rates(to_10, 100), _rates(to_10, 500)
    (bad,) = [result for result, rate in zip(to_10, farthest, strict=True) if rate < 0.98]
    assert_on(
        "arithmetic",
        f"the median of 8 seeds is {median(far):.3f} at 100 digits and {median(farthest):.3f} at 500. "
        f"Seven seeds have 0.98 or more at 500; seed {bad.seed} has {_rates([bad], 100)[0]:.3f} at 100 "
        f"and {_rates([bad], 500)[0]:.3f} at 500: its errors are spread over all digits",
    )
    score = tables.score(bad, 500)
    assert score is not None
    by_fifth = Counter(at // 100 for at in score.first_error_at)
    assert set(by_fifth) == set(range(5))
    assert max(Counter(score.first_error_at).values()) < 0.05 * len(score.first_error_at)


def test_sentences_on_the_learned_table_and_jumps() -> None:
    (first, *_) = tables.runs("addition", "coupled, up to 30")
    assert first.seed == 200
    (took,) = _seconds("addition", "coupled, up to 30")
    training = first.experiment["training"]
    assert_on(
        "arithmetic",
        f"The seed took {took / 60:.0f} minutes on a shared core",
        f"Settings: {training['steps']:,} steps, batch {training['batch_size']}, learning rate {training['lr']} with "
        f"cosine decay to 0, weight decay {training['weight_decay']}, ids up to "
        f"{first.experiment['scheme']['max_position']}",
    )
    quick = []
    for result in tables.runs("addition", "coupled"):
        score = tables.score(result, 100)
        assert score is not None
        digit, count = Counter(score.first_error_at).most_common(1)[0]
        quick.append((score.rate(), count, len(score.first_error_at), digit, score.first_error))
    (rate, *seed_0, _), (_, *seed_1, _), (_, ends, errors, _, kinds) = quick
    assert kinds["eos"] == ends
    assert_on(
        "arithmetic",
        f"Of three older runs at ≤ 10 digits (preset `quick`) one fails in the same way: seed 0, which is at "
        f"{rate:.2f} at 100 digits, has {seed_0[0]} of {seed_0[1]} first errors at digit {seed_0[2]}.",
        "Seed 1 has {} of {} at digit {}, seed 2 has".format(*seed_1) + f" {ends} of {errors} at the end mark.",
    )
    (none,) = tables.runs("addition-jumps", "no jumps")
    at_20, at_40 = (tables.score(none, length) for length in (20, 40))
    assert at_20 is not None
    assert at_40 is not None
    last = at_20.first_error_at.count(20)
    assert_on("arithmetic", f"At 20 digits {last} of {len(at_20.first_error_at)} first errors are at the last digit")
    assert max(Counter(at_40.first_error_at).values()) < 0.25 * len(at_40.first_error_at)
    (some,), (all_jump,) = (tables.runs("addition-jumps", name) for name in ("jumps in 30 %", "jumps in all"))
    far = tables.score(all_jump, 40)
    assert far is not None
    worst = [digit for digit, _ in Counter(far.first_error_at).most_common(2)]
    assert sum(far.first_error_at.count(digit) for digit in worst) > 0.95 * far.n
    assert min(_rates([all_jump], 20)) == 1
    (only,) = set(some.in_distribution.first_error_at)
    # In tests ids begin at 1: the digit with number 0 has id 2.
    assert_on(
        "arithmetic", f"right but for one id, {only + 2}.", "two ids, {} and {}, are".format(*(d + 2 for d in worst))
    )


def test_sentences_on_methods_of_addition() -> None:
    systems = {job.name: tables.runs("addition-methods", job.name) for job in addition_methods("standard").jobs}
    local, abacus, longer = (
        systems[name]
        for name in ("coupled ids, local bias", "Abacus, offsets up to 20", "Abacus, up to 20 digits, offsets up to 10")
    )
    assert {name for name, results in systems.items() if any(result.fitted for result in results)} == {
        "coupled ids, local bias", "Abacus, offsets up to 20", "Abacus, up to 20 digits, offsets up to 10"
    }  # fmt: skip
    assert {f"{rate:.2f}" for n in (10, 15, 20, 25, 28, 30, 32, 35, 40) for rate in _rates(local, n)} == {"1.00"}
    time = _minutes(_seconds("addition-methods", *systems))
    between = [rate for n in (15, 20, 25, 28, 30) for rate in _rates(abacus, n)]
    assert not any(rate for n in (32, 35, 40) for rate in _rates(abacus, n))
    experiments = [result.experiment for results in systems.values() for result in results]
    (threshold,) = {work["evaluation"]["fit_threshold"] for work in experiments}
    assert {work["training"]["steps"] for work in experiments if work["training"]["max_length"] == 10} == {4000}
    assert {work["training"]["steps"] for work in experiments if work["training"]["max_length"] == 20} == {8000}
    assert_on(
        "arithmetic",
        "for 4,000 steps of 64 strings (the last system: up to 20 digits, 8,000 steps)",
        f"A seed counts as fitted at {threshold} in distribution",
        f"all three seeds have {min(_rates(longer, 30)):.2f} or more at 30 digits, "
        f"and at most {max(_rates(longer, 31)):.2f} at 31",
        "at 15 to 30 digits, where every single id has been trained, "
        f"they have {min(between):.2f} to {max(between):.2f}",
        f"`lengthwise run addition-methods --preset standard` repeats it: {time} a seed",
    )


def test_sentences_on_sums_and_products() -> None:
    systems = {job.name: tables.runs("coupled-arithmetic", job.name) for job in coupled_arithmetic("standard").jobs}
    plain, sink, second = (systems[f"running sums, local bias{more}"] for more in ("", " with a sink", ", then NoPE"))

    def square(results: Sequence[SeedResult], n: int) -> Counter[str]:
        return _errors(results, n, digits=n, operands=n)

    at_8, at_10 = square(sink, 8), square(sink, 10)
    right = [
        score.correct["exact_match"] for result in sink if (score := tables.score(result, 12, digits=12, operands=12))
    ]
    inside = sum((Counter(result.in_distribution.first_error) for result in plain), Counter())
    near = square(plain, 5)
    kinds = [square([result], 8) for result in second]
    assert [max(kind, key=kind.__getitem__) for kind in kinds] == ["token", "eos", "token"]
    assert [sum(kind.values()) for kind in kinds] == [200] * 3
    assert {f"{result.in_distribution.rate():.2f}" for result in plain} == {"0.96"}
    many = [result for name, results in systems.items() if name.startswith("N x 2") for result in results]
    product = _rates(systems["product with scratchpad, learned table"], 5, first=5, second=5)
    mines = _digits(result.in_distribution.rate() or 0.0 for result in systems["minesweeper, learned table"])
    assert_on(
        "arithmetic",
        "{}, {} and {} of 200 are right".format(*right),
        f"{at_8['eos']} of {at_8.total()} first errors at 8 × 8 and {at_10['eos']} of {at_10.total()} at 10 × 10 "
        "are an end mark",
        f"{inside['eos']} of {inside.total()} first errors in distribution, where 0.96 are right, which is not fitted, "
        f"and {near['eos']} of {near.total()} at 5 × 5",
        f"in two seeds by wrong digits, in the third by the end mark ({kinds[1]['eos']} of 200)",
        f"at most {max(result.in_distribution.rate() or 0.0 for result in many):.2f} in distribution in 6,000 steps",
        f"{min(product):.2f} to {max(product):.2f} at 5 × 5 digits after training on 4 × 4, and nothing from 6 × 6 on",
        "**Minesweeper is not fitted**: {}, {} and {} of boards".format(*mines),
    )
    assert {result.experiment["training"]["steps"] for result in many} == {6000}


def test_sentences_on_looped_parity() -> None:
    looped, rope, nope = (
        tables.runs("looped-parity", name)
        for name in ("one layer, looped by tokens", "4 layers, RoPE", "4 layers, NoPE")
    )
    twice, thrice = _digits(_rates(looped, 40)), _digits(_rates(looped, 60))
    assert (thrice[0], thrice[2]) == ("0.99", "0.99")
    at_25, at_35 = _digits(_rates(nope, 25)), _digits(_rates(nope, 35))
    fits = sum(result.fitted for result in (*rope, *nope))
    below = {result.seed for result in rope for n in (35, 40, 50, 60) if _rates([result], n)[0] < 0.4}
    assert below == {301}
    assert all(_errors(rope[1:2], n)["eos"] > 100 for n in (35, 40, 50, 60))
    assert all(abs(rate - 0.5) < 0.1 for n in (25, 30) for rate in _rates(rope, n))
    assert all(abs(rate - 0.5) < 0.05 for n in (40, 50, 60) for rate in _rates(nope, n))
    assert_on(
        "arithmetic",
        "40 bits, at {}, {} and {}, and two of three seeds three times, at 0.99".format(*twice),
        f"They fit in distribution in {fits} of {len(rope) + len(nope)} seeds.",
        "25 bits are at {} and {}, 35 bits at".format(*at_25) + " {} and {}, and from 40 on".format(*at_35),
        f"5,000 steps of 64 strings, {_minutes(_seconds('looped-parity', 'one layer, looped by tokens'))} "
        "for a looped seed",
    )


def test_sentences_on_self_improvement() -> None:
    study = read_json(tables.RESULTS / "self-improvement" / "standard" / "study.json")
    labels = [row["labels"] for row in study["rows"] if row["labels"]]
    right, kept = (sum(each[key] for each in labels) for key in ("right", "kept"))

    def exact(system: str, longest: int, digits: int) -> list[float]:
        rows = [row for row in study["rows"] if (row["system"], row["longest"]) == (system, longest)]
        return [each[str(digits)] for row in rows for each in row["exact"]]

    ends, farther, before = exact("rounds", 16, 16), exact("rounds", 16, 20), exact("rounds", 8, 16)
    controls = [each["16"] for row in study["rows"] if row["system"] == "control" for each in row["exact"]]
    assert (len(ends), len(controls), max(controls)) == (9, 3, 0)
    assert_on(
        "arithmetic",
        f"twice the first length**: {min(ends):.3f} or more, and {min(farther):.2f} to {max(farther):.2f} at 20. "
        f"Before the rounds they were at {max(before):.3f} or less at 16.",
        "the three controls are at 0.00 at 16",
        f"{right:,} of the {kept:,} that passed the filters in all rounds",
        f"{study['seconds'] / 60:.0f} minutes for all three seeds on a shared machine with two cores",
    )
    assert study["machine"]["cores"] == 2


def test_sentences_on_longer_contexts() -> None:
    found = extension_tables.losses()
    files = extension_tables.extension_files()

    def last(method: str, digits: int = 2) -> str:
        return " / ".join(_digits((own[method, 8][1] for own in found), digits))

    above = [{method: own[method, 8][1] - own["none", 8][1] for method in extension_tables.METHODS} for own in found]
    for own, gain in zip(found, above, strict=True):
        far = {method: own[method, 8][1] for method in extension_tables.METHODS}
        assert sorted(far, key=far.__getitem__)[:2] == ["window", "self-extend"]
        assert max(own["window", n][1] for n in (2, 4, 8)) <= own["window", 2][1]
        assert gain["ntk"] > 0
        assert gain["pi"] > -0.005
        assert all(own[name, 8][0] - own["none", 8][0] < 0.0015 for name in ("self-extend", "rerope", "dynamic-ntk"))
    best = max(-gain[name] for gain in above for name in ("yarn", "llama3", "dynamic-ntk", "longrope"))
    assert all(gain[name] < 0 for gain in above for name in ("yarn", "llama3", "dynamic-ntk", "longrope"))
    cost = max(own[name, 8][0] - own["none", 8][0] for own in found for name in ("pi", "yarn", "llama3"))
    model, (tuning,) = files[0]["model"], {values["settings"]["fine_tuning"] for values in files}
    within = [own["none", 8][0] for own in found[:1]] + [own["drope", 8][0] for own in found[:1]]
    assert_on(
        "context-extension",
        f"have {last('self-extend')} nats (seed 0 / 1), RoPE as it is {last('none')}. ReRoPE ({last('rerope')}) "
        f"and PI after {tuning} steps of fine-tuning ({last('pi, tuned')}) follow.",
        f"**NTK-aware scaling ({last('ntk')}) and PI without training ({last('pi')}) gain nothing",
        f"gain up to {best:.2f} nat",
        f"{tuning} steps without positions ({100 * tuning / model['steps']:.0f} % of the training) do not bring back "
        "the loss within the trained context ({1} against {0})".format(*_digits(within)),
        f"Two seeds of one model of {model['parameters'] / 1e6:.2f} million parameters",
        f"{model['steps']} steps of {model['tokens_seen'] // model['steps']:,} tokens",
        "{} (seed 0) and {} (seed 1) held-out windows".format(*(values["settings"]["windows"] for values in files)),
        f"within the trained context (up to {cost:.2f} nat)",
    )
