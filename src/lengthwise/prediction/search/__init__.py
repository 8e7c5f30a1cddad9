"""What `predict` tries on a task without known programs: the search for a small program and for a coupling."""
