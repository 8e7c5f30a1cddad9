"""Certificates of the decision's verdicts, and a checker that shares no code with the decision."""
