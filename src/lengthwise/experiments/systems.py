"""The position systems that a comparison trains: which scheme suits which encoding and task."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lengthwise.core.errors import LengthwiseError, UnknownNameError
from lengthwise.core.rng import stream
from lengthwise.experiments.defaults import MAX_LENGTH, coupled_name, roomy_scheme
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import SCHEMES, PositionScheme
from lengthwise.positions.system import RANDOM_START, PositionSystem
from lengthwise.tasks import Task

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
        for scheme in (RANDOM_START, *SCHEMES) if spec.has_table else WITHOUT_TABLE:
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
    return _gives_ids(task, scheme)


def _gives_ids(task: Task, scheme: str) -> bool:
    """Whether the scheme can give ids to a string of this task."""
    try:
        assigned(task, roomy_scheme(task, scheme, MAX_LENGTH), MAX_LENGTH)
    except LengthwiseError:
        return False
    return True


def assigned(task: Task, scheme: PositionScheme, length: int) -> np.ndarray:
    """Test ids ``[B, T, L]`` of a few strings; raises `LengthwiseError` where the scheme does not suit the task."""
    near = (task.lengths(1, length) or task.lengths(1, 20 * length))[-1]
    rng = stream(0, "comparison", "ids")
    scheme.check_rule(task.place_rule)
    batch = task.batch(near, DRAWS_AT_TEST, rng)
    return scheme.for_evaluation().assign(batch.places, task.levels, rng)


def chosen_systems(task: Task, names: Sequence[str]) -> tuple[PositionSystem, ...]:
    """The systems of these names: `standard_systems` for none, `sensible_systems` for ``all``.

    A name is ``scheme+encoding``, or an encoding alone (with plain ids, or a random start for a table), or a scheme
    alone (with a learned table; ``pose`` with RoPE). Raises `LengthwiseError` for an unknown name, and for a scheme
    that gives no ids on this task.
    """
    if not names:
        return standard_systems(task)
    if list(names) == ["all"]:
        return sensible_systems(task)
    return tuple(dict.fromkeys(_system(task, name) for name in names))


def _system(task: Task, name: str) -> PositionSystem:
    if name == "coupled" and (coupled := coupled_system(task)) is not None:
        return coupled
    scheme, plus, encoding = name.partition("+")
    known_scheme = scheme == RANDOM_START or scheme in SCHEMES
    if not plus and known_scheme:
        encoding = "rope" if scheme == "pose" else "learned"
    elif not plus and name in ENCODINGS:
        scheme, encoding = RANDOM_START if ENCODINGS.get(name).has_table else "sequential", name
    elif not plus or not known_scheme or encoding not in ENCODINGS:
        known = [*(system.name for system in standard_systems(task)), *ENCODINGS, *SCHEMES, RANDOM_START, "all"]
        raise UnknownNameError("system", name, dict.fromkeys(known))
    if scheme != RANDOM_START:
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
