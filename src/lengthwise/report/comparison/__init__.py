"""The table and the picture of a comparison, from its result file."""
