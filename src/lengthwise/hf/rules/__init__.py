"""Rules that give every token its position id, as a function of the tokens before and including it."""
