"""The entry point. A user's mistake is one line on stderr with exit code 2, Ctrl-C one line with exit code 130."""

from __future__ import annotations

import os
import re
import shlex
import sys
import traceback
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

from lengthwise import __version__
from lengthwise.api.progress import signs_of_life
from lengthwise.cli.console import TYPED, again
from lengthwise.cli.options import same_flag, with_flags
from lengthwise.core.errors import DEBUG, LengthwiseError, TooSmallError, harmless, one_line_warnings
from lengthwise.core.user_code import failure_in_user_code, load_code
from lengthwise.training.threads import keep_memory, own_process

USER_ERROR, INTERRUPTED, BROKEN_PIPE = 2, 130, 141
RESUMABLE = ("run", "compare", "demo", "verify", "influence", "lm", "audit", "explain")
"""Commands that go on where they were interrupted."""
LONGEST_MESSAGE = 2000
"""Characters of an error message; the middle of a longer one is left out."""

app = typer.Typer(
    name="lengthwise",
    help="Predict, explain and extend how far a transformer generalizes beyond the lengths it was trained on.",
    epilog="Start with: lengthwise predict addition, lengthwise predict '(aa)*', or lengthwise demo",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        print(f"lengthwise {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    code: Annotated[
        list[Path] | None,
        typer.Option("--code", metavar="FILE.py", help="Let files that are read name classes of this Python file."),
    ] = None,
) -> None:
    del version
    load_code(*(code or ()))


PANELS = {
    "Ask, without training": ("predict", "show", "explore", "couple", "check", "decide", "check-certificates", "list"),
    "Train and measure": ("demo", "run", "plan", "compare", "verify", "report"),
    "Trained models, programs and language models": (
        "explain", "generate", "audit", "export", "influence", "crasp", "lm",
    ),
}  # fmt: skip
"""The commands as the help groups them, the usual ones first."""
COMMANDS = {
    "list": "show", "show": "show", "explore": "explore", "run": "run", "plan": "run", "compare": "compare",
    "report": "run", "verify": "compare", "predict": "predict", "decide": "decide", "check-certificates": "decide",
    "couple": "show", "influence": "influence", "check": "show", "demo": "run", "explain": "explain", "audit": "audit",
    "export": "audit", "generate": "generate",
}  # fmt: skip
"""The file that has the function of the same name."""
GROUPS = {"crasp": "crasp", "lm": "influence"}


for _panel, _command in ((panel, command) for panel, commands in PANELS.items() for command in commands):
    _module = import_module(f"lengthwise.cli.{(COMMANDS | GROUPS)[_command]}")
    if _command in GROUPS:
        app.add_typer(getattr(_module, _command), name=_command, rich_help_panel=_panel)
    else:
        _name = "list_" if _command == "list" else _command.replace("-", "_")
        app.command(_command, rich_help_panel=_panel)(getattr(_module, _name))


@cache
def every_command() -> Any:
    """The commands with their options, which take long to make of the functions."""
    return typer.main.get_command(app)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if arguments is not None:
        return _run(list(arguments))
    with signs_of_life("lengthwise"):
        return _run(sys.argv[1:])


