import json

import pytest

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.languages.automaton import dfa_from_json, dfa_to_json, language, minimize, read_dfa

from .oracles import random_dfa

PARITY = {
    "alphabet": ["0", "1"],
    "states": ["odd", "even"],
    "start": "even",
    "accepting": ["even"],
    "transitions": {"even": {"0": "even", "1": "odd"}, "odd": {"0": "odd", "1": "even"}},
}


def test_a_file_is_read(tmp_path):
    path = tmp_path / "parity.json"
    path.write_text(json.dumps(PARITY))
    assert language(read_dfa(path)) == language("(0*10*1)*0*")


def test_missing_transitions_go_to_a_sink():
    partial = {**PARITY, "transitions": {"even": {"1": "odd"}, "odd": {"1": "even"}}}
    assert minimize(dfa_from_json(partial)) == minimize(language("(11)*", "01"))


def test_round_trip_keeps_the_language():
    rng = stream(3, "dfa file")
    for _ in range(50):
        dfa = random_dfa(5, "ab", rng)
        assert minimize(dfa_from_json(json.loads(json.dumps(dfa_to_json(dfa))))) == minimize(dfa)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"alphabets": []}, "unknown key"),
        ({"start": "evn"}, "Did you mean 'even'"),
        ({"start": True}, "unknown state"),
        ({"states": ["odd", "odd"]}, "repeats a name"),
        ({"alphabet": []}, "alphabet is empty"),
        ({"alphabet": [""]}, "non-empty strings"),
        ({"accepting": "even"}, "must be a list"),
        ({"transitions": []}, "must be an object"),
        ({"transitions": {"even": {"2": "odd"}}}, "unknown symbol"),
        ({"transitions": {"even": {"1": "od"}}}, "unknown state"),
    ],
)
def test_mistakes_are_one_clear_line(change, says):
    with pytest.raises(LengthwiseError, match=says) as caught:
        dfa_from_json({**PARITY, **change})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["{", "[]", '{"start": 1, "start": 2}', '{"alphabet": ["a"]}'])
def test_unreadable_files(tmp_path, text):
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(LengthwiseError):
        read_dfa(path)
    with pytest.raises(LengthwiseError, match="no automaton file at"):
        read_dfa(tmp_path / "missing.json")
