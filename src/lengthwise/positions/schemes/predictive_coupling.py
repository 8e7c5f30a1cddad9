"""The scheme `predictive-coupling` (PPC, Golowich et al. 2025): coupled ids that the model predicts as it generates.

The head that predicts them is `models/position_head.py`.
"""

from __future__ import annotations

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.levels import PlaceRule
from lengthwise.positions.schemes.base import SCHEMES
from lengthwise.positions.schemes.coupled import Coupled


@SCHEMES.register("predictive-coupling")
class PredictiveCoupling(Coupled):
    """Predictive Position Coupling (PPC, Golowich et al. 2025): coupled ids that the model predicts as it generates."""

    summary = "coupled ids that the model itself predicts while it generates (PPC)"
    predicted = True

    def check_rule(self, rule: PlaceRule) -> None:
        """Raises `LengthwiseError` if the task goes on to new places while ids are not consecutive."""
        if rule == "next" and self.draw in ("sorted", "permuted"):
            raise LengthwiseError(
                f"predictive-coupling with draw {self.draw!r} can't predict the id of a new place, and this task goes "
                "on to new places; set scheme.draw to contiguous or pose, or use scheme coupled"
            )
