"""What the result files of a blind study say: scores of cells, rival predictors, paired tests, the table."""

from lengthwise.core.lazy import modules_of

__getattr__ = modules_of(__name__)
