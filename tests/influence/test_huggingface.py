"""Models of Hugging Face, made on the spot with random weights, saved and loaded: masks, shortcuts, bad input."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from lengthwise.core.errors import LengthwiseError
from lengthwise.influence.corpus import Windows
from lengthwise.influence.huggingface import HuggingFaceModel, HuggingFaceTokenizer
from lengthwise.influence.measure import MeasureConfig, measure
from lengthwise.influence.models import LanguageModel
from made_up_models import masked_losses

transformers = pytest.importorskip("transformers")

ARCHITECTURES = ("gpt2", "llama", "gpt_neox")
VOCAB, CONTEXT = 97, 24


def random_model(architecture: str, **changes):
    """Two layers, four heads, large weights, so that every token matters."""
    common = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": 64}
    torch.manual_seed(0)
    match architecture:
        case "gpt2":
            settings = transformers.GPT2Config(
                **{"vocab_size": VOCAB, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, **changes}
            )
            model = transformers.GPT2LMHeadModel(settings)
        case "llama":
            more = {"intermediate_size": 64, "num_key_value_heads": 2}
            model = transformers.LlamaForCausalLM(
                transformers.LlamaConfig(**{"vocab_size": VOCAB, **common, **more, **changes})
            )
        case "gpt_neox":
            model = transformers.GPTNeoXForCausalLM(
                transformers.GPTNeoXConfig(**{"vocab_size": VOCAB, **common, "intermediate_size": 64, **changes})
            )
        case _:
            raise ValueError(architecture)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim >= 2:
                parameter.copy_(0.3 * torch.randn(parameter.shape))
    return model.eval()


@pytest.fixture(scope="module", params=ARCHITECTURES)
def architecture(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def model(architecture: str, tmp_path_factory) -> HuggingFaceModel:
    """Saved to a folder and loaded from there."""
    folder = tmp_path_factory.mktemp(architecture)
    random_model(architecture).save_pretrained(folder)
    return HuggingFaceModel.load(folder)


def some_tokens(rows: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    visible = rng.random((rows, CONTEXT)) < 0.5
    visible[:, -1] = True
    visible[0, 0] = False
    return rng.integers(VOCAB, size=(rows, CONTEXT)), visible, rng.integers(VOCAB, size=rows)


def compact(model: HuggingFaceModel, tokens: np.ndarray, visible: np.ndarray, targets: np.ndarray) -> np.ndarray:
    found = []
    for row, seen, target in zip(tokens, visible, targets, strict=True):
        positions = np.flatnonzero(seen)[None]
        found.append(model.target_losses(row[positions], positions, np.array([target]))[0])
    return np.array(found)


def attend_without_hidden_keys(module, query, key, value, attention_mask, scaling=None, **more):
    """Attention as a loop: every query sees a list of keys from which hidden ones have been deleted."""
    del attention_mask, more
    groups = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(groups, dim=1), value.repeat_interleave(groups, dim=1)
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    mixed = torch.zeros(*query.shape[:3], value.shape[-1])
    for row in range(query.shape[0]):
        hidden = set(np.flatnonzero(~attend_without_hidden_keys.visible[row]).tolist())
        for at in range(query.shape[2]):
            kept = [j for j in range(at + 1) if j not in hidden or j == at]
            logits = torch.einsum("hd,hjd->hj", query[row, :, at], key[row][:, kept]) * scaling
            mixed[row, :, at] = torch.einsum("hj,hjd->hd", logits.softmax(-1), value[row][:, kept])
    return mixed.transpose(1, 2), None


def test_masked_and_compact_losses_equal_an_explicit_deletion_of_keys(model: HuggingFaceModel):
    tokens, visible, targets = some_tokens()
    masked = masked_losses(model, tokens, visible, targets)
    transformers.AttentionInterface.register("deletion", attend_without_hidden_keys)
    attend_without_hidden_keys.visible = visible
    model.inner.set_attn_implementation("deletion")
    try:
        with torch.no_grad():
            logits = model.inner(torch.from_numpy(tokens), use_cache=False).logits[:, -1].double()
    finally:
        model.inner.set_attn_implementation("sdpa")
    expected = -logits.log_softmax(-1)[np.arange(len(targets)), targets].numpy()
    assert masked == pytest.approx(expected, abs=1e-5)
    assert compact(model, tokens, visible, targets) == pytest.approx(expected, abs=1e-5)
    unmasked = masked_losses(model, tokens, np.ones_like(visible), targets)
    assert np.abs(unmasked - expected).max() > 0.1


def test_what_is_masked_has_no_effect(model: HuggingFaceModel):
    tokens, visible, targets = some_tokens()
    other = np.where(visible, tokens, some_tokens(seed=1)[0])
    assert masked_losses(model, tokens, visible, targets) == pytest.approx(
        masked_losses(model, other, visible, targets), abs=1e-6
    )


def test_positions_stay_what_they_are(model: HuggingFaceModel):
    """The same visible tokens right behind each other are another text, whose loss differs."""
    tokens, visible, targets = some_tokens()
    positions = np.flatnonzero(visible[0])[None]
    apart = model.target_losses(tokens[:1, positions[0]], positions, targets[:1])
    together = model.target_losses(tokens[:1, positions[0]], np.arange(positions.size)[None], targets[:1])
    assert abs(apart[0] - together[0]) > 1e-3


def test_all_visible_is_the_model_itself(model: HuggingFaceModel, architecture: str):
    tokens, visible, targets = some_tokens()
    inner = random_model(architecture)
    with torch.no_grad():
        logits = inner(torch.from_numpy(tokens)).logits[:, -1].double()
    expected = -logits.log_softmax(-1)[np.arange(len(targets)), targets].numpy()
    everything = np.ones_like(visible)
    assert masked_losses(model, tokens, everything, targets) == pytest.approx(expected, abs=1e-5)
    assert compact(model, tokens, everything, targets) == pytest.approx(expected, abs=1e-5)


def test_gradient_input_is_the_derivative_along_each_vector(model: HuggingFaceModel):
    tokens, _, targets = some_tokens(2)
    positions = np.tile(np.arange(CONTEXT), (2, 1))
    found = model.gradient_input(tokens, positions, targets)
    embedding = model.inner.get_input_embeddings()
    step = 1e-3
    for at in (0, 7, CONTEXT - 1):

        def shrink(module, inputs, output, at=at):
            del module, inputs
            scaled = output.clone()
            scaled[:, at] *= 1 - step
            return scaled

        handle = embedding.register_forward_hook(shrink)
        without = model.target_losses(tokens, positions, targets)
        handle.remove()
        slope = (without - model.target_losses(tokens, positions, targets)) / step
        assert found[:, at] == pytest.approx(slope, abs=2e-2 * max(1, np.abs(found).max()))
    assert all(parameter.grad is None for parameter in model.inner.parameters())


def test_attention_is_the_mean_over_layers_and_heads(model: HuggingFaceModel, architecture: str):
    tokens, _, _ = some_tokens(2)
    positions = np.tile(np.arange(CONTEXT), (2, 1))
    found = model.attention(tokens, positions)
    inner = random_model(architecture)
    inner.set_attn_implementation("eager")
    with torch.no_grad():
        layers = inner(torch.from_numpy(tokens), output_attentions=True).attentions
    expected = torch.stack(layers)[:, :, :, -1].mean(dim=(0, 2)).numpy()
    assert found == pytest.approx(expected, abs=1e-5)
    assert found.sum(axis=1) == pytest.approx([1, 1], abs=1e-5)
    assert model.inner.config._attn_implementation == "sdpa"


def test_a_whole_measurement(model: HuggingFaceModel):
    assert isinstance(model, LanguageModel)
    tokens, _, targets = some_tokens(4)
    windows = Windows(
        np.concatenate([tokens, targets[:, None]], axis=1), np.arange(4), tuple("abcd"), np.full(4, CONTEXT)
    )
    config = MeasureConfig(context=CONTEXT, recent=12, ks=(1, 2), targets=4, bootstrap=20)
    result = measure(model, windows, config)
    visible = np.zeros((4, CONTEXT), dtype=bool)
    visible[:, 12:] = True
    assert [t["short"] for t in result["targets"]] == pytest.approx(
        masked_losses(model, tokens, visible, targets), abs=1e-5
    )
    for row, entry in enumerate(result["targets"]):
        visible[row, entry["chosen"]["greedy"]["order"]] = True
    assert [t["chosen"]["greedy"]["losses"][1] for t in result["targets"]] == pytest.approx(
        masked_losses(model, tokens, visible, targets), abs=1e-5
    )
    assert result["model"]["parameters"] == sum(p.numel() for p in model.inner.parameters())
    assert result["model"]["max_length"] == 64


def test_the_tokenizer_beside_the_model(tmp_path: Path):
    tokenizers = pytest.importorskip("tokenizers")
    bpe = tokenizers.ByteLevelBPETokenizer()
    bpe.train_from_iterator(["a tree is a tree is a tree"] * 3, vocab_size=270)
    random_model("gpt2", vocab_size=300).save_pretrained(tmp_path)
    wrapped = transformers.PreTrainedTokenizerFast(tokenizer_object=bpe._tokenizer)
    wrapped.save_pretrained(tmp_path)
    tokenizer = HuggingFaceModel.load(tmp_path).tokenizer
    ids = tokenizer.encode("a tree is é")
    assert ids == bpe.encode("a tree is é").ids
    assert tokenizer.vocab_size == bpe.get_vocab_size()
    assert "".join(tokenizer.pieces(ids[:3])) == "a tree is é"[: len("".join(tokenizer.pieces(ids[:3])))]
    assert len(tokenizer.pieces(ids)) == len(ids)
    other = tmp_path / "other"
    random_model("gpt2").save_pretrained(other)
    with pytest.raises(LengthwiseError, match="no tokenizer beside model"):
        _ = HuggingFaceModel.load(other).tokenizer
    with pytest.raises(LengthwiseError, match="was not loaded from a folder"):
        _ = HuggingFaceModel("plain", random_model("gpt2")).tokenizer


def test_a_sliding_window_limits_the_length():
    model = transformers.MistralForCausalLM(
        transformers.MistralConfig(
            vocab_size=VOCAB, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=64, sliding_window=20,
        )
    )  # fmt: skip
    assert HuggingFaceModel("mistral", model).max_length == 20


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda t: t.MambaForCausalLM(t.MambaConfig(vocab_size=VOCAB, hidden_size=16, num_hidden_layers=1)),
         "takes no position ids"),
        (lambda t: t.BloomForCausalLM(t.BloomConfig(vocab_size=VOCAB, hidden_size=16, n_layer=1, n_head=2)),
         "takes no position ids"),
    ],
    ids=["mamba", "bloom"],
)  # fmt: skip
def test_architectures_that_can_t_be_masked(make, message: str):
    with pytest.raises(LengthwiseError, match=message) as caught:
        HuggingFaceModel("other", make(transformers), 64)
    assert "\n" not in str(caught.value)


def test_a_model_that_ignores_its_mask_is_found_out():
    class Deaf(transformers.GPT2LMHeadModel):
        def forward(self, input_ids=None, attention_mask=None, position_ids=None, use_cache=None, **more):
            del attention_mask
            return super().forward(input_ids, position_ids=position_ids, use_cache=use_cache)

    plain = random_model("gpt2")
    model = Deaf(plain.config)
    model.load_state_dict(plain.state_dict())
    with pytest.raises(LengthwiseError, match="can't be masked: masked tokens move its loss"):
        HuggingFaceModel("deaf", model)


def test_damaged_weights_are_named():
    model = random_model("gpt2")
    with torch.no_grad():
        model.transformer.h[0].attn.c_attn.weight.fill_(float("nan"))
    with pytest.raises(LengthwiseError, match="losses that are not finite"):
        HuggingFaceModel("damaged", model)


class Endless(torch.nn.Module):
    """A model whose configuration says nothing of a length."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.config = random_model("llama"), SimpleNamespace()

    def forward(self, input_ids, attention_mask, position_ids, use_cache, logits_to_keep=0):
        return self.inner(
            input_ids, attention_mask=attention_mask, position_ids=position_ids, use_cache=use_cache,
            logits_to_keep=logits_to_keep,
        )  # fmt: skip

    def get_input_embeddings(self) -> torch.nn.Module:
        return self.inner.get_input_embeddings()


