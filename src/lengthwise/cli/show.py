"""The commands ``lengthwise list``, ``show``, ``couple`` and ``check``: components, examples, places, laws."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lengthwise.cli.console import emit_json, err, out, plain_table
from lengthwise.cli.options import Api, AsJson, Threads, from_api, whole_numbers
from lengthwise.core.errors import require
from lengthwise.tasks.values import spoken
from lengthwise.training.threads import use_threads

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from lengthwise.prediction.couple import Coupling
    from lengthwise.prediction.example import Example, StructureTable, Token

# Eight hues of middle lightness, legible on dark and on light terminals.
_HUES = ("#4e9bd6", "#e0862a", "#3fa66b", "#d16ba5", "#9b7fd4", "#2aa7a0", "#e0605e", "#a09a2e")
_LABEL = 9
_FEW = 40
"""Predicted tokens that are explained one by one; of more, only the first and the last few."""
COUNTED = "away: from the token before, where the model predicts it, to the farthest token that it depends on"


def list_(
    kind: Annotated[str | None, typer.Argument(help="tasks, schemes, encodings, mixers or recipes.")] = None,
    as_json: AsJson = False,
) -> None:
    """List tasks, position schemes, position encodings, mixers and recipes."""
    from lengthwise.api.components import available

    chosen = available(kind).entries
    if as_json:
        emit_json(chosen)
    else:
        _draw_list(chosen)


def _draw_list(catalogue: dict[str, list[dict[str, Any]]]) -> None:
    from rich.table import Table
    from rich.text import Text

    width = max((len(entry["name"]) for entries in catalogue.values() for entry in entries), default=0)
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, min_width=width + 2)
    table.add_column(ratio=1)
    for index, (kind, entries) in enumerate(catalogue.items()):
        if index:
            table.add_row()
        table.add_row(Text(kind, style="bold"))
        for entry in entries:
            line = Text(entry["summary"] + (f"  ({entry['from']})" if "from" in entry else ""))
            settings = "  ".join(f"{key}={_value(value)}" for key, value in entry.get("settings", {}).items())
            if settings:
                line.append("\n" + settings, style="dim")
            table.add_row(Text("  " + entry["name"], style="cyan"), line)
    out().print(table)


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    # A whole rule or task as a default would bury the list; --json has it.
    return text if len(text) <= 48 else f"{text[:45]}…"


def show(
    task: Annotated[
        str, typer.Argument(help="A task or language by name, an expression, or FILE.py:Class (runs that file).")
    ],
    length: Annotated[
        int | None, typer.Option("--length", "-n", help="The problem's length; default: 5, or the nearest there is.")
    ] = None,
    scheme: Annotated[str, typer.Option("--scheme", help="Position scheme that gives the ids.")] = "coupled",
    seed: Annotated[int, typer.Option("--seed", help="Which example.")] = 0,
    edits: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A field of the task, or scheme.FIELD.")
    ] = None,
    lengths: Annotated[
        str | None, typer.Option("--lengths", metavar="N,N,…", help="Lengths for sparsity and span.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Explain every token of a long example.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show one example: tokens, places, ids, and which tokens each predicted one depends on."""
    from lengthwise.api import theory
    from lengthwise.prediction.example import configured

    built_task, built_scheme = configured(task, scheme, edits or [])
    shown = theory.show(built_task, length, built_scheme, seed).example
    found = theory.structure(built_task, built_scheme, whole_numbers("--lengths", lengths), seed)
    if as_json:
        emit_json({**shown.to_json(), "structure": found.schemes.to_json()})
        return
    console = out()
    draw_example(console, shown, everything=everything)
    if any(found.schemes.both):  # Without parents there is no structure to show, and the note says so.
        draw_structure(console, found.schemes, built_scheme.name)
    if found.note:
        console.print(found.note)


def draw_example(console: Console, shown: Example, *, everything: bool = False) -> None:
    """Header, strip, and what each predicted token depends on."""
    from rich.text import Text

    from lengthwise.tasks.language import called

    axes = "".join(f" · {name} {value}" for name, value in shown.axes.items())
    head = Text(called(shown.task), style="bold")
    head.append(f"  length {shown.length}{axes} · scheme {shown.scheme.name} · seed {shown.seed}", style="dim")
    console.print(head)
    if shown.task.summary:
        console.print(shown.task.summary)
    console.print()
    _strip(console, shown)
    _dependencies(console, shown, everything)


def _style(token: Token) -> str:
    return _HUES[(token.places[0] - 1) % len(_HUES)] if token.places[0] else ""


