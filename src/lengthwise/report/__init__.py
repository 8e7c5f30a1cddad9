"""Tables, plots and one self-contained page; reads result files, never a model. No torch."""
