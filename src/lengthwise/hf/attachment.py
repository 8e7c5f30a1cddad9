"""Position ids of our own in a model of Hugging Face: which modules, how, and refusals in one line."""

from __future__ import annotations

import copy
import functools
import inspect
import math
import threading
import types
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Bool, Int, Num
from torch import Tensor, nn
from transformers import DynamicCache, PreTrainedModel
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS

from lengthwise.core import config as arguments
from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.rng import stream
from lengthwise.hf.probe import Places, position_modules, quiet
from lengthwise.hf.rules import (
    CoupledPlaces,
    Ends,
    IdFunction,
    IdRule,
    Restart,
    as_rule,
    built,
    changed,
    check_prefix,
    described,
    refuse_packed,
)  # fmt: skip
from lengthwise.positions.saved import SAVED, STATE, attached


def padding_mask(mask: Tensor | None, tokens: Int[Tensor, "B T"]) -> Bool[Tensor, "B T"]:
    """True at tokens, False at padding; everything is a token without a mask of shape [B, T].

    Raises `LengthwiseError` for a mask of shape [B, T'].
    """
    if mask is None or mask.ndim != 2:
        return torch.ones_like(tokens, dtype=torch.bool)
    require(
        mask.shape == tokens.shape,
        f"the attention mask has shape {list(mask.shape)} and the tokens {list(tokens.shape)}; "
        "pass all tokens, those in the cache included",
    )
    return mask.to(tokens.device).bool()


def plain_ids(mask: Bool[Tensor, "B T"]) -> Int[Tensor, "B T"]:
    """The index of each token among the tokens of its row; 0 at padding in front."""
    return (mask.long().cumsum(dim=1) - 1).clamp(min=0)


def rule_ids(
    rule: IdRule, tokens: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"], *, training: bool, check: bool = False,
    ends: Ends | None = None,
) -> Num[Tensor, "B T"]:  # fmt: skip
    """Ids of all tokens by ``rule``; padding gets some id that no token sees.

    With ``check``, ids that depend on later tokens or on other rows are refused; with ``ends``, rows of several
    sequences are. Raises `LengthwiseError` for a batch without tokens.
    """
    require(tokens.numel() > 0, f"a batch of shape {list(tokens.shape)} has no tokens to number; give rows with tokens")
    lengths = mask.sum(dim=1)
    order = torch.argsort((~mask).byte(), dim=1, stable=True)
    rows = tokens.gather(1, order)
    if ends is not None:
        refuse_packed(rows, lengths, ends)
    found = rule.ids(rows, lengths, training)
    if check:
        check_prefix(rule, rows, lengths, found)
    return torch.zeros_like(found).scatter(1, order, found)


def refuse_positions(given: Tensor | None, mask: Bool[Tensor, "B T"]) -> None:
    """Raises `LengthwiseError` for position ids of the caller, unless they are those that the model makes itself."""
    if given is None:
        return
    index = torch.arange(mask.shape[1], device=given.device).expand(given.shape[0], -1)
    plain = plain_ids(mask).to(given.device)
    same = given.ndim == 2 and given.shape[1] == mask.shape[1]
    same = same and (bool(((given == plain) | ~mask.to(given.device)).all()) or torch.equal(given, index))
    require(
        same,
        "the rule computes the position ids of this model, and other position_ids were given (packed sequences give "
        "some, too); leave them out, or detach(model)",
    )


