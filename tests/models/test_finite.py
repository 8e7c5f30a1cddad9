"""Finite versions: right at every admissible offset, products that are φ, files that are not trusted."""

import json

import pytest
import torch
from safetensors.torch import load_file

from lengthwise.core.errors import LengthwiseError
from lengthwise.crasp import library
from lengthwise.models.compile import compare, compile_program, encode_for, random_words, verify_finite
from lengthwise.models.limit import finite_version, load_theory, save_theory
from lengthwise.models.tensor_files import write_tensors


@pytest.mark.parametrize(
    "name", ["bin_majority", "D-2", "Tomita-4", "(abab)*", "contains_ab", "bin_majority_interleave"]
)
def test_a_finite_version_is_right_at_every_admissible_offset(name):
    program = library.get(name)
    finite = finite_version(compile_program(program).required(), 32)
    found = verify_finite(program, finite, words=95, longest_exhaustive=2)
    assert found.agrees, found.mismatches


@pytest.mark.slow
@pytest.mark.parametrize("name", library.names())
def test_every_finite_library_program_is_right_at_every_admissible_offset(name):
    program = library.get(name)
    small = len(program.alphabet) <= 3
    finite = finite_version(compile_program(program).required(), 64)
    found = verify_finite(program, finite, words=1000, longest_exhaustive=8 if small else 1)
    assert found.agrees, found.mismatches
    assert found.words >= 1000


def test_position_products_are_the_positional_function():
    limit = compile_program(library.get("Tomita-4")).required()
    finite = finite_version(limit, 20)
    for layer, original in zip(finite.layers, limit.layers, strict=True):
        for head, source in zip(layer.heads, original.heads, strict=True):
            products = (finite.positions @ head.query.T) @ (finite.positions @ head.key.T).T
            for i in range(20):
                for j in range(20):
                    expected = float(source.phi[i - j]) if 0 <= i - j < len(source.phi) else 0.0
                    assert products[i, j] == expected


def test_the_window_may_exceed_the_context():
    program = library.get("Tomita-4")
    finite = finite_version(compile_program(program).required(), 3)
    assert compare(program, finite, random_words(program, 2, 4)).agrees


def test_an_inadmissible_offset_is_refused():
    finite = finite_version(compile_program(library.get("bin_majority")).required(), 16)
    ids = encode_for(library.get("bin_majority"), finite, random_words(library.get("bin_majority"), 9, 2))
    finite(ids, torch.arange(1, 11).expand(2, -1) + 6)
    with pytest.raises(LengthwiseError, match=r"needs 17 positions \(length 10 at offset 7\), but the context is 16"):
        finite(ids, torch.arange(1, 11).expand(2, -1) + 7)


@pytest.mark.parametrize("context", [None, 24])
def test_files_give_back_the_same_model(tmp_path, context):
    program = library.get("(abab)*")
    model = compile_program(program).required()
    model = model if context is None else finite_version(model, context)
    path = tmp_path / "model.safetensors"
    save_theory(model, path, source="text")
    loaded = load_theory(path)
    assert type(loaded) is type(model)
    assert (loaded.symbols, loaded.outputs, loaded.dimensions) == (model.symbols, model.outputs, model.dimensions)
    ids = encode_for(program, model, random_words(program, 20, 5))
    assert torch.equal(loaded(ids).logits, model(ids).logits)


def test_a_file_with_a_bad_model_is_refused(tmp_path):
    path = tmp_path / "model.safetensors"
    save_theory(compile_program(library.get("D-2")).required(), path)
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))["__metadata__"]
    about = header["about"].split(" ", 1)[1]
    tensors = load_file(path)
    tensors["layers.0.mlp.bias"][1] = float("nan")
    write_tensors(path, tensors, about)
    with pytest.raises(LengthwiseError, match=r"layer 1, MLP: b holds nan at \(1,\)"):
        load_theory(path)
    del tensors["readout"]
    write_tensors(path, tensors, about)
    with pytest.raises(LengthwiseError, match="is damaged or of another format; compile the program again"):
        load_theory(path)


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x10\x00\x00\x00\x00\x00\x00\x00{}"])
def test_damaged_files_are_one_line(tmp_path, content):
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(LengthwiseError, match="is damaged or of another format"):
        load_theory(path)
