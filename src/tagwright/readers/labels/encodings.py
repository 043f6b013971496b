"""The encoding of vocabulary files that are not UTF-8 and do not say it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TypeVar

from tagwright.core.checked import shown
from tagwright.errors import InputError, option
from tagwright.readers.lines import EncodingError, in_encoding

T = TypeVar("T")

_chosen: ContextVar[str] = ContextVar("chosen", default="")


@contextmanager
def label_encoding(encoding: str) -> Iterator[None]:
    """Read vocabularies that are not UTF-8 in this encoding inside this block; "" keeps the present one."""
    token = _chosen.set(encoding or _chosen.get())
    try:
        yield
    finally:
        _chosen.reset(token)


def decoded(path: Path, encoding: str, read: Callable[[], T]) -> T:
    """What `read` gives of a file: in UTF-8, else in the given encoding, else in that of `label_encoding`.

    Raises InputError, which says what encoding fits a file that is not UTF-8 where none was given.
    """
    try:
        return read()
    except EncodingError as error:
        if given := encoding or _chosen.get():
            with in_encoding(path, given):
                return read()
        if not error.encoding:
            raise
        fitting = error.encoding
        how = option(
            "encoding",
            f"{fitting}, with tagwright labels --labels {path} --format csv, prints it so",
            python=f"Vocabulary.read({shown(str(path))}, encoding={shown(fitting)}) reads it",
        )
        raise InputError(f"{error.problem}; {how}", path, error.line) from None