def refuse_generation(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], ends: Ends | None) -> None:
    """Raises `LengthwiseError` for a way of generating in which the rule would not see all tokens so far, and nothing
    else, or for rows that hold several sequences.
    """
    config = kwargs.get("generation_config") or (args[1] if len(args) > 1 else None) or model.generation_config

    def setting(name: str) -> Any:
        return kwargs[name] if name in kwargs else getattr(config, name, None)

    for name, what in (
        ("assistant_model", "assisted decoding"),
        ("prompt_lookup_num_tokens", "prompt lookup decoding"),
        ("assistant_early_exit", "assisted decoding"),
        ("prefill_chunk_size", "chunked prefill"),
        ("custom_generate", "a custom generation loop"),
        ("inputs_embeds", "generation from embeddings"),
    ):
        if setting(name) is not None:
            raise LengthwiseError(f"{what} can't follow a rule of position ids; leave out {name}, or detach(model)")
    cache = kwargs.get("past_key_values")
    tokens = args[0] if args else kwargs.get("input_ids", kwargs.get("inputs"))
    if cache is not None and tokens is not None:
        before = int(cache.get_seq_length())
        require(
            before == 0 or before < tokens.shape[1],
            f"the cache holds {before} tokens and {tokens.shape[1]} were given; pass all tokens to generate, those in "
            "the cache included",
        )
    if ends is not None and isinstance(tokens, Tensor) and tokens.ndim == 2 and tokens.numel():
        mask = kwargs.get("attention_mask")
        if mask is None and setting("pad_token_id") is not None:
            mask = tokens != setting("pad_token_id")
        mask = padding_mask(mask, tokens)
        refuse_packed(tokens.gather(1, torch.argsort((~mask).byte(), dim=1, stable=True)), mask.sum(dim=1), ends)


HFModel = TypeVar("HFModel", bound=nn.Module)
DEFAULT_ENDS = ("bos_token_id", "eos_token_id")
JUMPY = ("pose", "randomized", "randomized-float", "id-multiplier")
"""Schemes that move ids apart in training."""
REFUSED = ("generate_batch", "init_continuous_batching", "continuous_batching_context_manager")


class _Pass(threading.local):
    """The ids of one thread's forward pass; a copy of a model starts without any."""

    prepared: tuple[Tensor, Tensor, Tensor] | None = None
    """The tokens of the next forward pass inside `generate`; of all up to them the ids, and which are no padding."""
    current: Tensor | None = None
    """The ids of the forward pass that runs."""

    def __reduce__(self) -> tuple[type[_Pass], tuple[()]]:
        return type(self), ()


def near_mask(ids: Num[Tensor, "B T"], mask: Bool[Tensor, "B T"], near: int, new: int) -> Bool[Tensor, "B 1 new T"]:
    """Which tokens the ``new`` last ones see: earlier ones at most ``near`` ids away, and all with id 0, as `<bos>`.

    So `LocalBias` with a sink does. ``mask`` is false at padding, which sees itself, since it must see something.
    """
    index = torch.arange(ids.shape[1], device=ids.device)
    behind, queries = index[-new:, None], ids[:, -new:, None]
    seen = (((queries - ids[:, None]).abs() <= near) | (ids[:, None] == 0)) & (index <= behind) & mask[:, None]
    return (seen | (index == behind))[:, None]


def _changes(model: nn.Module) -> int:
    """Grows with every change of a parameter in place."""
    return sum(parameter._version for parameter in model.parameters())


Hook = TypeVar("Hook", bound=Callable[..., Any])


def _never_compiled(hook: Hook) -> Hook:
    """A hook that `torch.compile` leaves as it is; compiled, it would be left out in silence."""
    return cast(Hook, torch.compiler.disable(hook))


