"""Draws an example in the terminal: its tokens with places and ids, and a line for each predicted token.

Tokens of one place have one colour. Everything that colour shows is also written.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from lengthwise.cli.console import plain_table
from lengthwise.prediction.example import Example, StructureTable, Token

# Eight hues of middle lightness, legible on dark and on light terminals.
_HUES = ("#4e9bd6", "#e0862a", "#3fa66b", "#d16ba5", "#9b7fd4", "#2aa7a0", "#e0605e", "#a09a2e")
_LABEL = 9
_FEW = 40
"""Predicted tokens that are explained one by one; of more, only the first and the last few."""
COUNTED = "away: from the token before, where the model predicts it, to the farthest token that it depends on"


def draw_example(console: Console, shown: Example, *, everything: bool = False) -> None:
    """Header, strip, and what each predicted token depends on."""
    axes = "".join(f" · {name} {value}" for name, value in shown.axes.items())
    head = Text(shown.task.name, style="bold")
    head.append(f"  length {shown.length}{axes} · scheme {shown.scheme.name} · seed {shown.seed}", style="dim")
    console.print(head)
    if shown.task.summary:
        console.print(Text(shown.task.summary))
    console.print()
    _strip(console, shown)
    _dependencies(console, shown, everything)


def _style(token: Token) -> str:
    return _HUES[(token.places[0] - 1) % len(_HUES)] if token.places[0] else ""


def _mark(token: Token) -> str:
    if not token.scored:
        return ""
    return "■" if token.answer else "□"


def _strip(console: Console, shown: Example) -> None:
    tokens = shown.tokens
    rows: list[tuple[str, list[str], bool]] = [
        ("position", [str(token.position) for token in tokens], False),
        ("token", [token.text for token in tokens], True),
    ]
    several = shown.task.levels.count("position") > 1
    for level, kind in enumerate(shown.task.levels):
        places = [str(token.places[level] or "·") for token in tokens]
        if kind == "label":
            # Its id is its place: one row says both.
            rows.append(("slot", places, False))
            continue
        number = str(level + 1) if several else ""
        rows.append((f"place{number}", places, level == 0))
        if level < len(tokens[0].ids):
            rows.append((f"id{number}", [str(token.ids[level]) for token in tokens], level == 0))
    if any(token.allowed for token in tokens):
        rows.append(("next", ["".join(token.allowed) for token in tokens], False))
    if any(token.scored for token in tokens):
        rows.append(("scored", [_mark(token) for token in tokens], False))
    widths = [max(len(cells[t]) for _, cells, _ in rows) + 2 for t in range(len(tokens))]
    prompt = next((token.position for token in tokens if token.scored), len(tokens))
    for start, stop in _chunks(widths, console.width - _LABEL - 1, prompt):
        for label, cells, coloured in rows:
            if not any(cells[start:stop]):
                continue
            line = Text(f"{label:<{_LABEL}}", style="dim")
            for token, cell, width in list(zip(tokens, cells, widths, strict=True))[start:stop]:
                style = _style(token) if coloured else "dim" if label == "position" else ""
                if label == "token":
                    style = f"bold {style}".strip()
                line.append(f"{cell:>{width}}", style=style or "default")
            console.print(line, no_wrap=True, crop=True)
        console.print()
    legend = []
    if any(token.scored and token.answer for token in tokens):
        legend.append("■ scored, answer")
    if any(token.scored and not token.answer for token in tokens):
        legend.append("□ scored, not part of the answer")
    if any(not token.places[0] for token in tokens):
        legend.append("· no place")
    console.print(Text("   ".join(legend), style="dim"))
    console.print()


def _chunks(widths: list[int], room: int, prompt: int) -> list[tuple[int, int]]:
    """Cut columns into lines of at most ``room`` characters; if one isn't enough, what is predicted starts a line."""
    if sum(widths) <= room:
        return [(0, len(widths))]
    cuts, start, used = [], 0, 0
    for index, width in enumerate(widths):
        if index > start and (used + width > room or index == prompt):
            cuts.append((start, index))
            start, used = index, 0
        used += width
    return [*cuts, (start, len(widths))]


