"""Arithmetic on numbers of any length, least significant digit first; this page is the list."""

from lengthwise.tasks.arithmetic import bitwise_or as bitwise_or
from lengthwise.tasks.arithmetic import hinted_addition as hinted_addition
from lengthwise.tasks.arithmetic import long_multiplication as long_multiplication
from lengthwise.tasks.arithmetic import modular as modular
from lengthwise.tasks.arithmetic import multi_operand as multi_operand
from lengthwise.tasks.arithmetic import multiplication as multiplication
from lengthwise.tasks.arithmetic import running_sums as running_sums
from lengthwise.tasks.arithmetic import subtraction as subtraction
