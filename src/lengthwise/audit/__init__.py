"""The audit of any language model on our tasks: asked in text, with one thing at a time varied."""
