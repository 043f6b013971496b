"""The command line: parses options, calls the library, prints. Results go to stdout, progress and errors to stderr."""

import gc
import os
import sys
from typing import Annotated, Any

import typer

from tagwright.app.arguments import expand_groups
from tagwright.core.display import INTERRUPTED, SOME_FAILED, escape_controls, print_warnings, report_interruption
from tagwright.errors import TagwrightError, on_command_line
from tagwright.readers.documents.formats import listed_formats
from tagwright.registry import COMMANDS, command, find_registered
from tagwright.version import __version__

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # its tables leave a quarter of 80 columns for the text
    context_settings={"max_content_width": 120},
    help="Tag any document with any vocabulary, with few labelled documents or none.",
    epilog="DOCS: files, folders, globs or - for standard input (JSON lines, or the text of one document). "
    f"Formats: {listed_formats()}, Label Studio, argilla. "
    "Columns and keys may be id, title, abstract, text and labels (separated by ; or |), or those usual in shops and "
    "library catalogues (name, body, summary, sku; 245$a as title; subject, 650$a as labels); others are metadata.",
)

_USAGE_ERROR: Any = typer.BadParameter.__base__  # of all wrong options and arguments; typer has no public name for it


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"tagwright {__version__}")
        raise typer.Exit


@app.callback()
def start(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Tag any document with any vocabulary, with few labelled documents or none."""
    context.with_resource(on_command_line())


for _name in COMMANDS:
    if _function := command(_name):
        app.command(_name)(expand_groups(_function))


def main() -> None:
    """Run the command line. Errors that the user can fix are printed in one line: exit code 2, no traceback.

    The exit code is 3 where files could not be read and a command has done its work with the others.
    """
    print_warnings()
    try:
        with on_command_line() as left_out:
            code = app(_arguments(sys.argv[1:]), prog_name="tagwright", standalone_mode=False)
        code = code or (SOME_FAILED if left_out else 0)
        sys.stdout.flush()
        if code == INTERRUPTED:
            report_interruption()
    except TagwrightError as error:
        code = _say(str(error))
    except _USAGE_ERROR as error:
        problem = error.format_message().replace("Value error, ", "")  # a prefix of the library that parses values
        code = _say(f"{problem} ({error.ctx.command_path if error.ctx else 'tagwright'} --help)")
    except KeyboardInterrupt:
        code = report_interruption()
    except BrokenPipeError:  # the reader of our output has closed the pipe
        code = 1
    except OSError as error:
        code = _say(f"{error.filename or 'output'}: {error.strerror or error}")
    _close_output()
    gc.freeze()  # what the process holds goes with it: looking for cycles among it takes a third of a second
    sys.exit(code)


def _arguments(given: list[str]) -> list[str]:
    """The arguments, once the commands of other packages that they need are added."""
    arguments = given or ["--help"]
    first = arguments[0]
    others = [point.name for point in find_registered("commands")] if first == "--help" else {first} - {*COMMANDS}
    for name in others:
        try:
            if run := command(name):
                app.command(name)(expand_groups(run))
        except TagwrightError as error:
            if first != "--help":
                raise
            _say(str(error))  # a package that is broken hides no command but its own
    return arguments


def _say(problem: str) -> int:
    print(f"tagwright: {escape_controls(' '.join(problem.split()))}", file=sys.stderr)
    return 2


def _close_output() -> None:
    """Flush now: at exit, Python prints a traceback when it cannot."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
