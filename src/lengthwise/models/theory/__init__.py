"""The transformers of the theory: Limit Transformers, their finite versions, and their files."""
