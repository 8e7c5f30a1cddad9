"""What each attention head does: the parts of its logits, a word for its pattern, both at longer lengths, and the loss
that its removal costs.

Logits are read from the attention weights, so they are known up to a constant for each query, which centring removes;
weights below e⁻¹² of the largest count as that. A model that multiplies its logits on purpose as the context grows
(log-length scaling) has that factor divided out first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Num
from numpy import ndarray

from lengthwise.core.batch import Batch
from lengthwise.core.config import config
from lengthwise.core.rng import stream
from lengthwise.core.table import Table
from lengthwise.core.vocab import SPECIALS
from lengthwise.explanation.model import Subject
from lengthwise.models.generate import END

FITS = 0.9
"""From this overlap with a pattern on, a head is named by it."""
FLOOR = 12.0
NEAR = 8
"""Distances of the token–distance part."""
MOST_TOKENS = 12
"""With more tokens than this, all but the special ones are one class in the parts of the logits."""
CHANGE = 0.2
MOST_PAIRS, MOST_QUERIES = 600_000, 48
"""Pairs of query and key of one head and length, and queries of a string in the least squares."""
CONSTANT = 1e-9
COSTS, ERRORS = 0.01, 3
"""A head matters if its removal costs so many nats a token, and so many standard errors over strings."""
NEAR_IDS = (0, 1, -1, 2, -2)
"""Differences of position ids that are patterns where these do not count tokens."""


@config
class HeadAtLength:
    """A head at one length."""

    length: int
    overlap: float
    """With its pattern: 1 if every query spreads its attention as the pattern says, 0 if it looks elsewhere."""
    on_pattern: float
    """Attention on the tokens of the pattern."""
    gap: float
    """Logits of the tokens of the pattern less those of the others, in the mean over queries."""
    carried: float
    """Share of the logits' variance that the parts explain which were fitted at training lengths."""
    loss: float | None
    """What removing the head adds to the loss; None where it can't be removed."""
    error: float = 0.0
    """The standard error of `loss` over strings."""


@config
class Head:
    """One attention head."""

    layer: int
    head: int
    given_name: str
    pattern: str
    """The nearest pattern in words."""
    mask: tuple[str, tuple[int, ...]]
    """The same for `pattern_mask`."""
    named: bool
    """Whether the overlap is at least 0.9 at training lengths."""
    rows: tuple[HeadAtLength, ...]
    fault: str
    """What goes wrong beyond training, in words; empty if nothing does."""

    @property
    def name(self) -> str:
        """See `head_name`."""
        return head_name(self.layer, self.head, self.given_name)

    @property
    def matters(self) -> bool:
        """Whether its removal adds to the loss of some length, clearly above what strings differ by."""
        return any(row.loss is not None and row.loss > max(COSTS, ERRORS * row.error) for row in self.rows)

    @property
    def left(self) -> str:
        """Its fault, with what the whole head is worth at training lengths, where that is known."""
        loss = self.rows[0].loss
        worth = "" if loss is None else f" (to remove it there costs {loss:.3f} nats a token)"
        return f"{self.name} {self.fault}{worth}"


def head_name(layer: int, head: int, given: str) -> str:
    """Layer and head, from 1, or the name that the weights come with."""
    return f"layer {layer + 1}, " + (f"head {head + 1}" if given == f"head {head}" else given)


