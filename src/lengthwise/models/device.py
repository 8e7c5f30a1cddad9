"""The device that torch computes on: a given one, or that of the environment."""

from __future__ import annotations

import os

import torch

from lengthwise.core.errors import LengthwiseError

VARIABLE = "LENGTHWISE_DEVICE"


def chosen_device(device: str | None = None) -> str:
    """``device``, by default the value of ``LENGTHWISE_DEVICE``, or cpu.

    Raises `LengthwiseError` if this torch can't use it.
    """
    name = os.environ.get(VARIABLE, "cpu") if device is None else device
    try:
        usable = torch.empty(0, device=name).device.type != "meta"
    except (RuntimeError, AssertionError):
        usable = False
    if not usable:
        what = VARIABLE if device is None else "device"
        raise LengthwiseError(f"{what} is {name!r}, which this torch can't use; set it to cpu, or leave it out")
    return name
