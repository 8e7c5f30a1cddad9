"""The position systems that climb the frozen ladder: the two of the study, and others that came after it.

The others change what their name says of a rung and nothing else. Their cells are tables of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

from lengthwise.core.errors import UnknownNameError
from lengthwise.positions.encodings import ALiBiSpec, EncodingSpec, LearnedSpec, NoPESpec, RoPESpec

REGULARIZER = 1e-4
"""λ of the positional regularizer, the smaller one of the two published."""


@dataclass(frozen=True)
class Variant:
    """One position system: its encoding, and whose verdict is compared with it."""

    verdict: str
    spec: EncodingSpec
    qk_norm: bool = True
    regularizer: float = 0.0


VARIANTS: dict[str, Variant] = {
    "nope": Variant("nope", NoPESpec()),
    "ape": Variant("ape", LearnedSpec()),
    "rope": Variant("rope", RoPESpec()),
    "alibi": Variant("alibi", ALiBiSpec()),
    # QK-norm makes the regularizer vacuous, so the regularized system has a partner without both.
    "ape-no-qk-norm": Variant("ape", LearnedSpec(), qk_norm=False),
    "ape+reg": Variant("ape", LearnedSpec(), qk_norm=False, regularizer=REGULARIZER),
}


def variant(name: str) -> Variant:
    """The system of this name; raises `UnknownNameError`."""
    if name not in VARIANTS:
        raise UnknownNameError("encoding of the ladder", name, VARIANTS)
    return VARIANTS[name]
