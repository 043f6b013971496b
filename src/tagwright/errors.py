"""Errors that the user can fix. Separate from `types`, so that the help is printed without numpy."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

_commands = list[list["InputError"]]()
"For each command that this process is running, what it has left out: its messages go to one reader."


class TagwrightError(Exception):
    """An error that the user can fix.

    Its message gives what, got, expected and remedy; the command line then exits with 2.
    """


class InputError(TagwrightError):
    """A file or a value in it is not what was expected. The message starts with the file and line where known."""

    def __init__(self, problem: str, path: Path | str | None = None, line: int | None = None) -> None:
        place = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(place + problem)
        self.problem, self.path, self.line = problem, path, line


class ConfigError(TagwrightError):
    """An option has an invalid value or does not exist."""


class ModelError(TagwrightError):
    """An encoder or a saved tagger is missing, damaged or not the expected one."""


@contextmanager
def on_command_line() -> Iterator[list[InputError]]:
    """Inside this block, messages name options as on the command line instead of as in Python.

    Yields a list of what is left out, for the exit code: see `note_left_out`.
    """
    _commands.append([])
    try:
        yield _commands[-1]
    finally:
        _commands.pop()


def note_left_out(errors: Iterable[InputError]) -> None:
    """Note that a command does its work without these: its exit code says so."""
    listed = list(errors)
    for left_out in _commands:
        left_out += listed


def is_command() -> bool:
    """Whether this is inside `on_command_line`."""
    return bool(_commands)


def option(name: str, value: str = "", *, python: str = "") -> str:
    """Write an option, and perhaps its value, as the reader of a message would: on the command line or in Python.

    python: what is written in Python, if it looks otherwise.

    >>> option("share_of_labels"), option("skip_unlabelled", python="skip_unlabelled=True")
    ('share_of_labels=...', 'skip_unlabelled=True')
    >>> with on_command_line():
    ...     option("share_of_labels"), option("columns", "title=Name")
    ('--share-of-labels', '--columns title=Name')
    """
    if not is_command():
        return python or f"{name}={value or '...'}"
    return f"--{name.replace('_', '-')} {value}".rstrip()


def setting(name: str, value: str, *, table: str = "") -> str:
    """An option of a method with a value, in the same way.

    table: that holds it; Python takes the options of the training beside the others.

    >>> setting("batch", "64", table="training")
    'batch=64'
    >>> with on_command_line():
    ...     setting("batch", "64", table="training")
    '--set training.batch=64'
    """
    place = f"{table}." if table else ""
    return f"--set {place}{name}={value}" if _commands else f"{name}={value}"


def class_and_message(error: Exception) -> str:
    """The error of another package in one line, with its class, for the author of the package.

    >>> class_and_message(KeyError("title")), class_and_message(AssertionError())
    ("KeyError: 'title'", 'AssertionError')
    """
    return f"{type(error).__name__}: {' '.join(str(error).split())[:100]}".removesuffix(": ")


def one_line_of(error: Exception, longest: int = 100) -> str:
    r"""The message of another library's error in one line, or its class if it has none.

    >>> one_line_of(ValueError("no\n  tag")), one_line_of(KeyError())
    ('no tag', 'KeyError')
    """
    return " ".join(str(error).split())[:longest] or type(error).__name__
