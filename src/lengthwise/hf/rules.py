"""Rules that give ids from token ids as a model of Hugging Face sees them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int, Num
from numpy import ndarray
from torch import Tensor

from lengthwise.core import config as arguments
from lengthwise.core.config import canonical_json, changed_fields
from lengthwise.core.errors import LengthwiseError, require, shortened, spelled
from lengthwise.core.registry import Registry
from lengthwise.core.rng import Rng, stream
from lengthwise.core.table import Table
from lengthwise.core.user_code import no_new_code
from lengthwise.core.vocab import BOS, EOS, PAD, SPECIALS
from lengthwise.positions.schemes import SCHEMES, PositionScheme
from lengthwise.positions.structure import check_places, longest_with_ids
from lengthwise.tasks import TASKS, Task
from lengthwise.tasks.base import LONGEST_SHORTEST

IdFunction = Callable[[Tensor], Tensor]
"""Token ids [B, T] to position ids [B, T]."""


class Ends(NamedTuple):
    """The tokens that begin, end and pad a sequence; None for one that is not known."""

    start: int | None
    end: int | None = None
    padding: int | None = None
    before: int | None = None
    """If given, what stands in front of a second start; elsewhere the same number is an ordinary token."""


class IdRule(ABC):
    """Gives every token a position id; the id of a token depends on no later token, except in training."""

    ends: Ends | None = None
    """Those of the rule's task; without one, only the model's start token is known."""

    @abstractmethod
    def ids(self, tokens: Int[Tensor, "B T"], lengths: Int[Tensor, " B"], training: bool) -> Num[Tensor, "B T"]:
        """Ids of B rows, of which row b holds ``lengths[b]`` tokens followed by padding.

        Rules with random ids draw anew for each row in ``training``, and are deterministic otherwise. Raises
        `LengthwiseError` for tokens that the rule can't number.
        """

    def arguments(self) -> dict[str, Any] | None:
        """What makes the same rule again, as JSON; None for a rule that no file can keep."""
        return None

    def preview(self, tokens: Sequence[int]) -> Table:
        """The ids of one row, to be looked at before any training.

        Arguments:
            tokens: the model's ids of the tokens of the row, without padding.

        Returns: a table with a row for each token: its id and, where the rule knows a task, what it stands for; its
        position id at test; and one that training may draw.

        Raises: `LengthwiseError` for what is no row of token ids, and for tokens that the rule can't number.
        """
        given = arguments.whole_numbers("tokens (token ids of one row)", tokens, 0)
        row, lengths = torch.tensor([given]), torch.tensor([len(given)])
        if self.ends is not None:
            refuse_packed(row, lengths, self.ends)
        with torch.random.fork_rng(devices=()):
            test, training = (self.ids(row, lengths, drawn)[0].tolist() for drawn in (False, True))
        names = {number: name for name, number in getattr(self, "token_ids", {}).items()}
        columns = ("token", "stands for", "position id", "in training, for example")
        words = (names.get(token, "") for token in given)
        shown = tuple(zip(given, words, test, training, strict=True))
        return Table(columns, shown, caption=repr(self), notes=tuple(filter(None, [self.mistake_in(given)])))

    def mistake_in(self, row: Sequence[int]) -> str:
        """What is wrong with the answer of a row, which has no bearing on its ids; empty where nothing is known."""
        return ""


@dataclass(frozen=True)
class UserRule(IdRule):
    """A user's function of token ids [B, T] to position ids [B, T]; in rows, padding comes last."""

    function: IdFunction

    def ids(self, tokens: Int[Tensor, "B T"], lengths: Int[Tensor, " B"], training: bool) -> Num[Tensor, "B T"]:
        found: Any = self.function(tokens)
        require(
            isinstance(found, Tensor) and found.shape == tokens.shape,
            f"the rule must return a tensor of shape {list(tokens.shape)}, one position id per token, "
            f"got {list(found.shape) if isinstance(found, Tensor) else type(found).__name__}",
        )
        require(
            found.dtype != torch.bool and not found.dtype.is_complex,
            f"the rule must return integers or floats, got {found.dtype}",
        )
        require(
            not found.dtype.is_floating_point or bool(found.isfinite().all()),
            "the rule returns position ids that are not finite; return numbers",
        )
        return found