def test_a_model_without_a_maximum_length():
    with pytest.raises(LengthwiseError, match="states no maximum length; say how many tokens it takes: `max_length`"):
        HuggingFaceModel("endless", Endless())
    assert HuggingFaceModel("endless", Endless(), 40).max_length == 40


def test_folders_without_a_model(tmp_path: Path):
    for source, message in (
        (tmp_path / "nothing", "no folder .*nothing; check `model`"),
        (tmp_path, r"holds no model \(config.json is missing\)"),
    ):
        with pytest.raises(LengthwiseError, match=message):
            HuggingFaceModel.load(source)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(LengthwiseError, match="can't be loaded") as caught:
        HuggingFaceModel.load(tmp_path)
    assert "\n" not in str(caught.value)
    random_model("gpt2").save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(LengthwiseError, match="can't be loaded") as caught:
        HuggingFaceModel.load(tmp_path)
    assert "\n" not in str(caught.value)
    (tmp_path / "model.safetensors").unlink()
    (tmp_path / "pytorch_model.bin").write_bytes(b"would be a pickle")
    with pytest.raises(LengthwiseError, match="can't be loaded"):
        HuggingFaceModel.load(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["model_type"] == "gpt2"


def test_without_the_extra_the_way_out_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(LengthwiseError, match=r"pip install 'lengthwise\[lm\]'"):
        HuggingFaceModel.load("gpt2")


@pytest.mark.parametrize("local", ["local", "global"])
def test_local_attention_is_found_by_a_probe(local: str):
    """The report: GPT-Neo's window of 256 is called window_size, and losses of 300 tokens were wrong by 0.23 nats."""
    torch.manual_seed(0)
    inner = transformers.GPTNeoForCausalLM(
        transformers.GPTNeoConfig(
            vocab_size=VOCAB, hidden_size=32, num_layers=2, num_heads=4, max_position_embeddings=400, window_size=256,
            attention_types=[[["global", local], 1]], intermediate_size=48,
        )
    )  # fmt: skip
    with torch.no_grad():
        for parameter in inner.parameters():
            if parameter.ndim >= 2:
                parameter.copy_(0.3 * torch.randn(parameter.shape))
    model = HuggingFaceModel("neo", inner)
    for length in (20, 200, 256):
        assert model.window_ids(np.zeros((1, length), dtype=int)).shape == (1, length)
    tokens = np.random.default_rng(0).integers(VOCAB, size=(2, 300))
    if local == "global":
        model.window_ids(tokens)
        visible, targets = np.random.default_rng(1).random((2, 300)) < 0.1, np.array([1, 2])
        visible[:, -1] = True
        assert masked_losses(model, tokens, visible, targets) == pytest.approx(
            compact(model, tokens, visible, targets), abs=1e-4
        )
        return
    windows = Windows(np.pad(tokens, ((0, 0), (0, 1))), np.arange(2), ("a", "b"), np.full(2, 300))
    with pytest.raises(LengthwiseError, match=r"local attention.*use a context of at most 256 tokens") as error:
        measure(model, windows, MeasureConfig(context=300, recent=12, ks=(1,), targets=2, bootstrap=5))
    assert "\n" not in str(error.value)


def test_a_token_in_front_is_always_visible(architecture: str):
    """The losses are those of windows that begin with it, whatever is masked behind it."""
    plain = HuggingFaceModel("plain", random_model(architecture))
    model = HuggingFaceModel("with bos", random_model(architecture), bos=7)
    assert plain.max_length is not None
    assert model.max_length == plain.max_length - 1
    tokens, visible, targets = some_tokens()
    longer = np.pad(tokens, ((0, 0), (1, 0)), constant_values=7)
    seen = np.pad(visible, ((0, 0), (1, 0)), constant_values=True)
    right = masked_losses(plain, longer, seen, targets)
    assert masked_losses(model, tokens, visible, targets) == pytest.approx(right, abs=1e-5)
    assert compact(model, tokens, visible, targets) == pytest.approx(right, abs=1e-5)
    assert np.abs(masked_losses(plain, tokens, visible, targets) - right).max() > 1e-2
    positions = np.tile(np.arange(CONTEXT), (5, 1))
    for found, other in (
        (model.attention(tokens, positions), plain.attention(longer, np.tile(np.arange(CONTEXT + 1), (5, 1)))),
        (
            model.gradient_input(tokens, positions, targets),
            plain.gradient_input(longer, np.tile(np.arange(CONTEXT + 1), (5, 1)), targets),
        ),
    ):
        assert found == pytest.approx(other[:, 1:], abs=1e-4)


def word_pieces(kind: str):
    """Tokenizers that write blanks in their own ways: bytes, a mark for blanks, continued words."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    if kind == "bytes":
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        inner = Tokenizer(models.BPE({word: index for index, word in enumerate(alphabet)}, []))
        inner.pre_tokenizer, inner.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    elif kind == "metaspace":
        words = ["[UNK]", "▁a", "▁tree", "▁is", "s", "▁é", "▁"]
        inner = Tokenizer(models.Unigram([(word, -1.0) for word in words], unk_id=0))
        inner.pre_tokenizer, inner.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    else:
        words = ["[UNK]", "a", "tree", "##s", "is", "é"]
        inner = Tokenizer(models.WordPiece({word: index for index, word in enumerate(words)}, unk_token="[UNK]"))
        inner.pre_tokenizer, inner.decoder = pre_tokenizers.Whitespace(), decoders.WordPiece(cleanup=False)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=inner)


@pytest.mark.parametrize("kind", ["bytes", "metaspace", "continued"])
def test_pieces_joined_are_the_text(kind: str):
    """The report: tokens.html joined words, since a decoder drops the blank before a single token."""
    tokenizer = HuggingFaceTokenizer(word_pieces(kind))
    text = "a tree is a trees é is a tree"
    ids = tokenizer.encode(text)
    pieces = tokenizer.pieces(ids)
    assert len(pieces) == len(ids)
    assert "".join(pieces).strip() == text
    if kind != "bytes":
        assert [piece.strip() for piece in pieces] == ["a", "tree", "is", "a", "tree", "s", "é", "is", "a", "tree"]
        assert tokenizer.pieces(ids[1:2]) == [" tree"]


def test_a_tokenizer_that_puts_a_token_in_front(tmp_path: Path):
    from tokenizers import processors

    inner = word_pieces("continued")
    inner.add_special_tokens({"bos_token": "<s>"})
    inner._tokenizer.post_processor = processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", 6)])
    inner.save_pretrained(tmp_path)
    random_model("llama").save_pretrained(tmp_path)
    model = HuggingFaceModel.load(tmp_path)
    assert model.bos == model.tokenizer.bos == 6
    assert model.max_length == 63
    assert model.tokenizer.encode("a tree") == [1, 2]
