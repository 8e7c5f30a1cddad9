"""One training in many processes."""
