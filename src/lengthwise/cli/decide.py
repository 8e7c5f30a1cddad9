"""The commands ``lengthwise decide`` and ``check-certificates``: C-RASP membership of regular languages."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lengthwise.cli.console import emit_json, err, out, plain_table
from lengthwise.cli.options import Api, AsJson, from_api
from lengthwise.core.errors import LengthwiseError, UnknownNameError, harmless, shortened

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from lengthwise.api.theory import Decision
    from lengthwise.crasp.decide import Decision as LanguageDecision
    from lengthwise.crasp.decide import FragmentVerdict
    from lengthwise.positions.system import PositionSystem

_FRAGMENTS = {
    "none": ("C-RASP", "NoPE"),
    "local": ("C-RASP[local]", "ALiBi"),
    "periodic": ("C-RASP[periodic]", "sinusoidal, RoPE"),
    "ape": ("C-RASP[periodic, local]", "APE"),
}
_BASES = {"proved": "proved", "ours": "our proof", "cited": "published"}
_STYLE = {"yes": "bold green", "no": "bold red", "unknown": "bold yellow"}


@from_api("theory.decide")
def decide(
    decide_language: Api,
    expressions: Annotated[
        list[str],
        typer.Argument(
            metavar="TARGET…", help="regex:EXPRESSION, a published language, a DFA in FILE.json, or - for stdin."
        ),
    ],
    end: Annotated[
        str,
        typer.Option(
            "--end",
            help="visible, eos or both: how the end of a word is read. No membership: next (symbols), state "
            "(after every prefix, also at end marks).",
        ),
    ] = "both",
    why: Annotated[
        bool, typer.Option("--why", help="Also print the fragments of C-RASP, the reasons and facts.")
    ] = False,
    program: Annotated[bool, typer.Option("--program", help="Also print a program for every yes.")] = False,
    margin: Annotated[
        bool, typer.Option("--margin", help="Print how exactly that program has to average, by length, in one line.")
    ] = False,
    certificates: Annotated[
        Path | None, typer.Option("--certificates", help="Write the checked certificate of every yes and no there.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per expression and line.")] = False,
) -> None:
    """Say by proof whether a program with a transformer's counting knows a regular language, by kind of positions.

    The programs are those of C-RASP: without positions, with windows, with periods, and with both.
    """
    from lengthwise.api.theory import save_certificates
    from lengthwise.crasp.decide import FORMATS, of_membership

    if end not in FORMATS:
        raise UnknownNameError("end convention", end, FORMATS)
    if program or margin or certificates is not None:
        of_membership(end, "programs and certificates")
    failed = False
    done: list[Decision] = []
    given = (filter(None, map(str.strip, sys.stdin)) if text == "-" else [text] for text in expressions)
    for index, text in enumerate(itertools.chain.from_iterable(given)):
        try:
            decision = decide_language(text, end=end)
            programs = decision.programs() if program else {}
            averaging = decision.smallest_margin() if margin else None
            if certificates is not None:
                decision.certified()
        except LengthwiseError as error:
            failed = True
            _report_failure(text, str(error), as_json)
            continue
        done.append(decision)
        if as_json:
            values = decision.to_json()
            added = ({"programs": programs} if program else {}) | ({"margin": averaging} if averaging else {})
            emit_json({**values, **added}, indent=None)
        else:
            draw_decision(out(), decision.expression, decision.decision, programs, first=index == 0, why=why)
            if averaging is not None:
                out().print(f"\nmargin: {averaging['line']}", soft_wrap=True)
    if certificates is not None:
        count = save_certificates(certificates, done)
        err().print(
            f"{count} certificates in {certificates}; `lengthwise check-certificates {certificates}` checks them again",
            soft_wrap=True,
        )
    if failed:
        raise typer.Exit(2)


def _report_failure(text: str, message: str, as_json: bool) -> None:
    if as_json:
        emit_json({"regex": text, "error": message}, indent=None)
    # Of several expressions each is named; an error of the parser names its own.
    of = "" if message.startswith("regular expression ") else f"{shortened(text, 60)}: "
    said = " ".join(message.split())
    said = said.replace(text, shortened(text, 60)) if len(text) > LONG else said
    print(harmless(f"error: {of}{said}"), file=sys.stderr)


def draw_decision(
    console: Console, text: str, decision: LanguageDecision, programs: dict[str, Any], *, first: bool, why: bool
) -> None:
    """One expression: the answer, a table, what to do next; with ``why`` the reasons; programs if there are any."""
    from rich.text import Text

    from lengthwise.crasp.certificates import explanation
    from lengthwise.crasp.decide import END_WORDS, ENDS, NEXT
    from lengthwise.forecast.answer import ASKED
    from lengthwise.languages.sampling import lengths_with_words
    from lengthwise.positions.system import SYSTEMS
    from lengthwise.prediction.programs import needs
    from lengthwise.prediction.target import typed_target
    from lengthwise.prediction.verdict import STRONGEST, answers_by_fragment

    membership = set(decision.ends) <= set(ENDS)
    # Systems of one fragment are linked to it by one theorem.
    of = {system.fragment: system for system in SYSTEMS if system.scheme != "modulo"}
    rows = {name: [decision.verdict(name, end) for end in decision.ends] for name in _FRAGMENTS}
    if all(len({(v.verdict, *((v.window, v.period) if why else ())) for v in row}) == 1 for row in rows.values()):
        rows = {name: [max(row, key=lambda v: STRONGEST.index(v.basis))] for name, row in rows.items()}
    alone = len(rows["none"]) == 1
    does = "recognizes it" if membership else f"tells {ASKED['next' if decision.ends[0] == NEXT else 'state']},"
    does += f", {END_WORDS[decision.ends[0]]}," * (not alone)
    if not first:
        console.print()
    console.print(Text.assemble((text, "bold"), f": {answer_line(decision, does)}\n"))
    table = plain_table(
        "positions",
        *["program" if membership and alone else END_WORDS[end] for end in decision.ends[: len(rows["none"])]],
        gap=3,
    )
    for name, row in rows.items():
        table.add_row(_FRAGMENTS[name][1], *[_cell(verdict, of[name]) for verdict in row])
    console.print(table)
    console.print()
    if membership:
        predicted, end = answers_by_fragment(decision), decision.ends[0]
        gained = [_FRAGMENTS[f][1] for f in _FRAGMENTS if predicted[f] == "yes" != decision.verdict(f, end).verdict]
        easier = f" For next symbols, which are easier, also yes with {', '.join(gained)} (--end next)."
        lacks = next(filter(None, (needs(decision, end, fragment) for fragment in _FRAGMENTS)), "")
        lacks = f" A model has to {lacks}." * bool(lacks)
        console.print("Asked: is a whole word in the language?" + lacks + easier * bool(gained))
    if first:
        console.print(MEANS + " More: --why" * (not why), style="dim")
    dfa = decision.dfa
    if not lengths_with_words(dfa, dfa.size, 2 * dfa.size):  # No longer word, so none that has a cycle.
        longest = max(lengths_with_words(dfa, 0, dfa.size), default=0)
        console.print(f"The language is finite, its longest word has {longest} symbols: nothing longer to learn.")
    elif membership:
        console.print(f"what to do next: lengthwise predict {typed_target(text)}", soft_wrap=True)
        if first:
            console.print("(whether training finds it, for a model that tells the next symbols)", style="dim")
    if why:
        for fragment, end in _telling(decision) if membership else ():
            if sentences := explanation(decision, fragment, end):
                console.print(f"\n{_FRAGMENTS[fragment][0]}, {sentences}")
        programs_of = "; ".join(f"{encodings}: {name}" for name, encodings in _FRAGMENTS.values())
        console.print(f"\n{' · '.join(_facts(decision))}\n{programs_of}. {MORE}", style="dim")
    for end, program in programs.items():
        console.print()
        console.print(f"a program in {_FRAGMENTS[program['fragment']][0]} ({END_WORDS[end]}):", style="dim")
        console.print(program["text"].rstrip())


LONG = 200
"""Letters from which an expression is not said whole in an error."""
MEANS = (
    "A program counts earlier symbols as attention can (C-RASP), and is right at every length. Training may miss it, "
    "or go far without one."
)
"""What the answer means, and what it does not."""
MORE = (
    "[local]: it also sees the last k symbols. [periodic]: it also knows the position modulo m. proved: here, checked "
    "by separate code. our proof: unreviewed. published: by others, or that such positions can run the program"
)


def answer_line(decision: LanguageDecision, does: str) -> str:
    """The answers of all fragments at the first end in one line: with which encodings a program ``does`` it."""
    by_answer: dict[str, list[str]] = {"yes": [], "no": [], "unknown": []}
    for fragment, (_, encodings) in _FRAGMENTS.items():
        by_answer[decision.verdict(fragment, decision.ends[0]).verdict].append(encodings)
    says = {"yes": f"a program {does}", "no": "none does" if by_answer["yes"] else f"no program {does}",
            "unknown": "not known"}  # fmt: skip
    return "; ".join(f"{says[answer]} with {', '.join(names)}" for answer, names in by_answer.items() if names)


def _facts(decision: LanguageDecision) -> list[str]:
    size = decision.monoid_size
    many = f"more than {decision.analysis.max_elements}" if size is None else size
    return [
        f"alphabet {' '.join(decision.dfa.alphabet)}",
        f"{decision.dfa.size} states",
        f"{many} effects of words on the states (monoid)",
        *["star-free" if decision.star_free else "not star-free"] * (decision.star_free is not None),
        *["R-trivial"] * bool(decision.r_trivial),
        *["group"] * bool(decision.group),
    ]


def _cell(verdict: FragmentVerdict, system: PositionSystem) -> Text:
    from rich.text import Text

    text = Text(f"{verdict.verdict:<3}", style=_STYLE[verdict.verdict])
    details = []
    if verdict.verdict == "yes" and (verdict.window or 1) > 1:
        details.append(f"last {verdict.window} symbols")
    if verdict.verdict == "yes" and (verdict.period or 1) > 1:
        details.append(f"position modulo {verdict.period}")
    basis = system.rests_on(verdict.verdict, verdict.basis)
    details.append(_BASES[basis] if verdict.verdict != "unknown" else "search bounds reached")
    return text.append(" " + ", ".join(details), style="dim")


def _telling(decision: LanguageDecision) -> list[tuple[str, str]]:
    """The verdicts that get a reason: without positions, and with all positions where that differs, at one end."""
    end = decision.ends[-1]
    answers = [decision.verdict(fragment, end).verdict for fragment in ("none", "ape")]
    return [("none", end)] if answers[0] == answers[1] == "yes" else [("none", end), ("ape", end)]


def check_certificates(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `lengthwise decide … --certificates FILE` wrote.")],
    as_json: AsJson = False,
) -> None:
    """Check certificates with exact arithmetic and code that the decision does not use."""
    from lengthwise.api.theory import check_certificates as check
    from lengthwise.crasp.decide import END_WORDS, ENDS

    checked = check(file).certificates
    if as_json:
        emit_json({"holds": [vars(one) for one in checked]})
        return
    for source, group in itertools.groupby(checked, key=lambda one: one.source):
        ones = list(group)
        said: dict[str, list[str]] = {}
        for fragment, its in itertools.groupby(ones, key=lambda one: one.fragment):
            answers = {one.end: one.answer for one in its}
            by_end = [f"{answer}, {END_WORDS[end]}," for end, answer in answers.items()]
            both = len(answers) == len(ENDS) and len(set(answers.values())) == 1
            said.setdefault(answers[ENDS[0]] if both else " ".join(by_end), []).append(_FRAGMENTS[fragment][1])
        of = "" if ones[0].rebuilt else " (of the automaton in this file)"
        found = "; ".join(f"{answer} with {', '.join(names)}" for answer, names in said.items())
        out().print(f"{source}{of}: {len(ones)} certificates hold: {found}")
    if not checked:
        out().print("no certificates in this file")