def refuse_packed(tokens: Int[Tensor, "B T"], lengths: Int[Tensor, " B"], ends: Ends) -> None:
    """Raises `LengthwiseError` for a row of several sequences: a second start token, or tokens behind the end token.

    Padding, and end tokens that serve as padding, may stand behind the end.
    """
    index = torch.arange(tokens.shape[1], device=tokens.device)
    inside = index < lengths[:, None]
    found = "a row begins anew: it holds the start token {} again at place {}"
    behind, token = torch.zeros_like(inside), ends.start
    if ends.start is not None and tokens.shape[1]:
        behind = inside & (tokens == ends.start) & (tokens[:, :1] == ends.start) & (index > 0)
        if ends.before is not None:
            behind[:, 1:] &= tokens[:, :-1] == ends.before
    if ends.end is not None and not behind.any():
        found, token = "a row goes on behind its end token {} with place {}", ends.end
        filler = torch.tensor([ends.end, *({ends.padding} - {None})], device=tokens.device)
        ended = ((tokens == ends.end) & inside).long().cumsum(dim=1) > 0
        behind = ended & inside & ~torch.isin(tokens, filler)
    if behind.any():
        ordinary = " (if it is an ordinary token, set model.config.bos_token_id = None)" * (ends.end is None)
        raise LengthwiseError(
            f"{found.format(token, int(behind.long().argmax(dim=1).max()))}{ordinary}; a rule numbers one sequence a "
            "row: turn packing off, and mask padding"
        )


