"""The text of programs: from text to a program (`parse`) and back (`to_text`)."""
