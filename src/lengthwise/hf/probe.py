"""Finds the modules of a stock model that encode position ids, and shows by a probe that ids given there do what they
should.

Every module that gets plain ids 0, 1, 2, … in a forward pass is a candidate: rotary modules, tables of positions,
attention that looks its angles up. Decoder layers and attention functions get ids, too, and derive masks from them, so
candidates are tried: the ids of two rows are replaced there alone, and the logits must be those of the model that
itself was given these ids, with and without a cache. What does not pass is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from lengthwise.core.errors import LengthwiseError, require

READS_LENGTH = ("dynamic", "longrope")
"""Rotary scalings that read the length of the sequence from the largest position id."""
TOKENS, CACHED = 8, 5
"""Tokens of the probe, and how many of them are in the cache of its second half."""
CLOSE = 0.02
"""The largest difference that passes, relative to what the ids change."""


@dataclass(frozen=True)
class Places:
    """The modules that get a model's position ids, and under which argument (a name or an index)."""

    entry: nn.Module
    """The module that gets the tokens of a forward pass: the decoder below the head, or the model itself."""
    modules: tuple[nn.Module, ...]
    argument: str | int
    whole: bool
    """Whether ids must be whole numbers below `limit`, as in tables."""
    limit: int

    def replace(self, args: tuple[Any, ...], kwargs: dict[str, Any], ids: Callable[[Tensor], Tensor | None]) -> Any:
        """The arguments of a call with ``ids(plain)`` instead of the plain ids; None where there is nothing to do."""
        key = self.argument
        plain = kwargs.get(key) if isinstance(key, str) else args[key]
        found = None if plain is None else ids(plain)
        if found is None:
            return None
        if isinstance(key, str):
            return args, {**kwargs, key: found}
        return (*args[:key], found, *args[key + 1 :]), kwargs

    def watch(self, hook: Callable[[nn.Module, tuple[Any, ...], dict[str, Any]], Any]) -> list[Any]:
        """Call ``hook`` before each of the modules runs; returns the handles."""
        return [module.register_forward_pre_hook(hook, with_kwargs=True) for module in self.modules]


def position_modules(model: Any, name: str | None = None) -> Places:
    """The modules that encode the positions of ``model``, or the one called ``name`` below it, after the probe.

    Raises `LengthwiseError` for a model in which ids don't reach the logits through such modules alone, for a name
    that does not exist or gets no ids, and for a rotary scaling that reads the sequence's length from its ids.
    """
    modules = dict(model.named_modules())
    require(name is None or name in modules, f"the model has no module {name!r}; look at model.named_modules()")
    with quiet(model):
        found = Probe(model).candidates()
        names = {module: label for label, module in modules.items()}
        known = ", ".join(dict.fromkeys(repr(names[places.modules[0]]) for places in found))
        if name is not None:
            found = [places for places in found if modules[name] in places.modules]
            found = [replace(each, modules=(modules[name],)) for each in found]
            require(bool(found), f"module {name!r} gets no position ids; those that do: {known or 'none'}")
        require(
            bool(found),
            f"no module of {type(model).__name__} gets the position ids of its tokens, so a rule has no effect on it",
        )
        for places in found:
            _refuse_lengths(places)
        failed = ""
        for places in found:
            failed, passed = Probe(model).tried(places)
            if passed is not None:
                return passed
    raise LengthwiseError(
        f"{type(model).__name__} can't be attached at {known if name is None else repr(name)}: {failed}; use a model "
        "whose positions come from position ids alone, such as Llama, GPT-2 or GPT-NeoX"
    )


def _refuse_lengths(places: Places) -> None:
    for module in places.modules:
        scaling = getattr(module, "rope_type", "default")
        for each in scaling.values() if isinstance(scaling, dict) else [scaling]:
            require(
                each not in READS_LENGTH,
                f"rotary scaling {each!r} reads the length of the sequence from its position ids, so ids of one's own "
                "would change its frequencies; use a model with rope_type default, linear, llama3 or yarn",
            )


