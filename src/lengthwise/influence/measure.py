"""Which earlier tokens a prediction needs: greedy selection, scores and their summary."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int, Num
from numpy import ndarray
from pydantic import Field

from lengthwise.core.config import AtLeast1, AtLeast2, NotNegative, config, fields_of
from lengthwise.core.errors import require
from lengthwise.core.registry import Registry
from lengthwise.core.rng import Rng, stream
from lengthwise.core.statistics import spearman
from lengthwise.influence.models import LanguageModel

if TYPE_CHECKING:
    from lengthwise.influence.corpus import Windows


@config
class MeasureConfig:
    """The settings of `measure`.

    Each target has ``context`` (L̄) tokens before it, of which the last ``recent`` (L) are always visible. ``ks`` are
    the numbers of influential tokens. ``keep_first`` keeps position 0 visible, as a control for attention sinks; the
    block then starts at 1. ``bootstrap`` is the number of resamples. Raises `ValueError` for inconsistent numbers.
    """

    context: int = 128
    recent: int = 64
    ks: tuple[int, ...] = (1, 2, 4, 8, 16)
    targets: AtLeast1 = 200
    rules: tuple[str, ...] = ("greedy", "one-shot", "gradient-input", "attention", "surrogate", "random", "last-k")
    keep_first: bool = False
    seed: int = 0
    bootstrap: AtLeast1 = 1000

    def __post_init__(self) -> None:
        if not 1 <= self.recent < self.context:
            raise ValueError(f"recent must be from 1 to context - 1 = {self.context - 1}, got {self.recent}")
        if not self.ks or min(self.ks) < 1 or list(self.ks) != sorted(set(self.ks)):
            raise ValueError(f"ks must be different numbers of at least 1 in increasing order, got {list(self.ks)}")
        if self.most > self.block:
            raise ValueError(
                f"k = {self.most} influential tokens don't fit into a block of {self.block}; "
                "lower k, or raise context minus recent"
            )
        if "greedy" not in self.rules or len(set(self.rules)) != len(self.rules):
            raise ValueError(f"rules must name greedy and none twice, got {list(self.rules)}")

    @property
    def start(self) -> int:
        """First position of the block."""
        return int(self.keep_first)

    @property
    def block(self) -> int:
        """Number of tokens that can be masked."""
        return self.context - self.recent - self.start

    @property
    def most(self) -> int:
        """The largest k."""
        return max(self.ks)


NEEDS_CONTEXT = 0.1
"""A target needs the context if the whole context lowers its loss by more than this, in nats."""
SPAN_BINS = 8


class Resamples:
    """Bootstrap weights [S, D]: how often each of D documents is drawn in each of S = ``count`` resamples.

    With fewer than two documents, ``weights`` and every interval are None.
    """

    def __init__(self, documents: Int[ndarray, " N"], count: int, rng: Rng) -> None:
        _, self.owner = np.unique(documents, return_inverse=True)
        self.documents = int(self.owner.max(initial=-1)) + 1
        self.weights: Float[ndarray, "S D"] | None = None
        if self.documents > 1:
            drawn = rng.multinomial(self.documents, np.full(self.documents, 1 / self.documents), size=count)
            self.weights = drawn.astype(float)

    def sums(self, values: Float[ndarray, " N"], included: Bool[ndarray, " N"]) -> Float[ndarray, " S"]:
        """The sum of the ``included`` values in every resample."""
        assert self.weights is not None
        by_document = np.bincount(self.owner[included], weights=values[included], minlength=self.documents)
        return self.weights @ by_document


def recovered(x: Float[ndarray, " N"], y: Float[ndarray, " N"]) -> float | None:
    """R_k = Σx / Σy; None if Σy is not positive."""
    total = float(y.sum())
    return float(x.sum()) / total if total > 0 else None


def line(x: Float[ndarray, " N"], y: Float[ndarray, " N"]) -> tuple[float, float] | None:
    """Slope and intercept of the least-squares line of y on x; None if x does not vary."""
    spread = float(((x - x.mean()) ** 2).sum()) if len(x) else 0.0
    if len(x) < 2 or spread <= 1e-18 * len(x):
        return None
    slope = float(((x - x.mean()) * (y - y.mean())).sum()) / spread
    return slope, float(y.mean() - slope * x.mean())


def gains(
    x: Float[ndarray, " N"], y: Float[ndarray, " N"], resamples: Resamples, included: Bool[ndarray, " N"] | None = None
) -> dict[str, Any]:
    """R_k and the regression line of the ``included`` targets, each with a 95 % interval or None."""
    included = np.ones(len(x), dtype=bool) if included is None else included
    fit = line(x[included], y[included])
    result: dict[str, Any] = {
        "recovered": recovered(x[included], y[included]),
        "interval": None,
        "slope": None if fit is None else fit[0],
        "slope_interval": None,
        "intercept": None if fit is None else fit[1],
    }
    if resamples.weights is None or not included.any():
        return result
    count, sx, sy, sxx, sxy = (resamples.sums(v, included) for v in (np.ones_like(x), x, y, x * x, x * y))
    if result["recovered"] is not None and (sy > 0).all():
        result["interval"] = interval(sx / sy)
    spread = count * sxx - sx * sx
    if fit is not None and (spread > 1e-12 * np.maximum(count * sxx, 1e-300)).all():
        result["slope_interval"] = interval((count * sxy - sx * sy) / spread)
    return result


def interval(values: Float[ndarray, " S"]) -> list[float]:
    """The 2.5 % and 97.5 % quantiles of S values."""
    return [float(edge) for edge in np.quantile(values, (0.025, 0.975))]


def by_k(
    losses: Float[ndarray, "N m"],
    short: Float[ndarray, " N"],
    y: Float[ndarray, " N"],
    ks: tuple[int, ...],
    resamples: Resamples,
    included: Bool[ndarray, " N"] | None = None,
) -> dict[str, Any]:
    """`gains` for every k, from ``losses`` with the first 1, …, m tokens visible."""
    return {str(k): gains(short - losses[:, k - 1], y, resamples, included) for k in ks}


def spans(order: Int[ndarray, "N m"], context: int, block: Int[ndarray, " n"], ks: tuple[int, ...]) -> dict[str, Any]:
    """Distances from the target to the first k chosen tokens: counts per bin, and the shares of a uniform choice.

    The token before the target has distance 1. Bins include their left edge.
    """
    nearest, farthest = context - int(block[-1]), context - int(block[0])
    edges = np.unique(np.linspace(nearest, farthest + 1, min(SPAN_BINS, farthest + 1 - nearest) + 1).round())
    distances = context - order
    return {
        "edges": [int(edge) for edge in edges],
        "uniform": [float(share) for share in np.histogram(context - block, edges)[0] / len(block)],
        "counts": {str(k): np.histogram(distances[:, :k], edges)[0].tolist() for k in ks},
        "mean": {str(k): float(distances[:, :k].mean()) for k in ks},
    }


def overlap(orders: dict[str, Int[ndarray, "N m"]], block: int, ks: tuple[int, ...]) -> dict[str, Any]:
    """For each pair of rules and each k, the mean share of common tokens; a uniform choice has ``chance`` k / n."""
    pairs = []
    for first, second in combinations(orders, 2):
        common = {
            str(k): float((orders[first][:, :k, None] == orders[second][:, None, :k]).any(axis=2).mean()) for k in ks
        }
        pairs.append({"rules": [first, second], "common": common})
    return {"pairs": pairs, "chance": {str(k): k / block for k in ks}}


def extrapolation(
    x: dict[int, Float[ndarray, " N"]], y: Float[ndarray, " N"], gap: Float[ndarray, " N"], resamples: Resamples
) -> dict[str, Any]:
    """Spearman's correlation of the share x/y with ``gap``, over the targets that need the context, for each k.

    ``gap`` is the additional loss, in nats, of the model trained at a shorter context. Shares are clipped to [0, 1].
    The paper expects a negative correlation: sparse dependence extrapolates better. The entry itself is that of the
    smallest k; ``by_k`` holds all.
    """
    included = y > NEEDS_CONTEXT
    found: dict[str, Any] = {}
    for k, gained in x.items():
        # Shares that differ by rounding errors only get the same rank.
        share = np.clip(gained[included] / y[included], 0, 1).round(9)
        found[str(k)] = {
            "rank_correlation": _correlation(share, gap[included]),
            "interval": _spearman_interval(share, gap[included], resamples, included),
        }
    return {"targets": int(included.sum()), "k": min(x), **found[str(min(x))], "by_k": found}


def _correlation(a: Float[ndarray, " N"], b: Float[ndarray, " N"]) -> float | None:
    """Spearman's ρ; None if either does not vary."""
    value = float(spearman(a, b)) if len(a) > 1 else float("nan")
    return None if np.isnan(value) else value


