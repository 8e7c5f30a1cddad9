"""`lengthwise.nn`: every module works alone, with plain arguments and plain tensors, and its example runs."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest
import torch

from lengthwise import nn
from lengthwise.core.errors import LengthwiseError

FOLDER = Path(nn.__file__).parent
FILES = [file.name for file in pkgutil.iter_modules(nn.__path__)]
ENCODINGS = [
    value
    for _, value in inspect.getmembers(nn, inspect.isclass)
    if issubclass(value, nn.PositionEncoding) and value is not nn.PositionEncoding
]
BIASES = [
    nn.ALiBi(4),
    nn.T5Bias(4, buckets=8, max_distance=20),
    nn.FIRE(4, threshold=5.0),
    nn.Kerple(4),
    nn.Kerple(4, form="power"),
    nn.DynamicBias(4),
    nn.LearnedALiBi(4),
    nn.HardALiBi(4),
    nn.CoupledBias(4),
    nn.LocalBias(4),
]
ADDED = [
    nn.LearnedEmbedding(30, 8),
    nn.LearnedEmbedding(30, 8, scale=0.5),
    nn.Sinusoidal(8),
    nn.CoupledEmbedding(30, 8),
]


def kind(module: torch.nn.Module) -> str:
    return type(module).__name__


@pytest.mark.parametrize("name", FILES)
def test_examples_run(name: str):
    module = importlib.import_module(f"lengthwise.nn.{name}")
    result = doctest.testmod(module)
    assert result.failed == 0
    for cls in [cls for cls in ENCODINGS if cls.__module__ == module.__name__]:
        assert ">>>" in (cls.__doc__ or ""), f"{cls.__name__} has no example"


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_docstrings_say_what_goes_in_and_out(encoding: type[nn.PositionEncoding]):
    """Plain constructor arguments too: no object of this package but the optional slots, and encodings by layer."""
    ours = [cls for cls in encoding.__mro__ if cls.__module__.startswith("lengthwise")]
    text = "".join(cls.__doc__ or "" for cls in ours)
    assert encoding is nn.NoPE or ("Input:" in text and "Output:" in text and "Raises" in text)
    source = importlib.import_module(encoding.__module__).__doc__ or ""
    assert re.search(r"\w (\d{4}|et al\. \d{4})\b", source), "the module's docstring names the paper"
    for name, parameter in list(inspect.signature(encoding.__init__).parameters.items())[1:]:
        kinds = (
            "int",
            "float",
            "bool",
            "str",
            "int | Sequence[int]",
            "int | None",
            "float | None",
            "Sequence[int] | None",
            "Sequence[float]",
            "Sequence[float] | None",
        )
        assert parameter.annotation in kinds or name in ("slots", "parts"), f"{name}: {parameter.annotation}"


def test_every_encoding_is_exported():
    """One line in ``nn/__init__.py`` for every file that holds an encoding."""
    bases = {"RelativeBias", "AddedVectors", "ContentEncoding", "RotaryScores", "NearAndFar"}
    for name in FILES:
        module = importlib.import_module(f"lengthwise.nn.{name}")
        for cls in vars(module).values():
            own = inspect.isclass(cls) and cls.__module__ == module.__name__
            if own and issubclass(cls, nn.PositionEncoding) and cls.__name__ not in bases:
                assert getattr(nn, cls.__name__, None) is cls, f"export {cls.__name__} in nn/__init__.py"


def test_nothing_else_of_the_package_is_needed():
    """A copy of the folder and of one file of errors would run by itself."""
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                own = name.partition(".")[0] == "lengthwise"
                assert not own or name == "lengthwise.core.errors" or name.startswith("lengthwise.nn"), (path, name)


# Ids with and without an axis of levels


@pytest.mark.parametrize("module", BIASES, ids=kind)
def test_biases_take_ids_with_and_without_levels(module: nn.PositionEncoding):
    ids = torch.randint(0, 25, (2, 7), generator=torch.Generator().manual_seed(0))
    plain, query = module(ids), module(ids[:, 3:5], ids)
    assert plain.shape == (2, 4, 7, 7)
    assert torch.equal(plain, module(ids[..., None]))
    assert torch.equal(query, plain[:, :, 3:5])


@pytest.mark.parametrize(
    "module", [cls for cls in dict.fromkeys(map(type, BIASES)) if cls not in (nn.CoupledBias, nn.LocalBias)]
)
def test_biases_of_levels_add_up(module: type):
    ids = torch.randint(0, 25, (2, 7, 3), generator=torch.Generator().manual_seed(0))
    torch.manual_seed(0)
    both = module(4, 2)
    torch.manual_seed(0)
    last = module(4, [2])
    assert torch.allclose(both(ids), last(ids[..., [0, 0, 0]]) + last(ids[..., [0, 0, 1]]), atol=1e-6)


@pytest.mark.parametrize("module", ADDED, ids=kind)
def test_added_vectors_take_ids_with_and_without_levels(module: nn.PositionEncoding):
    ids = torch.randint(0, 25, (2, 7), generator=torch.Generator().manual_seed(0))
    module.eval()
    assert module(ids).shape == (2, 7, 8)
    assert torch.equal(module(ids), module(ids[..., None]))


def test_rotary_takes_ids_with_and_without_levels():
    x = torch.randn(2, 4, 7, 8, generator=torch.Generator().manual_seed(0))
    ids = torch.arange(7).expand(2, 7)
    rotary = nn.Rotary(8)
    assert torch.equal(rotary(x, ids), rotary(x, ids[..., None]))
    assert not torch.allclose(rotary(x, ids), x)
    assert torch.allclose(rotary(x, 0 * ids), x)


def test_slots_add_vectors_of_labels():
    module = nn.ALiBi(4, levels=[0], slots=nn.Slots([1], 8))
    ids = torch.tensor([[[3, 1], [9, 1], [4, 0]]])
    vectors = module.embed(ids)
    assert vectors is not None
    assert torch.equal(vectors[0, 0], vectors[0, 1])
    assert not torch.equal(vectors[0, 0], vectors[0, 2])
    assert torch.equal(module(ids), nn.ALiBi(4)(ids[..., 0]))


def test_without_levels_the_way_out_is_said():
    with pytest.raises(LengthwiseError, match="uses no level of the ids; give it levels=1 or more"):
        nn.ALiBi(4, levels=0)(torch.arange(3)[None])


# Coupled embedding


def test_coupled_ids_keep_the_places_apart_by_one_offset_per_sequence():
    module = nn.CoupledEmbedding(30, 8)
    places = torch.tensor([[0, 3, 2, 1, 3, 2, 1, 0]]).expand(200, 8)
    ids = module.draw(places, torch.Generator().manual_seed(0))
    assert ((ids == 0) == (places == 0)).all()
    offsets = (ids - places)[:, 1:7]
    assert (offsets == offsets[:, :1]).all()
    assert set(offsets[:, 0].tolist()) == set(range(28)), "all offsets that fit, with 200 sequences"
    assert torch.equal(module.eval().draw(places), places)


def test_coupled_levels_have_offsets_of_their_own():
    module = nn.CoupledEmbedding(30, 8, levels=2)
    places = torch.ones(100, 5, 2, dtype=torch.long)
    ids = module.draw(places, torch.Generator().manual_seed(0))
    assert (ids[..., 0] != ids[..., 1]).any(dim=1).float().mean() > 0.8
    assert module(places).shape == (100, 5, 8)


def test_coupled_places_beyond_the_table_are_refused():
    with pytest.raises(LengthwiseError, match="place 31 needs max_position of at least 31, got 30; raise max_position"):
        nn.CoupledEmbedding(30, 8).draw(torch.tensor([[1, 31]]))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: nn.Rotary(7), "even head width of at least 2, got 7"),
        (lambda: nn.Rotary(8, base=0.0), "base must be finite and above 0, got 0.0"),
        (lambda: nn.ALiBi(0), "heads must be at least 1, got 0"),
        (lambda: nn.T5Bias(4, buckets=1), "buckets >= 2"),
        (lambda: nn.FIRE(4, threshold=-1.0), "threshold must be finite and above 0, got -1.0"),
        (lambda: nn.Sinusoidal(8, base=float("inf")), "base must be finite and above 0, got inf"),
        (lambda: nn.LearnedEmbedding(8, 8, scale=2.0), "scale must be above 0 and at most 1, got 2.0"),
        (lambda: nn.LearnedEmbedding(8, 0), "needs rows and a width, got 8 and 0"),
    ],
)
def test_arguments_without_meaning_are_refused(build, message: str):
    with pytest.raises(LengthwiseError, match=message):
        build()
