"""Sparse functional attention: heads, their training, the error bound and what breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product
from math import comb

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from planted import Offsets, Planted, PlantedStrings, offset_patterns

import lengthwise as lw


@dataclass(frozen=True)
class Output:
    """Numerator and denominator of h for B strings and Y labels."""

    numerator: Float[ndarray, "B Y"]
    denominator: Float[ndarray, " B"]

    @property
    def defined(self) -> ndarray:
        """Where the denominator is positive, ``[B]``."""
        return self.denominator > 0

    @property
    def probabilities(self) -> Float[ndarray, "B Y"]:
        """h(X); NaN where 0/0."""
        safe = np.where(self.defined, self.denominator, np.nan)
        return self.numerator / safe[:, None]

    def error(self, labels: Int[ndarray, " B"]) -> Float[ndarray, " B"]:
        """1 - h(X)[label], the probability not given to the label; 0/0 counts as 1."""
        right = np.take_along_axis(self.numerator, labels[:, None], axis=1)[:, 0]
        return np.where(self.defined, 1 - right / np.where(self.defined, self.denominator, 1.0), 1.0)

    def wrong(self, labels: Int[ndarray, " B"]) -> ndarray:
        """Whether the label is not the only largest entry, ``[B]``; a tie or 0/0 is wrong."""
        right = np.take_along_axis(self.numerator, labels[:, None], axis=1)[:, 0]
        others = self.numerator.copy()
        np.put_along_axis(others, labels[:, None], -np.inf, axis=1)
        return ~self.defined | (others.max(axis=1) >= right)


@dataclass(frozen=True)
class TupleTypes:
    """The types (offset pattern, k tokens), numbered 0..N-1: pattern by pattern, the last token varying fastest."""

    alphabet: int
    patterns: tuple[Offsets, ...]

    @classmethod
    def local(cls, k: int, span: int, alphabet: int) -> TupleTypes:
        """All types of span at most ``span``."""
        lw.core.errors.require(
            span >= k - 1, f"k = {k} tokens need a span of {k - 1} or more, got {span}; raise the span"
        )
        return cls(alphabet, offset_patterns(k, span))

    @property
    def k(self) -> int:
        """The number of tokens of a tuple."""
        return len(self.patterns[0])

    @property
    def words(self) -> int:
        """|V|^k, the number of types of one pattern."""
        return self.alphabet**self.k

    @property
    def size(self) -> int:
        """N, the number of types."""
        return len(self.patterns) * self.words

    @cached_property
    def tokens(self) -> Int[ndarray, "N k"]:
        """The tokens of every type."""
        codes = np.arange(self.words)
        digits = codes[:, None] // self.alphabet ** np.arange(self.k)[::-1] % self.alphabet
        return np.tile(digits, (len(self.patterns), 1))

    def index(self, pattern: Offsets, tokens: tuple[int, ...]) -> int:
        """The number of one type."""
        code = 0
        for token in tokens:
            code = code * self.alphabet + token
        return self.patterns.index(pattern) * self.words + code

    def describe(self, index: int) -> str:
        """One type as text, ``2_3`` for the tokens 2 and 3 with one other token between them."""
        pattern, tokens = self.patterns[index // self.words], self.tokens[index]
        row = ["_"] * (pattern[-1] + 1)
        for offset, token in zip(pattern, tokens, strict=True):
            row[offset] = str(token)
        return "".join(row) if self.alphabet <= 10 else " ".join(row)

    def counts(self, tokens: Int[ndarray, "B T"]) -> Int[ndarray, "B N"]:
        """How often each type occurs in each string."""
        size, length = tokens.shape
        result = np.zeros((size, len(self.patterns), self.words), dtype=np.int64)
        rows = (np.arange(size) * self.words)[:, None]
        for p, pattern in enumerate(self.patterns):
            width = length - pattern[-1]
            if width <= 0:
                continue
            code = tokens[:, :width]
            for offset in pattern[1:]:
                code = code * self.alphabet + tokens[:, offset : offset + width]
            result[:, p] = np.bincount((code + rows).ravel(), minlength=size * self.words).reshape(size, self.words)
        return result.reshape(size, self.size)


@dataclass(frozen=True)
class LocalHead:
    """A head as a table: ``weights`` and ``votes`` (points g of the label simplex) of every tuple type.

    λ is the largest span among its patterns. Raises `LengthwiseError` for negative weights or tables of the wrong size.
    """

    types: TupleTypes
    weights: Float[ndarray, " N"]
    votes: Float[ndarray, "N Y"]

    def __post_init__(self) -> None:
        shape = (self.weights.shape, self.votes.shape[0])
        lw.core.errors.require(
            shape == ((self.types.size,), self.types.size), f"tables need {self.types.size} rows, got {shape}"
        )
        lw.core.errors.require(bool((self.weights >= 0).all()), "attention weights must be at least 0; check the table")

    def __call__(self, tokens: Int[ndarray, "B T"]) -> Output:
        """Evaluate B strings; memory is B·T plus B·N."""
        return self.from_counts(self.types.counts(tokens))

    def from_counts(self, counts: ndarray) -> Output:
        """Evaluate strings given by their type counts ``[B, N]``."""
        return Output(counts @ (self.weights[:, None] * self.votes), counts @ self.weights)


@dataclass(frozen=True)
class NonLocalHead:
    """A head over *all* k-tuples, near or far, whose weight and vote depend on the tokens only: tables of |V|^k rows.

    The C(ℓ, k) tuples are counted as subsequences in O(ℓ·|V|^k); float64 counts are exact below 2^53.
    """

    k: int
    alphabet: int
    weights: Float[ndarray, " C"]
    votes: Float[ndarray, "C Y"]

    def __call__(self, tokens: Int[ndarray, "B T"]) -> Output:
        counts = subsequence_counts(tokens, self.k, self.alphabet)
        return Output(counts @ (self.weights[:, None] * self.votes), counts @ self.weights)


def subsequence_counts(tokens: Int[ndarray, "B T"], k: int, alphabet: int) -> Float[ndarray, "B C"]:
    """How often each of the C = |V|^k words occurs in each string as a subsequence, the last token varying fastest."""
    is_token = (tokens[..., None] == np.arange(alphabet)).astype(np.float64)
    ending = is_token
    for _ in range(k - 1):
        before = np.cumsum(ending, axis=1) - ending
        ending = (before[..., :, None] * is_token[..., None, :]).reshape(*tokens.shape, -1)
    return ending.sum(axis=1)


def attention_reference(
    tokens: Int[ndarray, " T"],
    k: int,
    weight: Callable[[tuple[int, ...], tuple[int, ...]], float],
    vote: Callable[[tuple[int, ...], tuple[int, ...]], ndarray],
) -> Output:
    """The definition evaluated for one string, over every k-subset of positions; the oracle of the fast heads.

    ``weight`` and ``vote`` take the tokens and the absolute positions of a tuple.
    """
    numerator: ndarray | float = 0.0
    denominator = 0.0
    for positions in combinations(range(len(tokens)), k):
        word = tuple(int(tokens[i]) for i in positions)
        w = weight(word, positions)
        numerator, denominator = numerator + w * vote(word, positions), denominator + w
    lw.core.errors.require(
        isinstance(numerator, ndarray), f"no {k}-tuple fits into length {len(tokens)}; use a longer string"
    )
    return Output(np.asarray(numerator)[None], np.array([denominator]))


GRAIN = 8
"""Tables are multiples of 1/8 up to 64, so that sums over a string are exact in float32 and ``== 0`` means zero."""


@dataclass(frozen=True)
class Setting:
    """The strings of Theorem A: one planted word at an allowed position, background tokens from B elsewhere.

    ``words`` is the support of Q_voc and ``labels`` holds g* of each; ``patterns`` is O, the allowed offsets; ``span``
    is λ, the largest span at which the heads' weights may be positive.
    """

    alphabet: int
    background: tuple[int, ...]
    words: tuple[tuple[int, ...], ...]
    labels: tuple[int, ...]
    patterns: tuple[Offsets, ...]
    span: int

    @classmethod
    def of(cls, planted: Planted, span: int) -> Setting:
        """The setting of a planted distribution whose placement has the same patterns at all long enough lengths."""
        words = planted.words.support(planted.k)
        return cls(
            alphabet=planted.alphabet,
            background=tuple(int(t) for t in planted.background_support),
            words=tuple(tuple(int(t) for t in word) for word in words),
            labels=tuple(int(y) for y in planted.label_of(words)),
            patterns=planted.placement.patterns(2 * (span + 1)),
            span=span,
        )

    @property
    def k(self) -> int:
        """Sparsity."""
        return len(self.words[0])

    @property
    def classes(self) -> int:
        """Number of labels."""
        return max(self.labels) + 1

    @property
    def sufficient_length(self) -> int:
        """2(λ + 1), the length from which Theorem A holds."""
        return 2 * (self.span + 1)

    @property
    def types(self) -> TupleTypes:
        """The tuple types of the heads."""
        return TupleTypes.local(self.k, self.span, self.alphabet)

    def planted_label(self) -> Int[ndarray, " N"]:
        """g* of every tuple type that can be S* itself, and -1 for all others."""
        types, result = self.types, np.full(self.types.size, -1)
        for pattern, (word, label) in product(self.patterns, zip(self.words, self.labels, strict=True)):
            if pattern in types.patterns:
                result[types.index(pattern, word)] = label
        return result


@dataclass(frozen=True)
class Strings:
    """Distinct pairs of a string and its label."""

    tokens: Int[ndarray, "M T"]
    labels: Int[ndarray, " M"]


def admissible(setting: Setting, length: int) -> Strings:
    """A_ℓ: every pair (X, y) of a planted word at an allowed position with background tokens everywhere else.

    There are at most |O|·ℓ·|words|·|B|^(ℓ-k) of them; raises `LengthwiseError` beyond two million.
    """
    free = length - setting.k
    number = len(setting.patterns) * length * len(setting.words) * len(setting.background) ** max(free, 0)
    lw.core.errors.require(
        number <= 2_000_000, f"{number} strings of length {length} are too many; shorten it or shrink the alphabet"
    )
    filling = np.array(list(product(setting.background, repeat=max(free, 0))), dtype=np.int64)
    filling = filling.reshape(len(setting.background) ** max(free, 0), max(free, 0))
    rows, labels = [], []
    for pattern in setting.patterns:
        for start in range(length - pattern[-1]):
            planted = [start + offset for offset in pattern]
            others = [i for i in range(length) if i not in planted]
            for word, label in zip(setting.words, setting.labels, strict=True):
                block = np.empty((len(filling), length), dtype=np.int64)
                block[:, others], block[:, planted] = filling, word
                rows.append(block)
                labels.append(np.full(len(block), label))
    lw.core.errors.require(bool(rows), f"no allowed pattern fits into length {length}; use a longer string")
    both = np.unique(np.column_stack([np.concatenate(rows), np.concatenate(labels)]), axis=0)
    return Strings(both[:, :length], both[:, length])


class Exactness:
    """Decides, for many table heads at once, which are exact on every one of the given strings.

    Strings with the same counts and label are one row, because every table head agrees on them.
    """

    def __init__(self, strings: Strings, types: TupleTypes, classes: int) -> None:
        counts = types.counts(strings.tokens)
        both = np.unique(np.column_stack([counts, strings.labels]), axis=0)
        # In a fixed random order most wrong heads fail on the first rows, and only the others reach the rest.
        both = np.random.default_rng(0).permutation(both)
        self.counts: Float[ndarray, "R N"] = both[:, :-1].astype(np.float32)
        self.labels: Int[ndarray, " R"] = both[:, -1]
        self.classes = classes
        self.strings = len(strings.labels)

    def __call__(self, weights: Float[ndarray, "H N"], votes: Float[ndarray, "H N Y"]) -> Bool[ndarray, " H"]:
        """Whether the denominator is positive and h(X) equals the one-hot label on every string.

        Raises `LengthwiseError` unless the tables are multiples of 1/8 of size at most 64, where the check is exact.
        """
        for name, table in (("weights", weights), ("votes", votes)):
            good = bool((np.abs(table) <= 64).all() and (table * GRAIN == np.rint(table * GRAIN)).all())
            lw.core.errors.require(
                good, f"{name} must be multiples of 1/{GRAIN} of size at most 64, so that the check is exact"
            )
        alive = np.arange(len(weights))
        weights, weighted = weights.astype(np.float32), (weights[..., None] * votes).astype(np.float32)
        step = 32
        for start in (0, *range(step, len(self.labels), 512)):
            stop = step if start == 0 else start + 512
            counts, labels = self.counts[start:stop], self.labels[start:stop]
            denominator = weights[alive] @ counts.T
            good = (denominator > 0).all(axis=1)
            for y in range(self.classes):
                numerator = weighted[alive, :, y] @ counts.T
                good &= (numerator == denominator * (labels == y)).all(axis=1)
            alive = alive[good]
        result = np.zeros(len(weights), dtype=bool)
        result[alive] = True
        return result


@dataclass(frozen=True)
class TheoremCheck:
    """Counts of one random test of Theorem A; the theorem implies ``violations == 0``."""

    length: int
    longer: tuple[int, ...]
    strings: int
    heads: int
    exact: int
    exact_with_unplanted: int
    violations: int


def check_theorem_a(
    setting: Setting, heads: int, rng: lw.core.rng.Rng, *, length: int | None = None, beyond: tuple[int, ...] = (1, 2)
) -> TheoremCheck:
    """Draw random heads until ``heads`` of them are exact at ``length``; count those that fail at longer lengths.

    ``exact_with_unplanted`` counts exact heads with positive weight on a tuple type that occurs in some admissible
    string but is never S*. ``length`` is 2(λ + 1) unless given. Gives up after 400 rounds of 4,096 heads.
    """
    length = length or setting.sufficient_length
    longer = tuple(length + more for more in beyond)
    types = setting.types
    short = Exactness(admissible(setting, length), types, setting.classes)
    long = [Exactness(admissible(setting, n), types, setting.classes) for n in longer]
    unplanted = (short.counts > 0).any(axis=0) & (setting.planted_label() < 0)
    drawn = exact = with_unplanted = violations = 0
    for _ in range(400):
        weights, votes = random_heads(setting, 4096, rng, short)
        kept = np.flatnonzero(short(weights, votes))[: heads - exact]
        weights, votes = weights[kept], votes[kept]
        holds = np.ones(len(kept), dtype=bool)
        for check in long:
            holds &= check(weights, votes)
        drawn, exact, violations = drawn + 4096, exact + len(kept), violations + int((~holds).sum())
        with_unplanted += int((weights[:, unplanted] > 0).any(axis=1).sum())
        if exact >= heads:
            break
    return TheoremCheck(length, longer, short.strings, drawn, exact, with_unplanted, violations)


def random_heads(setting: Setting, count: int, rng: lw.core.rng.Rng, short: Exactness) -> tuple[ndarray, ndarray]:
    """Weights ``[H, N]`` in 0..4 and votes ``[H, N, Y]`` on and off the corners of the simplex.

    Planted types mostly vote their label. Other types get weight with a probability drawn per head. In half of the
    heads they mostly vote a label that they occur with; otherwise exact heads with unplanted weight would be too rare.
    """
    planted, types = setting.planted_label(), setting.types
    seen = np.stack([(short.counts[short.labels == y] > 0).any(axis=0) for y in range(setting.classes)], axis=1)
    size = (count, types.size)
    stray = rng.choice([0.0, 0.01, 0.03, 0.1, 0.3], size=(count, 1))
    lean = rng.random((count, 1)) < 0.5
    # Types that occur with several labels cannot be exact; these heads omit most of them.
    hopeless = (seen.sum(axis=1) > 1) & (planted < 0)
    stray = np.where(lean & hopeless, stray * 0.02, stray)
    positive = np.where(planted >= 0, rng.random(size) < 0.98, rng.random(size) < stray)
    weights = np.where(positive, rng.integers(1, 5, size=size), 0).astype(np.float64)
    label = rng.integers(setting.classes, size=size)
    label = np.where(lean & (seen.sum(axis=1) == 1), seen.argmax(axis=1), label)
    flipped = rng.random(size) < 0.001
    label = np.where((planted >= 0) & ~flipped, planted, label)
    votes = np.eye(setting.classes)[label]
    mixed = (rng.random(size) < 0.01) & (planted < 0)
    return weights, np.where(mixed[..., None], 0.5 * votes + 0.5 * np.roll(votes, 1, axis=-1), votes)


@dataclass(frozen=True)
class Margins:
    """The largest error and the extreme denominators over all strings of one length, for Theorem B."""

    length: int
    strings: int
    error: float
    smallest_weight: float
    largest_weight: float


def measure_margins(setting: Setting, head: LocalHead, length: int) -> Margins:
    """Margins over every admissible string of ``length``."""
    strings = admissible(setting, length)
    output = head(strings.tokens)
    total = output.denominator
    error = float(output.error(strings.labels).max())
    return Margins(length, len(strings.labels), error, float(total.min()), float(total.max()))


@dataclass(frozen=True)
class ErrorBound:
    """A bound or estimate of the error, its ratio to the error at the training length, and its assumptions."""

    value: float
    factor: float
    assumptions: tuple[str, ...]

    @property
    def vacuous(self) -> bool:
        """Whether the bound is at least 1, which every error satisfies."""
        return self.value >= 1

    def render(self) -> str:
        """The bound and its assumptions, one per line."""
        note = " (says nothing: an error is at most 1)" if self.vacuous else ""
        lines = [f"error ≤ {self.value:.4g}{note}, {self.factor:.4g} times the error at the training length, if"]
        return "\n".join(lines + [f"  - {assumption}" for assumption in self.assumptions])


def theorem_b(margins: Margins, span: int, longer: int) -> ErrorBound:
    """ε·(Z_max/Z_min)·⌈ℓ/(L - 2λ - 1)⌉, for every admissible string of every length up to ``longer``.

    Raises `LengthwiseError` if L < 2(λ + 1), if a denominator is 0, or if ``longer`` is below L.
    """
    need = 2 * (span + 1)
    lw.core.errors.require(
        margins.length >= need, f"the bound needs a length of 2(λ + 1) = {need} or more, got {margins.length}"
    )
    lw.core.errors.require(
        longer >= margins.length, f"the bound is for lengths of {margins.length} or more, got {longer}"
    )
    lw.core.errors.require(
        margins.smallest_weight > 0, "a string without attention weight (0/0) leaves no bound; train further"
    )
    windows = -(-longer // (margins.length - 2 * span - 1))
    factor = margins.largest_weight / margins.smallest_weight * windows
    return ErrorBound(
        value=margins.error * factor,
        factor=factor,
        assumptions=(
            f"every admissible string of length {margins.length} has error at most {margins.error:.4g} "
            f"and weight between {margins.smallest_weight:.4g} and {margins.largest_weight:.4g}",
            "every background token may stand at every free place, and S* at every place where it fits (C1)",
            f"S* has the same offset patterns at all lengths, of span at most λ = {span} (C2)",
            f"weights depend on a tuple's tokens and inner offsets only and vanish beyond span {span} (C3)",
            "votes are points of the probability simplex (C4)",
        ),
    )


def heuristic_error(error: float, k: int, length: int, longer: int, span: int | None) -> ErrorBound:
    """An estimate, not a bound, of the mean error at ``longer`` if stray attention grows like the number of k-tuples.

    ``span`` is λ of a local head (the number of tuples grows like ℓ) or None for a non-local one (like ℓ^k). The odds
    error/(1 - error) are multiplied by the ratio of the numbers of tuples. Raises `LengthwiseError` unless
    0 <= error < 1 and k <= length <= longer.
    """
    lw.core.errors.require(0 <= error < 1, f"an error to start from lies in [0, 1), got {error}")
    lw.core.errors.require(k <= length <= longer, f"lengths need k <= length <= longer, got {k}, {length}, {longer}")
    ratio = number_of_tuples(longer, k, span) / number_of_tuples(length, k, span)
    odds = error / (1 - error) * ratio
    value = odds / (1 + odds)
    return ErrorBound(
        value=value,
        factor=value / error if error else 1.0,
        assumptions=(
            "an estimate of the mean, not a bound",
            "the mean weight of an unplanted tuple and the weight of the planted one do not change with length",
            "votes of unplanted tuples are wrong as often at both lengths",
            f"tuples in reach grow by {ratio:.4g} from length {length} to {longer} "
            + ("(local: linearly)" if span is not None else f"(non-local: like the power k = {k})"),
        ),
    )


def number_of_tuples(length: int, k: int, span: int | None) -> int:
    """The number of k-subsets of ``length`` positions with a span of at most ``span`` (None: any span)."""
    if span is None:
        return comb(length, k)
    return sum(comb(min(span, length - 1 - start), k - 1) for start in range(length))


@dataclass(frozen=True)
class ExpHead:
    """Parameters of a head. ``votes`` fixes g where given (rows of the simplex); otherwise g = softmax(``phi``)."""

    types: TupleTypes
    theta: Float[ndarray, " N"]
    phi: Float[ndarray, "N Y"]
    votes: Float[ndarray, "N Y"] | None = None

    @classmethod
    def flat(cls, types: TupleTypes, classes: int, votes: Float[ndarray, "N Y"] | None = None) -> ExpHead:
        """All weights 1 and all votes uniform."""
        return cls(types, np.zeros(types.size), np.zeros((types.size, classes)), votes)

    @property
    def g(self) -> Float[ndarray, "N Y"]:
        """The votes g, one point of the simplex per tuple type."""
        if self.votes is not None:
            return self.votes
        e = np.exp(self.phi - self.phi.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def table(self) -> LocalHead:
        """The head as a table; the largest weight is scaled to 1, which changes no output."""
        return LocalHead(self.types, np.exp(self.theta - self.theta.max()), self.g)

    def loss(self, counts: Float[ndarray, "B N"], labels: Int[ndarray, " B"]) -> tuple[float, ndarray, ndarray]:
        """Mean of -ln h(X)[y], and its gradients with respect to θ and φ (zero where the votes are fixed).

        With a_i = count_i·exp(θ_i) and Z = Σ a_i: ∂L/∂θ_i = a_i/Z·(1 - g_i[y]/h[y]), and ∂L/∂g_i[y] = -a_i/(Z·h[y]).
        """
        g = self.g
        mass = counts * np.exp(self.theta - self.theta.max())
        share = mass / mass.sum(axis=1, keepdims=True)
        vote = g[:, labels].T
        # A floor keeps the logarithm finite where fixed votes give the label nothing.
        right = np.maximum((share * vote).sum(axis=1), 1e-12)
        ratio = vote / right[:, None]
        d_theta = (share * (1 - ratio)).mean(axis=0)
        d_phi = np.zeros_like(self.phi)
        if self.votes is None:
            pull = -share * ratio / len(labels)
            for y in range(g.shape[1]):
                d_phi[:, y] += pull[labels == y].sum(axis=0)
            d_phi -= pull.sum(axis=0)[:, None] * g
        return float(-np.log(right).mean()), d_theta, d_phi


@dataclass(frozen=True)
class Trained:
    """A trained head and its loss at every step."""

    head: ExpHead
    losses: Float[ndarray, " steps"]


def train(
    head: ExpHead,
    planted: Planted,
    lengths: tuple[int, int],
    rng: lw.core.rng.Rng,
    *,
    steps: int = 300,
    batch: int = 64,
    rate: float = 0.1,
    watch: Callable[[int, ExpHead], None] | None = None,
) -> Trained:
    """Adam on fresh strings; each step draws one length uniformly from ``lengths`` (both ends included).

    ``watch(step, head)`` is called after every step. Raises `LengthwiseError` on an empty range of lengths.
    """
    low, high = lengths
    lw.core.errors.require(1 <= low <= high, f"training lengths need 1 <= low <= high, got {low}..{high}")
    moments = [np.zeros_like(head.theta), np.zeros_like(head.phi), np.zeros_like(head.theta), np.zeros_like(head.phi)]
    losses = []
    for step in range(1, steps + 1):
        sample = planted.sample(batch, int(rng.integers(low, high + 1)), rng)
        counts = head.types.counts(sample.tokens).astype(np.float64)
        loss, *gradient = head.loss(counts, sample.labels)
        losses.append(loss)
        moves = []
        for i, slope in enumerate(gradient):
            moments[i] = 0.9 * moments[i] + 0.1 * slope
            moments[2 + i] = 0.99 * moments[2 + i] + 0.01 * slope**2
            mean, square = moments[i] / (1 - 0.9**step), moments[2 + i] / (1 - 0.99**step)
            moves.append(rate * mean / (np.sqrt(square) + 1e-8))
        head = replace(head, theta=head.theta - moves[0], phi=head.phi - moves[1])
        if watch is not None:
            watch(step, head)
    return Trained(head, np.array(losses))


Samples = Sequence[Strings | PlantedStrings]
"""One group of strings per length."""


@dataclass(frozen=True)
class HeadClass:
    """H table heads over the same tuple types."""

    types: TupleTypes
    weights: Float[ndarray, "H N"]
    votes: Float[ndarray, "H N Y"]

    def __len__(self) -> int:
        return len(self.weights)

    def __getitem__(self, index: int) -> LocalHead:
        return LocalHead(self.types, self.weights[index], self.votes[index])


@dataclass(frozen=True)
class Minimizers:
    """The smallest empirical risk, the indices of all heads that attain it, and every head's risk."""

    risk: float
    indices: tuple[int, ...]
    risks: Float[ndarray, " H"]

    @property
    def tied(self) -> bool:
        """Whether several heads attain the smallest risk."""
        return len(self.indices) > 1


