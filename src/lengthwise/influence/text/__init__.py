"""Provides corpora, tokenizers, windows of tokens, and planted text whose influential tokens are known."""