@config
class Heads:
    """All heads."""

    heads: tuple[Head, ...]
    ids: str
    """Whether the position ids of longer strings were seen in training."""

    def __repr__(self) -> str:
        return f"Heads({self.line})"

    def table(self) -> Table:
        """What each head looks at, and what it is worth."""

        def by_length(head: Head, cell: Callable[[HeadAtLength], str]) -> str | None:
            return ", ".join(f"{row.length}: {said}" for row in head.rows if (said := cell(row))) or None

        columns = (
            "head", "pattern", "overlap with it (1: attention is spread as the pattern says, 0: elsewhere), by length",
            "loss that its removal adds, in nats a token, by length", "what changes",
        )  # fmt: skip
        rows = [
            (head.name, head.pattern if head.named else f"nearest: {head.pattern}",
             by_length(head, lambda row: f"{row.overlap:.2f}"),
             by_length(head, lambda row: "" if row.loss is None else f"{row.loss:+.3f}"), head.fault)
            for head in self.heads
        ]  # fmt: skip
        return Table(columns, tuple(rows))

    @property
    def line(self) -> str:
        """Which heads have a name, and which one costs most."""
        named = [f"{head.name}: {head.pattern}" for head in self.heads if head.named]
        said = [f"{len(named)} of {len(self.heads)} heads have a name ({'; '.join(named)})"] if named else []
        costs = [(head.rows[0].loss, head) for head in self.heads if head.rows[0].loss is not None]
        if costs and not any(head.matters for head in self.heads):
            said.append("to remove any one head costs nothing that can be told from chance")
        elif costs:
            loss, head = max(costs, key=lambda cost: cost[0])
            first = head.rows[0]
            said.append(f"to remove {head.name} costs most, {loss:.3f} nats a token at length {first.length}")
            if head.mask[0] == "id" and not head.named:
                said.append(f"it has {first.on_pattern:.2f} of its attention on {head.pattern}")
        return "; ".join(said)


def pattern_mask(kind: str, numbers: Sequence[int], look: Looks) -> Bool[ndarray, "B T T"]:
    """Which keys a pattern names for every query."""
    tokens = look.tokens
    rows, size = tokens.shape
    distance = np.arange(size)[:, None] - np.arange(size)
    seen = np.broadcast_to(distance >= 0, (rows, size, size))
    match kind:
        case "uniform":
            return seen
        case "first":
            return seen & (np.arange(size) == 0)
        case "distance":
            return seen & (distance == numbers[0])
        case "period":
            return seen & (distance % numbers[0] == numbers[1])
        case "set":
            return seen & np.isin(tokens, numbers)[:, None, :]
        case "id":
            return seen & (look.ids[:, None, :] - look.ids[:, :, None] == numbers[0])
        case "same":
            return seen & (distance > 0) & (tokens[:, :, None] == tokens[:, None, :])
        case _:
            before = np.concatenate([np.full((rows, 1), -1), tokens[:, :-1]], axis=1)
            return seen & (tokens[:, :, None] == before[:, None, :])


def pattern_words(kind: str, numbers: Sequence[int], names: Sequence[str]) -> str:
    """A pattern in words."""
    match kind:
        case "uniform":
            return "uniform over all tokens"
        case "first":
            return "first token"
        case "distance":
            return {0: "its own token", 1: "previous token"}.get(numbers[0], f"distance {numbers[0]}")
        case "period":
            back = f"{numbers[1]} more than " if numbers[1] else ""
            return f"period {numbers[0]}: distances {back}a multiple of {numbers[0]}"
        case "set":
            return "uniform over " + ", ".join(names[n] for n in numbers)
        case "id":
            off = {0: "its own", 1: "one more than its own", -1: "one less than its own"}
            more = f"{abs(numbers[0])} {'more' if numbers[0] > 0 else 'less'} than its own"
            return f"the tokens whose position id is {off.get(numbers[0], more)}"
        case "same":
            return "same token"
        case _:
            return "token after the same token"


@dataclass
class Looks:
    """The attention of all heads on the strings of one length, at the queries whose outputs count."""

    length: int
    tokens: Int[ndarray, "B T"]
    ids: Num[ndarray, "B T"]
    """Position ids, of the first level."""
    queries: Int[ndarray, " Q"]
    weights: list[Float[ndarray, "B H Q T"]]
    sharp: Float[ndarray, " Q"]


