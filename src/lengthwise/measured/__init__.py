"""Everything that was measured, as one packaged table: `cells` in plain Python, `evidence` as a DataFrame."""

from lengthwise.measured.cells import FILE, MeasuredCell, Test, cells, evidence

__all__ = ["FILE", "MeasuredCell", "Test", "cells", "evidence"]