def empirical_risk(heads: HeadClass, samples: Samples) -> Float[ndarray, " H"]:
    """Loss 1 - h(X)[y] averaged over the strings of each length, then over lengths (0/0 costs 1)."""
    lw.core.errors.require(
        len(samples) > 0, "a risk needs at least one group of strings; give samples of one length or more"
    )
    total = np.zeros(len(heads))
    for sample in samples:
        counts = heads.types.counts(sample.tokens).astype(np.float64)
        denominator = heads.weights @ counts.T
        right = np.zeros_like(denominator)
        for y in np.unique(sample.labels):
            rows = sample.labels == y
            right[:, rows] = (heads.weights * heads.votes[..., y]) @ counts[rows].T
        share = np.divide(right, denominator, out=np.zeros_like(right), where=denominator > 0)
        total += 1 - share.mean(axis=1)
    return total / len(samples)


def exact_learner(heads: HeadClass, samples: Samples, tolerance: float = 1e-12) -> Minimizers:
    """All heads of smallest empirical risk; risks within ``tolerance`` (rounding) are equal."""
    risks = empirical_risk(heads, samples)
    best = float(risks.min())
    return Minimizers(best, tuple(np.flatnonzero(risks <= best + tolerance).tolist()), risks)


@dataclass(frozen=True)
class VersionSpace:
    """Every zero-risk head among all tables with weights in {0, 1} and votes for one label.

    A head has zero risk if and only if each positive entry votes the label of every string in which it occurs, and each
    string has a positive entry. Per entry, ``label`` is the only label it occurs with, -1 if it occurs in no string (it
    is free), -2 if it occurs with several labels (its weight must be 0). ``covers`` holds, per training string, the
    entries of which at least one must be positive.
    """

    types: TupleTypes
    classes: int
    label: Int[ndarray, " N"]
    covers: Bool[ndarray, "R N"]

    @classmethod
    def of(cls, types: TupleTypes, samples: Samples, classes: int) -> VersionSpace:
        """The zero-risk heads for these samples; raises `LengthwiseError` if there are none."""
        counts = np.concatenate([types.counts(s.tokens) for s in samples])
        return cls.of_counts(types, counts, np.concatenate([s.labels for s in samples]), classes)

    @classmethod
    def of_counts(cls, types: TupleTypes, counts: ndarray, labels: ndarray, classes: int) -> VersionSpace:
        """The same from counts of tuple types ``[M, N]``, or from whether the types occur (bool)."""
        occurs = np.stack([(counts[labels == y] > 0).any(axis=0) for y in range(classes)])
        number = occurs.sum(axis=0)
        label = np.where(number == 0, -1, np.where(number > 1, -2, occurs.argmax(axis=0)))
        covers = (counts > 0) & (label >= 0)
        size = covers.sum(axis=1)
        lw.core.errors.require(
            bool((size > 0).all()), "no head of the class is exact on these strings; use a richer class"
        )
        # Rows of one entry come first; rows that contain the entry of such a row are met with it and not kept.
        alone = covers[size == 1].any(axis=0)
        rest = np.unique(covers[~covers[:, alone].any(axis=1)], axis=0)
        return cls(types, classes, label, np.concatenate([np.eye(len(label), dtype=bool)[alone], rest]))

    @property
    def unseen(self) -> int:
        """The number of entries that occur in no training string."""
        return int((self.label == -1).sum())

    def settled(self, counts: ndarray, labels: ndarray) -> Bool[ndarray, " M"]:
        """The strings on which *every* zero-risk head gives exactly the label.

        No entry of such a string is free or votes for another label, and its entries include the whole cover of some
        training string, so that every zero-risk head has weight there.
        """
        present = counts > 0
        wrong = (present & (self.label == -1)).any(axis=1)
        wrong |= (present & (self.label >= 0) & (self.label != labels[:, None])).any(axis=1)
        missing = self.covers.astype(np.float32) @ (~present).T.astype(np.float32)
        return ~wrong & (missing == 0).any(axis=0)

    def draw(self, count: int, rng: lw.core.rng.Rng, free: float = 0.5) -> HeadClass:
        """``count`` random zero-risk heads.

        A free entry gets weight 1 and a random vote with probability ``free``. An entry with one label gets weight 1
        with probability 1/2, and always where a training string would otherwise have no weight.
        """
        size = (count, len(self.label))
        seen = self.label >= 0
        positive = np.where(seen, rng.random(size) < 0.5, (self.label == -1) & (rng.random(size) < free))
        for row in positive:
            bare = ~(self.covers & row).any(axis=1)
            row |= self.covers[bare].any(axis=0)
        vote = np.where(seen, self.label, rng.integers(self.classes, size=size))
        return HeadClass(self.types, positive.astype(np.float64), np.eye(self.classes)[vote])


