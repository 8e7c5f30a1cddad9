"""The command ``lengthwise check`` holds a component, such as a task of the user's own, to the public laws."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lengthwise.cli.console import emit_json, out
from lengthwise.cli.options import AsJson
from lengthwise.cli.threads import Threads
from lengthwise.core.errors import LengthwiseError, UnknownNameError
from lengthwise.training.threads import use_threads


def check(
    target: Annotated[str, typer.Argument(help="A task, scheme or encoding: its name, or FILE.py:Class.")],
    kind: Annotated[
        str | None, typer.Option("--kind", help="task, scheme or encoding, where the name is not enough.")
    ] = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Hold a component to every law; exit code 1 if one is broken."""
    use_threads(threads)
    from lengthwise.testing import checks

    kind, component = _component(target, kind)
    found = list(checks(kind, component))
    if as_json:
        emit_json([{"law": one.law, "says": one.says, "broken": one.broken} for one in found])
    else:
        console = out()
        for one in found:
            console.print(f"{'broken' if one.broken else 'holds ':7} {one.says}", markup=False, soft_wrap=True)
            if one.broken:
                console.print(f"        {one.broken}", markup=False, soft_wrap=True, style="red")
        broken = sum(1 for one in found if one.broken)
        console.print(f"{len(found) - broken} of {len(found)} {kind} laws hold for {target}", markup=False)
    if any(one.broken for one in found):
        raise typer.Exit(1)


def _component(target: str, kind: str | None) -> tuple[str, Any]:
    """The kind of a target and the component with its default settings."""
    from lengthwise.workflows.catalogue import REGISTRIES

    if kind is not None:
        if kind not in REGISTRIES:
            raise UnknownNameError("kind of component", kind, REGISTRIES)
        return kind, REGISTRIES[kind].build(target)
    if ":" in target or target.endswith(".py"):
        for name, registry in REGISTRIES.items():
            try:
                return name, registry.build(target)
            except LengthwiseError as error:
                if "; derive it from " not in str(error):
                    raise
        raise LengthwiseError(f"{target} is neither a task nor a scheme nor an encoding; derive it from one of these")
    for name, registry in REGISTRIES.items():
        if target in registry:
            return name, registry.build(target)
    raise UnknownNameError("component", target, [name for registry in REGISTRIES.values() for name in registry])
