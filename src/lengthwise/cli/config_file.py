"""Reads the systems of a run from a JSON or TOML file, in the form that ``lengthwise run --print-config`` writes."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from lengthwise.core.errors import LengthwiseError, UnknownNameError
from lengthwise.core.files import read_text
from lengthwise.experiments.recipe import Job, Recipe

KEYS, SYSTEM_KEYS = ("recipe", "systems"), ("name", "seeds", "experiment", "study", "fallbacks", "needed")
SHAPE = '{"recipe": NAME, "systems": [{"name": NAME, "seeds": [0], "experiment": {…}}]}'


def read_recipe(path: Path) -> Recipe:
    """The recipe in a file; what is missing of an experiment has its default.

    Raises `LengthwiseError` that names the file and the mistake.
    """
    values = _parsed(path)
    if not isinstance(values, dict) or not isinstance(values.get("systems"), list) or not values["systems"]:
        raise LengthwiseError(f"{path} lists no systems; write {SHAPE}, as `lengthwise run RECIPE --print-config` does")
    _check_keys(values, KEYS, f"{path}")
    name = values.get("recipe", path.stem)
    if not isinstance(name, str) or name in ("", "..") or Path(name).name != name or not name.isprintable():
        raise LengthwiseError(f"{path}: recipe must be the name of one folder, got {name!r}")
    return Recipe(name, f"systems of {path.name}", tuple(_job(system, path) for system in values["systems"]))


def _parsed(path: Path) -> Any:
    text = read_text(path, what="configuration file")
    try:
        return tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (tomllib.TOMLDecodeError, json.JSONDecodeError, RecursionError) as error:
        kind = "TOML" if path.suffix == ".toml" else "JSON"
        raise LengthwiseError(f"{path} is not {kind}: {error}; write {SHAPE}") from None


def _job(system: Any, path: Path) -> Job:
    if not isinstance(system, dict) or not ("experiment" in system or "study" in system):
        raise LengthwiseError(f"{path}: a system has no experiment; write {SHAPE}")
    _check_keys(system, SYSTEM_KEYS, f"a system of {path}")
    whole = {"name": "system", "seeds": [0], "fallbacks": [], "needed": 1, **system}
    seeds = whole["seeds"]
    if not isinstance(seeds, list) or not seeds or not all(type(seed) is int and seed >= 0 for seed in seeds):
        raise LengthwiseError(f"{path}: seeds must be a list of whole numbers from 0, got {seeds!r}")
    try:
        return Job.from_json(whole)
    except (KeyError, TypeError, AttributeError) as error:
        raise LengthwiseError(
            f"{path}: a system can't be read ({type(error).__name__}: {error}); write {SHAPE}"
        ) from None


def _check_keys(values: dict[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in values:
        if key not in known:
            raise UnknownNameError(f"field of {where}", key, known)