@dataclass(frozen=True)
class Counterexample:
    """A head that is exact on every checked string and wrong on a longer one.

    ``weights`` lists the positively weighted tuples as text (`TupleTypes.describe`) with their vote for label 1; label
    0 gets the rest. ``failure`` is the longer string; ``output`` the value given to its label (None for 0/0).
    """

    dropped: str
    setting: Setting
    length: int
    longer: int
    checked: int
    weights: tuple[tuple[str, float], ...]
    failure: tuple[int, ...]
    label: int
    output: float | None

    def render(self) -> str:
        """The counterexample as five lines of text."""
        s = self.setting
        words = ", ".join(f"{''.join(map(str, w))}→{y}" for w, y in zip(s.words, s.labels, strict=True))
        offsets = ", ".join("+".join(map(str, p)) for p in s.patterns)
        heads = "; ".join(f"{name} votes {_number(vote)}" for name, vote in self.weights)
        value = "h is 0/0" if self.output is None else f"h gives it {_number(self.output)}"
        return "\n".join(
            [
                f"Without {self.dropped}:",
                f"  data    k = {s.k}, background {set(s.background)}, words {words}, offsets {offsets}, λ = {s.span}",
                f"  head    weight 1 on: {heads}   (votes = probability of label 1)",
                f"  exact   on all {self.checked} strings checked at length {self.length}",
                f"  wrong   at length {self.longer}: {''.join(map(str, self.failure))} has label {self.label}, {value}",
            ]
        )


