import numpy as np
import pytest
from heads import SEARCHES, admissible, attention_reference, counterexamples


@pytest.fixture(scope="module")
def found():
    return dict(zip(SEARCHES, counterexamples(), strict=True))


@pytest.mark.parametrize("name", SEARCHES)
def test_each_one_is_exact_then_wrong_by_the_definition(found, name):
    """Evaluate the printed head with the definition, over every string at the short length and on the failure."""
    example = found[name]
    setting, votes = example.setting, dict(example.weights)
    print(example.render())

    def text(word, positions):
        row = ["_"] * (positions[-1] - positions[0] + 1)
        for token, position in zip(word, positions, strict=True):
            row[position - positions[0]] = str(token)
        return "".join(row) + (f" at place {positions[0]}" if name == "locality (place)" else "")

    def share(tokens):
        output = attention_reference(
            np.array(tokens), setting.k, lambda w, p: float(text(w, p) in votes),
            lambda w, p: np.array([votes.get(text(w, p), 0.0)]),
        )  # fmt: skip
        return output.probabilities[0, 0]

    strings = admissible(setting, example.length)
    exact = [share(row) == label for row, label in zip(strings.tokens, strings.labels, strict=True)]
    if name in ("full support", "coverage"):
        assert sum(exact) >= example.checked
    else:
        assert all(exact)
        assert len(exact) == example.checked
    value = share(example.failure)
    if example.output is None:
        assert np.isnan(value)
    else:
        assert value != example.label
        assert (value if example.label else 1 - value) == pytest.approx(example.output)
    whole = admissible(setting, example.longer)
    assert ((whole.tokens == example.failure).all(axis=1) & (whole.labels == example.label)).any()


def test_every_condition_has_one_and_says_which(found):
    assert len({e.dropped for e in found.values()}) == len(found) == 6
    assert all(e.render().startswith(f"Without {e.dropped}") for e in found.values())
