"""Combines the evidence on a target into one verdict per position system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lengthwise.prediction.suites.arguments import Evidence
from lengthwise.prediction.systems import SYSTEMS, PositionSystem, contains
from lengthwise.prediction.verdict import Argument, Verdict


def verdicts_of(known: list[Evidence], systems: tuple[PositionSystem, ...], otherwise: str) -> tuple[Verdict, ...]:
    """Verdicts from programs and impossibility alone; ``otherwise`` is the help if no position system has a *yes*."""
    return with_help([verdict_for(s, arguments_from_programs(s, known)) for s in SYSTEMS], systems, otherwise)


def verdict_for(system: PositionSystem, arguments: list[Argument]) -> Verdict:
    """The verdict of one position system from its arguments."""
    return Verdict(
        system.name, system.scheme["name"], system.encoding, system.fragment, tuple(arguments), source=system.source
    )


def arguments_from_programs(system: PositionSystem, known: list[Evidence]) -> list[Argument]:
    """The evidence that covers the fragment of a position system; a system without a theorem has none.

    A *yes* carries over to larger fragments and a *no* to smaller ones. Repeated reasons are given once.
    """
    if system.fragment is None:
        return []
    unique: dict[tuple[str, str], Argument] = {}
    for item in known:
        argument = item.argument
        yes = argument.answer == "yes" and contains(system.fragment, item.fragment)
        if yes or (argument.answer == "no" and contains(item.fragment, system.fragment)):
            unique.setdefault((argument.answer, argument.why), _through(system, argument))
    return list(unique.values())


def _through(system: PositionSystem, argument: Argument) -> Argument:
    """The argument with the basis of the link from encoding to fragment, where that is weaker."""
    if system.source.startswith("cited") and argument.basis == "proved":
        return replace(argument, basis="cited")
    return argument


def with_help(verdicts: Sequence[Verdict], systems: tuple[PositionSystem, ...], otherwise: str) -> tuple[Verdict, ...]:
    """The verdicts of ``systems``; those that are not *yes* name what would help, given the verdicts of all systems."""
    wanted = {system.name for system in systems}
    plain = [v.system for v in verdicts if v.answer == "yes" and v.fragment is not None]
    coupled = [v.system for v in verdicts if v.answer == "yes" and v.scheme in ("coupled", "predictive-coupling")]
    parts = [f"positions with a yes: {', '.join(plain)}"] if plain else []
    parts += [f"coupled positions ({', '.join(coupled)}): every dependency is then local"] if coupled else []
    help_ = "; or ".join(parts) or otherwise
    if all(verdict.answer == "yes" for verdict in verdicts if verdict.fragment is not None):
        help_ = ""
    return tuple(v if v.answer == "yes" else replace(v, help=help_) for v in verdicts if v.system in wanted)
