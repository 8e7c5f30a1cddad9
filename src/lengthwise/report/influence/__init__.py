"""Report pages of influential tokens."""