def _strip(console: Console, shown: Example) -> None:
    from rich.text import Text

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
        rows.append(("scored", ["" if not token.scored else "■" if token.answer else "□" for token in tokens], False))
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
    legend = {
        "■ scored, answer": any(token.scored and token.answer for token in tokens),
        "□ scored, not part of the answer": any(token.scored and not token.answer for token in tokens),
        "· no place": not all(token.places[0] for token in tokens),
    }
    console.print("   ".join(says for says, there in legend.items() if there), style="dim")
    if shown.scheme.name == "coupled" and any(token.places[0] for token in tokens):
        console.print("id: one a place, drawn anew for each string", style="dim")
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
    from rich.text import Text

    scored = shown.scored
    if not scored or any(token.allowed for token in shown.tokens):
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
        nothing = Text("nothing (the layout fixes it)", style="dim")
        parents.append_text(_named(shown, token.parents) if token.parents else nothing)
        cells = [str(token.position), Text(token.text, style=f"bold {_style(token)}"), parents]
        if with_selectors:
            cells.append(_named(shown, token.selectors))
        far = [shown.reach(token), *([shown.reach(token, places=True)] if with_places else [])]
        table.add_row(*cells, str(len(token.parents)), *[str(distance) if token.parents else "" for distance in far])
    console.print(table)
    if any(token.parents for token in scored):
        console.print(COUNTED, style="dim")
    console.print()


def _named(shown: Example, positions: tuple[int, ...]) -> Text:
    """``2@1 5@7``, in the colours of the places; runs of many neighbours as ``4–40``."""
    from rich.text import Text

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
    from rich.text import Text

    lengths = [f"n = {length}" for length in table.lengths]
    grid = plain_table("structure by length", *lengths, right=lengths, gap=3)
    grid.add_row(Text("sparsity k", style="bold"), *[Text(str(k), style="bold") for k in table.sparsity])
    selected = any(table.selectors)
    if selected:
        grid.add_row("of selectors", *[str(k) for k in table.selectors])
        grid.add_row("with selectors", *[str(k) for k in table.both])
    missing = wrapping = False
    for row in table.rows:
        mark = "▸ " if scheme in row.schemes else "  "
        missing |= None in row.spans
        wrapping |= "modulo" in row.schemes
        grid.add_row("span   " + mark + ", ".join(row.schemes), *_numbers(row.spans))
        if selected:
            grid.add_row(Text("         of selectors", style="dim"), *_numbers(row.selectors))
        if selected and row.both != row.spans:
            grid.add_row(Text("         with selectors", style="dim"), *_numbers(row.both))
    console.print(grid)
    console.print()
    console.print(
        "k: most tokens that one scored token depends on (its parents).  span: the farthest of them, in position "
        "ids; of coupled ids in places."
        + "  ids modulo m repeat, so a small span does not mean near." * wrapping
        + "  selectors: the tokens that choose the parents by content." * selected,
        style="dim",
    )
    if missing:
        why = "–: more ids needed than the scheme's max_position, or places that the task does not state."
        console.print(why, style="dim")


