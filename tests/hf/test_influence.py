"""Influential tokens of attached and exported models are those of a brute-force search over explicit masks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from peft import LoraConfig, get_peft_model
from test_pretrained_model import experiment, made
from tiny import SEPARATOR, SHAPES, VOCAB, restarting, tiny

from lengthwise.cli.main import main
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.hf import CoupledPlaces, Interpolated, attach, detach, language_model, task_windows
from lengthwise.influence.corpus import Windows
from lengthwise.influence.measure import MeasureConfig, measure
from lengthwise.influence.models import LanguageModel
from made_up_models import masked_losses

CONTEXT, RECENT = 10, 4
Loss = Callable[[np.ndarray, np.ndarray, np.ndarray, int], float]
"""Tokens of a window, the tokens that give it its ids, visible tokens, target."""


def some_windows(rows: int = 3) -> Windows:
    rng = np.random.default_rng(0)
    tokens = rng.integers(4, VOCAB, size=(rows, CONTEXT + 1))
    tokens[0, [2, 7]] = tokens[1, [1, 4]] = tokens[2, 5] = SEPARATOR
    return Windows(tokens, np.arange(rows), tuple("abcdef"[:rows]), np.full(rows, CONTEXT))


def settings(windows: Windows, **more: Any) -> MeasureConfig:
    given = {"context": windows.tokens.shape[1] - 1, "recent": RECENT, "ks": (1, 2), "bootstrap": 5, **more}
    return MeasureConfig(targets=len(windows.tokens), **given)


@torch.no_grad()
def nats(logits: torch.Tensor, target: int) -> float:
    return -float(logits[0, -1].double().log_softmax(-1)[target])


def masked(plain: Any, rule: Any) -> Loss:
    """The loss of a stock model under an explicit mask and the ids of the whole window."""

    @torch.no_grad()
    def loss(tokens: np.ndarray, numbered: np.ndarray, visible: np.ndarray, target: int) -> float:
        size = len(tokens)
        seen = torch.from_numpy(visible)[None, :] | torch.eye(size, dtype=torch.bool)
        bias = torch.zeros(size, size).masked_fill(~(seen & torch.ones(size, size).tril().bool()), -1e30)
        ids = rule(torch.from_numpy(numbered)[None])
        rows = torch.from_numpy(tokens)[None]
        return nats(plain(rows, position_ids=ids, attention_mask=bias[None, None], use_cache=False).logits, target)

    return loss


def check(model: LanguageModel, windows: Windows, loss: Loss, **more: Any) -> dict[str, Any]:
    """`measure` finds what trying every token one after the other finds."""
    config = settings(windows, **more)
    result = measure(model, windows, config)
    block = range(config.context - config.recent)
    for row, entry in enumerate(result["targets"]):
        tokens, target = windows.tokens[row, :-1], int(windows.tokens[row, -1])
        visible = np.ones(config.context, dtype=bool)
        assert entry["long"] == pytest.approx(loss(tokens, tokens, visible, target), abs=1e-4)
        visible[list(block)] = False
        assert entry["short"] == pytest.approx(loss(tokens, tokens, visible, target), abs=1e-4)
        for step, (chosen, known) in enumerate(
            zip(entry["chosen"]["greedy"]["order"], entry["chosen"]["greedy"]["losses"], strict=True)
        ):
            tried = {}
            for at in block:
                if not visible[at]:
                    visible[at] = True
                    tried[at] = loss(tokens, tokens, visible, target)
                    visible[at] = False
            assert known == pytest.approx(min(tried.values()), abs=1e-4), (row, step)
            assert tried[chosen] == pytest.approx(min(tried.values()), abs=1e-4)
            visible[chosen] = True
    return result


@pytest.mark.parametrize("kind", SHAPES)
def test_attached_models(kind: str):
    windows, plain = some_windows(), tiny(kind)
    model = language_model(attach(tiny(kind), restarting))
    assert isinstance(model, LanguageModel)
    result = check(model, windows, masked(plain, restarting))
    unruled = measure(language_model(plain), windows, settings(windows))
    apart = [abs(a["long"] - b["long"]) for a, b in zip(result["targets"], unruled["targets"], strict=True)]
    assert max(apart) > 1e-2, "the ids must matter"


def test_a_masked_token_keeps_its_effect_on_the_ids_of_others():
    """A separator in the block is masked in L_short, and still restarts the ids behind it."""
    windows, plain = some_windows(), tiny("llama")
    model = language_model(attach(tiny("llama"), restarting))
    tokens, visible = windows.tokens[1:2, :-1], np.arange(CONTEXT)[None] >= CONTEXT - RECENT
    visible[0, 0] = True  # rotary encodings know differences of ids only
    renumbered = tokens.copy()
    renumbered[~visible] = 5
    loss, target = masked(plain, restarting), int(windows.tokens[1, -1])
    found = masked_losses(model, tokens, visible, windows.tokens[1:2, -1])[0]
    assert found == pytest.approx(loss(tokens[0], tokens[0], visible[0], target), abs=1e-4)
    assert abs(found - loss(tokens[0], renumbered[0], visible[0], target)) > 1e-3


def test_the_control_with_another_block_keeps_the_ids():
    windows, plain = some_windows(), tiny("llama")
    config = settings(windows)
    others = np.array([1, 2, 0])
    result = measure(language_model(attach(tiny("llama"), restarting)), windows, config, others=others)
    loss = masked(plain, restarting)
    for row, entry in enumerate(result["targets"]):
        own, target = windows.tokens[row, :-1], int(windows.tokens[row, -1])
        mixed = np.concatenate([windows.tokens[others[row], : CONTEXT - RECENT], own[CONTEXT - RECENT :]])
        assert entry["null"]["long"] == pytest.approx(loss(mixed, own, np.ones(CONTEXT, dtype=bool), target), abs=1e-4)


def test_fractional_ids_and_attention_and_gradients():
    windows, rule = some_windows(), Interpolated(4.0)
    plain, model = tiny("llama"), language_model(attach(tiny("llama"), rule))
    check(model, windows, masked(plain, lambda rows: torch.arange(rows.shape[1])[None] / 4.0))
    rules = ("greedy", "attention", "gradient-input", "surrogate", "one-shot")
    measure(model, windows, settings(windows, rules=rules))
    plain.set_attn_implementation("eager")
    tokens = torch.from_numpy(windows.tokens[:, :-1])
    ids = (torch.arange(CONTEXT) / 4.0).expand(len(tokens), -1)
    ones = torch.ones_like(tokens)
    right = torch.stack(plain(tokens, position_ids=ids, attention_mask=ones, output_attentions=True).attentions)
    found = model.attention(windows.tokens[:, :-1], ids.numpy())
    assert found == pytest.approx(right[:, :, :, -1].mean(dim=(0, 2)).detach().numpy(), abs=1e-5)


def test_a_model_with_lora():
    windows = some_windows()

    def wrapped(model: Any) -> Any:
        torch.manual_seed(3)
        return get_peft_model(model, LoraConfig(target_modules=["q_proj", "v_proj"], init_lora_weights=False)).eval()

    check(
        language_model(attach(wrapped(tiny("llama")), restarting)), windows, masked(wrapped(tiny("llama")), restarting)
    )


def test_a_stock_model_on_a_task_under_coupled_ids():
    windows = task_windows("addition", 3, size=3, at=1)
    rule = CoupledPlaces("addition")
    model = language_model(attach(tiny("llama", vocab=len(rule.task.vocab)), rule))
    places = rule.task.batch(3, 3, stream(0, "hf", "windows", 3)).places[:1, : windows.tokens.shape[1] - 1, 0]
    check(model, windows, masked(tiny("llama", vocab=len(rule.task.vocab)), lambda rows: torch.from_numpy(places)))


def own_loss(model: Any, ids: np.ndarray) -> Loss:
    """The loss of our transformer under its key mask, with the ids of each window's length given."""

    @torch.no_grad()
    def loss(tokens: np.ndarray, numbered: np.ndarray, visible: np.ndarray, target: int) -> float:
        rows = torch.from_numpy(tokens)[None]
        given = torch.from_numpy(ids[:1])
        return nats(model.transformer(rows, given, visible=torch.from_numpy(visible)[None]).logits, target)

    return loss


