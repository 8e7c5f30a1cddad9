"""Tasks as folders for evaluation harnesses: lm-evaluation-harness and Inspect."""
