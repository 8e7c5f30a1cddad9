"""Tasks on strings and counts; this page is the list. Older ones have files in the folder above."""

from lengthwise.tasks.strings import bigram_copy as bigram_copy
from lengthwise.tasks.strings import counting as counting
from lengthwise.tasks.strings import group_words as group_words
from lengthwise.tasks.strings import histogram as histogram
from lengthwise.tasks.strings import minesweeper as minesweeper
