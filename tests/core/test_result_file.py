"""Result files are read without trust: one change anywhere is refused in one line, or harms no reader."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from huang_table import build_table

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.files import read_json, write_json
from lengthwise.core.result_file import RunResult, check_seal, each_once, sealed
from lengthwise.report.finding import headline
from lengthwise.report.summary import SeedResult, summarize

ROOT = Path(__file__).parents[2]
SOUND = next(
    result
    for path in sorted((ROOT / "studies" / "huang" / "results" / "huang").glob("*/result.json"))
    if (result := read_json(path))["system"] == "(aa)*, ape"
)
for _score in (*SOUND["scores"], SOUND["in_distribution"]):
    _score["first_error_at"] = []
SOUND["probes"] = SOUND["probes"][:1]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every key and item."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


def changes() -> Iterator[Any]:
    for path in places(SOUND):
        for new in ("gone", None, "x", -1, 2**70, float("inf"), [], {}, [5], True):
            changed = copy.deepcopy(SOUND)
            node = changed
            for key in path[:-1]:
                node = node[key]
            if new == "gone":
                del node[path[-1]]
            else:
                node[path[-1]] = new
            yield changed


def test_one_change_anywhere() -> None:
    refused: list[str] = []
    accepted = 0
    for changed in changes():
        try:
            RunResult.of(changed, "file x")
        except LengthwiseError as error:
            refused.append(str(error))
            continue
        accepted += 1
        (summary,) = summarize([SeedResult.of(changed)])
        headline([summary])
        assert summary.max_length >= 1
    assert len(refused) > 300
    assert all(text.startswith("file x ") and "\n" not in text for text in refused)
    assert accepted > 300


@pytest.mark.parametrize("key", ["in_distribution", "scores", "experiment", "seed", "fitted", "system", "format"])
def test_the_table_refuses_what_lacks_a_part(tmp_path: Path, key: str) -> None:
    write_json(tmp_path / "result.json", {name: value for name, value in SOUND.items() if name != key})
    with pytest.raises(LengthwiseError, match=r"result\.json is damaged"):
        build_table([tmp_path])


@pytest.mark.parametrize("values", [None, 3, [], {}, "x", [1]])
def test_other_contents(values: Any) -> None:
    with pytest.raises(LengthwiseError, match="file x is damaged"):
        RunResult.of(values, "file x")
    with pytest.raises(LengthwiseError, match="has format 3, not 1 or 2"):
        RunResult.of({**SOUND, "format": 3}, "file x")


def test_a_copy_is_no_further_seed() -> None:
    other = {**SOUND, "seed": 77}
    files = [
        (Path(name), RunResult.of(copy.deepcopy(values)))
        for name, values in zip("abc", [SOUND, SOUND, other], strict=True)
    ]
    assert [path.name for path, _ in each_once(files)] == ["a", "c"]
    differing = copy.deepcopy(SOUND)
    differing["scores"][0] |= {"correct": {"exact_match": 0}, "exact_match": 0.0}
    with pytest.raises(LengthwiseError, match="a and d are results of the same run and differ"):
        each_once([*files, (Path("d"), RunResult.of(differing))])


def test_a_digest_with_a_damaged_name_is_noticed():
    contents = sealed({"format": 1, "study": "s"})
    for name in ("Digest", "digests", "", "digest "):
        renamed = {key if key != "digest" else name: value for key, value in contents.items()}
        with pytest.raises(LengthwiseError, match="is damaged"):
            check_seal(renamed, "result file")
    with pytest.raises(LengthwiseError, match="its digest is missing"):
        check_seal({key: value for key, value in contents.items() if key != "digest"}, "result file")
    check_seal({"format": 1, "study": "s"}, "result file")


def test_a_rate_that_contradicts_its_counts_is_refused() -> None:
    changed = copy.deepcopy(SOUND)
    for score in (changed["in_distribution"], *changed["scores"]):
        before = score["exact_match"]
        score["exact_match"] = before / 2 + 0.25
        if score["exact_match"] != before:
            with pytest.raises(LengthwiseError, match=r"exact_match is .*, and .* of .* right"):
                RunResult.of(changed, "file x")
        score["exact_match"] = before
    RunResult.of(changed, "file x")