def counterexamples() -> list[Counterexample]:
    """The smallest counterexample for each dropped condition, in a fixed order; takes under a second."""
    return [search() for search in SEARCHES.values()]


def without_bounded_span() -> Counterexample:
    """Without locality of the class, first half: weights may be positive at any span (C3)."""
    return _first("locality of the class (weights beyond span λ)", _settings(), reach=lambda s, longer: longer - 1)


def without_relative_positions() -> Counterexample:
    """Without locality of the class, second half: weights may depend on the absolute position (C3)."""
    return _first("locality of the class (weights that see the absolute place)", _settings(), absolute=True)


def without_full_background() -> Counterexample:
    """Without full background support: one background token occurs in no checked string (C1)."""
    return _first("full background support", _settings(backgrounds=2), hidden_background=1)


def without_simplex_votes() -> Counterexample:
    """Simplex-valued g: votes may be any multiple of 1/2 between -1 and 2, still summing to 1 over labels (C4)."""
    votes = tuple(np.arange(-1, 2.5, 0.5))
    return _first("votes in the probability simplex", _settings(), votes=votes)


def without_coverage() -> Counterexample:
    """Without coverage of offsets: one allowed offset pattern occurs in no checked string (C2)."""
    return _first("coverage of offsets", _settings(patterns=2), hidden_pattern=True)


