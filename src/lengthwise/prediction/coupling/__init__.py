"""The coupling search on a task and on a file of examples."""