def _dependencies(console: Console, shown: Example, everything: bool) -> None:
    scored = shown.scored
    if not scored:
        return
    hidden = 0
    if not everything and len(scored) > _FEW:
        hidden = len(scored) - 16
        scored = (*scored[:12], *scored[-4:])
    with_selectors = any(token.selectors for token in scored)
    table = plain_table()
    table.add_column("at", justify="right", style="dim")
    table.add_column("token", no_wrap=True)
    table.add_column("depends on  (token@position)", ratio=1)
    if with_selectors:
        table.add_column("chosen by", max_width=max(16, console.width // 3))
    table.add_column("k", justify="right")
    with_places = any(token.places[0] for token in shown.tokens)
    table.add_column("tokens\naway", justify="right")
    if with_places:
        table.add_column("places\naway", justify="right")
    for index, token in enumerate(scored):
        if hidden and index == 12:
            table.add_row("…", Text(f"{hidden} more", style="dim"), Text("--all shows them", style="dim"))
        parents = Text("← ", style="dim")
        parents.append_text(_named(shown, token.parents) if token.parents else Text("its place alone", style="dim"))
        cells = [str(token.position), Text(token.text, style=f"bold {_style(token)}"), parents]
        if with_selectors:
            cells.append(_named(shown, token.selectors))
        far = [shown.reach(token), *([shown.reach(token, places=True)] if with_places else [])]
        table.add_row(*cells, str(len(token.parents)), *[str(distance) if token.parents else "" for distance in far])
    console.print(table)
    if any(token.parents for token in scored):
        console.print(Text(COUNTED, style="dim"))
    console.print()


def _named(shown: Example, positions: tuple[int, ...]) -> Text:
    """``2@1 5@7``, in the colours of the places; runs of many neighbours as ``4–40``."""
    text = Text()
    if len(positions) > 12:
        text.append(_ranges(positions))
        return text
    for index, position in enumerate(positions):
        token = shown.tokens[position]
        text.append(token.text, style=_style(token) or "default")
        text.append(f"@{position}" + ("" if index == len(positions) - 1 else "  "), style="dim")
    return text


def _ranges(positions: tuple[int, ...]) -> str:
    runs: list[list[int]] = []
    for position in positions:
        if runs and position == runs[-1][1] + 1:
            runs[-1][1] = position
        else:
            runs.append([position, position])
    return "@" + ", ".join(f"{a}–{b}" if b > a else str(a) for a, b in runs)


def _numbers(spans: Sequence[int | None]) -> list[str]:
    return ["–" if span is None else str(span) for span in spans]


def draw_structure(console: Console, table: StructureTable, scheme: str) -> None:
    """Sparsity and span by length; the scheme of the example is marked."""
    lengths = [f"n = {length}" for length in table.lengths]
    grid = plain_table("structure by length", *lengths, right=lengths, gap=3)
    grid.add_row(Text("sparsity k", style="bold"), *[Text(str(k), style="bold") for k in table.sparsity])
    selected = any(table.selectors)
    if selected:
        grid.add_row("of selectors", *[str(k) for k in table.selectors])
        grid.add_row("with selectors", *[str(k) for k in table.both])
    missing = False
    for row in table.rows:
        mark = "▸ " if scheme in row.schemes else "  "
        missing |= None in row.spans
        grid.add_row(Text("span   " + mark + ", ".join(row.schemes)), *_numbers(row.spans))
        if selected:
            grid.add_row(Text("         of selectors", style="dim"), *_numbers(row.selectors))
        if selected and row.both != row.spans:
            grid.add_row(Text("         with selectors", style="dim"), *_numbers(row.both))
    console.print(grid)
    console.print()
    console.print(
        Text(
            "k: most tokens that one scored token depends on (its parents).  span: the farthest of them, in position "
            "ids." + ("  selectors: the tokens that choose the parents by content." if selected else ""),
            style="dim",
        )
    )
    if missing:
        console.print(Text("–: more ids needed than the scheme's max_position.", style="dim"))
