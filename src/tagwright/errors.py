"""What goes wrong and the user can mend. Apart from `types`: the command line needs no numpy to print its help."""

from __future__ import annotations

from pathlib import Path


class TagwrightError(Exception):
    """Something the user can mend. The message says what, got, expected, remedy; the command line exits 2 with it."""


class InputError(TagwrightError):
    """A file or a value in it is not what was expected. The message starts with the file and line where known."""

    def __init__(self, problem: str, path: Path | str | None = None, line: int | None = None) -> None:
        place = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(place + problem)
        self.problem, self.path, self.line = problem, path, line


class ConfigError(TagwrightError):
    """An option has a value that cannot work, or does not exist."""


class ModelError(TagwrightError):
    """An encoder or a saved tagger is missing, damaged or not the one it should be."""


def one_line_of(error: Exception, longest: int = 100) -> str:
    r"""What another library's error says, in one line; its class where it says nothing.

    >>> one_line_of(ValueError("no\n  tag")), one_line_of(KeyError())
    ('no tag', 'KeyError')
    """
    return " ".join(str(error).split())[:longest] or type(error).__name__