def _spearman_interval(
    share: Float[ndarray, " M"], gap: Float[ndarray, " M"], resamples: Resamples, included: Bool[ndarray, " N"]
) -> list[float] | None:
    if resamples.weights is None:
        return None
    repeats = resamples.weights[:, resamples.owner[included]].astype(int)
    drawn = [_correlation(np.repeat(share, row), np.repeat(gap, row)) for row in repeats]
    known = [value for value in drawn if value is not None]
    return interval(np.array(known)) if known and len(known) == len(drawn) else None


EntryValues = dict[str, ndarray]
"""Measured arrays with targets along the first axis: ``long``, ``short``, ``order/RULE``, ``losses/RULE`` and more."""
Pieces = Callable[[Sequence[int]], list[str]]
"""Maps token ids to the text of each token."""


def target_entries(
    values: EntryValues, windows: Windows, config: MeasureConfig, pieces: Pieces | None
) -> Iterator[dict[str, Any]]:
    """Yield one entry per target."""
    ids = [int(token) for token in windows.tokens[:, -1]]
    # Each token separately, since decoding may depend on neighbours.
    shown = [pieces([token])[0] for token in ids] if pieces is not None else [str(token) for token in ids]

    def chosen(name: str, i: int) -> dict[str, Any]:
        return {"order": [int(at) for at in values[f"order/{name}"][i]], "losses": rounded(values[f"losses/{name}"][i])}

    for i, token in enumerate(shown):
        entry: dict[str, Any] = {
            "document": windows.names[int(windows.documents[i])],
            "at": int(windows.offsets[i]),
            "token": token,
            "long": rounded(values["long"][i]),
            "short": rounded(values["short"][i]),
            "chosen": {name: chosen(name, i) for name in config.rules},
        }
        if "order/cross" in values:
            entry["cross"] = chosen("cross", i)
        if "order/null" in values:
            entry["null"] = {"long": rounded(values["null long"][i]), **chosen("null", i)}
        if "extrapolated long" in values:
            entry["extrapolation"] = {
                "long": rounded(values["extrapolated long"][i]),
                "short": rounded(values["extrapolated short"][i]),
            }
        yield entry


