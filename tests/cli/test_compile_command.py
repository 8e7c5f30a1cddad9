"""``crasp compile`` and studies on the command line, and the regularizer of what was compiled."""

import json

import pytest
from regularizer_table import regularizer_table

import lengthwise as lw
from lengthwise.cli.main import main
from lengthwise.experiments.recipe import RECIPES, study
from lengthwise.models.limit import load_theory


def call(capsys, *arguments):
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_program_is_compiled_verified_written_and_measured(tmp_path, capsys):
    path = tmp_path / "model.safetensors"
    code, out, _ = call(capsys, "crasp", "compile", "Tomita-4", "-o", str(path), "--verify", "5")
    assert code == 0
    assert "no difference" in out
    assert "distance 1, distance 2" in out
    terms = regularizer_table(load_theory(path)).terms
    assert terms[-1].value == 32.0
    assert regularizer_table(lw.compile_program("Tomita-4", verify=0).model).terms == terms


def test_a_finite_transformer_is_verified_at_every_offset(capsys):
    code, out, _ = call(capsys, "crasp", "compile", "(aa)*", "--context", "12", "--verify", "20", "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["context"] == 12
    # All words over two letters of length up to 8 and random ones, as many as fit behind each of 12 offsets.
    short = sum(2 ** (min(8, 11 - offset) + 1) - 1 for offset in range(12))
    assert facts["verified"] == {"words": short + 2 * 12, "values": facts["verified"]["values"], "wrong": 0}


def test_a_mismatch_is_exit_code_1_and_writes_nothing(tmp_path, capsys, monkeypatch):
    from lengthwise.models import compile as module

    real = module.verify

    def spoiled(program, model, **options):
        model.readout.mul_(-1)
        return real(program, model, **options)

    monkeypatch.setattr(module, "verify", spoiled)
    path = tmp_path / "model.safetensors"
    code, out, _ = call(capsys, "crasp", "compile", "bin_majority", "-o", str(path), "--verify", "1")
    assert code == 1
    assert "DIFFERENCES" in out
    assert "by the interpreter and not by the model" in out
    assert not path.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("crasp", "compile", "tomita"), "unknown program 'tomita'"),
        (("crasp", "compile", "D-2", "--context", "0"), "the context has to be at least 1"),
        (("crasp", "compile", "D-2", "--verify", "-1"), "--verify must be in 0..100000, got -1"),
        (("run", "influence", "--set", "training.steps=1"), "is a study: it trains no system"),
        (("run", "influence", "--only", "parity"), "unknown system of recipe 'influence' 'parity'"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = call(capsys, *arguments)
    assert code == 2
    assert message in err
    assert len(err.strip().splitlines()) == 1


def test_a_study_runs_and_is_reused(tmp_path, capsys, monkeypatch):
    rows = [{"name": "x", "right": True, "value": 0.25, "by n": {"1": 2.0, "2": None}}]
    monkeypatch.setattr(RECIPES, "_functions", dict(RECIPES._functions))
    study("tiny", "")(lambda preset, seed, report: {"rows": rows})
    code, out, err = call(capsys, "run", "tiny", "--out", str(tmp_path))
    assert code == 0
    assert "2 / -" in out
    assert "tiny, seed 0: 0 s" in err
    code, out, err = call(capsys, "run", "tiny", "--out", str(tmp_path))
    assert "tiny, seed 0: reused" in err
    assert json.loads(call(capsys, "run", "tiny", "--out", str(tmp_path), "--json")[1])[0]["rows"] == rows
