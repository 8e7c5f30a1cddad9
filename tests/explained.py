"""What an explanation says below its answer."""

from __future__ import annotations

from lengthwise.explanation.explain import Explanation


def said(found: Explanation, name: str) -> str:
    """The sentences of this name, of all faults, a sentence a line."""
    return "\n".join(line for _, rows in found.blocks(whole=True) for line in rows.get(name, []))
