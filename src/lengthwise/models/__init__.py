"""Models: the decoder-only transformer, generation, and the bridge to C-RASP programs."""