@from_api("theory.couple")
def couple(
    find: Api,
    task: Annotated[
        str, typer.Argument(help="A task, an expression, FILE.py:Class (runs that file), or examples in FILE.jsonl.")
    ],
    edits: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A field of the task.")] = None,
    lengths: Annotated[
        str | None, typer.Option("--lengths", metavar="N,N,…", help="Lengths to check at, by default 5,10,20,40.")
    ] = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Find position ids that bring all that a token needs near, at every length, or say why there are none.

    They give one id to tokens of one place; a dependency is then at most one id long.
    """
    use_threads(threads)
    from lengthwise.positions.structure import BY_EARLIER
    from lengthwise.prediction.example import configured
    from lengthwise.prediction.search import BY_HAND
    from lengthwise.prediction.target import ExamplesFile, parse_target

    for edit in edits or []:
        require(not edit.startswith("scheme"), f"--set {edit}: places are looked for, no scheme is used; leave it out")
    target = parse_target(task)
    checked = whole_numbers("--lengths", lengths)
    if isinstance(target, ExamplesFile):
        require(not (edits or checked), "--set and --lengths are for tasks; a file has the lengths of its examples")
    built = configured(task, "coupled", edits)[0] if edits and not isinstance(target, ExamplesFile) else task
    with err().status("looking for dependencies") as status:

        def note(line: str) -> None:
            status.update(line)
            if not err().is_terminal and line.startswith("searching for"):
                err().print(line)

        found = find(built, lengths=checked, progress=note)
    if as_json:
        emit_json(found.to_json())
        return
    draw_coupling(out(), found)
    if found.task is not None and (found.holds or found.stated is not None):
        if found.holds and (
            not found.agrees or (found.stated is None and any(same == "no" for _, same in found.agrees))
        ):
            rule = "next" if follows(found) else "earlier"
            line = "to use them: place=… where each token is written, seq.eos, too, and in the class place_rule ="
            out().print(f"{line} {rule!r}")
        out().print(f"what to do next: lengthwise predict {shlex.quote(task)}", soft_wrap=True)
    elif found.task is not None and len(set(found.sparsity.values())) == 1:
        shared = None if found.needed is None else BY_EARLIER.format(found.needed)
        out().print(f"what to do next: {BY_HAND if shared is None else shared + FEWEST_PARENTS}")


FEWEST_PARENTS = " in the task and ask `lengthwise predict`: this search takes the fewest that suffice, not the nearest"
"""What follows the advice to state other parents: a search finds them again."""


def follows(found: Coupling) -> bool:
    """Whether a place of the answer is none of the earlier ones, so that the rule ``next`` is what it follows."""
    if found.rule is None:
        return False
    length = found.lengths[0]
    places = found.rule.places(length).tolist()
    prompt = sum(part.size(length) for part in found.rule.segments if part.in_prompt)
    return any(place not in places[:at] for at, place in enumerate(places) if at >= prompt)


AGREES = {
    "no": "the places that the task states are others",
    "reversed": "the places that the task states are these counted backwards, up to one place",
    "but for the last token of the prompt": "of the places that the task states only that of the last token of the "
    "prompt is another; with the one above, what the first answer needs is near",
}
"""What else than agreement means."""


def draw_coupling(console: Console, found: Coupling) -> None:
    """The rule, the four requirements by length, the agreement, and the verdict in one line."""
    from rich.text import Text

    source = (
        f"{found.examples:,} examples per length"
        if found.from_data
        else f"{found.queries:,} calls of the task's answer"
    )
    unit = "prompts of n =" if found.task is None else "lengths"
    if found.rule is None or found.check is None:
        answer = f"no coupling found: {found.reason}"
    elif found.holds:
        answer = "ids found that bring all that a token needs at most 1 place away, also at new lengths"
    else:
        far = next((line for line in found.check.problems if " needs the token at " in line), "")
        those = f"those found from lengths {spoken([*map(str, found.rule.lengths)])} fail: " * bool(far)
        answer = f"no ids found that work: {those}{far or found.check.problems[0]}"
        if far and found.stated is not None:
            answer = f"no ids but the task's are needed: its places keep all that a token needs within {found.stated}"
    console.print(Text.assemble((found.name, "bold"), f": {answer}\n"))
    if found.rule is not None and found.check is not None and found.holds:
        for line in found.rule.describe().splitlines():
            console.print("  " + line, soft_wrap=True)
        console.print()
        headings = ["length", "tokens", "parents", "tokens per place", "places", "span"]
        agrees = dict(found.agrees)
        differ = len({*agrees.values()}) > 1  # between lengths
        headings += ["agrees with stated places"] * differ
        table = plain_table(*headings, right=headings, gap=3)
        for check in found.check.checks:
            numbers = (check.tokens, found.sparsity[check.length], check.tokens_per_place, check.places, check.span)
            row = [f"{check.length}{'' if check.seen else ' (new)'}", *map(str, numbers)]
            table.add_row(*row, *([agrees[check.length]] if differ else []))
        console.print(table)
        console.print()
        console.print("i counts the tokens of a part from 0; n is the length", style="dim")
        if same := {said for said in agrees.values() if not said.startswith("yes")}:
            also = "" if found.stated is None else f" and do as well: all that a token needs is within {found.stated}"
            also = also or f", and worse: {found.worse}" * bool(found.worse)
            console.print(AGREES[max(same)] + also * (max(same) == "no"))
        elif agrees and not differ:
            console.print(f"the places that the task states agree: {found.agrees[0][1]}")
    if found.doubt and found.holds:
        console.print(Text.assemble(("doubt: ", "bold"), found.doubt, "; no places without this were found"))
    if found.unfinished:
        console.print(Text.assemble(("not finished: ", "bold"), found.unfinished))
    if not found.agrees and found.task is not None and found.holds:
        console.print("the task states no places that length alone decides: nothing to compare with", style="dim")
    if found.from_data or found.queries:
        console.print(f"from {source}, {unit} {', '.join(map(str, found.lengths))}", style="dim")


@from_api("components.check")
def check(
    hold: Api,
    target: Annotated[
        str, typer.Argument(help="A task, scheme, encoding or mixer: its name, an expression, or FILE.py:Class.")
    ],
    why: Annotated[bool, typer.Option("--why", help="Also print the laws that hold.")] = False,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Check a task, scheme or encoding of your own against every law; exit code 1 if one is broken."""
    use_threads(threads)
    done = hold(target)
    found = done.laws
    if as_json:
        emit_json([{"law": one.law, "says": one.says, "holds": one.holds, "broken": one.broken} for one in found])
    else:
        held = [one.says for one in found if one.holds == "yes"]
        clean = ": no mistake found" * (len(held) == len(found))
        lines = [f"{len(held)} of {len(found)} {done.kind} laws hold for {target}{clean}"]
        for broken in dict.fromkeys(one.broken for one in found if one.broken):
            laws = [one.says for one in found if one.broken == broken and one.tried]
            lines += ["", f"to mend: {broken}", *(f"broken  {says}" for says in laws)]
        if stopped := sum(not one.tried for one in found):
            lines += ["", f"not checked: {stopped} law{'s' * (stopped > 1)}, until the code runs through"]
        lines += ["", *(f"holds   {says}" for says in held)] * why
        lines += ["", *(f"note: {note}" for note in done.notes)] if done.notes else []
        for line in lines:
            out().print(line)
        if not done.broken and done.kind == "task":
            out().print(f"\nwhat to do next: lengthwise predict {shlex.quote(target)}", soft_wrap=True)
    if done.broken:
        raise typer.Exit(1)