class Attachment:
    """What is attached to a model: the rule, the hooks, and the ids of the forward passes that run."""

    def __init__(self, places: Places, rule: IdRule, module: str | None, near: int | None) -> None:
        self.rule, self.places, self.near, self.running, self.trained = rule, places, near, _Pass(), False
        self.description = {**described(rule), "module": module} | ({} if near is None else {"near": near})
        below, self._changes = places.entry, _changes(places.entry)
        self.signature = inspect.signature(below.forward)
        self.handles = [
            below.register_forward_pre_hook(self.before_forward, with_kwargs=True),
            below.register_forward_hook(self.after_forward, always_call=True),
            *places.watch(self.replace_ids),
        ]

    @_never_compiled
    def before_forward(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Set the ids of this forward pass, those of `generate` or of its own tokens; hide far tokens, if wanted."""
        given = self.signature.bind_partial(*args, **kwargs).arguments
        given.update(given.pop("kwargs", {}))
        _refuse_attention(module, self.near)
        require(
            not (module.training and len(self.places.modules) > 1)
            or not any(getattr(part, "gradient_checkpointing", False) for part in module.modules()),
            "gradient checkpointing repeats layers that read position ids after the rule's are gone; turn it off, or "
            "detach(model)",
        )
        tokens, cache, given_mask = (given.get(name) for name in ("input_ids", "past_key_values", "attention_mask"))
        if tokens is None:
            raise LengthwiseError(
                "a rule computes position ids from tokens, and inputs_embeds has none; give input_ids, or detach(model)"
            )
        prepared, self.running.prepared = self.running.prepared, None
        if prepared is not None and (prepared[0] is tokens or torch.equal(prepared[0], tokens)):
            every, mask = prepared[1:]
        else:
            require(
                cache is None or int(cache.get_seq_length()) == 0,
                "a forward pass that continues a cache does not know the tokens before it; use generate, or pass all "
                "tokens with use_cache=False",
            )
            require(
                self.near is None or given_mask is None or given_mask.ndim == 2,
                "with near the model makes its mask itself; give an attention_mask of shape [B, T], or none",
            )
            mask = padding_mask(given_mask, tokens)
            refuse_positions(given.get("position_ids"), mask)
            self.trained |= module.training
            every = rule_ids(self.rule, tokens, mask, training=module.training, ends=self.ends(module))
        self.running.current = every[:, -tokens.shape[1] :]
        if self.near is None:
            return None
        seen = near_mask(every, mask, self.near, tokens.shape[1])
        # A static cache is longer.
        room = max((getattr(layer, "max_cache_len", 0) for layer in getattr(cache, "layers", ())), default=0)
        hidden = torch.zeros(seen.shape, dtype=next(module.parameters()).dtype, device=seen.device)
        hidden.masked_fill_(~seen, torch.finfo(hidden.dtype).min)
        hidden = nn.functional.pad(hidden, (0, max(0, room - every.shape[1])), value=-math.inf)
        at = [*self.signature.parameters].index("attention_mask")
        if at < len(args):
            return (*args[:at], hidden, *args[at + 1 :]), kwargs
        return args, {**kwargs, "attention_mask": hidden}

    @property
    def has_trained(self) -> bool:
        """Whether parameters have changed since, and there were forward passes in training."""
        return self.trained and _changes(self.places.entry) != self._changes

    def ends(self, model: Any) -> Ends:
        """The tokens that begin and end a row: those of the rule's task, or the model's start token alone.

        End tokens stand inside the rows of chats, and one that begins rows, too, or is a separator, may be repeated.
        """
        if self.rule.ends is not None:
            return self.rule.ends
        config = model.config.get_text_config()
        start, end = getattr(config, "bos_token_id", None), getattr(config, "eos_token_id", None)
        may_repeat = {*(end if isinstance(end, list) else [end])}
        may_repeat |= {*self.rule.separators} if isinstance(self.rule, Restart) else set()
        # Another vocabulary than that of the architecture, and its default tokens: nobody may have chosen these.
        default = all(getattr(config, name, None) == getattr(type(config), name, None) for name in DEFAULT_ENDS)
        doubtful = default and config.vocab_size != getattr(type(config), "vocab_size", config.vocab_size)
        if not isinstance(start, int) or start in may_repeat or (doubtful and not isinstance(end, int)):
            return Ends(None)
        return Ends(start, before=end if doubtful and isinstance(end, int) else None)

    def ids(self, tokens: Int[Tensor, "B T"], *, training: bool = False) -> Num[Tensor, "B T"]:
        """The ids of rows without padding; raises `LengthwiseError` where the model has too few."""
        found = rule_ids(
            self.rule, tokens, torch.ones_like(tokens, dtype=torch.bool), training=training, ends=self.rule.ends
        )
        return _of_table(found, self.places.limit) if self.places.whole else found

    @_never_compiled
    def after_forward(self, module: nn.Module, args: Any, output: Any) -> None:
        """Forget the ids."""
        self.running.current = None

    @_never_compiled
    def replace_ids(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Hand the rule's ids to a module that encodes positions."""
        return self.places.replace(args, kwargs, self.own_ids)

    def own_ids(self, plain: Tensor) -> Tensor | None:
        """The rule's ids in place of a module's plain ones."""
        if self.running.current is None:
            return None
        ids = self.running.current.to(plain.device)
        require(
            plain.shape[-1] == ids.shape[1],
            f"the module got position ids of shape {list(plain.shape)} for tokens of shape {list(ids.shape)}; "
            "models with several levels of ids can't be attached",
        )
        return _of_table(ids, self.places.limit) if self.places.whole else ids


_TRAINED: WeakKeyDictionary[nn.Module, dict[str, Any]] = WeakKeyDictionary()
"""The rule under which a model was trained before it was detached."""


def attach(
    model: HFModel, rule: IdRule | IdFunction | None = None, *, near: int | None = None, module: str | None = None
) -> HFModel:
    """Give ``model`` the position ids of ``rule``, in training, in forward passes and in `generate`; returns it.

    ``rule`` is a function of token ids [B, T] to position ids [B, T] (rotary encodings take floats, too), or one of
    the rules of `lengthwise.hf`; by default the one that the model was saved with, since `save_pretrained` keeps rules
    of `lengthwise.hf` in the configuration. A row holds one sequence, with padding on either side if the attention mask
    says so; the rule sees padding behind the tokens. ``module`` names the module that encodes positions; by default it
    is found. Either way a probe of a few short forward passes shows that ids given there reach the logits, as if the
    model itself had been given them. PEFT models with LoRA can be attached before or after wrapping.

    With ``near``, a token attends to those alone whose ids differ from its own by at most so much, and to tokens with
    id 0, such as `<bos>`, so that what a layer computes depends on these alone. `save_pretrained` keeps it.

    A warning says where the model was trained under another rule, such as one with a smaller ``max_position``. Raises
    `LengthwiseError` for a model that does not pass the probe; see `detach` for the way back.
    """
    inner = stock(model)
    _refuse_attention(inner)
    require(
        inner.config._attn_implementation != "self_extend",
        "Self-Extend counts the tokens of a row itself, so a rule has no effect on it; attach the stock model",
    )
    hooks = (hook for part in inner.modules() for hook in part._forward_pre_hooks.values())
    require(
        not any(isinstance(getattr(hook, "__self__", None), Attachment) for hook in hooks),
        "the model has a rule already; call detach(model) first, on the model that was attached",
    )
    saved: Any = _TRAINED.get(inner) or getattr(inner.config, SAVED, None)
    if rule is None:
        saved = getattr(inner.config, SAVED, None)
        loaded = "was saved without a rule of position ids" if inner.name_or_path else "has no rule of position ids"
        require(saved is not None, f"the model {loaded}; give one: attach(model, rule)")
        rule, module = built(saved), module or saved.get("module")
        near = saved.get("near") if near is None else near
    needed = getattr(rule, "vocab_size", 0)
    known = getattr(inner.config.get_text_config(), "vocab_size", needed)
    require(
        known >= needed,
        f"the model has {known} tokens, and the rule's task has ids up to {needed - 1}; give the rule token_ids, the "
        f"model's id of each token of the task, or a new model vocab_size={needed}",
    )
    found, rule = position_modules(inner, module), as_rule(rule)
    near = near if near is None else arguments.whole("near", near, 0)
    if near is not None and (jumps := _jumps(rule)):
        what = f"{jumps} puts jumps between ids in training, over which near={near} does not see; use ids without"
        warnings.warn(what, stacklevel=2)
    if isinstance(saved, dict) and (what := changed(saved, rule) or _other_reach(saved, near)):
        warnings.warn(what, stacklevel=2)
    inner.__dict__[STATE] = state = Attachment(found, rule, module, near)
    if near is not None:
        try:
            _check_near(inner, state)
        except LengthwiseError:
            detach(inner)
            raise
    inner.__dict__["save_pretrained"] = types.MethodType(_in_place_of(type(inner).save_pretrained, _save), inner)
    if hasattr(inner, "generate"):
        for name, wrapper in (("generate", _generate), ("prepare_inputs_for_generation", _prepare)):
            inner.__dict__[name] = types.MethodType(_in_place_of(getattr(type(inner), name), wrapper), inner)
        for name in REFUSED:
            if hasattr(inner, name):
                inner.__dict__[name] = _no_continuous_batching
    return model


def detach(model: HFModel) -> HFModel:
    """Undo `attach`: the model is what it was, bit for bit. Raises `LengthwiseError` if no rule is attached."""
    inner = stock(model)
    state: Attachment | None = inner.__dict__.pop(STATE, None)
    if state is None:
        raise LengthwiseError("the model has no rule; attach(model, rule) gives it one")
    for handle in state.handles:
        handle.remove()
    if state.has_trained:
        _TRAINED[inner] = state.description
    for name in ("save_pretrained", "generate", "prepare_inputs_for_generation", *REFUSED):
        inner.__dict__.pop(name, None)
    return model


def _in_place_of(original: Any, wrapper: Any) -> Any:
    """A function of its own that calls ``wrapper`` and has the signature of ``original``."""

    @functools.wraps(original)
    def replaced(self: Any, *args: Any, **kwargs: Any) -> Any:
        return wrapper(self, *args, **kwargs)

    return replaced


def _save(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`save_pretrained` of the model's class, with the rule in the configuration; models may share one otherwise."""
    shared, self.config = self.config, copy.deepcopy(self.config)
    description = self.__dict__[STATE].description
    setattr(self.config, SAVED, description)
    if "arguments" not in description:
        warnings.warn(
            f"the folder keeps no code of the rule {description.get('function') or description['rule']!r}; keep it "
            "yourself, and attach(model, rule) after loading, or the model reads plain ids",
            stacklevel=3,
        )
    try:
        return type(self).save_pretrained(self, *args, **kwargs)
    finally:
        self.config = shared


def _generate(self: Any, *args: Any, **kwargs: Any) -> Any:
    refuse_generation(self, args, kwargs, self.__dict__[STATE].ends(self))
    return type(self).generate(self, *args, **kwargs)


def _prepare(self: Any, input_ids: Tensor, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """`prepare_inputs_for_generation` of the model's class; the ids follow from all tokens so far."""
    inputs = type(self).prepare_inputs_for_generation(self, input_ids, *args, **kwargs)
    state: Attachment = self.__dict__[STATE]
    new = inputs["input_ids"]
    index, cache = inputs.get("cache_position"), kwargs.get("past_key_values")
    # Early versions of transformers 5 say so themselves and miscount static caches.
    before = int(index[0]) if index is not None else 0 if cache is None else int(cache.get_seq_length())
    require(
        before + new.shape[1] == input_ids.shape[1],
        f"the cache holds {before} tokens, and with the {new.shape[1]} new ones {input_ids.shape[1]} were given; "
        "pass all tokens to generate, those in the cache included",
    )
    mask = padding_mask(kwargs.get("attention_mask"), input_ids)
    if before == 0:
        refuse_positions(kwargs.get("position_ids"), mask)
    ids = rule_ids(state.rule, input_ids, mask, training=False, check=True)
    state.running.prepared = (new, ids, mask)
    return inputs


def _no_continuous_batching(*args: Any, **kwargs: Any) -> Any:
    raise LengthwiseError("continuous batching hides the tokens before a step from the rule; use generate")


def token_ids(model: Any) -> dict[str, int]:
    """A model's ids of the tokens of its task, as the attached `CoupledPlaces` has them; `dataset` takes them.

    Raises `LengthwiseError` for a model without such a rule.
    """
    rule = getattr(attached(stock(model)), "rule", None)
    if not isinstance(rule, CoupledPlaces):
        raise LengthwiseError("no CoupledPlaces is attached to the model; give token_ids as a mapping")
    return dict(rule.token_ids)


def stock(model: Any) -> PreTrainedModel:
    """The model of `transformers` itself, below PEFT's wrappers."""
    if hasattr(model, "get_base_model") and hasattr(model, "peft_config"):
        kinds = sorted({type(value).__name__ for value in model.peft_config.values() if value.is_prompt_learning})
        require(not kinds, f"PEFT drops position ids under {', '.join(kinds)}; use LoRA")
        model = model.get_base_model()
    require(
        isinstance(model, PreTrainedModel) and not model.config.is_encoder_decoder,
        f"attach takes a causal model of transformers, got {type(model).__name__}",
    )
    causal = {each for module in model.modules() if isinstance(each := getattr(module, "is_causal", None), bool)}
    require(
        causal != {False},
        f"attach takes a causal model of transformers, and {type(model).__name__} is an encoder: its tokens see later "
        "ones; load a causal one, as with AutoModelForCausalLM (of BERT and its kin with is_decoder=True)",
    )
    return model


def _refuse_attention(model: Any, near: int | None = None) -> None:
    name = model.config._attn_implementation
    require(
        near is None or name in ("eager", "sdpa"),
        f"attention function {name!r} takes no mask of near tokens; load the model with attn_implementation='sdpa'",
    )
    require(
        name in ALL_MASK_ATTENTION_FUNCTIONS,
        f"attention function {name!r} has no mask function, so the model would see later tokens; register one with "
        "AttentionMaskInterface.register, or load the model with attn_implementation='sdpa'",
    )


def _check_near(model: PreTrainedModel, state: Attachment) -> None:
    """A probe: far tokens have no effect. Raises `LengthwiseError` where they have one, or where no mask can be given.

    Convolutions, recurrences and sliding windows pass masks by, or have their own.
    """
    near, layers = state.near or 0, int(getattr(model.config.get_text_config(), "num_hidden_layers", 1))
    size, most = near * layers + 2, state.places.limit if state.places.whole else math.inf
    masked = "attention_mask" in state.signature.parameters and not any(DynamicCache(config=model.config).is_sliding)
    if masked and size < most:
        drawn = stream(0, "hf", "near").integers(model.config.get_text_config().vocab_size - 1, size=size)
        tokens = torch.from_numpy(drawn).to(model.device).repeat(2, 1)
        tokens[1, 0] += 1
        ids = torch.arange(1, size + 1, device=model.device).repeat(2, 1)
        with quiet(model):
            state.running.prepared = (tokens, ids, torch.ones_like(ids).bool())
            one, other = model(input_ids=tokens, use_cache=False).logits[:, -1].float()
        if torch.isclose(one, other, rtol=1e-3, atol=1e-5).all():
            return
    raise LengthwiseError(
        f"near can't be had of {type(model).__name__}: its layers see far tokens whatever a mask hides, as "
        "convolutions, recurrences and sliding windows do, or it has too few positions to find out; leave near out"
    )


def _jumps(rule: IdRule) -> str:
    """By what training moves ids apart that belong together, if anything."""
    scheme = getattr(rule, "scheme", None)
    draw = getattr(scheme, "draw", "contiguous")
    return f"draw {draw!r}" if draw != "contiguous" else repr(scheme.name) if scheme and scheme.name in JUMPY else ""


def _other_reach(saved: dict[str, Any], near: int | None) -> str:
    """What a warning says of a model that was trained to see other tokens; empty for the same."""
    before = saved.get("near")
    said = [f"near={each}" if each is not None else "every earlier token" for each in (before, near)]
    return f"the model was trained with attention to {said[0]}, and has {said[1]} now" if before != near else ""


def _of_table(ids: Tensor, size: int) -> Tensor:
    require(
        not ids.dtype.is_floating_point,
        "a learned table of positions takes integer ids, and the rule gives floats; use a rotary model for "
        "interpolated ids",
    )
    low, high = (int(ids.min()), int(ids.max())) if ids.numel() else (0, 0)
    require(
        low >= 0 and high < size,
        f"the rule gives position ids {low}..{high}, but the table has 0..{size - 1}; raise max_position_embeddings, "
        "or lower the rule's ids",
    )
    return ids.long()
