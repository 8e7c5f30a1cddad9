"""What predictive position coupling needs: one part changed at a time, on variable assignment."""

from __future__ import annotations

import dataclasses
from typing import Any

import lengthwise as lw

SUMMARY = "predictive position coupling with one part changed at a time: drawing, head, slots, scaling, depth, encoding"


@lw.RECIPES.register("ppc-ablations", SUMMARY)
def ppc_ablations(preset: str) -> lw.Recipe:
    """The quick PPC system of ``variable-assignment`` and its variants, tested to 20 times the training length."""
    base = lw.experiments.recipes.variable_assignment("quick").jobs[0].experiment

    def model(**changes: Any) -> lw.RunConfig:
        return dataclasses.replace(base, model=dataclasses.replace(base.model, **changes))

    def draw(name: str) -> lw.RunConfig:
        return base.edited([f"scheme.draw={name}"])

    rope = dataclasses.replace(base, encoding=lw.encodings.RoPESpec())
    variants = {
        "as it is": base,
        "contiguous ids": draw("contiguous"),
        "ids with one jump": draw("pose"),
        "permuted ids": draw("permuted"),
        "pointer head": model(id_head="pointer"),
        "no slot level": base.edited(["task.slots=false"]),
        "no log-length scaling": model(log_length=None),
        "no QK-norm": model(qk_norm=False),
        "no QK-norm, no log-length": model(qk_norm=False, log_length=None),
        "2 layers": model(layers=2),
        "3 layers": model(layers=3),
        "4 layers": model(layers=4),
        "RoPE on coupled ids": rope,
        "RoPE on coupled ids, pointer head": dataclasses.replace(rope, model=model(id_head="pointer").model),
    }
    seeds = tuple(range(1 if preset == "quick" else 3))
    return lw.Recipe("ppc-ablations", SUMMARY, tuple(lw.Job(name, e, seeds) for name, e in variants.items()))
