"""Documents, tokenizers, windows of text, and planted text whose influential tokens are known."""
