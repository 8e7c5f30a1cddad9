"""One figure per file, from results to SVG."""
