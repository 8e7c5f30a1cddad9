"""Tasks of looking something up, once or several times; this page is the list. Older ones are in the folder above."""

from lengthwise.tasks.recall import lego as lego
from lengthwise.tasks.recall import mqar as mqar
from lengthwise.tasks.recall import needle as needle
from lengthwise.tasks.recall import pointer as pointer
