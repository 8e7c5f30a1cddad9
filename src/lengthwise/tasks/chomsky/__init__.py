"""The tasks of the Chomsky-hierarchy suite (after Delétang et al. 2023) that have no file elsewhere; this is the list.

The others are `parity`, `reverse`, `modular-arithmetic`, `modular-arithmetic-brackets`, `solve-equation`,
`binary-addition` and `binary-multiplication`.
"""

from lengthwise.tasks.chomsky import bucket_sort as bucket_sort
from lengthwise.tasks.chomsky import cycle_navigation as cycle_navigation
from lengthwise.tasks.chomsky import duplicate as duplicate
from lengthwise.tasks.chomsky import even_pairs as even_pairs
from lengthwise.tasks.chomsky import missing_duplicate as missing_duplicate
from lengthwise.tasks.chomsky import odds_first as odds_first
from lengthwise.tasks.chomsky import square_root as square_root
from lengthwise.tasks.chomsky import stack_manipulation as stack_manipulation
