"""The committed second study: its hash, the languages that the code draws, its rivals, and its table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import second_study
from comparison import RIVALS, rivals_of, table
from file_list import check_files

from lengthwise.crasp.decide import allowed_after
from lengthwise.experiments.blind.study import StudyEntry, frozen_study, read_study
from lengthwise.languages.automaton import Dfa, Word, language
from lengthwise.tasks.language import Language

FOLDER = Path(__file__).parents[2] / "studies" / "blind" / "results" / "blind-next"
STUDY = read_study(FOLDER)


@pytest.mark.slow
def test_the_code_makes_the_committed_preregistration() -> None:
    made = json.loads(json.dumps(second_study.preregistration(STUDY.content["seen"])))
    assert made == STUDY.content


def test_ladder_seeds_and_rules_are_those_of_the_first_study() -> None:
    first = frozen_study()
    assert STUDY.content["first"] == first.sha256
    assert (STUDY.ladder, STUDY.seeds, STUDY.encodings) == (first.ladder, first.seeds, ["nope"])
    assert STUDY.content["rules"] == first.content["rules"]


def test_the_languages_are_new_and_their_classes_take_turns() -> None:
    entries = STUDY.entries()
    classes = [(entry.features["recognition"], entry.predicted["nope"]) for entry in entries]
    assert classes == [(False, "yes"), (True, "yes"), (False, "no")] * 8 + [(False, "no")] * 4
    assert not any(entry.features["r_trivial"] for entry in entries)
    first = {second_study.patterns(_automaton(entry)) for entry in frozen_study().entries()}
    own = {second_study.patterns(_automaton(entry)) for entry in entries}
    assert len(own) == 28, "no two have the same components"
    assert not first & own
    for entry in entries:
        assert entry.features["no_counting"] == (
            (entry.features["recognition"], entry.predicted["nope"]) == (False, "yes")
        )


def test_patterns_are_components_up_to_renaming() -> None:
    for one, other in (("(a|ba)+", "(a|ba)*"), ("(ab)*", "c(ba)*"), ("(a|ba)+", "(c|bc)*a")):
        assert second_study.patterns(language(one)) == second_study.patterns(language(other))
    for one, other in (("(ab)*", "(abc)*"), ("(a|ba)+", "(a|bab)*")):
        assert second_study.patterns(language(one)) != second_study.patterns(language(other))
    assert second_study.patterns(language("a*b*")) == frozenset()


def _automaton(entry: StudyEntry) -> Dfa:
    assert isinstance(entry.task, Language)
    return language(entry.task.language, entry.task.alphabet)


def test_the_last_symbol_tells() -> None:
    assert second_study.last_symbol_tells(language("(a|ba)+"))
    assert second_study.last_symbol_tells(language("(ab)*"))
    assert not second_study.last_symbol_tells(language("a*ba*"))
    for entry in STUDY.entries():
        dfa, after = _automaton(entry), {}
        words: list[Word] = [()]
        for word in words:
            if word:
                after.setdefault(word[-1], set()).add(allowed_after(dfa, dfa.run(word)))
            if len(word) < 7:
                words += [(*word, symbol) for symbol in range(len(dfa.alphabet)) if dfa.live[dfa.run((*word, symbol))]]
        assert entry.features["last_symbol"] == all(len(found) == 1 for found in after.values()), entry.name


def test_the_table_is_made_from_the_files() -> None:
    check_files(STUDY)
    values = table(STUDY)
    assert len(values["cells"]) == 28
    assert list(values["rivals"])[:3] == ["recognition", "no counting", "last symbol"]
    written = FOLDER / "table.json"
    if written.exists():
        assert json.loads(written.read_text(encoding="utf-8")) == json.loads(json.dumps(values))


def test_the_first_study_keeps_its_rivals() -> None:
    assert rivals_of(frozen_study()) == RIVALS
