"""The encoding of vocabulary files that are not UTF-8 and do not say it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from tagwright.core.checked import shown
from tagwright.errors import InputError, option
from tagwright.readers.lines import as_utf8, is_utf8, open_bytes

_chosen: ContextVar[str] = ContextVar("chosen", default="")
_TRIED = ("utf-16", "cp1252", "latin-1")


@contextmanager
def label_encoding(encoding: str) -> Iterator[None]:
    """Read vocabularies that are not UTF-8 in this encoding inside this block; "" keeps the present one."""
    token = _chosen.set(encoding or _chosen.get())
    try:
        yield
    finally:
        _chosen.reset(token)


@contextmanager
def in_encoding(path: Path, encoding: str = "") -> Iterator[None]:
    """Read this file in its encoding: UTF-8, or the given one, or that of `label_encoding`.

    The message of an error says which encoding fits a file that is not UTF-8 where none was given.
    """
    given = encoding or _chosen.get()
    try:
        with as_utf8(path, given):
            yield
    except InputError as error:
        with open_bytes(path) as file:
            content = file.read()
        if given or "UTF-8" not in error.problem or is_utf8(content):
            raise
        fitting = [name for name in _TRIED if (name != "utf-16" or content[:2] in _MARKS) and is_utf8(content, name)]
        python = f"Vocabulary.read({shown(str(path))}, encoding={shown(fitting[0])})"
        how = option("encoding", fitting[0], python=python)
        raise InputError(
            f"is not UTF-8, but can be read as {fitting[0]}: {how}; or save it as UTF-8", path, error.line
        ) from None


_MARKS = (b"\xff\xfe", b"\xfe\xff")
