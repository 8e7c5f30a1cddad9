"""The audit of any language model on our tasks: asked in text, with length, distance and number of tokens apart."""