def without_enough_length() -> Counterexample:
    """A length below 2(λ + 1) (C6); where a pattern fills its span, the bound is tight."""
    return _first("a length of at least 2(λ + 1)", _settings(), length=lambda s: s.sufficient_length - 1)


SEARCHES: dict[str, Callable[[], Counterexample]] = {
    "locality (span)": without_bounded_span,
    "locality (place)": without_relative_positions,
    "full support": without_full_background,
    "simplex": without_simplex_votes,
    "coverage": without_coverage,
    "length": without_enough_length,
}


def _settings(*, backgrounds: int = 1, patterns: int = 1) -> Iterator[Setting]:
    """Small settings with both labels, the smallest first."""
    for k, alphabet, span in product((1, 2), (2, 3, 4), (0, 1, 2)):
        shapes = offset_patterns(k, span) if span >= k - 1 else ()
        chosen = [c for c in combinations(shapes, patterns) if c[-1][-1] == span]
        for kept in chosen:
            background = tuple(range(backgrounds))
            for count in (2, 3):
                for words in combinations(list(product(range(alphabet), repeat=k)), count):
                    for labels in product((0, 1), repeat=count):
                        if len(set(labels)) == 2:
                            yield Setting(alphabet, background, words, labels, kept, span)


def _first(
    dropped: str,
    settings: Iterator[Setting],
    *,
    length: Callable[[Setting], int] = lambda s: s.sufficient_length,
    reach: Callable[[Setting, int], int] = lambda s, longer: s.span,
    votes: tuple[float, ...] = (0.0, 1.0),
    absolute: bool = False,
    hidden_background: int = 0,
    hidden_pattern: bool = False,
) -> Counterexample:
    for setting in settings:
        short = length(setting)
        longer = short + 1
        if short <= setting.span:
            continue
        train_setting = _restrict(setting, hidden_background, hidden_pattern)
        train, test = admissible(train_setting, short), admissible(setting, longer)
        if _ambiguous(test) or _ambiguous(admissible(setting, short)):
            continue
        features = _features(setting, reach(setting, longer), absolute)
        before, names = features(train.tokens, longer)
        after, _ = features(test.tokens, longer)
        found = _search(before, train.labels, after, test.labels, votes)
        if found is None:
            continue
        chosen, vote, row = found
        total = after[row][chosen].sum()
        share = None if total == 0 else float(after[row][chosen] @ vote / total)
        label = int(test.labels[row])
        return Counterexample(
            dropped=dropped,
            setting=setting,
            length=short,
            longer=longer,
            checked=len(train.labels),
            weights=tuple((names[i], float(v)) for i, v in zip(chosen, vote, strict=True)),
            failure=tuple(int(t) for t in test.tokens[row]),
            label=label,
            output=share if share is None or label == 1 else 1 - share,
        )
    raise LookupError(f"no counterexample without {dropped} in the settings searched")