def check_prefix(rule: IdRule, tokens: Int[Tensor, "B T"], lengths: Int[Tensor, " B"], ids: Num[Tensor, "B T"]) -> None:
    """Raises `LengthwiseError` if a user's function gives a token another id when fewer tokens follow, or alone.

    The rows are cut before the last token of the shortest, and in half. Our own rules need no check.
    """
    if not isinstance(rule, UserRule):
        return
    shortest = int(lengths.min())
    for end in {shortest - 1, shortest // 2} - {0, -1}:
        before = rule.ids(tokens[:, :end], lengths.clamp(max=end), training=False)
        require(
            torch.equal(before, ids[:, :end]),
            "the rule changes the id of a token when more tokens follow, so generation with a cache would differ from "
            "a full pass; let the id of a token depend on the tokens up to it only",
        )
    own = slice(int(lengths[-1]))
    require(
        len(tokens) == 1 or torch.equal(rule.ids(tokens[-1:], lengths[-1:], training=False)[:, own], ids[-1:, own]),
        "the rule changes the ids of a row with the rows beside it; let them depend on the row's own tokens only",
    )


def _typed(registry: Registry[Any], component: Any) -> str:
    """A component as it can be given: its name, or its name with the fields that are no defaults."""
    name, fields = registry.show(component)["name"], changed_fields(component)
    if fields and hasattr(component, "max_position"):  # It bounds what the rule reaches, by default, too.
        fields["max_position"] = component.max_position
    return repr({"name": name, **fields} if fields else name)


def as_rule(rule: IdRule | IdFunction) -> IdRule:
    """A rule as an `IdRule`; raises `LengthwiseError` for anything but a rule or a function."""
    if isinstance(rule, IdRule):
        return rule
    if not callable(rule):
        near = "CoupledPlaces(task), Restart(separator=…)"
        if isinstance(rule, str) and (name := spelled(rule, SCHEMES)) in SCHEMES:
            near = "CoupledPlaces(task)" if SCHEMES.build(name).uses_places else f"SchemeIds({name!r})"
        raise LengthwiseError(
            f"a rule is a function of token ids [B, T] to position ids [B, T], or an IdRule such as hf.{near}, "
            f"got {rule!r}"
        )
    return UserRule(rule)


def training_rng() -> Rng:
    """A NumPy generator drawn from torch's global one, so that `torch.manual_seed` repeats a training."""
    return np.random.default_rng(int(torch.randint(2**62, ())))


@contextmanager
def said_in_time(reach: Callable[[], str] = str) -> Iterator[None]:
    """An error about ``max_position`` inside says when it can be raised, after what ``reach`` says first."""
    try:
        yield
    except LengthwiseError as error:
        if "max_position" not in str(error):
            raise
        raise LengthwiseError(
            f"{reach()}{error} before training: ids that were never trained are not reached"
        ) from None


@dataclass(frozen=True, init=False)
class Restart(IdRule):
    """Ids count from 0 and start again at 0 at every separator token."""

    separators: tuple[int, ...]

    def __init__(self, separator: int | Iterable[int]) -> None:
        given = separator if isinstance(separator, Iterable) else (separator,)
        object.__setattr__(self, "separators", tuple(arguments.whole_numbers("separator (token ids)", given, 0)))

    def ids(self, tokens: Int[Tensor, "B T"], lengths: Int[Tensor, " B"], training: bool) -> Int[Tensor, "B T"]:
        starts = torch.isin(tokens, torch.tensor(self.separators, device=tokens.device))
        return since_last(starts)

    def arguments(self) -> dict[str, Any]:
        return {"separator": list(self.separators)}


@dataclass(frozen=True, init=False)
class Abacus(IdRule):
    """Digit i of a number has id i (from 1), every other token has 0 (McLeish et al. 2024, Abacus embeddings).

    In training each row's digits are shifted by an offset, uniform in ``0..offset``, so that larger ids are trained
    too.
    """

    digits: tuple[int, ...]
    offset: int

    def __init__(self, digits: Iterable[int], offset: int = 0) -> None:
        object.__setattr__(self, "digits", tuple(arguments.whole_numbers("digits (token ids)", digits, 0)))
        object.__setattr__(self, "offset", arguments.whole("offset", offset, 0))

    def ids(self, tokens: Int[Tensor, "B T"], lengths: Int[Tensor, " B"], training: bool) -> Int[Tensor, "B T"]:
        is_digit = torch.isin(tokens, torch.tensor(self.digits, device=tokens.device))
        # A token that is no digit is number 0 of the digits that follow it.
        before = torch.cat([torch.zeros_like(is_digit[:, :1]), is_digit[:, :-1]], dim=1)
        number = since_last(is_digit & ~before) + 1
        if training and self.offset:
            number = number + torch.randint(self.offset + 1, (len(tokens), 1), device=tokens.device)
        return number * is_digit

    def arguments(self) -> dict[str, Any]:
        return {"digits": list(self.digits), "offset": self.offset}


@dataclass(frozen=True)
class Interpolated(IdRule):
    """Consecutive ids divided by ``factor`` (Chen et al. 2023, position interpolation); for rotary encodings only."""

    factor: float

    def __post_init__(self) -> None:
        arguments.number("factor", self.factor, 0)

    def ids(self, tokens: Int[Tensor, "B T"], lengths: Int[Tensor, " B"], training: bool) -> Float[Tensor, "B T"]:
        index = torch.arange(tokens.shape[1], device=tokens.device, dtype=torch.float32)
        return (index / self.factor).expand(tokens.shape)

    def arguments(self) -> dict[str, Any]:
        return {"factor": self.factor}


def since_last(starts: Tensor) -> Int[Tensor, "B T"]:
    """How many tokens ago the last start was; before the first one, how many tokens came before."""
    index = torch.arange(starts.shape[1], device=starts.device).expand(starts.shape)
    return index - torch.where(starts, index, 0).cummax(dim=1).values


ROWS = 64
"""Sampled strings of a layout; a column with one token in all of them is constant."""
DRAWS = 16
"""Layouts drawn of each length, which must agree."""
RULE_OF_ONES_OWN = "its places can't be read off the tokens; give a rule of your own, a function of token ids"


class Pattern(NamedTuple):
    """A layout as it is recognized: the prompt's constant tokens (-1 elsewhere), and the places of all tokens."""

    prompt: Int[ndarray, " P"]
    content: Int[ndarray, " N"]
    """The tokens of the other columns."""
    places: Int[ndarray, " T"]


class CoupledPlaces(IdRule):
    """Tokens that share a place of ``task`` share an id; ids of places are drawn by ``scheme``.

    In training ids are drawn anew for each row (by default a block with a random start, Cho et al. 2024). Otherwise
    they are those of the scheme at test, the same for all rows of a layout. A row holds one whole prompt of the task,
    and what follows it is the answer so far; several problems in one row are refused. ``max_position`` of the scheme
    must be set before training, and `reach` says what it suffices for.

    Arguments:
        task: the task, or what `lengthwise.task` takes.
        scheme: of the ids; by default a block of ids with a random start.
        token_ids: the model's id of each token of the task, such as ``{"<bos>": 1, "<eos>": 2, "+": 3, …}``; of
            ``<pad>`` and ``<sep>`` only where the task writes them. By default the model has the task's vocabulary.
        seed: of ids that are random at test.

    Raises:
        LengthwiseError: for ``token_ids`` that lack a token; for a scheme without places, or a task whose places do not
            follow from the length of the prompt or have several levels: such ids must be predicted, which our own model
            does.
    """

    def __init__(
        self, task: str | Task | dict[str, Any], scheme: str | PositionScheme | dict[str, Any] | None = None, *,
        token_ids: Mapping[str, int] | None = None, seed: int = 0,
    ) -> None:  # fmt: skip
        self.task: Task = TASKS.build(task)
        self.scheme = SCHEMES.build(scheme if scheme is not None else {"name": "coupled", "draw": "contiguous"})
        self.seed = seed
        require(
            self.scheme.uses_places, f"scheme {self.scheme.name!r} ignores places; use SchemeIds({self.scheme.name!r})"
        )
        require(
            not self.scheme.predicted and len(self.task.levels) == 1,
            f"task {self.task.name!r} under scheme {self.scheme.name!r} needs ids that the model predicts, or several "
            "levels of ids, which a stock model has not; use LengthwiseForCausalLM",
        )
        check_places(self.task, self.scheme)
        self.token_ids = checked_token_ids(self.task, token_ids)
        """The model's id of every token of the task."""
        self._known = {number: self.task.vocab[name] for name, number in self.token_ids.items()}
        self.vocab_size = max(self._known) + 1
        self.ends = Ends(*map(self.token_ids.get, (BOS, EOS, PAD)))
        self._patterns: dict[int, Pattern] = {}

    def ids(self, tokens: Int[Tensor, "B T"], lengths: Int[Tensor, " B"], training: bool) -> Int[Tensor, "B T"]:
        rows, counts = self._translated(tokens), lengths.cpu().numpy()
        ids = np.zeros(rows.shape, dtype=np.int64)
        groups = self._groups(rows, counts, tokens)
        rng = training_rng() if training else stream(self.seed, "hf", "places")
        for pattern, chosen in groups:
            places, scheme = pattern.places[None, :, None], self.scheme
            if training:
                places = np.repeat(places, len(chosen), axis=0)
            else:
                # One drawing for a layout, whichever rows come with it: beams and steps see the same ids.
                scheme, rng = scheme.for_evaluation(), stream(self.seed, "hf", "places")
            with said_in_time(self._reaches):
                found = scheme.assign(places, self.task.levels, rng)[:, :, 0]
            width = min(rows.shape[1], found.shape[1])
            ids[chosen, :width] = found[:, :width]
        return torch.from_numpy(ids).to(tokens.device)

    def mistake_in(self, row: Sequence[int]) -> str:
        ((pattern, _),) = self._groups(self._translated(tensor := torch.tensor([row])), np.array([len(row)]), tensor)
        names = {number: name for name, number in self.token_ids.items()}
        size, text = len(pattern.prompt), [names.get(number, "") for number in row]
        with suppress(ValueError):
            right = self.task.answer(text[:size])
            if text[size : size + len(right)] != right[: len(text) - size]:  # behind the end stands padding
                return f"the answer is not that of this prompt, which is: {' '.join(right)}"
        return ""

    def arguments(self) -> dict[str, Any]:
        return {
            "task": TASKS.describe(self.task), "scheme": SCHEMES.describe(self.scheme), "token_ids": self.token_ids,
            "seed": self.seed,
        }  # fmt: skip

    def __repr__(self) -> str:
        own = "" if self.token_ids == self.task.vocab.ids else f", token_ids={{… {len(self.token_ids)} tokens}}"
        return f"CoupledPlaces({_typed(TASKS, self.task)}, {_typed(SCHEMES, self.scheme)}{own})"

    def reach(self) -> int:
        """The longest problems of the task for which ``max_position`` has ids; 0 if it has none for the shortest.

        Raises `LengthwiseError` for a scheme whose ids come again and again, so that they never end.
        """
        require(not self.scheme.wraps, f"ids of scheme {self.scheme.name!r} come again, so they never end")
        return longest_with_ids(self.task, self.scheme, self.seed)

    def _reaches(self) -> str:
        if self.scheme.wraps:
            return ""
        return (
            f"problems of task {self.task.name!r} reach to length {self.reach()} at most, see rule.reach(): this one "
        )

    def _translated(self, tokens: Tensor) -> Int[ndarray, "B T"]:
        """The task's numbers of the tokens, -1 where it has none."""
        given = tokens.cpu().numpy()
        table = np.full(max(int(given.max(initial=0)), *self._known) + 1, -1)
        table[list(self._known)] = list(self._known.values())
        return table[given]

    def _groups(self, rows: ndarray, counts: ndarray, given: Tensor) -> list[tuple[Pattern, ndarray]]:
        owner: list[Pattern | None] = [None] * len(rows)
        candidates = self._candidates(int(counts.max(initial=0)))
        free = ~np.isin(rows, self._structural())
        for pattern in candidates:
            size = len(pattern.prompt)
            start = rows[:, :size]
            right = np.where(pattern.prompt >= 0, start == pattern.prompt, free[:, :size])
            for row in np.flatnonzero(right.all(axis=1) & (counts >= size)):
                if owner[row] is not None:
                    raise LengthwiseError(
                        f"{self._text(rows[row, : counts[row]])} fits two lengths; {RULE_OF_ONES_OWN}"
                    )
                owner[row] = pattern
        groups: dict[int, tuple[Pattern, list[int]]] = {}
        for row, found in enumerate(owner):
            if found is None:
                raise LengthwiseError(self._refusal(rows[row, : counts[row]], given[row].tolist()))
            groups.setdefault(id(found), (found, []))[1].append(row)
        return [(pattern, np.array(members)) for pattern, members in groups.values()]

    def _text(self, tokens: ndarray) -> str:
        words = [self.task.vocab.tokens[token] if token >= 0 else "?" for token in tokens]
        return repr(shortened(" ".join(words)))

    def _refusal(self, row: ndarray, given: list[int]) -> str:
        """Why a row has no prompt, in the words of its task where it has some."""
        what = f"{self._text(row)} does not begin with a prompt of task {self.task.name!r}"
        unknown = [given[at] for at in np.flatnonzero(row < 0)]
        words = [self.task.vocab.tokens[token] for token in row if token >= 0]
        example = self.task.batch(self.task.lengths(1, LONGEST_SHORTEST)[0], 1, stream(self.seed, "hf", "example"))
        shown = example.text(0)[: example.prompt_length]
        if unknown:
            return f"{what}: the model's token {unknown[0]} stands for none of the task; map it in token_ids"
        if words[:1] != [shown[0]] and shown[0] in SPECIALS:
            start = self.token_ids[shown[0]]
            whole = " ".join(shown)
            return f"{what}: it lacks the start token {shown[0]} (the model's id {start}); put that first: {whole}"
        end = words.index(shown[-1]) + 1 if shown[-1] in words else len(words)
        why = self.task.why_no_prompt(words[:end])
        return f"{what}{f': {why}' * bool(why)}; a whole prompt reads: {' '.join(shown)}"

    def _candidates(self, tokens: int) -> list[Pattern]:
        found: list[Pattern] = []
        for length in self.task.lengths(1, tokens):
            if length not in self._patterns:
                self._patterns[length] = self._pattern(length)
            if len(self._patterns[length].prompt) > tokens:
                break
            found.append(self._patterns[length])
        return found

    def _pattern(self, length: int) -> Pattern:
        rng = stream(self.seed, "hf", "layouts", length)
        require(
            len({self.task.layout(length, rng) for _ in range(DRAWS)}) == 1,
            f"task {self.task.name!r} has several layouts of length {length}; {RULE_OF_ONES_OWN}",
        )
        batch = self.task.batch(length, ROWS, rng)
        places = batch.places[:, :, 0]
        require(
            bool((places == places[:1]).all()),
            f"the places of task {self.task.name!r} depend on the content of the prompt, so their ids must be "
            "predicted; use LengthwiseForCausalLM with scheme predictive-coupling",
        )
        prompt = batch.input_ids[:, : batch.prompt_length]
        constant = (prompt == prompt[:1]).all(axis=0)
        return Pattern(np.where(constant, prompt[0], -1), np.unique(prompt[:, ~constant]), places[0])

    def _structural(self) -> ndarray:
        """Tokens of constant columns, such as ``+`` and ``=``, that no other column holds."""
        known = list(self._patterns.values())
        content = [pattern.content for pattern in known]
        if not known:
            return np.array([], dtype=np.int64)
        return np.setdiff1d(np.concatenate([pattern.prompt for pattern in known]), np.concatenate(content))


FEW_MISSING = 3
"""More tokens that a model has not are likely those of other settings of the task."""


def checked_token_ids(task: Task, token_ids: Mapping[str, int] | None) -> dict[str, int]:
    """The ids of a model for the tokens of ``task``, by default the task's own.

    Raises `LengthwiseError` for one that is missing, unknown, no whole number, or given to two tokens.
    """
    if token_ids is None:
        return dict(task.vocab.ids)
    length = task.lengths(1, LONGEST_SHORTEST)[0]
    drawn = np.unique(task.batch(length, ROWS, stream(0, "hf", "tokens")).input_ids)
    needed = [name for name, own in task.vocab.ids.items() if own >= len(SPECIALS) or own in drawn]
    missing = [name for name in needed if name not in token_ids]
    likely = f" (many are missing: are {shortened(str(task))} the settings that the model was trained on?)"
    require(
        not missing,
        f"token_ids lacks tokens of task {task.name!r}: {shortened(' '.join(missing), 40)}; give the model's id of each"
        + likely * (len(missing) > FEW_MISSING),
    )
    found: dict[int, str] = {}
    for name, given in token_ids.items():
        require(
            name in task.vocab.ids,
            f"token_ids names {name!r}, which is no token of task {task.name!r}; leave it out (its tokens are "
            f"{shortened(' '.join(task.vocab.tokens), 60)})",
        )
        number = arguments.whole(f"token_ids[{name!r}]", given, 0)
        require(number not in found, f"token_ids gives {name!r} and {found.get(number)!r} one id, {number}; give two")
        found[number] = name
    return {name: number for number, name in found.items()}


MOST_PROBED = 1 << 16
"""The longest sequence on which the ids at test are looked at."""


class SchemeIds(IdRule):
    """Ids of a scheme such as ``SchemeIds("pose", max_position=255)``: drawn per row in training, as at test otherwise.

    ``tokens`` is the number of tokens at test, prompt and answer together. Ids that stay random at test
    (``randomized``) need it, and are then one subset drawn from ``seed``; so do ids that depend on that number
    (``randomized-float``). Raises `LengthwiseError` for a scheme that uses places, for which `CoupledPlaces` exists.
    """

    def __init__(
        self, scheme: str | PositionScheme | dict[str, Any], *, tokens: int | None = None, seed: int = 0, **fields: Any
    ) -> None:
        self.scheme = SCHEMES.build(scheme, **fields)
        self.tokens, self.seed = tokens, seed
        require(
            not self.scheme.uses_places,
            f"scheme {self.scheme.name!r} needs the places of a task; use CoupledPlaces(task)",
        )
        self._counted = not is_fixed(self.scheme.for_evaluation())
        require(
            not self._counted or tokens is not None,
            f"ids of scheme {self.scheme.name!r} at test are random or depend on the number of tokens, so it must be "
            "known; give tokens=… for prompt and answer together",
        )

    def ids(self, tokens: Int[Tensor, "B T"], lengths: Int[Tensor, " B"], training: bool) -> Int[Tensor, "B T"]:
        rng = training_rng() if training else None
        counts, ids = lengths.cpu().numpy(), np.zeros(tuple(tokens.shape), dtype=np.int64)
        for length in map(int, np.unique(counts[counts > 0])):
            chosen = np.flatnonzero(counts == length)
            with said_in_time():
                if rng is not None:
                    ids[chosen, :length] = assigned(self.scheme, len(chosen), length, rng)
                    continue
                table = assigned(
                    self.scheme.for_evaluation(), 1, self.in_all(length), stream(self.seed, "hf", "evaluation")
                )
            ids[chosen, :length] = table[:, :length]
        return torch.from_numpy(ids).to(tokens.device)

    def arguments(self) -> dict[str, Any]:
        return {"scheme": SCHEMES.describe(self.scheme), "tokens": self.tokens, "seed": self.seed}

    def __repr__(self) -> str:
        return f"SchemeIds({_typed(SCHEMES, self.scheme)}{'' if self.tokens is None else f', tokens={self.tokens}'})"

    def in_all(self, length: int) -> int:
        """How many tokens a row of ``length`` tokens has at its end, on which ids at test may depend."""
        if not self._counted or self.tokens is None:
            return length
        require(length <= self.tokens, f"{length} tokens are more than the rule's tokens = {self.tokens}; raise it")
        return self.tokens


def assigned(scheme: PositionScheme, rows: int, tokens: int, rng: Rng) -> np.ndarray:
    """Ids ``[rows, tokens]`` of a scheme that numbers tokens."""
    return scheme.assign(np.zeros((rows, tokens, 1), dtype=np.int64), ("position",), rng)[:, :, 0]


def is_fixed(scheme: PositionScheme) -> bool:
    """Whether two draws of the ids at test agree, and more tokens don't change the ids of those before them."""
    count, most = min(32, scheme.max_position + 1), min(MOST_PROBED, scheme.max_position + 1)
    draws = [assigned(scheme, 4, count, stream(seed, "hf", "probe")) for seed in (0, 1)]
    longest = assigned(scheme, 1, most, stream(0, "hf", "probe"))[:, :count]
    return all(bool((draw == longest).all()) for draw in draws)


RULES: dict[str, type[IdRule]] = {
    cls.__name__: cls for cls in (Restart, Abacus, Interpolated, CoupledPlaces, SchemeIds)
}
"""The rules that files keep, by name."""


def described(rule: IdRule) -> dict[str, Any]:
    """The JSON form of a rule, from which `built` makes one with the same ids; of one's own, its name alone."""
    with suppress(LengthwiseError):  # A task that was typed in has no name.
        if type(rule) in RULES.values() and (given := rule.arguments()) is not None:
            return {"rule": type(rule).__name__, "arguments": given}
    own = {"function": getattr(rule.function, "__name__", "")} if isinstance(rule, UserRule) else {}
    return {"rule": type(rule).__name__, **own}


def changed(before: Any, rule: IdRule) -> str:
    """What a warning says of a model that was trained under the rule that ``before`` describes; empty for the same."""
    now = described(rule)
    before = {name: value for name, value in before.items() if name in ("rule", "arguments", "function")}
    if canonical_json(before) == canonical_json(now):
        return ""
    most = [each.get("arguments", {}).get("scheme", {}).get("max_position", 0) for each in (before, now)]
    what = f"ids above {most[0]} were never trained" if most[1] > most[0] > 0 else "its ids are others"
    names = [str(each.get("function") or each["rule"]) for each in (before, now)]
    kind = " and ".join(names) if names[0] != names[1] else f"two forms of {names[0]}"
    return f"the model was trained under another rule than the one attached now ({kind}): {what}; train it again"


def built(values: Any) -> IdRule:
    """The rule of a file. Raises `LengthwiseError` for one that no file can keep, or that can't be made."""
    try:
        name, given = values["rule"], values.get("arguments")
        if name not in RULES or given is None:
            raise LengthwiseError(
                f"the model was saved with position ids of {values.get('function') or name!r}, a rule of one's own, "
                "which no file keeps; load it with transformers, attach(model, rule), and pass on the model itself"
            )
        with no_new_code():
            return RULES[name](**given)
    except (AttributeError, KeyError, TypeError):
        raise LengthwiseError(
            "the rule of position ids in the model's configuration is damaged; give it anew"
        ) from None
