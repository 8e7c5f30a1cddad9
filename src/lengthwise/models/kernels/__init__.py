"""The transformer computed faster, for training: flat batches without padding, stacks of runs, own backward passes.

`optimize` in `model` is the one way in. The model that defines the function is `lengthwise.models.transformer`; the law
tests/laws/test_kernels.py holds both equal, gradients too. docs/performance.md says what each file here gains.
"""
