"""Files that had no digest have one: a changed number is noticed where it would have been another result."""

from __future__ import annotations

import json
import random
from pathlib import Path

import damage
import pytest

from lengthwise.core.errors import LengthwiseError


@pytest.mark.parametrize("make", [damage.a_comparison, damage.a_cell_of_a_user_s_study])
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


def test_a_file_without_its_digest_is_not_read(tmp_path: Path) -> None:
    for path, read in damage.a_comparison(tmp_path).items():
        values = json.loads(path.read_text())
        del values["digest"]
        sound = path.read_bytes()
        path.write_text(json.dumps(values))
        with pytest.raises(LengthwiseError, match="its digest is missing"):
            read()
        path.write_bytes(sound)


@pytest.mark.parametrize("values", [[], {}, {"in_distribution": [0.5]}, {"in_distribution": [1], "chosen": 7}, 3])
def test_an_outcome_of_a_tuning_that_is_none(tmp_path: Path, values: object) -> None:
    path, read = list(damage.a_comparison(tmp_path).items())[1]
    path.write_text(json.dumps(values))
    with pytest.raises(LengthwiseError, match=r"is damaged.*; delete it and run again"):
        read()