@pytest.mark.parametrize("encoding", ["rope", "learned", "fire"])
@pytest.mark.parametrize(
    ("task", "scheme", "at"),
    [("addition", "coupled", 0), ("addition", "sequential", 1), ("variable-assignment", "predictive-coupling", 0)],
)
def test_exported_models(task: str, scheme: str, at: int, encoding: str, tmp_path: Path):
    found = experiment(task, scheme, encoding)
    made(found).save_pretrained(tmp_path)
    model = type(made(found)).from_pretrained(tmp_path)
    windows = task_windows(found.task, 2, size=2, at=at)
    batch = found.task.batch(2, 2, stream(0, "hf", "windows", 2))
    assigned = found.scheme.for_evaluation().assign(batch.places, found.task.levels, stream(0, "prompt", "ids"))
    ids = assigned[:, : windows.tokens.shape[1] - 1]
    if scheme == "coupled":
        ids = model.place_ids(torch.from_numpy(windows.tokens[:, :-1])).numpy()
        assert ((ids > 0) == (batch.places[:, : ids.shape[1]] > 0)).all()
    check(language_model(model), windows, own_loss(model, ids))


def test_ids_of_windows_can_be_given():
    found = experiment("variable-assignment")
    model = made(found)
    windows = task_windows(found.task, 3, size=2, at=1)
    batch = found.task.batch(3, 2, stream(0, "hf", "windows", 3))
    ids = found.scheme.assign(batch.places, found.task.levels, stream(0, "test"))[:1, : windows.tokens.shape[1] - 1]
    given = language_model(model, ids=lambda tokens: torch.from_numpy(ids).expand(len(tokens), -1, -1))
    check(given, windows, own_loss(model, ids))


