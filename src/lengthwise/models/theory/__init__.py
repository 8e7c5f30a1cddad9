"""The transformers of the theory (Huang et al. 2025): Limit Transformers, their finite versions, and their files."""
