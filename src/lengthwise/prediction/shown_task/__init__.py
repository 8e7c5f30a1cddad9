"""An example of a task and its structure, and what a result file keeps of them."""