def test_lora_on_an_exported_model_counts():
    found = experiment("addition", "sequential")
    model = made(found)
    windows = task_windows(found.task, 2, size=2)
    before = measure(language_model(model), windows, settings(windows))
    torch.manual_seed(0)
    wrapped = get_peft_model(model, LoraConfig(target_modules=["qkv", "out"], init_lora_weights=False)).eval()
    tokens = windows.tokens[:, :-1]
    result = check(language_model(wrapped), windows, own_loss(model, np.arange(tokens.shape[1])[None, :, None]))
    assert abs(result["targets"][0]["long"] - before["targets"][0]["long"]) > 1e-3


def refused_windows(model: Any, windows: Windows | None = None, **given: Any) -> Any:
    windows = windows or some_windows()
    return measure(language_model(model, **given), windows, settings(windows))


def detached() -> Any:
    model = attach(tiny("llama"), restarting)
    measured = language_model(model)
    detach(model)
    return measure(measured, some_windows(), settings(some_windows()))


def no_prompts() -> Any:
    model = made(experiment())
    return refused_windows(model, task_windows(model.experiment.task, 2, size=2, at=1))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (detached, "the rule was detached"),
        (lambda: language_model(tiny("llama"), ids=restarting), "attach(model, rule)"),
        (lambda: refused_windows(attach(tiny("llama"), restarting), max_length=6), "at most 6 tokens"),
        (lambda: refused_windows(attach(tiny("llama", vocab=20), CoupledPlaces("addition"))), "begin with a prompt"),
        (lambda: refused_windows(attach(tiny("gpt2"), Interpolated(2.0))), "integer ids"),
        (no_prompts, "windows that are whole prompts"),
        (
            lambda: refused_windows(made(experiment()), task_windows("variable-assignment", 2), ids=restarting),
            "[N, T, ",
        ),
        (lambda: task_windows("addition", 3, at=9), "the answers have tokens 0 to 4 at length 3, got at=9"),
        (lambda: task_windows("addition", 0), "no instances of length 0"),
        (lambda: language_model(torch.nn.Linear(2, 2)), "got Linear"),
    ],
)
def test_refusals_are_one_line(call: Any, says: str):
    with pytest.raises(LengthwiseError) as error:
        call()
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def own_losses(model: Any, at: int) -> Loss:
    """The loss of our transformer on problems of length 3 as the command draws them, with the ids of each problem."""
    found = model.experiment
    batch = found.task.batch(3, 5, stream(0, "influence", "problems", 3))
    ids = found.scheme.for_evaluation().assign(batch.places, found.task.levels, stream(0, "influence", "ids"))
    rows = {row[: batch.prompt_length + at].tobytes(): each for row, each in zip(batch.input_ids, ids, strict=True)}

    @torch.no_grad()
    def loss(tokens: np.ndarray, numbered: np.ndarray, visible: np.ndarray, target: int) -> float:
        given = torch.from_numpy(rows[numbered.astype(batch.input_ids.dtype).tobytes()][None, : len(tokens)])
        seen = torch.from_numpy(visible)[None]
        return nats(model.transformer(torch.from_numpy(tokens)[None], given, visible=seen).logits, target)

    return loss