def _run(words: Sequence[str]) -> int:
    if sys.stdout is None:
        return _fail("standard output is closed; redirect it to a file")
    if "#" in (run := words[words.index("run") :] if "run" in words else ()):  # a comment, where a shell knows none
        words = words[: len(words) - len(run) + run.index("#")]
    TYPED.set(tuple(words))
    keep_memory()
    own_process()
    one_line_warnings()
    try:
        code = every_command()(args=list(words), prog_name="lengthwise", standalone_mode=False)
        sys.stdout.flush()
        if code == INTERRUPTED:
            # Typer turns Ctrl-C into this exit code and prints nothing.
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except TooSmallError as error:
        return _fail(f"{with_flags(error.what, _flags(words))}: {again(error.instead)}")
    except LengthwiseError as error:
        return _fail(with_flags(str(error), _flags(words)))
    except TyperException as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # The help is printed.
            return 0
        context: Any = getattr(error, "ctx", None)
        help_ = "" if context is None else f" Try '{context.command_path} --help'."
        return _fail(_said(error, words, _flags(words)) + _commas(error, words) + help_)
    except (KeyboardInterrupt, typer.Abort):
        resumes = next((word for word in words if word in (*COMMANDS, *GROUPS)), "") in RESUMABLE
        print("interrupted" + ("; give the same command again to go on" if resumes else ""), file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (`| head`) has gone; a second error at interpreter exit would be noise.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except UnicodeError as error:
        return _fail(f"text that can't be read or written here ({error})")
    except OSError as error:
        return _fail(f"{error.filename or 'output'}: {error.strerror or error}; check the path and the free space")
    except BaseException as error:
        line = failure_in_user_code(error) or _too_large(error)
        if line is None:
            raise
        return _fail(line)


def _flags(words: Sequence[str]) -> set[str]:
    found = every_command()
    parameters = [*found.params]
    for word in words:
        if word in getattr(found, "commands", {}):
            found = found.commands[word]
            parameters += found.params
    return {flag for parameter in parameters for flag in parameter.opts}


def _said(error: TyperException, words: Sequence[str], flags: set[str]) -> str:
    """What typer says; of an option that has another name in this command, that name in place of typer's guess."""
    text = error.format_message().replace("Value error, ", "")
    if number := re.match(r"Invalid value for '(--[\w-]+)': Input should be a valid (integer|number)", text):
        given = next((after for word, after in pairwise(words) if word == number[1]), "")
        kind = "one whole number" if number[2] == "integer" else "one number"
        return f"{number[1]} is {kind}, got {given or 'another value'!r}."
    found = re.match(r"No such option: (--[a-z-]+)", text)
    here = found and same_flag(found[1], flags)
    if found and here == "--encoding" and "--scheme" in flags:  # The value may name a system of both.
        value = next((after for word, after in pairwise(re.split("[ =]", " ".join(words))) if word == found[1]), "")
        scheme, both, encoding = value.partition("+")
        here = f"--scheme {scheme} --encoding {encoding}" if both else here
    target = next((word for word in words if re.match(r"-[^\w-]", word)), "")
    if target and text.startswith(f"No such option: {target[:2]}"):
        return f"{text} A target that begins with '-' is written {shlex.quote(f'regex:{target}')}."
    return f"{found[0]}; here it is {here}." if found and here else text


def _commas(error: TyperException, words: Sequence[str]) -> str:
    """Of words too many behind the value of an option that takes several: how these are written."""
    found = re.match(r"Got unexpected extra arguments? ?\(?s?\)? ?\((.*)\)", error.format_message())
    context: Any = getattr(error, "ctx", None)
    extra = found[1].split() if found else []
    options = [] if context is None else context.command.params
    lists = {flag for option in options if "," in (getattr(option, "metavar", "") or "") for flag in option.opts}
    for flag, value, word in zip(words, words[1:], words[2:], strict=False) if extra else ():
        if flag in lists and word == extra[0]:
            values = ",".join(part.strip(",") for part in (value, *extra))
            return f"; values of {flag} have commas between them and no blanks: {flag} {values}."
    return ""


def _too_large(error: BaseException) -> str | None:
    if isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and "allocate memory" in str(error)):
        return "not enough memory; choose smaller lengths, batches or models"
    if isinstance(error, OverflowError):
        return f"a number is too large ({error}); choose a smaller one"
    return None


def _fail(message: str) -> int:
    if os.environ.get(DEBUG):
        traceback.print_exc()
    # Only a caret under an excerpt is worth more than one line.
    shown = harmless(message if message.endswith("^") else " ".join(message.split()))
    if len(shown) > LONGEST_MESSAGE:
        shown = f"{shown[: LONGEST_MESSAGE // 2]} … {shown[-LONGEST_MESSAGE // 2 :]}"
    print(f"error: {shown}", file=sys.stderr)
    return USER_ERROR
