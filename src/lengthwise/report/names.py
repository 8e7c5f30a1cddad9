"""What `MORE` in the names of systems stands for: all settings in which those of one name differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lengthwise.report.summary import MORE, SystemSummary, by_value, differing_settings
from lengthwise.report.words import setting_text, value_text, weight

LONGEST_NAME = 60
"""Letters of a name with its settings in a figure."""
SAID = ("evaluation.", "training.max_length")
"""What columns say."""


def _hidden(system: SystemSummary, systems: Sequence[SystemSummary]) -> list[str]:
    """Settings that its name does not say, of those in which these systems of the same name differ."""
    if not system.settings.endswith(MORE):
        return []
    rows = differing_settings([one for one in systems if (one.name, one.contest) == (system.name, system.contest)])
    keys = [row["key"] for row in rows if row["key"] in system.flat and not row["key"].startswith(SAID)]
    said = {setting_text(key): f"{setting_text(key)} {value_text(system.flat[key], key)}" for key in keys}
    return [said[name] for name in sorted(said, key=weight) if said[name] not in system.settings]


def whole_names(systems: Sequence[SystemSummary]) -> list[SystemSummary]:
    """These systems, with as many of their hidden settings in their names as these have room for."""
    found = list[SystemSummary]()
    for system in systems:
        known, hidden = system.settings.removesuffix(MORE), _hidden(system, systems)
        any_hidden = bool(hidden)
        while hidden and len(f"{system.name} ({known}, {hidden[0]}{MORE * (len(hidden) > 1)})") <= LONGEST_NAME:
            known = f"{known}, {hidden.pop(0)}"
        found.append(replace(system, settings=known + MORE * bool(hidden)) if any_hidden else system)
    return found


def hidden_text(systems: Sequence[SystemSummary]) -> str:
    """Which hidden settings who has; empty where no name hides any."""
    said = {one.label: ", ".join(hidden) for one in systems if (hidden := _hidden(one, systems))}
    hiding = [one for one in systems if one.label in said]
    return by_value(hiding, lambda one: said[one.label]) if hiding else ""
