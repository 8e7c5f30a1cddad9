"""``generate``: one string, asked of a trained model."""

from __future__ import annotations

from pathlib import Path

import pytest
from terminal import TINY_OPTIONS, Terminal


def test_a_word_of_a_language_is_read_prefix_by_prefix(terminal: Terminal, tmp_path: Path) -> None:
    lengths = ("--max-length", "4", "--set", "evaluation.lengths=[8]", "--out", tmp_path, "--seeds", "1")
    assert terminal("run", "(ab)*", "--encoding", "nope", *TINY_OPTIONS, *lengths).code == 0
    found = terminal("generate", tmp_path, "abab", "--json").json()
    assert found["word"] == ["a", "b", "a", "b"]
    assert found["right"] == [["<eos>", "a"], ["b"], ["<eos>", "a"], ["b"], ["<eos>", "a"]]
    said = terminal("generate", tmp_path, "a b a b").out
    assert said.startswith("finding   Accepted" if found["accepts"] else "finding   Not accepted")
    assert ("differ" in said) is (found["said"] != found["right"])
    answer = terminal("generate", tmp_path, "a c")
    assert (answer.code, answer.err) == (2, "error: the language has no symbol 'c'; its symbols are a b\n")


@pytest.mark.parametrize("prompt", ["1 2 <sep>", "<bos> 1 2 <sep>"])
def test_the_answer_to_a_prompt_is_held_against_the_right_one(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prompt: str
) -> None:
    words = ("--encoding", "nope", *TINY_OPTIONS, "--set", "evaluation.lengths=[4]", "--out", tmp_path)
    assert terminal("run", "copy", "--set", "task.letters=4", *words, "--seeds", "1").code == 0
    vocabulary = terminal("generate", tmp_path, "? <sep>")
    assert vocabulary.code == 2
    assert vocabulary.err.count("\n") == 1
    given = prompt.replace("1", "a").replace("2", "b")
    for answer, verdict in (("a b", "right"), ("b a", "wrong, right is: a b")):
        monkeypatch.setattr("lengthwise.api.model.TrainedTransformer.generate", lambda *_, answer=answer: answer)
        assert terminal("generate", tmp_path, given).out == f"{answer}\n{verdict}\n"
    assert terminal("generate", tmp_path, given, "--json").json() == {"prompt": given, "said": "b a", "right": "a b"}
