"""Small language models of our own: configuration, training and files."""
