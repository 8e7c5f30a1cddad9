"""``lengthwise influence``: from a model's folder and a text to result and pages, and every mistake in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from terminal import Answer, Terminal, files_in

from lengthwise.cli.main import main
from lengthwise.experiments.influence import PASSAGES
from lengthwise.influence.lm import LMConfig, load_lm, new_transformer, save_lm
from lengthwise.influence.tokenizer import Bytes
from lengthwise.report import influence as influence_page
from made_up_models import masked_losses

SMALL = ("--context", 12, "--recent", 4, "-k", "1,2", "--targets", 6, "--threads", 1)
CONFIG = LMConfig(
    context=12, tokenizer="bytes", layers=1, heads=2, width=16, steps=1, batch_tokens=64, warmup=1, probe_every=1
)


def make_model(folder: Path, corpus: dict[str, Any] | None = None) -> Path:
    """A model with random weights, saved as `lengthwise lm train` saves one."""
    save_lm(folder, new_transformer(CONFIG, Bytes().vocab_size), Bytes(), CONFIG, corpus or {"digest": "none"})
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("models") / "model")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts") / "text"
    folder.mkdir()
    for name in "abc":
        (folder / f"{name}.txt").write_text(f"{name} rose is a rose\nis a <rose> {name}\n" * 3)
    return folder


@pytest.fixture(scope="module")
def measured(model: Path, text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the result of one call of the command; its pages are drawn by a second one."""
    out = tmp_path_factory.mktemp("measured") / "runs"
    words = ["influence", "--model", model, "--text", text, *SMALL, "--out", out]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lengthwise.api.influence.write_pages", lambda path, result: None)
        assert main([str(word) for word in words]) == 0
    (file,) = out.rglob("result.json")
    return file.parent


@pytest.fixture
def no_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """For calls whose pages are not looked at, and take longer than what they show."""
    monkeypatch.setattr("lengthwise.api.influence.write_pages", lambda path, result: None)


def fails(answer: Answer, says: str) -> None:
    assert answer.code == 2, answer
    assert answer.out == ""
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1
    assert says in answer.err


def test_it_measures_and_writes_result_and_pages(
    terminal: Terminal, measured: Path, model: Path, text: Path, tmp_path: Path
) -> None:
    out, first = measured.parents[1], json.loads((measured / "result.json").read_text())
    answer = terminal("influence", "--model", model, "--text", text, *SMALL, "--out", out, "--json")
    assert answer.code == 0, answer
    printed = answer.json()
    result = json.loads(Path(printed["file"]).read_text())
    assert {"targets", "passages"}.isdisjoint(printed)
    assert printed["summary"] == result["summary"]
    assert len(result["targets"]) == 6
    assert set(result["summary"]["rules"]) >= {"greedy", "random", "attention"}
    folder = Path(printed["file"]).parent
    names = sorted(path.name for path in folder.iterdir() if path.name != ".lock")
    assert names == ["report.html", "result.json", "tokens.html"]
    assert "influence: model on text" in (folder / "report.html").read_text()
    # The same command gives the same numbers in the same place.
    assert folder == measured
    assert first["summary"] == result["summary"]
    assert first["targets"] == result["targets"]
    page = tmp_path / "page.html"
    assert terminal("report", out, "-o", page).code == 0
    assert "influence: model on text" in page.read_text()


def test_losses_in_the_file_are_the_models(measured: Path, model: Path, text: Path) -> None:
    """Every number recomputed from the text alone, with the explicit mask over the whole window."""
    result = json.loads((measured / "result.json").read_text())
    loaded, tokenizer = load_lm(model)

    def loss(tokens: list[int], visible: list[int], target: int) -> float:
        mask = np.isin(np.arange(len(tokens)), visible)[None]
        return float(masked_losses(loaded, np.array([tokens]), mask, np.array([target]))[0])

    recent = list(range(8, 12))
    for target in result["targets"]:
        ids = tokenizer.encode((text / target["document"]).read_text())
        window, answer = ids[target["at"] - 12 : target["at"]], ids[target["at"]]
        assert tokenizer.pieces([answer]) == [target["token"]]
        assert target["long"] == pytest.approx(loss(window, list(range(12)), answer), abs=1e-5)
        assert target["short"] == pytest.approx(loss(window, recent, answer), abs=1e-5)
        chosen = target["chosen"]["greedy"]
        for k in (1, 2):
            found = loss(window, recent + chosen["order"][:k], answer)
            assert chosen["losses"][k - 1] == pytest.approx(found, abs=1e-5)
        alone = [loss(window, [*recent, position], answer) for position in range(8)]
        assert chosen["losses"][0] == pytest.approx(min(alone), abs=1e-5)


