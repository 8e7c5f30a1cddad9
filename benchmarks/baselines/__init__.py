"""Speed against named baselines, measured in one run: the areas of `benchmarks/bench.py`."""