def _restrict(setting: Setting, hidden_background: int, hidden_pattern: bool) -> Setting:
    background = setting.background[: len(setting.background) - hidden_background]
    patterns = setting.patterns[:-1] if hidden_pattern else setting.patterns
    return Setting(setting.alphabet, background, setting.words, setting.labels, patterns, setting.span)


def _ambiguous(strings: Strings) -> bool:
    """Whether one string has two labels, so that no head can be exact."""
    return len(np.unique(strings.tokens, axis=0)) < len(strings.tokens)


def _features(setting: Setting, reach: int, absolute: bool) -> Callable[[ndarray, int], tuple[ndarray, list[str]]]:
    """Counts of the features of a weight: tuple types up to span ``reach``, or tuples at every absolute position."""
    types = TupleTypes(setting.alphabet, offset_patterns(setting.k, reach))

    def relative(tokens: ndarray, longer: int) -> tuple[ndarray, list[str]]:
        return types.counts(tokens), [types.describe(i) for i in range(types.size)]

    def at_positions(tokens: ndarray, longer: int) -> tuple[ndarray, list[str]]:
        length = tokens.shape[1]
        blocks, names = [], []
        for start in range(longer):
            window = tokens[:, start : start + reach + 1] if start < length else tokens[:, :0]
            # Tuples that start here: those of the window minus those of the window without its first position.
            inside = types.counts(window) - types.counts(window[:, 1:])
            blocks.append(inside)
            names += [f"{types.describe(i)} at place {start}" for i in range(types.size)]
        return np.concatenate(blocks, axis=1), names

    return at_positions if absolute else relative


