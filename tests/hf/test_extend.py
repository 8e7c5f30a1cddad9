"""A stock model that was extended has the frequencies of `lengthwise.nn`, saved or not; the old one is untouched."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny import SEPARATOR, logits_under, restarting, slow_greedy, tiny
from transformers import AutoModelForCausalLM

from lengthwise import nn
from lengthwise.core.errors import LengthwiseError
from lengthwise.hf import Restart, attach, extend

TOKENS = torch.tensor([[5, 6, SEPARATOR, 7, 8, 5, 9, 4]])


def rotary(model: Any) -> Any:
    return next(module for module in model.modules() if hasattr(module, "inv_freq"))


@pytest.mark.parametrize("kind", ["llama", "qwen2"])
def test_frequencies_are_those_of_the_formulas(kind: str, tmp_path: Path):
    plain = tiny(kind)
    before = plain(TOKENS).logits
    width = 2 * len(rotary(plain).inv_freq)
    formulas = {
        "pi": nn.PositionInterpolation(width, factor=4.0), "ntk": nn.NTKAware(width, factor=4.0),
        "yarn": nn.YaRN(width, factor=4.0, length=128, by_index=True),
    }  # fmt: skip
    for method, formula in formulas.items():
        found = extend(plain, method, factor=4)
        assert torch.allclose(rotary(found).inv_freq, formula.frequencies, rtol=1e-4)
        assert rotary(found).attention_scaling == pytest.approx(getattr(formula, "sharpening", 1.0))
        assert found.config.max_position_embeddings == 512
        found.save_pretrained(tmp_path / method)
        again = AutoModelForCausalLM.from_pretrained(tmp_path / method).eval()
        assert torch.allclose(again(TOKENS).logits, found(TOKENS).logits, atol=1e-4)
        assert not torch.allclose(found(TOKENS).logits, before, atol=1e-3)
    assert torch.equal(plain(TOKENS).logits, before)
    assert all(a is b for a, b in zip(plain.parameters(), found.parameters(), strict=True))


def test_pi_and_drope_are_ids_of_their_own():
    plain = tiny("llama")
    ids = torch.arange(8)[None]
    assert torch.allclose(extend(plain, "pi", factor=4)(TOKENS).logits, logits_under(plain, TOKENS, ids / 4), atol=1e-4)
    assert torch.allclose(extend(plain, "drope")(TOKENS).logits, logits_under(plain, TOKENS, 0 * ids), atol=1e-4)


def test_settings_of_yarn_and_a_rule_on_top():
    plain = tiny("llama")
    found = extend(plain, "yarn", factor=2, length=64, attention_factor=1.7)
    assert rotary(found).attention_scaling == 1.7
    assert rotary(extend(plain, "yarn", factor=2)).attention_scaling == pytest.approx(0.1 * math.log(2) + 1)
    ruled = attach(extend(plain, "yarn", factor=2, length=64, attention_factor=1.7), Restart(SEPARATOR))
    made = ruled.generate(TOKENS, max_new_tokens=5, do_sample=False)[0, 8:].tolist()
    assert made == slow_greedy(found, TOKENS[0].tolist(), restarting, 5)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: extend(tiny("llama"), "yran"), "Did you mean 'yarn'?"),
        (lambda: extend(tiny("gpt2"), "pi"), "GPT2LMHeadModel has other positions"),
        (lambda: extend(tiny("llama"), "pi", factor=0.5), "must be at least 1"),
        (lambda: extend(tiny("llama"), "pi", beta_fast=3), "pi has no settings"),
        (lambda: extend(extend(tiny("llama"), "yarn"), "yarn"), "rotary scaling 'yarn'"),
        (lambda: extend(attach(tiny("llama"), restarting), "yarn"), "extend first, then attach"),
    ],
)
def test_refusals_are_one_line(call: Any, says: str):
    with pytest.raises(LengthwiseError) as error:
        call()
    assert says in str(error.value)
    assert "\n" not in str(error.value)
