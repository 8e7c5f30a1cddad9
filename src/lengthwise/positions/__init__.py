"""Positions: *which* ids the tokens get (`schemes`) and *how* attention hears them (`encodings`), kept apart."""