def test_passages_are_the_documents_text(measured: Path, text: Path) -> None:
    result = json.loads((measured / "result.json").read_text())
    assert len({passage["document"] for passage in result["passages"]}) == len(result["passages"]) == PASSAGES
    for passage in result["passages"]:
        assert "".join(passage["tokens"]) in (text / passage["document"]).read_text()
        assert [target["at"] for target in passage["targets"]] == list(range(12, len(passage["tokens"])))


@pytest.mark.usefixtures("no_pages")
def test_the_table_fits_on_one_screen(
    terminal: Terminal, model: Path, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An untrained model gains next to nothing, and then there is no table.
    monkeypatch.setattr(influence_page, "too_small", lambda result: False)
    answer = terminal(
        "influence", "--model", model, "--chooser", model, "--text", text, *SMALL, "--out", tmp_path / "runs"
    )
    assert answer.code == 0
    lines = answer.out.rstrip("\n").split("\n")
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 100
    for words in ("k = 1", "greedy", "greedy, other model", "null: other text"):
        assert words in answer.out


@pytest.mark.usefixtures("no_pages")
def test_a_narrow_window_keeps_names_and_numbers(
    terminal: Terminal, model: Path, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setattr(influence_page, "too_small", lambda result: False)
    answer = terminal("influence", "--model", model, "--text", text, *SMALL, "--out", tmp_path / "runs")
    row = next(line for line in answer.out.splitlines() if line.startswith("gradient-input"))
    assert len(row.split()) == 3
    assert "95 % intervals: in a wider window" in answer.out


@pytest.mark.usefixtures("no_pages")
def test_what_was_trained_on_is_not_measured_on(terminal: Terminal, text: Path, tmp_path: Path) -> None:
    """A model that names this very text as its training text is measured on the held-out part only."""
    from lengthwise.influence.corpus import from_path

    corpus = from_path(text)
    own = make_model(tmp_path / "own", corpus.describe())
    other = make_model(tmp_path / "other")
    seen = {}
    for name, folder in (("own", own), ("other", other)):
        arguments = ["influence", "--model", folder, "--text", text, *SMALL, "--out", tmp_path / "runs", "--json"]
        result = json.loads(Path(terminal(*arguments).json()["file"]).read_text())
        seen[name] = {target["document"] for target in result["targets"]}
    assert seen["own"] == {document.name for document in corpus.held_out}
    assert seen["other"] == {"a.txt", "b.txt", "c.txt"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--model", "./nowhere"], "no model at ./nowhere; check --model, or train one with"),
        (["--model", "MODEL", "--chooser", "/no/where"], "no model at /no/where"),
        (["--chooser", "MODEL"], "--chooser needs --model"),
        (["--model", "MODEL/config.json"], "config.json is a file; give the folder of a model"),
        (["--model", "MODEL", "--text", "nowhere.txt"], "no file or folder at nowhere.txt; check --text"),
        (["--model", "MODEL", "--text", "TEXT", "--dataset", "c4"], "give --text or --dataset, not both"),
        (
            ["--model", "MODEL", "--context", "12", "--recent", "12"],
            "recent must be from 1 to context - 1 = 11, got 12",
        ),
        (["--model", "MODEL", "--context", "12", "--recent", "4", "-k", "9"], "k = 9 influential tokens don't fit"),
        (["--model", "MODEL", "-k", "two"], "-k needs whole numbers separated by commas, got 'two'"),
        (["--model", "MODEL", "-k", "0"], "ks must be different numbers of at least 1"),
        (["--model", "MODEL", "--targets", "0"], "targets must be at least 1, got 0"),
        (["--model", "MODEL", "--threads", "0"], "--threads must be at least 1, got 0"),
        (["--model", "MODEL", "--text", "TEXT", "--context", "500"], "the text is too short: its longest document has"),
        (
            ["--model", "MODEL", "--text", "TEXT", "--context", "12", "--recent", "4", "-k", "1", "--targets", "999"],
            "targets with 12 tokens before them, not 999; choose a longer text or fewer targets",
        ),
        (["--model", "MODEL", "--rule", "gredy"], "unknown selection rule 'gredy'. Did you mean 'greedy'?"),
        (["--preset", "quik"], "unknown preset 'quik'. Did you mean 'quick'?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_line(
    terminal: Terminal, arguments: list[str], says: str, model: Path, text: Path, tmp_path: Path
) -> None:
    before = [files_in(folder) for folder in (model, text)]
    words = [word.replace("MODEL", str(model)).replace("TEXT", str(text)) for word in arguments]
    fails(terminal("influence", *words, "--out", tmp_path / "runs"), says)
    assert [files_in(folder) for folder in (model, text)] == before
    assert files_in(tmp_path) == {}


def test_text_that_is_none(terminal: Terminal, model: Path, tmp_path: Path) -> None:
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\xff")
    answer = terminal("influence", "--model", model, "--text", tmp_path / "picture.png")
    fails(answer, "is not UTF-8 text")
    (tmp_path / "zeros.bin").write_bytes(b"abc\0def\n" * 20)
    fails(terminal("influence", "--model", model, "--text", tmp_path / "zeros.bin"), "is a binary file, not text")
    (tmp_path / "empty.txt").write_text(" \n")
    fails(terminal("influence", "--model", model, "--text", tmp_path / "empty.txt"), "holds no text")
    (tmp_path / "folder").mkdir()
    fails(terminal("influence", "--model", model, "--text", tmp_path / "folder"), "holds no UTF-8 text files")


def test_a_model_that_gives_no_numbers(terminal: Terminal, text: Path, tmp_path: Path) -> None:
    from lengthwise.training import checkpoint

    folder = make_model(tmp_path / "broken")
    (path,) = folder.glob("*.safetensors")
    # Weights that are numbers, and logits that are not: vectors of norm 1 become as large as a number can be.
    weights, about = checkpoint.load_tensors(path)
    tensors = {name: values * 3e38 if "norm" in name else values for name, values in weights.items()}
    checkpoint.save_tensors(path, tensors, about, step=1)
    answer = terminal("influence", "--model", folder, "--text", text, *SMALL, "--out", tmp_path / "runs")
    fails(answer, "nan nats; its weights are damaged, or numbers overflow: use another model")
    assert not (tmp_path / "runs").exists()


def test_a_damaged_model(terminal: Terminal, text: Path, tmp_path: Path) -> None:
    folder = make_model(tmp_path / "cut")
    (path,) = folder.glob("*.safetensors")
    path.write_bytes(path.read_bytes()[:-40])
    fails(terminal("influence", "--model", folder, "--text", text), "model.safetensors")
    path.unlink()
    fails(terminal("influence", "--model", folder, "--text", text), "has not ended")


def test_a_chooser_that_reads_other_tokens(terminal: Terminal, model: Path, text: Path, tmp_path: Path) -> None:
    from lengthwise.influence.tokenizer import train_bpe

    tokenizer = train_bpe(["a rose is a rose"] * 50, 280)
    save_lm(tmp_path / "bpe", new_transformer(CONFIG, tokenizer.vocab_size), tokenizer, CONFIG, {"digest": "none"})
    answer = terminal("influence", "--model", model, "--chooser", tmp_path / "bpe", "--text", text, *SMALL)
    fails(answer, "cuts text into other tokens than")


def test_an_output_folder_that_is_a_file(terminal: Terminal, model: Path, text: Path, tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("not a folder")
    fails(
        terminal("influence", "--model", model, "--text", text, *SMALL, "--out", tmp_path / "runs"), "is a file; choose"
    )
    assert (tmp_path / "runs").read_text() == "not a folder"


def save_hugging_face(folder: Path, architecture: str = "GPT2", positions: int = 32) -> Path:
    """A model with random weights and a tokenizer of bytes, as `save_pretrained` writes them."""
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    inner = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(letters)}, merges=[]))
    inner.pre_tokenizer, inner.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    transformers.PreTrainedTokenizerFast(tokenizer_object=inner).save_pretrained(folder)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "max_position_embeddings": positions}
    settings = getattr(transformers, f"{architecture}Config")(vocab_size=256, **sizes)
    getattr(transformers, f"{architecture}LMHeadModel" if architecture == "GPT2" else f"{architecture}ForCausalLM")(
        settings
    ).save_pretrained(folder)
    return folder


