"""Files that had no digest have one: a changed number is noticed where it would have been another result."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path

import damage
import pytest

from lengthwise.audit.run import AnswerStore
from lengthwise.core.errors import LengthwiseError


@pytest.mark.parametrize(
    "make", [damage.a_comparison, damage.a_cell_of_a_user_s_study, damage.a_probe, damage.an_explanation]
)
def test_no_flipped_bit_is_read(tmp_path: Path, make) -> None:
    for path, read in make(tmp_path).items():
        sound, expected = path.read_bytes(), read()
        for content in damage.damaged(sound, 60, random.Random(1)):
            path.write_bytes(content)
            with pytest.raises(LengthwiseError):
                read()
        path.write_bytes(sound)
        assert read() == expected


def test_a_changed_number_in_a_compiled_program(tmp_path: Path) -> None:
    ((path, read),) = damage.a_compiled_program(tmp_path).items()
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    with pytest.raises(LengthwiseError, match="is damaged or of another format; compile the program again"):
        read()


@pytest.mark.parametrize("make", damage.MAKERS, ids=lambda make: make.__name__)
def test_a_file_without_its_digest_is_not_read(tmp_path: Path, make) -> None:
    for path, read in make(tmp_path).items():
        values = json.loads(path.read_text()) if path.suffix == ".json" else None
        if make is damage.an_unfinished_language_model or not isinstance(values, dict) or "digest" not in values:
            continue
        sound = path.read_bytes()
        path.write_text(json.dumps({key: value for key, value in values.items() if key != "digest"}))
        with pytest.raises(LengthwiseError, match="its digest is missing"):
            read()
        path.write_bytes(sound)


@pytest.mark.parametrize("values", [[], {}, {"in_distribution": [0.5]}, {"in_distribution": [1], "chosen": 7}, 3])
def test_an_outcome_of_a_tuning_that_is_none(tmp_path: Path, values: object) -> None:
    path, read = list(damage.a_comparison(tmp_path).items())[1]
    path.write_text(json.dumps(values))
    with pytest.raises(LengthwiseError, match=r"is damaged.*; delete it and run again"):
        read()


def test_a_changed_answer_of_an_audit_is_none(tmp_path: Path) -> None:
    record = {"expected": "3 7", "text": "3 7", "finish": "stop", "prompt_tokens": 17, "completion_tokens": 4}
    first = AnswerStore(tmp_path)
    first.put("0123456789ab", record)
    first.close()
    sound = first.path.read_bytes()
    assert AnswerStore(tmp_path, read_only=True).get("0123456789ab") == {"key": "0123456789ab", **record}
    without = {key: value for key, value in json.loads(sound).items() if key != "digest"}
    places = itertools.product(range(len(sound) - 1), range(7))
    flips = (bytes([*sound[:place], sound[place] ^ 1 << bit, *sound[place + 1 :]]) for place, bit in places)
    for content in [*flips, json.dumps(without).encode()]:
        first.path.write_bytes(content)
        assert not AnswerStore(tmp_path, read_only=True).before