def rounded(losses: Any) -> Any:
    """Losses in nats, rounded to seven decimals, which is finer than float32."""
    return np.round(losses, 7).tolist()


def summary(values: EntryValues, windows: Windows, config: MeasureConfig) -> dict[str, Any]:
    """R_k and regression lines with intervals by rule and k; spans, overlap of rules, and extrapolation."""
    short: Float[ndarray, " N"] = values["short"]
    y = short - values["long"]
    resamples = Resamples(windows.documents, config.bootstrap, stream(config.seed, "bootstrap"))
    needing = y > NEEDS_CONTEXT

    def rows(name: str, among: Any = None) -> dict[str, Any] | None:
        losses = values.get(f"losses/{name}")
        return None if losses is None else by_k(losses, short, y, config.ks, resamples, among)

    def beyond_null(among: Any = None) -> dict[str, Any] | None:
        """R_k with x = L_null(k) − L_sparse(k): the gain minus that of a block of another document."""
        if "losses/null" not in values:
            return None
        x = values["losses/null"] - values["losses/greedy"]
        return by_k(short[:, None] - x, short, y, config.ks, resamples, among)

    orders = {name: values[f"order/{name}"] for name in config.rules}
    block = np.arange(config.start, config.context - config.recent)
    sparse = {k: short - values["losses/greedy"][:, k - 1] for k in config.ks}
    return {
        "targets": len(short),
        "documents": resamples.documents,
        "mean": {"long": float(values["long"].mean()), "short": float(short.mean())},
        "rules": {name: rows(name) for name in config.rules},
        "cross": rows("cross"),
        "null": rows("null"),
        "beyond_null": beyond_null(),
        "needs_context": {
            "threshold": NEEDS_CONTEXT,
            "targets": int(needing.sum()),
            "share_of_gain": float(y[needing].sum()) / float(y.sum()) if y.sum() > 0 else None,
            "rules": {name: rows(name, needing) for name in config.rules},
            "cross": rows("cross", needing),
            "beyond_null": beyond_null(needing),
            "others": {name: rows(name, ~needing) for name in config.rules},
        },
        "spans": spans(orders["greedy"], config.context, block, config.ks),
        "overlap": overlap(orders, config.block, config.ks),
        "extrapolation": _extrapolation(values, sparse, y, resamples),
    }


