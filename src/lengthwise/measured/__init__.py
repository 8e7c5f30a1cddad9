"""What was measured, as one packaged table: `cells` of what is forecast, `evidence` of all as a DataFrame."""

from lengthwise.measured.cells import FILE, SHORTEST_TRAINED, MeasuredCell, Test, cells, evidence

__all__ = ["FILE", "SHORTEST_TRAINED", "MeasuredCell", "Test", "cells", "evidence"]
