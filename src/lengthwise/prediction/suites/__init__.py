"""Evidence on the tasks of the suites: arithmetic, the Chomsky hierarchy, strings and recall."""
