"""The positional regularizer of Huang et al. 2025, term by term."""