@torch.inference_mode()
def looks(subject: Subject, batch: Batch) -> Looks:
    """The attention weights of every layer on a batch."""
    ids, positions = subject.inputs(batch, stream(0, "explain", "ids", batch.layout.length))
    queries = np.flatnonzero(batch.scored) - 1
    sharp = subject.network.sharpness(ids.shape[1])[queries]
    queries, sharp = queries[(queries > 0) & (sharp > 0)], sharp[(queries > 0) & (sharp > 0)]
    found = subject.network.attention(ids, positions)
    return Looks(
        batch.layout.length, batch.input_ids[:, : ids.shape[1]], positions[..., 0].cpu().numpy(), queries,
        [layer[:, :, queries].double().cpu().numpy() for layer in found], sharp,
    )  # fmt: skip


def explain_heads(subject: Subject, lengths: Sequence[int], samples: int, seed: int) -> Heads:
    """Every head at the longest training length and at ``lengths`` beyond it."""
    inside = subject.inside
    trained, shorter = inside[-1], [inside[len(inside) // 3], inside[2 * len(inside) // 3]]
    batches = {
        length: subject.task.batch(length, samples, stream(seed, "explain", "heads", length))
        for length in dict.fromkeys((trained, *lengths))
    }

    def look_at(length: int) -> Looks:
        rows = max(2, min(samples, MOST_PAIRS // length**2))
        return looks(subject, subject.task.batch(length, rows, stream(seed, "explain", "looks", length)))

    seen = {length: look_at(length) for length in batches}
    fitted = [seen[trained], *(look_at(length) for length in dict.fromkeys(shorter) if length != trained)]
    base = {length: losses(subject, batch) for length, batch in batches.items()}
    names, found = subject.task.vocab.tokens, []
    parts = _Parts(seen[trained], len(names))
    every = [(layer, head) for layer, heads in enumerate(subject.network.heads) for head in range(len(heads))]
    fit = parts.fit(fitted, every)
    carried = {length: parts.explained(look, every, fit) for length, look in seen.items()}
    for layer, heads in enumerate(subject.network.heads):
        for head, given in enumerate(heads):
            (kind, numbers), best = _nearest(seen[trained], layer, head)
            number = every.index((layer, head))
            rows = []
            for length, look in seen.items():
                overlap, mass, gap = _measure(look, layer, head, pattern_mask(kind, numbers, look))
                cost, error = None, 0.0
                with suppress(NotImplementedError), subject.network.ablated(layer, head):
                    added = losses(subject, batches[length]) - base[length]
                    cost, error = float(added.mean()), float(added.std(ddof=1) / np.sqrt(len(added)))
                rows.append(HeadAtLength(length, overlap, mass, gap, float(carried[length][number]), cost, error))
            named, words = round(best, 2) >= FITS, pattern_words(kind, numbers, names)
            found.append(
                Head(
                    layer, head, given, words, (kind, tuple(numbers)), named, tuple(rows),
                    _fault(rows, kind) if named else "",
                )
            )  # fmt: skip
    return Heads(tuple(found), _ids_seen(subject, trained, max(seen)))


def _fault(rows: Sequence[HeadAtLength], kind: str) -> str:
    """What changes from training lengths to the longest: nothing, dilution, or drift."""
    first, last = rows[0], rows[-1]
    if last.overlap >= FITS or last.overlap > first.overlap - CHANGE / 2:
        return ""
    fell = f"from {first.overlap:.2f} at length {first.length} to {last.overlap:.2f} at {last.length}"
    if kind == "uniform" or abs(last.gap - first.gap) > CHANGE * abs(first.gap):
        return f"drifts: its logits change with the position, and its overlap falls {fell}"
    return f"dilutes: its logits stay, more other tokens share the attention, and its overlap falls {fell}"


def _nearest(look: Looks, layer: int, head: int) -> tuple[tuple[str, tuple[int, ...]], float]:
    """The pattern with the largest overlap; a simpler one is kept unless a later one is better by 0.01."""
    best, most = ("uniform", ()), -1.0
    for kind, numbers in _patterns(look, layer, head):
        mask = pattern_mask(kind, numbers, look)
        if mask[:, look.queries].any(-1).mean() < 0.25:
            continue
        overlap = _measure(look, layer, head, mask)[0]
        if overlap > most + 0.01:
            best, most = (kind, tuple(numbers)), overlap
    return best, most


def _patterns(look: Looks, layer: int, head: int) -> Iterator[tuple[str, Sequence[int]]]:
    size = look.tokens.shape[1]
    yield "uniform", ()
    yield "first", ()
    # Ids that do not count tokens, as coupled ones, give heads no distance between tokens.
    counted = bool((np.diff(look.ids, axis=1) == 1).all())
    for distance in range(min(size, 17)) if counted else ():
        yield "distance", (distance,)
    for difference in () if counted else NEAR_IDS:
        yield "id", (difference,)
    yield "same", ()
    yield "after", ()
    weights = look.weights[layer][:, head]
    # How much more than its uniform share each token gets.
    seen = (np.arange(size) <= look.queries[:, None]) / (look.queries[:, None] + 1)
    present = np.unique(look.tokens)
    ratio = {
        int(t): (weights * (look.tokens == t)[:, None]).sum() / (seen * (look.tokens == t)[:, None]).sum()
        for t in present
    }
    order = sorted(ratio, key=lambda token: -ratio[token])
    for count in range(1, min(len(order), 9)):
        yield "set", sorted(order[:count])
    for period in range(2, min(9, size // 2)) if counted else ():
        for residue in range(period):
            yield "period", (period, residue)


def _measure(look: Looks, layer: int, head: int, mask: Bool[ndarray, "B T T"]) -> tuple[float, float, float]:
    """Overlap with the uniform distribution over the mask, weight on the mask, and the gap of the logits."""
    weights, mask = look.weights[layer][:, head], mask[:, look.queries]
    count = mask.sum(-1, keepdims=True)
    some = count[..., 0] > 0
    if not some.any():
        return 0.0, 0.0, 0.0
    overlap = np.minimum(weights, mask / np.maximum(count, 1)).sum(-1)[some].mean()
    mass = (weights * mask).sum(-1)[some].mean()
    seen = np.broadcast_to(np.arange(mask.shape[-1]) <= look.queries[:, None], mask.shape)
    logits, others = _logits(look, layer, head), seen & ~mask
    both = some & others.any(-1)
    if not both.any():
        return float(overlap), float(mass), 0.0
    on = (logits * mask).sum(-1)[both] / mask.sum(-1)[both]
    off = (logits * others).sum(-1)[both] / others.sum(-1)[both]
    return float(overlap), float(mass), float((on - off).mean())


def _logits(look: Looks, layer: int, head: int) -> Float[ndarray, "B Q T"]:
    """The logits up to a constant for each query; 0 where a query can't look."""
    weights = look.weights[layer][:, head]
    seen = np.arange(weights.shape[-1]) <= look.queries[:, None]
    floor = weights.max(-1, keepdims=True) * np.exp(-FLOOR)
    logits = np.log(np.maximum(weights, floor)) / look.sharp[:, None]
    mean = (logits * seen).sum(-1, keepdims=True) / seen.sum(-1, keepdims=True)
    return (logits - mean) * seen


class _Parts:
    """The parts of a logit as features of (query, key): distance, token and token, token and distance."""

    def __init__(self, look: Looks, tokens: int) -> None:
        self.classes = np.arange(tokens) if tokens - len(SPECIALS) <= MOST_TOKENS else np.minimum(np.arange(tokens), 4)
        self.size, self.farthest = int(self.classes.max()) + 1, look.tokens.shape[1] - 1
        self.count = self.farthest + 3 + self.size**2 + self.size * NEAR

    def features(self, look: Looks) -> Iterator[tuple[ndarray, ndarray]]:
        """For each string the centred features ``[pairs, features]`` and where the pairs are."""
        size = look.tokens.shape[1]
        count = len(look.queries)
        some = np.unique(np.linspace(0, count - 1, min(count, MOST_QUERIES)).round().astype(int))
        q, k = np.nonzero(np.arange(size) <= look.queries[some, None])
        q = some[q]
        at = look.queries[q]
        distance = np.minimum(at - k, self.farthest)
        starts = np.flatnonzero(np.r_[True, np.diff(q) > 0])
        counts = np.diff(np.r_[starts, len(q)])
        for tokens in look.tokens:
            classes = self.classes[tokens]
            x = np.zeros((len(q), self.count), dtype=np.float32)
            rows = np.arange(len(q))
            x[rows, distance] = 1
            first = self.farthest + 1
            x[:, first] = tokens[at] == tokens[k]
            x[:, first + 1] = (k > 0) & (tokens[at] == tokens[k - 1])
            x[rows, first + 2 + self.size * classes[at] + classes[k]] = 1
            near = np.flatnonzero(at - k < NEAR)
            x[near, first + 2 + self.size**2 + NEAR * classes[k[near]] + (at - k)[near]] = 1
            mean = np.add.reduceat(x, starts) / counts[:, None]
            yield x - np.repeat(mean, counts, axis=0), np.stack([q, k])

    def fit(self, fitted: Sequence[Looks], heads: Sequence[tuple[int, int]]) -> ndarray:
        """The weights of all features for each head, by least squares."""
        gram, right = np.zeros((self.count, self.count)), np.zeros((self.count, len(heads)))
        for look in fitted:
            for x, y in self.examples(look, heads):
                gram += x.T @ x
                right += x.T @ y
        return np.linalg.solve(gram + 1e-6 * np.trace(gram) / self.count * np.eye(self.count), right)

    def explained(self, look: Looks, heads: Sequence[tuple[int, int]], fit: ndarray) -> ndarray:
        """The share of the variance of each head's logits that a fit of other strings explains."""
        wrong, total = np.zeros(len(heads)), np.zeros(len(heads))
        for x, y in self.examples(look, heads):
            wrong += ((y - x @ fit) ** 2).sum(0)
            total += (y * y).sum(0)
        return np.where(total > CONSTANT, 1 - wrong / np.maximum(total, CONSTANT), 1.0)

    def examples(self, look: Looks, heads: Sequence[tuple[int, int]]) -> Iterator[tuple[ndarray, ndarray]]:
        """For each string the features of its pairs and the logits of all heads ``[pairs, heads]``."""
        logits = [_logits(look, layer, head) for layer, head in heads]
        for string, (x, (q, k)) in enumerate(self.features(look)):
            yield x, np.stack([found[string][q, k] for found in logits], axis=-1)


def losses(subject: Subject, batch: Batch) -> Float[ndarray, " B"]:
    """For each string the mean loss of its scored tokens: cross-entropy, or of sets binary cross-entropy."""
    at = np.flatnonzero(batch.scored) - 1
    logits = torch.from_numpy(subject.logits(batch)[:, at])
    if batch.allowed is None:
        wanted = torch.from_numpy(batch.input_ids[:, at + 1])
        found = torch.nn.functional.cross_entropy(logits.mT, wanted, reduction="none")
        return found.mean(1).double().numpy()
    known = torch.from_numpy(subject.output_ids >= 0)
    known[:END] = False
    wanted = torch.from_numpy(batch.allowed[:, at])[..., known].float()
    found = torch.nn.functional.binary_cross_entropy_with_logits(logits[..., known].float(), wanted, reduction="none")
    return found.mean((1, 2)).double().numpy()


def _ids_seen(subject: Subject, inside: int, longest: int) -> str:
    """Whether strings of the longest length have position ids above all of training."""
    known, needed = int(subject.ids_of(inside, 256, training=True).max()), int(subject.ids_of(longest).max())
    if needed <= known:
        return (
            f"position ids up to {needed}, which it reads at length {longest}, were all seen in training (up to "
            f"{known}; the id of the last token, from which nothing is predicted, is not counted)"
        )
    return f"position ids {known + 1} to {needed} of length {longest} were never seen in training"