@pytest.mark.usefixtures("no_pages")
def test_a_hugging_face_model_in_a_folder(terminal: Terminal, text: Path, tmp_path: Path) -> None:
    folder = save_hugging_face(tmp_path / "gpt2")
    answer = terminal("influence", "--model", folder, "--text", text, *SMALL, "--out", tmp_path / "runs", "--json")
    assert answer.code == 0, answer
    assert answer.json()["model"]["name"] == "gpt2"
    assert answer.json()["model"]["max_length"] == 32
    long = ("--context", 33, "--recent", 4, "-k", 1, "--targets", 3)
    fails(terminal("influence", "--model", folder, "--text", text, *long), "takes at most 32 tokens, not")
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer_config.json").unlink()
    fails(terminal("influence", "--model", folder, "--text", text, *SMALL), "no tokenizer beside model gpt2")
    (folder / "config.json").unlink()
    fails(terminal("influence", "--model", folder, "--text", text, *SMALL), "holds no model (config.json is missing)")


@pytest.mark.usefixtures("no_pages")
def test_a_model_without_a_maximum_length(terminal: Terminal, text: Path, tmp_path: Path) -> None:
    folder = save_hugging_face(tmp_path / "llama", "Llama", positions=0)
    says = "model llama states no maximum length; say how many tokens it takes: --max-length"
    fails(terminal("influence", "--model", folder, "--text", text, *SMALL), says)
    given = ("--max-length", 32, "--out", tmp_path / "runs")
    assert terminal("influence", "--model", folder, "--text", text, *SMALL, *given).code == 0
