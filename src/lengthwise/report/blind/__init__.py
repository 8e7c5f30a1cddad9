"""Pages and the figure of a blind study."""