@pytest.mark.parametrize(
    ("task", "scheme", "at"),
    [
        ("addition", "coupled", 1),
        ("addition", "sequential", 0),
        ("variable-assignment", "predictive-coupling", 0),
        ("variable-assignment", "predictive-coupling", 2),
    ],
)
def test_the_command_measures_an_exported_folder(
    task: str, scheme: str, at: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    if at != 2:
        # Pages are drawn in one case.
        monkeypatch.setattr(
            "lengthwise.api.influence.write_pages",
            lambda path, _: [path.with_name(name).touch() for name in ("report.html", "tokens.html")],
        )
    model = made(experiment(task, scheme))
    model.save_pretrained(tmp_path / "model")
    capsys.readouterr()
    words = ["influence", "--model", str(tmp_path / "model"), "--out", str(tmp_path / "out"), "--threads", "1"]
    words += ["--length", "3", "--answer-token", str(at), "--targets", "5", "-k", "1,2", "--json"]
    assert main(words) == 0
    folder = Path(json.loads(capsys.readouterr().out)["file"]).parent
    assert {"report.html", "tokens.html"} <= {path.name for path in folder.iterdir()}
    result = json.loads((folder / "result.json").read_text())
    assert [len(passage["targets"]) for passage in result["passages"]] == [1, 1]
    batch, loss = model.experiment.task.batch(3, 5, stream(0, "influence", "problems", 3)), own_losses(model, at)
    end = batch.prompt_length + at
    assert (result["config"]["context"], result["config"]["recent"]) == (end, 1)
    for row, entry in zip(batch.input_ids.astype(np.int64), result["targets"], strict=True):
        tokens, target, visible = row[:end], int(row[end]), np.ones(end, dtype=bool)
        assert entry["long"] == pytest.approx(loss(tokens, tokens, visible, target), abs=1e-4)
        visible[:-1] = False
        assert entry["short"] == pytest.approx(loss(tokens, tokens, visible, target), abs=1e-4)
        alone = []
        for index in range(end - 1):
            only = visible.copy()
            only[index] = True
            alone.append(loss(tokens, tokens, only, target))
        first = entry["chosen"]["greedy"]
        assert alone[first["order"][0]] == pytest.approx(min(alone), abs=1e-4)
        assert first["losses"][0] == pytest.approx(min(alone), abs=1e-4)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--text", "book.txt"], "leave out --text"),
        (["--chooser", "gpt2"], "leave out --chooser"),
        (["--context", "9"], "leave out --context and give --length"),
        (["--max-length", "9"], "leave out --max-length and give --length"),
        (["--length", "0"], "no instances of length 0"),
        (["--answer-token", "99"], "the answers have tokens 0 to"),
        (["--targets", "0"], "at least 1, got 0"),
        (["--length", "1", "-k", "30"], "lower k"),
        (["--rule", "gready"], "greedy"),
    ],
)
def test_what_an_exported_folder_cannot_be_measured_on_is_one_line(
    words: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    made(experiment("addition", "sequential")).save_pretrained(tmp_path / "model")
    capsys.readouterr()
    assert main(["influence", "--model", str(tmp_path / "model"), "--out", str(tmp_path / "out"), *words]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("damage", ["weights", "no weights", "configuration", "vocabulary"])
def test_a_damaged_exported_folder_is_one_line(damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = tmp_path / "model"
    made(experiment("addition", "sequential")).save_pretrained(folder)
    weights, config = folder / "model.safetensors", folder / "config.json"
    values = json.loads(config.read_text())
    match damage:
        case "weights":
            weights.write_bytes(weights.read_bytes()[:-9])
        case "no weights":
            weights.unlink()
        case "configuration":
            config.write_text(json.dumps({**values, "experiment": 5}))
        case _:
            config.write_text(json.dumps({**values, "vocabulary": ["a"]}))
    capsys.readouterr()
    assert main(["influence", "--model", str(folder), "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert str(folder) in error


def test_length_is_for_exported_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["influence", "--length", "3", "--out", str(tmp_path / "out")]) == 2
    assert "--length is for the exported model of a task" in capsys.readouterr().err
