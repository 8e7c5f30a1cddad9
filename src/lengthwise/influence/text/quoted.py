"""Text that rewards copying from afar: documents in which short passages are quoted again a little later."""

from __future__ import annotations

from collections.abc import Iterator

from lengthwise.core.rng import Rng, stream
from lengthwise.influence.text.documents import Corpus, Document

SHORTEST, LONGEST = 80, 240
"""Characters of a passage, before it is filled up to the end of a line: about 30 to 90 tokens."""
BACK = 3
"""A quotation is one of the last so many passages, the one just before it left out."""
QUOTED = 0.5
"""Share of the places between passages at which one is quoted."""


def with_quotations(corpus: Corpus, seed: int = 0) -> Corpus:
    """The same documents, each with some of its own passages repeated word by word some hundred characters later.

    Training and held-out documents stay apart. The quotations depend on ``seed`` and the document's name only.
    """
    return Corpus(
        f"{corpus.name}-quoted",
        tuple(quoted(document, seed) for document in corpus.train),
        tuple(quoted(document, seed) for document in corpus.held_out),
        corpus.skipped,
    )


def quoted(document: Document, seed: int) -> Document:
    """One document with its quotations."""
    rng = stream(seed, "quotations", document.name)
    written: list[str] = []
    own: list[str] = []
    for passage in passages(document.text, rng):
        written.append(passage)
        if len(own) >= 1 and rng.random() < QUOTED:
            written.append(own[-1 - int(rng.integers(min(BACK, len(own))))])
        own.append(passage)
    return Document(document.name, "".join(written))


def passages(text: str, rng: Rng) -> Iterator[str]:
    """The text in pieces of whole lines, each of `SHORTEST` to `LONGEST` characters and the rest of its last line."""
    lines, held, wanted = text.splitlines(keepends=True), "", 0
    for line in lines:
        wanted = wanted or int(rng.integers(SHORTEST, LONGEST + 1))
        held += line if line.endswith("\n") else line + "\n"
        if len(held) >= wanted:
            yield held
            held, wanted = "", 0
    if held:
        yield held
