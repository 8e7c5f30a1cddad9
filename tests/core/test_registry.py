"""Names to components and back."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from lengthwise.core.config import config
from lengthwise.core.errors import LengthwiseError, UnknownNameError, spelled, suggestion
from lengthwise.core.registry import Registry


class Animal:
    name: ClassVar[str]


def _registry() -> Registry[Animal]:
    animals: Registry[Animal] = Registry("animal")

    @animals.register("cat")
    @config
    class Cat(Animal):
        lives: int = 9

    animals.alias("old-cat", {"name": "cat", "lives": 1})
    return animals


def test_build_and_describe_are_inverse() -> None:
    animals = _registry()
    cat = animals.build("cat", lives=3)
    assert animals.describe(cat) == {"name": "cat", "lives": 3}
    assert animals.build(animals.describe(cat)) == cat
    assert animals.build(cat) is cat


def test_an_alias_is_a_configured_component() -> None:
    animals = _registry()
    assert list(animals) == ["cat", "old-cat"]
    assert len(animals) == 2
    assert "old-cat" in animals
    assert animals.get("old-cat") is animals.get("cat")
    assert animals.describe(animals.build("old-cat")) == {"name": "cat", "lives": 1}
    assert animals.describe(animals.build("old-cat", lives=2)) == {"name": "cat", "lives": 2}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("cart", "unknown animal 'cart'. Did you mean 'cat'?"),
        ("zebra", "unknown animal 'zebra'. Known: cat, old-cat."),
        ({"name": "cat", "live": 3}, "unknown field of animal 'cat' 'live'. Did you mean 'lives'?"),
        ({"lives": 3}, "a animal needs a name; write {'name': ...} with one of: cat, old-cat"),
        ({"name": "cat", "lives": "3"}, "animal 'cat': lives must be a whole number, got '3'"),
    ],
)
def test_mistakes_say_what_is_known(spec: object, message: str) -> None:
    with pytest.raises(LengthwiseError) as caught:
        _registry().build(spec)
    assert str(caught.value) == message


def test_a_name_is_taken_once() -> None:
    animals = _registry()
    for name in ("cat", "old-cat"):
        with pytest.raises(ValueError, match="registered twice"):
            animals.alias(name, {"name": "cat"})
    for name in ("cat", "old-cat"):
        with pytest.raises(LengthwiseError, match=f"animal '{name}' exists already; register Animal by another name"):
            animals.register(name)(Animal)
    with pytest.raises(UnknownNameError):
        animals.get("dog")


def test_a_cell_of_a_notebook_may_run_again() -> None:
    animals: Registry[Any] = Registry("animal")
    cell = "@animals.register('cow')\nclass Cow:\n    legs: int = {}\n"
    for legs in (4, 3):
        exec(cell.format(legs), {"animals": animals, "__name__": "__main__"})
    assert animals.build("cow").legs == 3


def test_names_are_known_whatever_their_capitals() -> None:
    animals = _registry()
    assert animals.build("CAT") == animals.build("cat")
    assert animals.build({"name": "Old-Cat", "lives": 2}).lives == 2  # type: ignore[attr-defined]
    assert spelled("CAT", ["cat", "Cat"]) == "CAT"  # two are meant
    assert spelled("Cat", ["cat", "Cat"]) == "Cat"


def test_a_suggestion_names_nothing_twice() -> None:
    assert suggestion("zebra", ["cat", "dog", "cat"]) == "Known: cat, dog."


def test_a_typo_names_up_to_three_that_are_about_as_near() -> None:
    assert suggestion("delta", ["deltas", "delta2", "deltanet", "delta-of-rules", "rope"]).count("'") == 6
    assert suggestion("rop", ["rope", "ropes"]) == "Did you mean 'rope' or 'ropes'?"
    assert suggestion("rop", ["rope", "repo", "top-rope"]) == "Did you mean 'rope'?", "others are far less near"
    assert suggestion("rotary", ["rope", "rotate"]) == "Did you mean 'rope'?", "another name of the same"
    assert suggestion("x", ["rope", "nope"]) == "Known: nope, rope."
    assert suggestion("x", []) == "None is known."


def test_of_many_names_the_nearest_are_said_and_where_all_are():
    many = [f"name-{letter}" for letter in "abcdefghijklmnop"]
    said = str(UnknownNameError("encoding", "bogus", many))
    assert said.startswith("unknown encoding 'bogus'. Nearest: ")
    assert said.count("name-") == 3
    assert "lengthwise list" in said
    assert str(UnknownNameError("animal", "bogus", many)).count("name-") == len(many)
    assert "Known: " in str(UnknownNameError("encoding", "bogus", many[:3]))
