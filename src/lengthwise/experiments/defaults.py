"""Default settings for a task that has no recipe: from the task's own structure, never from long lengths."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np

from lengthwise.core.config import changed_fields, fields_of
from lengthwise.core.errors import LengthwiseError, UnknownNameError, require, spelled
from lengthwise.core.files import slug
from lengthwise.core.once import once
from lengthwise.core.rng import stream
from lengthwise.core.user_code import load_object
from lengthwise.evaluation.config import EvaluationConfig
from lengthwise.experiments.recipe import PRESETS, RECIPES, Job, Recipe
from lengthwise.experiments.run_config import RunConfig
from lengthwise.models.config import ModelConfig
from lengthwise.models.mixers import MIXERS, layer_mixers
from lengthwise.positions.encodings import ENCODINGS, EncodingSpec
from lengthwise.positions.schemes import SCHEMES, Coupled, Draw, Modulo, PositionScheme, PredictiveCoupling
from lengthwise.positions.structure import check_places, has_places, structure
from lengthwise.positions.system import ALIASES, RANDOM_START, PositionSystem, check_ids_are_used
from lengthwise.prediction.programs import period_of
from lengthwise.tasks import TASKS, Task
from lengthwise.tasks.base import EXPRESSION
from lengthwise.training.config import TrainingConfig

MAX_LENGTH = 10
"""The longest training length where none is given."""
STEPS = 2000
MULTIPLES = (1, 1.5, 2, 3, 4, 6, 8)
"""Test lengths of a comparison, as multiples of the longest training length."""


def jumps_out_of_sight(scheme: PositionScheme | str, encoding: EncodingSpec) -> TypeGuard[Coupled]:
    """Whether coupled ids are drawn with a jump over which an encoding that attends to near ids alone does not see."""
    return encoding.local and isinstance(scheme, Coupled) and scheme.draw == "pose"


def default_experiment(
    task: Task,
    scheme: PositionScheme | str = "sequential",
    encoding: EncodingSpec | str = "learned",
    *,
    max_length: int = MAX_LENGTH,
    test_lengths: Sequence[int] | None = None,
    steps: int = STEPS,
) -> RunConfig:
    """A small decoder for ``task`` that a processor trains in a minute or two.

    One layer where ids are coupled, three otherwise: what takes one hop of attention under coupled ids takes several
    under plain ones. A scheme gets as many ids as the longest test needs, and is drawn as suits the task, unless it
    says so itself. An encoding that is local sees differences of near ids alone: ids are then blocks without a jump,
    and scores do not grow with the length. Raises `LengthwiseError` if the task has no instances of these lengths.
    """
    require(max_length >= 1, f"max_length must be at least 1, got {max_length}; give the longest training length")
    tests = tuple(test_lengths) if test_lengths is not None else default_tests(task, max_length)
    require(
        test_lengths is not None or tests[-1] >= max_length,
        f"task {task.name!r} has no strings longer than {tests[-1]}, so none to test beyond max_length={max_length}"
        f"; give a smaller max_length, or test_lengths{task.lifted(max_length + 1)}",
    )
    encoding = ENCODINGS.build(encoding)
    given = _given(scheme)
    if given is not None:
        scheme = roomy_scheme(task, scheme, max(*tests, max_length))
        if jumps_out_of_sight(scheme, encoding) and "draw" not in given:
            scheme = dataclasses.replace(scheme, draw="contiguous")
    assert not isinstance(scheme, str)
    coupled = scheme.uses_places
    tokens = _tokens(task, max_length)
    return RunConfig(
        task,
        scheme,
        encoding,
        ModelConfig(layers=1 if coupled else 3, log_length=None if encoding.local else max(8, tokens)),
        TrainingConfig(max_length=max_length, steps=steps, lr=2e-3 if coupled else 1e-3, stop_when_fitted=not coupled),
        EvaluationConfig(lengths=tests),
    )


def check_beyond(tests: Sequence[int], max_length: int) -> None:
    """Raise `LengthwiseError` where no test is longer than all that is trained on."""
    says = f"test_lengths must have one above max_length={max_length}, got {', '.join(map(str, tests))}"
    require(any(length > max_length for length in tests), says)


def default_tests(task: Task, max_length: int, multiples: Sequence[float] = (1, 2, 4)) -> tuple[int, ...]:
    """These multiples of the training length, each moved down to the nearest length with instances."""
    nothing = f"task {task.name!r} has no instances of lengths 1 to {max_length}; give another max_length"
    require(bool(task.lengths(1, max_length)), nothing)
    return tuple(dict.fromkeys(task.lengths(1, int(multiple * max_length))[-1] for multiple in multiples))


def _given(scheme: PositionScheme | str) -> frozenset[str] | None:
    """The fields that a scheme was built with by name; None of an object that was made by its class."""
    return frozenset() if isinstance(scheme, str) else getattr(scheme, "given", None)


def roomy_scheme(task: Task, scheme: PositionScheme | str, longest: int) -> PositionScheme:
    """The scheme with ids for the longest test, and a quarter more to draw from; fields that it was given stay.

    ``random-start`` is ``sequential`` with a random start in training (absolute shift).
    `draw_for` says how coupled ids are drawn, `period_of` which m ids modulo m have.
    """
    given, scheme = _given(scheme) or (), SCHEMES.build(scheme)
    if isinstance(scheme, Modulo) and "m" not in given:
        return dataclasses.replace(scheme, m=period_of(task))
    if scheme.wraps or "max_position" not in fields_of(scheme):
        return scheme
    fields: dict[str, Any] = {}
    if "max_position" not in given:
        by_place = scheme.equals_places or isinstance(scheme, Coupled)
        needed = _places(task, longest) if by_place else _tokens(task, longest)
        fields["max_position"] = max(16, needed + needed // 4 + 8)
    if isinstance(scheme, Coupled) and "draw" not in given:
        fields["draw"] = draw_for(task)
    return dataclasses.replace(scheme, **fields)  # type: ignore[type-var]


@once()
def draw_for(task: Task) -> Draw:
    """How coupled ids are drawn: sorted subsets where every parent has the id of the predicting token.

    Otherwise the model must go from one place to a neighbouring one, which random gaps hide: a block with one jump.
    """
    if task.place_rule == "next":
        return "pose"
    built = Coupled(max_position=1 << 30)
    spans = [structure(task, built, _near(task, n), stream(0, "defaults", "span", n)).span for n in (3, MAX_LENGTH)]
    return "pose" if any(spans) else "sorted"


def coupled_name(task: Task) -> str | None:
    """The coupled scheme that suits the task: predicted ids where a rule on the prefix gives them, else given ones.

    None if the task states no places.
    """
    if not has_places(task, _near(task, MAX_LENGTH)):
        return None
    try:
        PredictiveCoupling(draw=draw_for(task)).check_rule(task.place_rule)
    except LengthwiseError:
        return "coupled"
    return "predictive-coupling"


def recipe_for(name: str, preset: str) -> Recipe:
    """The recipe of this name, or the default systems on the task of this name.

    ``name`` may also be ``path/to/file.py:Class`` of a task, or ``path/to/file.py:function`` of a recipe. Raises
    `UnknownNameError` if it is neither, and `LengthwiseError` if the file can't be used.
    """
    if preset not in PRESETS:
        raise UnknownNameError("preset", preset, PRESETS)
    if name not in RECIPES.names():
        if name in TASKS or name.startswith(EXPRESSION):
            return default_recipe(TASKS.build(name), preset)
        if ":" in name and isinstance(load_object(name, kind="recipe or task", wanted="class", fits=callable), type):
            return default_recipe(TASKS.build(name), preset)
        if ":" not in name and not name.endswith(".py"):
            raise UnknownNameError("recipe or task", name, [*RECIPES.names(), *TASKS])
    return RECIPES.make(name, preset)


def default_recipe(
    task: Task,
    preset: str = "quick",
    systems: Sequence[PositionSystem] = (),
    max_length: int = MAX_LENGTH,
    test_lengths: Sequence[int] | None = None,
) -> Recipe:
    """These systems, or coupled ids (where the task states places), no positions, learned positions, RoPE + PoSE, FIRE.

    Presets ``quick``, ``standard`` and ``full`` differ in training steps and seeds.
    """
    if preset not in PRESETS:
        raise UnknownNameError("preset", preset, PRESETS)
    if test_lengths is not None:
        check_beyond(test_lengths, max_length)
    steps, seeds = {"quick": (STEPS, 1), "standard": (3 * STEPS, 3), "full": (10 * STEPS, 5)}[preset]
    jobs = tuple(
        Job(
            each.name,
            default_experiment(
                task, each.scheme, each.encoding, max_length=max_length, test_lengths=test_lengths, steps=steps
            ),
            tuple(range(seeds)),
        )
        for each in systems or default_systems(task)
    )
    return Recipe(folder_name(task), f"systems on {task.name}", jobs)


def default_systems(task: Task) -> list[PositionSystem]:
    """What is trained on a task without names of systems."""
    coupled = coupled_name(task)
    systems = [] if coupled is None else [PositionSystem(coupled, "learned")]
    if coupled == "coupled":
        systems.append(PositionSystem(coupled, "local-bias-sink"))
    return [
        *systems,
        PositionSystem("sequential", "nope"),
        PositionSystem(RANDOM_START, "learned"),
        PositionSystem("pose", "rope"),
        PositionSystem("sequential", "fire"),
    ]


def folder_name(task: Task) -> str:
    """The task's name as a folder, with the fields that differ from their defaults: two expressions share none.

    A task from a file goes by the name of its class.
    """
    changed = [f"{name}={value}" for name, value in changed_fields(task).items()]
    return slug(" ".join([task.name.rpartition(":")[2], *changed]))


def _near(task: Task, length: int) -> int:
    lengths = task.lengths(1, length) or task.lengths(1, 20 * length)[:1]
    require(bool(lengths), f"task {task.name!r} has no instances up to length {20 * length}; check its lengths")
    return lengths[-1]


@once()
def _largest(task: Task, length: int) -> list[tuple[int, int]]:
    """(tokens, largest place) of some batches of the longest length; layouts differ, so several are drawn."""
    near = _near(task, length)
    batches = (task.batch(near, 4, stream(0, "defaults", "size", draw)) for draw in range(4))
    return [(batch.tokens, int(batch.places[:, :, 0].max(initial=0))) for batch in batches]


def _tokens(task: Task, length: int) -> int:
    return max(tokens for tokens, _ in _largest(task, length))


def _places(task: Task, length: int) -> int:
    return max(place for _, place in _largest(task, length))


WITHOUT_TABLE = (RANDOM_START, "sequential", "randomized", "pose", "coupled", "predictive-coupling")
"""The schemes that ``all`` tries with encodings that have no table; ids of the others are made for tables."""
NOT_COMPARED = ("own-rule", "layers")
"""Components that do nothing of their own with their default settings."""
DRAWS_AT_TEST = 4


STANDARD = (
    PositionSystem("sequential", "nope"),
    PositionSystem(RANDOM_START, "learned"),
    PositionSystem("randomized", "learned"),
    PositionSystem("sequential", "rope"),
    PositionSystem("pose", "rope"),
    PositionSystem("sequential", "alibi"),
    PositionSystem("sequential", "fire"),
)
"""What is compared without names, after the coupled systems where the task states places."""


def coupled_system(task: Task) -> PositionSystem | None:
    """Coupled ids with a learned table; None if the task states no places, or nothing gives the ids of its answers.

    The ids of the answer are given where they follow from the layout alone. Where they depend on the content, the
    model has to predict them, since giving them would give the answer away.
    """
    name = coupled_name(task)
    if name is None:
        return None
    if places_follow_from_layout(task):
        return PositionSystem("coupled", "learned")
    return PositionSystem(name, "learned") if name == "predictive-coupling" else None


@once()
def places_follow_from_layout(task: Task) -> bool:
    """Whether the places of the predicted tokens are the same in all strings of a layout."""
    length = (task.lengths(1, MAX_LENGTH) or task.lengths(1, 20 * MAX_LENGTH))[-1]
    batch = task.batch(length, 64, stream(0, "comparison", "places"))
    return bool((batch.places[:, batch.scored] == batch.places[:1, batch.scored]).all())


def standard_systems(task: Task) -> tuple[PositionSystem, ...]:
    """The coupled system, if the task has one, the same with a local bias where ids are given, and `STANDARD`."""
    coupled = coupled_system(task)
    if coupled is None:
        return STANDARD
    local = (PositionSystem("coupled", "local-bias-sink"),) if coupled.scheme == "coupled" else ()
    return (*local, coupled, *STANDARD)


def sensible_systems(task: Task) -> tuple[PositionSystem, ...]:
    """Every scheme with every encoding under which it does something of its own.

    Where an encoding does not use ids, all schemes are the same. A random start changes nothing where only differences
    of ids count. A table without a random start has no trained rows beyond the training lengths. Schemes that follow
    places need a task that states them. Encodings that extend a trained model are not trained here.
    """
    coupled = coupled_system(task)
    found = [] if coupled is None else [coupled]
    for encoding in ENCODINGS:
        spec = ENCODINGS.build(encoding)
        if encoding in NOT_COMPARED or spec.extends_rope:
            continue
        if not spec.uses_ids:
            found.append(PositionSystem("sequential", encoding))
            continue
        for scheme in SCHEMES if spec.has_table else WITHOUT_TABLE:
            if scheme == "sequential" and spec.has_table:
                continue
            if scheme == RANDOM_START and spec.translation_invariant:
                continue
            if _applies(task, scheme, coupled):
                found.append(PositionSystem(scheme, encoding))
    return tuple(dict.fromkeys(found))


def _applies(task: Task, scheme: str, coupled: PositionSystem | None) -> bool:
    if scheme in NOT_COMPARED or scheme == RANDOM_START:
        return scheme == RANDOM_START
    kind = SCHEMES.get(scheme)
    if kind.uses_places and (coupled is None or kind.predicted != (coupled.scheme == "predictive-coupling")):
        return False
    try:
        assigned(task, roomy_scheme(task, scheme, MAX_LENGTH), MAX_LENGTH)
    except LengthwiseError:
        return False
    return True


def assigned(task: Task, scheme: PositionScheme, length: int) -> np.ndarray:
    """Test ids ``[B, T, L]`` of a few strings; raises `LengthwiseError` where the scheme does not suit the task."""
    near = (task.lengths(1, length) or task.lengths(1, 20 * length))[-1]
    rng = stream(0, "comparison", "ids")
    check_places(task, scheme)
    scheme.check_rule(task.place_rule)
    batch = task.batch(near, DRAWS_AT_TEST, rng)
    return scheme.for_evaluation().assign(batch.places, task.levels, rng)


def chosen_systems(task: Task, names: Sequence[str]) -> tuple[PositionSystem, ...]:
    """The systems of these names: `standard_systems` for none, `sensible_systems` for ``all``.

    A name is ``scheme+encoding``, or an encoding alone (with plain ids, or a random start for a table), or a scheme
    alone (with a learned table; ``pose`` with RoPE), or a pattern of mixers, with ``@`` and such a name where layers
    have attention and positions. Raises `LengthwiseError` for an unknown name, and for a scheme
    that gives no ids on this task.
    """
    if not names:
        return standard_systems(task)
    if list(names) == ["all"]:
        return sensible_systems(task)
    return tuple(dict.fromkeys(_system(task, name) for name in names))


MODELS = (
    "lstm", "mamba", "deltanet", "deltanet-negative", "gated-deltanet-negative", "rwkv7",
    "gated-deltanet-negative+attention", "mamba+attention@rope",
)  # fmt: skip
"""What is compared beside attention where models are compared."""


def model_systems(task: Task) -> tuple[PositionSystem, ...]:
    """`MODELS`, and attention with coupled ids (where the task states places), none, learned ones and RoPE."""
    coupled = coupled_system(task)
    names = ("nope", "learned", "rope", *MODELS)
    return (*([coupled] if coupled else []), *(_system(task, name) for name in names))


def _system(task: Task, name: str) -> PositionSystem:
    mixer, _, positions = name.rpartition("@")
    if mixer or _names_mixers(name):
        mixer, positions = (mixer, positions) if mixer else (positions, "nope")
        try:
            layer_mixers(mixer)
        except ValueError as error:
            raise LengthwiseError(f"system {name!r}: {error}") from None
        return dataclasses.replace(_system(task, positions), mixer=mixer)
    name = "+".join(spelled(part, {*SCHEMES, *ENCODINGS}) for part in name.split("+"))
    if name == ALIASES["learned"]:
        name = "learned"
    if name == "coupled" and (coupled := coupled_system(task)) is not None:
        return coupled
    scheme, plus, encoding = name.partition("+")
    known_scheme = scheme in SCHEMES
    if not plus and known_scheme:
        encoding = "rope" if scheme == "pose" else "learned"
    elif not plus and name in ENCODINGS:
        scheme, encoding = RANDOM_START if ENCODINGS.get(name).has_table else "sequential", name
    elif not plus or not known_scheme or encoding not in ENCODINGS:
        standard = (system.name for system in standard_systems(task))
        known = [*standard, *ENCODINGS, *SCHEMES, *MIXERS, "all"]
        raise UnknownNameError("system", name, dict.fromkeys(known))
    if scheme != RANDOM_START:
        check_ids_are_used(scheme, ENCODINGS.build(encoding))
        given = SCHEMES.get(scheme).uses_places and not SCHEMES.get(scheme).predicted
        if given and not places_follow_from_layout(task):
            raise LengthwiseError(
                f"system {name!r} would give the answer of task {task.name!r} away, whose ids depend on the content; "
                "take predictive-coupling"
            )
        try:
            assigned(task, roomy_scheme(task, scheme, MAX_LENGTH), MAX_LENGTH)
        except LengthwiseError as error:
            raise LengthwiseError(f"system {name!r} does not suit task {task.name!r}: {error}") from None
    return PositionSystem(scheme, encoding)


def _names_mixers(name: str) -> bool:
    """Whether the name is a pattern of mixers, and none of positions."""
    parts = [re.sub(r"\(.*?\)", "", part).partition("*")[0].strip() for part in re.split(r"\+(?![^(]*\))", name)]
    return all(part in MIXERS or ".py:" in part for part in parts)
