"""The rule by which position ids follow from the prefix, and its C-RASP program."""
