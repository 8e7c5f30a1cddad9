"""Verdicts for models without attention: what a state of fixed size and finite precision can carry at every length.

They are the literature's, by the automaton of a regular language and by how much of the prompt an answer needs. No
training has tested them here yet, so the forecast gives no probability for these models.
"""

from __future__ import annotations

from collections.abc import Sequence

from lengthwise.core.rng import stream
from lengthwise.languages.automaton import Dfa, language
from lengthwise.languages.monoid import MonoidTooLargeError, transition_semigroup
from lengthwise.prediction.suites import REGULAR, Evidence
from lengthwise.prediction.verdict import Argument, Verdict
from lengthwise.tasks import Task
from lengthwise.tasks.language import Language

MODELS = (
    "lstm", "mamba", "deltanet", "gated-deltanet", "deltanet-negative", "gated-deltanet-negative", "rwkv7",
)  # fmt: skip
"""Mixers that get a verdict."""
SIEGELMANN = "Minsky 1967; Merrill et al. 2020, arXiv 2004.08500"
SARROF = "Sarrof et al. 2024, arXiv 2405.17394"
GRAZZI = "Grazzi et al. 2025, arXiv 2411.12537"
JELASSI = "Jelassi et al. 2024, arXiv 2402.01032"
STRINGS, LENGTHS = 256, (32, 64)
"""Strings whose answers are compared, at the lengths nearest to these."""


def model_verdicts(target: Task | str | Dfa, known: Sequence[Evidence] = ()) -> tuple[Verdict, ...]:
    """One verdict a model, on a task or a regular language; ``known`` is the evidence on the task."""
    source = target
    if isinstance(target, Task):
        source = target.automaton() if isinstance(target, Language) else REGULAR.get(type(target), (None,))[0]
    remembered = _remembered(target, known) if isinstance(target, Task) and source is None else None
    found = []
    for model in MODELS:
        arguments = [] if source is None or isinstance(source, Task) else _on_language(model, source)
        if remembered is not None:
            arguments = [remembered]
        found.append(Verdict(model, "", "", None, tuple(arguments), source="no link to a fragment"))
    return tuple(found)


def _on_language(model: str, source: str | Dfa) -> list[Argument]:
    """What is published of a model on a regular language."""
    if model == "lstm":
        return [Argument("yes", "cited", f"a recurrent network holds the state of any finite automaton ({SIEGELMANN})")]
    dfa = source if isinstance(source, Dfa) else language(source)
    if model == "mamba":
        try:
            free = transition_semigroup(dfa).aperiodic
        except MonoidTooLargeError:
            return []
        only = "with decays of one sign a state space model recognizes the star-free languages"
        why = f"{only}, and this is one" if free else f"no guarantee: {only} only, and this is none"
        return [Argument("yes" if free else "no", "cited", f"{why} ({SARROF})")]
    orders = {_order(dfa, symbol) for symbol in range(len(dfa.alphabet))} - {1}
    if model in ("deltanet", "gated-deltanet") and orders:
        why = "matrices with eigenvalues above 0 alone can't tell how often one symbol came, modulo a number"
        return [Argument("no", "cited", f"no guarantee: {why} ({GRAZZI}, Theorem 1)")]
    if model.endswith("-negative") and dfa.size == 2 and orders == {2}:
        why = "an eigenvalue of −1 turns a state for each symbol that counts, which keeps a parity"
        return [Argument("yes", "cited", f"{why} ({GRAZZI})")]
    return []


def _order(dfa: Dfa, symbol: int) -> int:
    """The length of the longest cycle that a symbol repeated runs through."""
    longest = 1
    for state in range(dfa.size):
        seen = {state: 0}
        while (state := dfa.delta[state][symbol]) not in seen:
            seen[state] = len(seen)
        longest = max(longest, len(seen) - seen[state])
    return longest


def _remembered(task: Task, known: Sequence[Evidence]) -> Argument | None:
    """A *no* where a state must hold more and more of the prompt: by a bound that is known, or by its answers."""
    bound = next((e.argument for e in known if e.fragment == "ape" and e.argument.answer == "no"), None)
    no = "no guarantee: a state of fixed size can't hold what the answer needs"
    if bound is not None and "statement" in bound.certificate:
        return Argument("no", bound.basis, f"{no} ({JELASSI}). {bound.certificate['statement']}", bound.certificate)
    counts = {}
    for wanted in LENGTHS:
        length = next((n for n in range(wanted, 2 * wanted) if task.lengths(n, n)), None)
        if length is None:
            return None
        batch = task.batch(length, STRINGS, stream(0, "predict", "answers", length))
        cut = batch.prompt_length
        counts[length] = batch.tokens - cut, len({tuple(row) for row in batch.input_ids[:, cut:].tolist()})
    (short, _), (long, distinct) = counts.values()
    if long <= short or distinct < STRINGS:
        return None
    why = f"{no} ({JELASSI}); {STRINGS} strings of length {max(counts)} have as many answers, which the state must hold"
    return Argument("no", "evidence", why, {"kind": "answers", "counts": {str(n): c for n, (_, c) in counts.items()}})
