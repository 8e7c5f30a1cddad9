"""What the result files of a blind study say: scores of cells, rival predictors, paired tests, the table."""
