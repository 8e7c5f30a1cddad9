"""Language models as the measurement sees them: ours, those of `transformers`, and an exact reader of planted text."""
