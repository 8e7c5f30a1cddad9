"""The entry point. A user's mistake is one line on stderr with exit code 2, Ctrl-C one line with exit code 130."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from typer.exceptions import TyperException

from lengthwise import __version__
from lengthwise.core.errors import LengthwiseError, one_line_warnings
from lengthwise.training.memory import keep_memory

USER_ERROR, INTERRUPTED, BROKEN_PIPE = 2, 130, 141

app = typer.Typer(
    name="lengthwise",
    help="Predict, explain and extend how far a transformer generalizes beyond the lengths it was trained on.",
    no_args_is_help=True,
    add_completion=False,
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
) -> None:
    del version


def _add_commands() -> None:
    from lengthwise.cli import (
        agreement,
        bench,
        blind,
        check,
        check_certificates,
        compile,  # noqa: F401  # adds itself to `crasp`
        couple,
        crasp,
        decide,
        influence,
        lm,
        predict,
        regularizer,
        report,
        run,
        show,
        verify,
    )
    from lengthwise.cli import list as list_command

    for name, command in {
        "list": list_command.list_, "show": show.show, "run": run.run, "report": report.report,
        "verify": verify.verify, "predict": predict.predict, "decide": decide.decide,
        "check-certificates": check_certificates.check_certificates, "couple": couple.couple,
        "regularizer": regularizer.regularizer, "agreement": agreement.agreement, "bench": bench.bench,
        "influence": influence.influence, "check": check.check,
    }.items():  # fmt: skip
        app.command(name)(command)
    app.add_typer(crasp.crasp, name="crasp")
    app.add_typer(lm.lm, name="lm")
    app.add_typer(blind.blind, name="blind")


_add_commands()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    keep_memory()
    one_line_warnings()
    try:
        code = app(args=None if arguments is None else list(arguments), prog_name="lengthwise", standalone_mode=False)
        sys.stdout.flush()
        if code == INTERRUPTED:
            # Typer turns Ctrl-C into this exit code and prints nothing.
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except LengthwiseError as error:
        return _fail(str(error))
    except TyperException as error:
        return _fail(error.format_message().replace("Value error, ", "") + _hint(error))
    except (KeyboardInterrupt, typer.Abort):
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (`| head`) has gone; a second error at interpreter exit would be noise.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except UnicodeError as error:
        return _fail(f"text that can't be read or written here ({error})")
    except OSError as error:
        return _fail(f"{error.filename or 'output'}: {error.strerror or error}; check the path and the free space")


def _hint(error: TyperException) -> str:
    context = getattr(error, "ctx", None)
    return f" Try '{context.command_path} --help'." if context is not None else ""


def _fail(message: str) -> int:
    # Only a caret under an excerpt is worth more than one line.
    shown = message if message.endswith("^") else " ".join(message.split())
    print(f"error: {shown}", file=sys.stderr)
    return USER_ERROR
