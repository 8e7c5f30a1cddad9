"""Our transformer as a `PreTrainedModel`: configuration, model, conversion from and to run directories, model card."""
