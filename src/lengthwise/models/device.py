"""The device that torch computes on, from the environment."""

from __future__ import annotations

import os

import torch

from lengthwise.core.errors import LengthwiseError

VARIABLE = "LENGTHWISE_DEVICE"


def chosen_device() -> str:
    """The value of ``LENGTHWISE_DEVICE``, by default cpu; raises `LengthwiseError` if this torch can't use it."""
    name = os.environ.get(VARIABLE, "cpu")
    try:
        usable = torch.empty(0, device=name).device.type != "meta"
    except (RuntimeError, AssertionError):
        usable = False
    if not usable:
        raise LengthwiseError(f"{VARIABLE} is {name!r}, which this torch can't use; set it to cpu, or unset it")
    return name
