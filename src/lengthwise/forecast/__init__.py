"""P(right at M), for a system trained to N: features, a fitted model, and the answer in words."""