def _search(
    before: ndarray, labels: ndarray, after: ndarray, after_labels: ndarray, votes: tuple[float, ...]
) -> tuple[ndarray, ndarray, int] | None:
    """The smallest set of features with weight 1 and votes, exact on ``before`` and wrong on a row of ``after``.

    Only features that occur in some string can matter. Some head must be exact on both sets of strings.
    """
    useful = np.flatnonzero((before > 0).any(axis=0) | (after > 0).any(axis=0))
    if len(useful) > 18 or not _solvable(np.vstack([before, after]), np.concatenate([labels, after_labels])):
        return None
    for size in range(1, min(len(useful), 6) + 1):
        grid = np.array(list(product(votes, repeat=size)))
        for chosen in combinations(useful.tolist(), size):
            columns = np.array(chosen)
            # Most sets leave some string without weight, for any votes.
            if not (before[:, columns].sum(axis=1) > 0).all():
                continue
            exact = _exact(before[:, columns], labels, grid)
            if not exact.any():
                continue
            right = _exact(after[:, columns], after_labels, grid[exact])
            if not right.all():
                vote = grid[exact][~right][0]
                wrong = ~_rows(after[:, columns], after_labels, vote[None])[0]
                return columns, vote, int(np.flatnonzero(wrong)[0])
    return None


def _solvable(counts: ndarray, labels: ndarray) -> bool:
    """Whether weight 1 on every feature that occurs with one label only is exact on all the strings."""
    occurs = np.stack([(counts[labels == y] > 0).any(axis=0) for y in (0, 1)])
    unanimous = occurs.sum(axis=0) == 1
    return bool((counts[:, unanimous].sum(axis=1) > 0).all())


def _exact(counts: ndarray, labels: ndarray, votes: ndarray) -> ndarray:
    return np.all(_rows(counts, labels, votes), axis=1)


def _rows(counts: ndarray, labels: ndarray, votes: ndarray) -> ndarray:
    """Whether heads (rows of ``votes``, weight 1 everywhere) are exact on each string; half-integers, so exact."""
    total = counts.sum(axis=1)
    return np.asarray((total > 0) & (votes @ counts.T == total * labels))


def _number(value: float) -> str:
    return f"{value:.3g}"
