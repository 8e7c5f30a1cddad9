"""R(T): bounded along the finite versions of a program, growing along networks for parity."""

import math

import numpy as np
import pytest
import torch
from regularizer_growth import parity_by_counting, parity_by_looking_back
from regularizer_table import regularizer_table

from lengthwise.crasp import library
from lengthwise.models.build import build_model
from lengthwise.models.compile import compare, compile_program, random_words
from lengthwise.models.config import ModelConfig
from lengthwise.models.limit import LimitHead, finite_version
from lengthwise.models.regularizer import positional_products
from lengthwise.positions.encodings import LearnedSpec, NoPESpec
from lengthwise.positions.schemes import Sequential
from lengthwise.tasks.addition import Addition
from lengthwise.training.trainer import positional_regularizer

CONTEXTS = (16, 32, 64, 128, 256, 512)


@pytest.mark.parametrize("name", ["bin_majority", "D-2", "contains_ab", "(abab)*", "Tomita-4"])
def test_r_is_bounded_as_the_context_grows(name):
    limit = compile_program(library.get(name)).required()
    values = [regularizer_table(finite_version(limit, context)).total for context in CONTEXTS]
    assert max(values) - min(values) < 1e-6 * max(values)


@pytest.mark.parametrize("network", [parity_by_counting, parity_by_looking_back])
def test_r_grows_for_networks_for_parity(network):
    values = []
    for context in (8, 16, 32):
        program = network(context)
        finite = finite_version(compile_program(program).required(), context)
        words = random_words(program, context - 1, 50)
        assert compare(program, finite, words).agrees
        model_says = finite(torch.from_numpy(_with_bos(finite, words))).logits[:, -1, 0] > 0
        assert model_says.tolist() == [int(word.sum()) % 2 == 0 for word in words]  # it is parity
        values.append(regularizer_table(finite).total)
    assert values[1] > 1.5 * values[0]
    assert values[2] > 1.5 * values[1]


def _with_bos(model, words):
    return np.concatenate([np.full((len(words), 1), model.symbols.index("<bos>")), words], axis=1)


def test_each_term_by_hand():
    """Tomita-4: two fetching heads in one layer, each with φ = 4 at one distance and 2 on BOS."""
    model = compile_program(library.get("Tomita-4")).required()
    terms = {(term.number, term.name): term.value for term in regularizer_table(model).terms}
    assert terms[1, "layers + heads per layer"] == 3 + 3
    assert terms[4, "‖KᵀQ‖"] == pytest.approx(2.0)
    assert terms[5, "‖E_σ‖"] == pytest.approx(math.sqrt(2))
    assert terms[6, "Σ |p_1ᵀKᵀQ p_j|²"] == pytest.approx(2 * 16.0)
    assert terms[3, "rank of V"] == 1


def test_norms_and_ranks_are_those_of_the_whole_product():
    model = compile_program(library.get("contains_ab")).required()
    heads = [head for layer in model.layers for head in layer.heads]
    terms = {term.name: term.value for term in regularizer_table(model).terms}
    assert terms["‖V‖"] == pytest.approx(max(float(torch.linalg.norm(h.value_out @ h.value_in, 2)) for h in heads))
    assert terms["‖KᵀQ‖"] == pytest.approx(max(float(torch.linalg.norm(h.key.T @ h.query, 2)) for h in heads))
    assert terms["rank of V"] == max(int(torch.linalg.matrix_rank(h.value_out @ h.value_in)) for h in heads)


def test_a_periodic_product_is_not_summable():
    model = compile_program(library.get("(aa)*")).required()
    phase = model.dimensions.index("i mod 2 = 1")
    head = next(head for head in model.layers[0].heads if head.name == "phase of BOS")
    assert isinstance(head, LimitHead)
    head.key[0, phase] = 1.0
    head.query[0, phase] = 1.0
    assert regularizer_table(model).terms[-1].value == math.inf
    sums = [regularizer_table(finite_version(model, context)).terms[-1].value for context in (16, 32, 64)]
    assert sums[0] < sums[1] < sums[2]


def trained(encoding, **model):
    config = ModelConfig(layers=2, heads=2, width=16, **model)
    return build_model(Addition(), Sequential(max_position=20), encoding, config, seed=0)


def test_trained_models_have_a_table_with_undefined_rows():
    rows = regularizer_table(trained(NoPESpec())).rows()
    undefined = {name for _, name, value, _ in rows if value == "not defined"}
    assert undefined == {"bits per parameter", "‖KᵀQ‖", "‖p_i‖", "Σ |p_1ᵀKᵀQ p_j|²"}
    learned = regularizer_table(trained(LearnedSpec(), qk_norm=False))
    assert [term.name for term in learned.terms if term.value is None] == ["bits per parameter"]


@pytest.mark.filterwarnings("error")
def test_biases_are_measured_without_a_warning():
    model = trained(LearnedSpec(), bias=True, norm="layer")
    with torch.no_grad():
        model.blocks[1].up.bias.fill_(0.5)
    term = next(term for term in regularizer_table(model).terms if term.name == "‖b‖")
    assert term.value == pytest.approx(0.5 * math.sqrt(4 * 16))
    assert term.where == "layer 2"


def test_the_positional_term_is_the_trained_one():
    model = trained(LearnedSpec())
    positions = model.encoding.tables[0].weight.detach()
    config = model.config
    by_hand, first = 0.0, 0.0
    for layer, block in enumerate(model.blocks):
        weight = block.attention.qkv.weight.detach()
        for head in range(config.heads):
            rows = slice(head * config.head_width, (head + 1) * config.head_width)
            query, key = weight[: config.width][rows], weight[config.width : 2 * config.width][rows]
            products = torch.stack([torch.stack([(query @ p) @ (key @ q) for q in positions]) for p in positions])
            torch.testing.assert_close(products, positional_products(model)[layer, head].detach(), rtol=1e-4, atol=1e-5)
            by_hand += float(products.tril().square().sum()) / len(positions)
            first += float(products[:, 0].square().sum())
    assert positional_regularizer(model).item() == pytest.approx(by_hand, rel=1e-4)
    assert regularizer_table(model).terms[-1].value == pytest.approx(first, rel=1e-4)