class Probe:
    """Two rows of tokens of a model, and what it gives under plain ids and others."""

    def __init__(self, model: Any) -> None:
        self.model, self.config = model, model.config.get_text_config()
        device = model.get_input_embeddings().weight.device
        special = {v for k, v in vars(self.config).items() if k.endswith("token_id") and isinstance(v, int)}
        limit = getattr(self.config, "max_position_embeddings", None)
        self.limit = limit if isinstance(limit, int) and limit > 0 else 1 << 62
        count = min(TOKENS, self.limit)
        usual = [token for token in range(self.config.vocab_size) if token not in special][-2 * count :]
        require(len(usual) > 1 and count > CACHED, "the model has too few tokens or positions to be tried")
        rows = [usual[index % len(usual)] for index in range(2 * count)]
        self.tokens = torch.tensor(rows, device=device).view(2, count)
        self.plain = torch.arange(count, device=device).expand(2, count).contiguous()
        steps = torch.tensor([[0, 1, 0, 1, 2, 3, 0, 5], [2, 0, 4, 1, 1, 0, 2, 3]], device=device)
        self.ids = steps[:, :count] % count

    def output(self, ids: Tensor | None, cache: Any = None, use_cache: bool = False) -> Any:
        """The model's output; two rows and a mask of ones keep `transformers` from seeing packed sequences."""
        before = 0 if cache is None else CACHED
        last = CACHED if use_cache and cache is None else self.tokens.shape[1]
        more: dict[str, Any] = {} if ids is None else {"position_ids": ids[:, before:last]}
        mask = torch.ones_like(self.tokens[:, :last])
        tokens = self.tokens if last - before == self.tokens.shape[1] else self.tokens[:, before:last]
        return self.model(input_ids=tokens, attention_mask=mask, past_key_values=cache, use_cache=use_cache, **more)

    def logits(self, ids: Tensor | None) -> Tensor:
        return _logits(self.output(ids))

    def by_model(self, ids: Tensor | None) -> Tensor:
        """Logits in one pass, without a cache, under ids that the model itself is given."""
        try:
            return self.logits(ids)
        except Exception as error:
            raise LengthwiseError(
                f"{type(self.model).__name__} can't be attached: it does not run with tokens, a mask and position ids "
                f"({_first(error)})"
            ) from None

    def candidates(self) -> list[Places]:
        """Modules that get plain ids, by their class and argument, in the order of their calls; innermost ones only."""
        self.by_model(self.plain)
        got: dict[nn.Module, str | int] = {}
        entries: list[nn.Module] = []
        embeddings = self.model.get_input_embeddings()

        def watch(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            given = [*kwargs.items(), *enumerate(args)]
            if any(value is self.tokens for _, value in given):
                entries.append(module)
            for key, value in given:
                if isinstance(value, Tensor) and _same(value, self.plain) and module not in got:
                    got[module] = key

        handles = [
            module.register_forward_pre_hook(watch, with_kwargs=True)
            for module in self.model.modules()
            if module not in (self.model, embeddings)
        ]
        try:
            self.by_model(self.plain)
        finally:
            for handle in handles:
                handle.remove()
        inner = [m for m in got if not any(other is not m and other in got for other in m.modules())]
        groups: dict[tuple[type, str | int], list[nn.Module]] = {}
        for module in inner:
            groups.setdefault((type(module), got[module]), []).append(module)
        return [
            Places(
                next((e for e in entries if {*modules} <= {*e.modules()}), self.model),
                tuple(modules), key, False, self._limit(modules[0]),
            )
            for (_, key), modules in groups.items()
        ]  # fmt: skip

    def _limit(self, module: nn.Module) -> int:
        if isinstance(module, nn.Embedding):
            return module.num_embeddings - int(getattr(module, "offset", 0))
        return self.limit

    def tried(self, places: Places) -> tuple[str, Places | None]:
        """Why ids in these places are not what the model does with ids, or the places that passed."""
        plain, right = self.by_model(self.plain), self.by_model(self.ids)
        unasked = self.by_model(None)
        change = (right - plain).abs().max().item()
        if not change > 1e-3 * (unasked - plain).abs().max().item() or not change < float("inf"):
            return "position ids don't change its logits", None
        if (unasked - plain).abs().max().item() > CLOSE * change:
            return "its own position ids are not 0, 1, 2, …", None
        noise = self._cached(self.plain, places, given=True) - plain[:, CACHED:]
        allowed = CLOSE * change + 4 * noise.abs().max().item()
        if not allowed < change:
            return "its logits with a cache are not those without one", None
        checks = {
            "logits are not those of the same ids given to the model": (
                self._under(places, self.ids, lambda: self.logits(None)), right, CLOSE * change,
            ),
            "logits with a cache are not those without one": (
                self._cached(self.ids, places, given=False), right[:, CACHED:], allowed,
            ),
        }  # fmt: skip
        for what, (found, expected, most) in checks.items():
            if found is None or not (found - expected).abs().max().item() <= most:
                return f"when ids are replaced there, {what}", None
        half = self._under(places, self.ids + 0.5 * (self.ids > 0), lambda: self.logits(None))
        return "", replace(places, whole=half is None or torch.equal(half, right))

    def _cached(self, ids: Tensor, places: Places, *, given: bool) -> Tensor:
        """Logits of the last tokens behind a cache of the first."""
        explicit = ids if given else None
        none = torch.full_like(self.tokens[:, CACHED:, None], torch.nan, dtype=torch.float32)

        def steps() -> Tensor:
            first = self.output(explicit, use_cache=True)
            cache = getattr(first, "past_key_values", None)
            if cache is None:
                return self.logits(explicit)[:, CACHED:]
            state["before"] = CACHED
            return _logits(self.output(explicit, cache=cache, use_cache=True))

        state = {"before": 0}
        found = self._under(None if given else places, ids, steps, state)
        return none if found is None else found

    def _under(
        self, places: Places | None, ids: Tensor, run: Callable[[], Tensor], state: dict[str, int] | None = None
    ) -> Tensor | None:
        """The result of ``run`` with ``ids`` in these places; None if the model fails."""

        def part(plain: Tensor) -> Tensor:
            before = 0 if state is None else state["before"]
            return ids[:, before : before + plain.shape[-1]]

        handles = [] if places is None else places.watch(lambda _, args, kwargs: places.replace(args, kwargs, part))
        try:
            return run()
        # Modules fail in many ways on ids that they were not made for.
        except Exception:
            return None
        finally:
            for handle in handles:
                handle.remove()


def _same(value: Tensor, plain: Tensor) -> bool:
    """Whether a tensor of shape [T], [1, T] or [2, T] holds plain ids."""
    whole = not value.dtype.is_floating_point and not value.dtype.is_complex and value.dtype != torch.bool
    if not whole or value.ndim not in (1, 2) or value.shape[-1] != plain.shape[1]:
        return False
    return value.device == plain.device and bool((value == plain[0]).all())


def _logits(output: Any) -> Tensor:
    """The logits, or the hidden states of a model without a head."""
    found = getattr(output, "logits", None)
    return output.last_hidden_state if found is None else found


def _first(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:160]}"


@contextmanager
def quiet(model: Any) -> Iterator[None]:
    """Evaluation mode without gradients; every module's mode is what it was afterwards."""
    training: Sequence[nn.Module] = [module for module in model.modules() if module.training]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module in training:
            module.training = True