def _extrapolation(
    values: EntryValues, sparse: dict[int, ndarray], y: Float[ndarray, " N"], resamples: Resamples
) -> dict[str, Any] | None:
    if "extrapolated long" not in values:
        return None
    gap = values["extrapolated long"] - values["long"]
    return {
        "mean": {name: float(values[f"extrapolated {name}"].mean()) for name in ("long", "short")},
        **extrapolation(sparse, y, gap, resamples),
    }


class Scorer:
    """The losses of N windows under masks.

    ``tokens`` are the contexts and ``targets`` the tokens after them. The last ``recent`` positions are always visible,
    with ``keep_first`` also position 0; the others are the ``block``. ``ids`` are the position ids of the windows, by
    default those that the model gives them; masks do not change them. ``forwards`` counts rows given to the model, and
    ``seconds`` their time. Every method raises `LengthwiseError` if a loss is not finite.
    """

    def __init__(
        self,
        model: LanguageModel,
        tokens: Int[ndarray, "N Lbar"],
        targets: Int[ndarray, " N"],
        recent: int,
        *,
        keep_first: bool = False,
        ids: Num[ndarray, "N Lbar *levels"] | None = None,
    ) -> None:
        self.model, self.tokens, self.targets = model, tokens, targets
        self.ids = model.window_ids(tokens) if ids is None else ids
        self.context = tokens.shape[1]
        self.block: Int[ndarray, " n"] = np.arange(int(keep_first), self.context - recent)
        self.always: Bool[ndarray, " Lbar"] = np.ones(self.context, dtype=bool)
        self.always[self.block] = False
        self.forwards, self.seconds = 0, 0.0
        self._known: dict[tuple[int, frozenset[int]], float] = {}

    def __len__(self) -> int:
        return len(self.tokens)

    def losses(self, rows: Int[ndarray, " R"], visible: Bool[ndarray, "R Lbar"]) -> Float[ndarray, " R"]:
        """The loss of window ``rows[i]`` with the tokens ``visible[i]`` visible, for each i."""
        result = np.empty(len(rows))
        counts = visible.sum(axis=1)
        for count in np.unique(counts):
            alike = np.flatnonzero(counts == count)
            size = max(1, self.model.batch_tokens // int(count))
            for first in range(0, len(alike), size):
                part = alike[first : first + size]
                positions = np.nonzero(visible[part])[1].reshape(len(part), int(count))
                result[part] = self._forward(rows[part], positions)
        return result

    def _forward(self, rows: Int[ndarray, " B"], positions: Int[ndarray, "B T"]) -> Float[ndarray, " B"]:
        started = time.perf_counter()
        at = (rows[:, None], positions)
        found = self.model.target_losses(self.tokens[at], self.ids[at], self.targets[rows])
        self.seconds += time.perf_counter() - started
        self.forwards += len(found)
        bad = np.flatnonzero(~np.isfinite(found))
        require(
            not len(bad),
            f"model {self.model.name} gives a loss of {found[bad[0]] if len(bad) else 0} nats; "
            "its weights are damaged, or numbers overflow: use another model",
        )
        return found

    def revealed(self, rows: Int[ndarray, " R"], positions: Int[ndarray, "R m"]) -> Float[ndarray, " R"]:
        """Losses with the block's tokens at ``positions`` visible."""
        visible = np.repeat(self.always[None], len(rows), axis=0)
        np.put_along_axis(visible, positions, True, axis=1)
        return self.losses(rows, visible)

    def joined(self, chosen: Int[ndarray, "N s"], added: Int[ndarray, "N n"]) -> Float[ndarray, "N n"]:
        """Losses with ``chosen`` and one token of ``added`` visible, for each token of ``added``."""
        tried = np.concatenate([np.repeat(chosen[:, None], added.shape[1], axis=1), added[:, :, None]], axis=2)
        rows = np.repeat(np.arange(len(self)), added.shape[1])
        losses = self.revealed(rows, tried.reshape(len(rows), -1)).reshape(added.shape)
        for row, before in enumerate(chosen.tolist()):
            for j, loss in zip(added[row].tolist(), losses[row].tolist(), strict=True):
                self._known[row, frozenset((*before, j))] = loss
        return losses

    @cached_property
    def long(self) -> Float[ndarray, " N"]:
        """L_long: losses with the whole context visible."""
        return self.losses(np.arange(len(self)), np.ones(self.tokens.shape, dtype=bool))

    @cached_property
    def short(self) -> Float[ndarray, " N"]:
        """L_short: losses with the block masked."""
        rows = np.arange(len(self))
        return self.revealed(rows, np.empty((len(rows), 0), dtype=np.int64))

    @cached_property
    def singles(self) -> Float[ndarray, "N n"]:
        """Losses with one token of the block visible, for each of its tokens."""
        nothing = np.empty((len(self), 0), dtype=np.int64)
        return self.joined(nothing, np.tile(self.block, (len(self), 1)))

    def path(self, order: Int[ndarray, "N k"]) -> Float[ndarray, "N k"]:
        """L_short,sparse(1..k): losses with the first 1, 2, …, k tokens of ``order`` visible."""
        return np.stack([self._losses_with(order[:, : k + 1]) for k in range(order.shape[1])], axis=1)

    def _losses_with(self, chosen: Int[ndarray, "N m"]) -> Float[ndarray, " N"]:
        """Losses with ``chosen`` visible; losses known from a search are reused."""
        found = np.array([self._known.get((row, frozenset(one)), np.nan) for row, one in enumerate(chosen.tolist())])
        new = np.flatnonzero(np.isnan(found))
        found[new] = self.revealed(new, chosen[new])
        return found

    @cached_property
    def attention(self) -> Float[ndarray, "N Lbar"]:
        """Attention of the last token to each token, with the whole context visible."""
        parts = [self.model.attention(self.tokens[part], self.ids[part]) for part in self._chunks()]
        return np.concatenate(parts)

    @cached_property
    def gradient_input(self) -> Float[ndarray, "N Lbar"]:
        """−gradient · input of each token, with the whole context visible."""
        parts = [
            self.model.gradient_input(self.tokens[part], self.ids[part], self.targets[part]) for part in self._chunks()
        ]
        return np.concatenate(parts)

    def _chunks(self) -> list[slice]:
        size = max(1, self.model.batch_tokens // self.context)
        return [slice(first, first + size) for first in range(0, len(self), size)]


STEPS, TOLERANCE = 5000, 1e-7
"""Largest number of proximal steps, and the change of a coefficient below which they stop."""


def lasso(
    inputs: Float[ndarray, "N m n"], outputs: Float[ndarray, "N m"], alpha: float
) -> tuple[Float[ndarray, "N n"], Float[ndarray, "N n"]]:
    """Coefficients w that minimize |y − Xw|² / 2m + alpha·|w|₁ for each of N problems, and the correlations of y and X.

    Inputs and outputs are standardized (a constant column becomes 0), so coefficients have no unit. The method is
    accelerated proximal gradient descent (Beck & Teboulle 2009) with restarts.
    """
    x, y = _standardized(inputs), _standardized(outputs[:, :, None])
    gram = x.mT @ x / x.shape[1]
    correlations = (x.mT @ y)[:, :, 0] / x.shape[1]
    step = 1 / np.maximum(np.linalg.norm(gram, ord=2, axis=(1, 2)), 1e-12)[:, None]
    weights = np.zeros_like(correlations)
    ahead, momentum = weights, np.ones((len(weights), 1))
    for _ in range(STEPS):
        moved = ahead - step * ((gram @ ahead[:, :, None])[:, :, 0] - correlations)
        new = np.sign(moved) * np.maximum(np.abs(moved) - step * alpha, 0)
        # A problem whose momentum increases its objective restarts.
        uphill = ((ahead - new) * (new - weights)).sum(axis=1, keepdims=True) > 0
        momentum = np.where(uphill, 1.0, momentum)
        larger = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new + np.where(uphill, 0.0, (momentum - 1) / larger) * (new - weights)
        change = np.abs(new - weights).max(initial=0)
        weights, momentum = new, larger
        if change < TOLERANCE:
            break
    return weights, correlations


def _standardized(values: Float[ndarray, "N m n"]) -> Float[ndarray, "N m n"]:
    centred = values - values.mean(axis=1, keepdims=True)
    spread = centred.std(axis=1, keepdims=True)
    return np.where(spread > 0, centred / np.where(spread > 0, spread, 1), 0)


Draws = Callable[[int], Rng]
"""Maps i to the random stream of the scorer's i-th target."""


class SelectionRule(ABC):
    """A rule that orders tokens of the block, most influential first."""

    name: ClassVar[str]
    summary: ClassVar[str] = ""

    @abstractmethod
    def order(self, scorer: Scorer, most: int, draws: Draws) -> Int[ndarray, "N k"]:
        """Positions of the ``most`` most influential tokens of each of N targets, without repetition."""


SELECTION_RULES: Registry[SelectionRule] = Registry("selection rule")


@SELECTION_RULES.register("greedy")
class Greedy(SelectionRule):
    """J_1 lowers the loss most, J_2 lowers it most given J_1, and so on; of equal tokens the first is taken.

    Takes k·n − k(k − 1)/2 forward passes per target for a block of n tokens. Each step is exact, but the set need not
    be the best of its size: greedy search misses tokens that lower the loss only together.
    """

    summary = "adds the token that lowers the loss most, step by step"

    def order(self, scorer: Scorer, most: int, draws: Draws) -> Int[ndarray, "N k"]:
        targets, block = len(scorer), scorer.block
        rows = np.arange(targets)
        chosen = block[scorer.singles.argmin(axis=1)][:, None]
        for _ in range(1, most):
            left = np.stack([np.setdiff1d(block, taken) for taken in chosen])
            best = scorer.joined(chosen, left).argmin(axis=1)
            chosen = np.concatenate([chosen, left[rows, best][:, None]], axis=1)
        return chosen


@SELECTION_RULES.register("one-shot")
class OneShot(SelectionRule):
    """The tokens that lower the loss most when each is visible alone: the first step of `Greedy`."""

    summary = "the tokens that lower the loss most when visible alone"

    def order(self, scorer: Scorer, most: int, draws: Draws) -> Int[ndarray, "N k"]:
        return _best(scorer, -scorer.singles, most)


@SELECTION_RULES.register("gradient-input")
class GradientInput(SelectionRule):
    """−gradient · input at the full context, a first-order estimate of a token's gain."""

    summary = "the largest products of embedding and negative gradient"

    def order(self, scorer: Scorer, most: int, draws: Draws) -> Int[ndarray, "N k"]:
        return _best(scorer, scorer.gradient_input[:, scorer.block], most)


@SELECTION_RULES.register("attention")
class AttentionMass(SelectionRule):
    """The attention of the last token at the full context, averaged over layers and heads."""

    summary = "the most attention from the last token"

    def order(self, scorer: Scorer, most: int, draws: Draws) -> Int[ndarray, "N k"]:
        return _best(scorer, scorer.attention[:, scorer.block], most)


@SELECTION_RULES.register("surrogate")
class Surrogate(SelectionRule):
    """A sparse linear model of ln p(target) in the mask, after ContextCite (Cohen-Wang et al. 2024).

    A Lasso with penalty ``alpha`` fits ``masks`` random subsets of the block, which keep each token with probability
    ``keep``. Tokens are ordered by coefficient, and tokens of coefficient 0 by their correlation with ln p. ContextCite
    predicts ln(p / (1 − p)) of answers from sentences.
    """

    summary = "a sparse linear fit to losses under random masks"

    masks: AtLeast2 = 64
    keep: Annotated[float, Field(gt=0, lt=1)] = 0.5
    alpha: NotNegative = 0.01

    def order(self, scorer: Scorer, most: int, draws: Draws) -> Int[ndarray, "N k"]:
        targets, size = len(scorer), len(scorer.block)
        kept = np.stack([draws(i).random((self.masks, size)) < self.keep for i in range(targets)])
        visible = np.repeat(scorer.always[None, None], targets, axis=0).repeat(self.masks, axis=1)
        visible[:, :, scorer.block] = kept
        rows = np.repeat(np.arange(targets), self.masks)
        losses = scorer.losses(rows, visible.reshape(len(rows), -1)).reshape(targets, self.masks)
        coefficients, correlations = lasso(kept.astype(float), -losses, self.alpha)
        keys = [np.lexsort((-correlations[i], -coefficients[i])) for i in range(targets)]
        return scorer.block[np.stack(keys)[:, :most]]


@SELECTION_RULES.register("random")
class Random(SelectionRule):
    """Random tokens of the block, as a control."""

    summary = "random tokens of the block (control)"

    def order(self, scorer: Scorer, most: int, draws: Draws) -> Int[ndarray, "N k"]:
        return np.stack([draws(i).permutation(scorer.block)[:most] for i in range(len(scorer))])


@SELECTION_RULES.register("last-k")
class LastK(SelectionRule):
    """The last tokens of the block, as a control: they extend the recent part by k tokens."""

    summary = "the last tokens of the block (control)"

    def order(self, scorer: Scorer, most: int, draws: Draws) -> Int[ndarray, "N k"]:
        return np.tile(scorer.block[::-1][:most], (len(scorer), 1))


def _best(scorer: Scorer, values: Float[ndarray, "N n"], most: int) -> Int[ndarray, "N k"]:
    """Positions of the largest values; of equal values the first."""
    return scorer.block[np.argsort(-values, axis=1, kind="stable")[:, :most]]


RESULT_FORMAT = 1
"""Version of the result's format."""
CHUNK = 8
"""Number of targets that are measured together."""

OnProgress = Callable[[str, int, int], None]
"""Called with the name of the present part, the amount done and the total."""


def measure(
    model: LanguageModel,
    windows: Windows,
    config: MeasureConfig,
    *,
    chooser: LanguageModel | None = None,
    extrapolator: LanguageModel | None = None,
    others: Int[ndarray, " N"] | None = None,
    pieces: Pieces | None = None,
    on_progress: OnProgress | None = None,
) -> dict[str, Any]:
    """Measure ``model`` on N ``windows``; returns JSON values, with losses in nats.

    Every rule chooses with ``model`` and is scored by it. ``cross`` scores the greedy choices of ``chooser`` with
    ``model``. ``null`` replaces the block by that of another document's window (``others``, or a random one), so that
    greedy search finds selection noise only; its R_k is relative to the real gain. ``extrapolation`` holds losses of
    ``extrapolator``, a model trained at a shorter context, at the full context and at the last ``recent`` tokens.
    ``pieces`` gives the texts of target tokens. Raises `LengthwiseError` if models, windows and config are not
    consistent, or a loss is not finite.
    """
    models = {"model": model, "chooser": chooser, "extrapolator": extrapolator}
    for role, one in models.items():
        if one is not None:
            check_fits(one, windows, config, role)
    require(len(windows.tokens) >= 1, "there is no target to measure; choose a longer text")
    others = foreign(windows.documents, stream(config.seed, "null")) if others is None else others
    found = _Measurement(model, chooser, extrapolator, windows, others, config)
    targets, started = len(windows.tokens), time.perf_counter()
    tell = on_progress or (lambda what, done, total: None)
    for first in range(0, targets, CHUNK):
        tell("targets", first, targets)
        found.add_chunk(np.arange(first, min(first + CHUNK, targets)))
    tell("targets", targets, targets)
    values = {name: np.concatenate(parts) for name, parts in found.parts.items()}
    return {
        "format": RESULT_FORMAT,
        "kind": "influence",
        **{role: None if one is None else describe(one) for role, one in models.items()},
        "config": fields_of(config),
        "targets": list(target_entries(values, windows, config, pieces)),
        "summary": summary(values, windows, config),
        "passages": [],
        "speed": {
            "forwards": found.forwards,
            "forwards_per_second": found.forwards / max(found.seconds, 1e-9),
            "targets_per_second": targets / max(time.perf_counter() - started, 1e-9),
        },
    }


def describe(model: LanguageModel) -> dict[str, Any]:
    """Name and sizes of a model as JSON values."""
    return {name: getattr(model, name) for name in ("name", "parameters", "max_length", "vocab_size")}


def check_fits(model: LanguageModel, windows: Windows, config: MeasureConfig, role: str = "model") -> None:
    """Raise `LengthwiseError` unless windows, configuration and ``model`` are consistent."""
    width = windows.tokens.shape[1] - 1
    require(
        width == config.context,
        f"windows have {width} tokens of context, the configuration says {config.context}; cut them alike",
    )
    require(
        model.max_length is None or model.max_length >= config.context,
        f"{role} {model.name} takes at most {model.max_length} tokens, not {config.context}; use a smaller context",
    )
    largest = int(windows.tokens.max(initial=0))
    require(
        largest < model.vocab_size,
        f"{role} {model.name} has {model.vocab_size} tokens, the text has token {largest}; use the model's tokenizer",
    )


def foreign(documents: Int[ndarray, " N"], rng: Rng) -> Int[ndarray, " N"] | None:
    """For each of N windows, the index of a random window of another document; None with a single document."""
    if len(np.unique(documents)) < 2:
        return None
    return np.array([rng.choice(np.flatnonzero(documents != own)) for own in documents])


@dataclass
class _Measurement:
    """Collects the losses of all targets, chunk by chunk."""

    model: LanguageModel
    chooser: LanguageModel | None
    extrapolator: LanguageModel | None
    windows: Windows
    others: Int[ndarray, " N"] | None
    config: MeasureConfig
    parts: dict[str, list[ndarray]] = field(default_factory=lambda: defaultdict(list))
    forwards: int = 0
    seconds: float = 0.0

    def add_chunk(self, rows: Int[ndarray, " n"]) -> None:
        """Measure the windows ``rows``."""
        tokens, targets = self.windows.tokens[rows, :-1], self.windows.tokens[rows, -1]
        keep_first, recent = self.config.keep_first, self.config.recent
        greedy = SELECTION_RULES.build("greedy")
        own = Scorer(self.model, tokens, targets, recent, keep_first=keep_first)
        used = [own]
        self.parts["long"].append(own.long)
        self.parts["short"].append(own.short)
        for name in self.config.rules:
            self._add_choice(name, self._order(SELECTION_RULES.build(name), own, rows), own)
        if self.chooser is not None:
            chooser = Scorer(self.chooser, tokens, targets, recent, keep_first=keep_first)
            self._add_choice("cross", self._order(greedy, chooser, rows, "cross"), own)
            used.append(chooser)
        if self.others is not None:
            contexts = tokens.copy()
            contexts[:, own.block] = self.windows.tokens[self.others[rows]][:, own.block]
            # Other tokens under the same ids, so that the control differs in what the block says and in nothing else.
            null = Scorer(self.model, contexts, targets, recent, keep_first=keep_first, ids=own.ids)
            self.parts["null long"].append(null.long)
            self._add_choice("null", self._order(greedy, null, rows, "null"), null)
            used.append(null)
        if self.extrapolator is not None:
            full = Scorer(self.extrapolator, tokens, targets, recent, keep_first=keep_first)
            near = Scorer(self.extrapolator, tokens[:, -recent:], targets, recent)
            self.parts["extrapolated long"].append(full.long)
            self.parts["extrapolated short"].append(near.long)
            used += [full, near]
        self.forwards += sum(scorer.forwards for scorer in used)
        self.seconds += sum(scorer.seconds for scorer in used)

    def _add_choice(self, name: str, order: Int[ndarray, "n k"], scorer: Scorer) -> None:
        self.parts[f"order/{name}"].append(order)
        self.parts[f"losses/{name}"].append(scorer.path(order))

    def _order(self, rule: SelectionRule, scorer: Scorer, rows: Int[ndarray, " n"], *names: str) -> Int[ndarray, "n k"]:
        seed = self.config.seed
        return rule.order(scorer, self.config.most, lambda i: stream(seed, rule.name, *names, int(rows[i])))


def passage(model: LanguageModel, windows: Windows, config: MeasureConfig, pieces: Pieces) -> dict[str, Any]:
    """The passage of ``windows`` with consecutive targets of one document, as JSON values.

    ``tokens`` are the texts of the passage. Each target has its index ``at``, its losses ``long`` and ``short``, and
    under ``influence`` the index and the gain in nats of each token of its block, made visible alone. Raises
    `LengthwiseError` if the targets are not consecutive.
    """
    check_fits(model, windows, config)
    count = len(windows.tokens)
    first = int(windows.offsets[0])
    require(
        len(np.unique(windows.documents)) == 1 and windows.offsets.tolist() == list(range(first, first + count)),
        "a passage needs consecutive targets of one document; cut its windows one token apart",
    )
    tokens = np.concatenate([windows.tokens[0], windows.tokens[1:, -1]])
    scorer = Scorer(model, windows.tokens[:, :-1], windows.tokens[:, -1], config.recent, keep_first=config.keep_first)
    gained = rounded(scorer.short[:, None] - scorer.singles)
    return {
        "document": windows.names[int(windows.documents[0])],
        "tokens": pieces(tokens.tolist()),
        "targets": [
            {
                "at": config.context + i,
                "long": rounded(scorer.long[i]),
                "short": rounded(scorer.short[i]),
                "influence": [[int(at) + i, nats] for at, nats in zip(scorer.block, gained[i], strict=True)],
            }
            for i in range(count)
        ],
    }
