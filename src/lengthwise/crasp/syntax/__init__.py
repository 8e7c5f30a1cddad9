"""Parses the text of a program (`parse`) and prints a program as text (`to_text`)."""
