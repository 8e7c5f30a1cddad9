"""The command ``lengthwise check-certificates`` checks a file of certificates."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import Annotated

import typer

from lengthwise.cli.console import emit_json, out
from lengthwise.cli.options import AsJson


def check_certificates(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `lengthwise decide … --certificates FILE` wrote.")],
    as_json: AsJson = False,
) -> None:
    """Check certificates with exact arithmetic and code that the decision does not use."""
    from rich.text import Text

    from lengthwise.workflows import certificates

    checked = list(certificates.check_certificates(file))
    if as_json:
        emit_json({"holds": [dataclasses.asdict(one) for one in checked]})
        return
    for source, group in itertools.groupby(checked, key=lambda one: one.source):
        ones = list(group)
        said = ", ".join(f"{one.fragment} with {one.end} {one.answer}" for one in ones)
        of = "" if ones[0].rebuilt else " (of the automaton in this file)"
        out().print(Text(f"{source}{of}: {len(ones)} hold: {said}"))
    if not checked:
        out().print("no certificates in this file")
