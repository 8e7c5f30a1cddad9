"""The benchmarks of ``lengthwise bench``: speed against named baselines, measured in one run."""
