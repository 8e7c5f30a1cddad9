"""Positions: which ids the tokens get (`schemes`), and how attention uses the ids (`encodings`)."""
